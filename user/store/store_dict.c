/* SPDX-License-Identifier: Apache-2.0 */
/* Dictionaries and the database. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/blob.h"
#include "store/store_priv.h"

enum { CURRENT_MAX_BYTES = 24 << 20 /* of the writer's dictionary: then it begins a new one */ };

#define NSEC_PER_DAY (86400 * NSEC_PER_SEC)

static void add_chunk(struct generation *generation, uint64_t nr, const void *data, size_t len,
		      int *err)
{
	_cleanup_(buf_deinit) struct buf raw;
	struct reader rd;
	int result;

	buf_init(&raw, BLOB_MAX_BYTES);
	result = blob_unpack(data, len, blob_place(BLOB_DICT, generation->id, nr), &raw);
	reader_init(&rd, raw.data, raw.len);
	if (!result)
		result = dict_decode(&generation->dict, &rd);
	if (result == -EBADMSG)
		generation->damaged_cnt++;
	else
		*err = result;
}

/* Read the chunks after the last one that was read. */
static int read_chunks(struct store *store, struct generation *generation)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(
		store->db, "SELECT nr, blob FROM dict WHERE generation=? AND nr>? ORDER BY nr");
	const uint64_t damaged_before = generation->damaged_cnt;
	int step, err = 0;

	db_bind(stmt, 1, generation->id);
	db_bind(stmt, 2, generation->last_nr);
	while ((step = db_step(stmt)) > 0 && !err) {
		generation->last_nr = db_u64(stmt, 0);
		add_chunk(generation, generation->last_nr, sqlite3_column_blob(stmt, 1),
			  (size_t)sqlite3_column_bytes(stmt, 1), &err);
	}
	if (generation->damaged_cnt != damaged_before)
		log_warn("store: '%s': %llu chunks of dictionary %llu are damaged: samples whose "
			 "stacks they held are passed over and counted",
			 store->path, (unsigned long long)generation->damaged_cnt,
			 (unsigned long long)generation->id);
	return err ? err : step;
}

static int generation_init(struct generation *generation, uint64_t id)
{
	*generation = (struct generation){.id = id};
	return dict_init(&generation->dict);
}

void store_generation_free(struct generation *generation)
{
	if (generation)
		dict_deinit(&generation->dict);
	free(generation);
}

/* Generation @id, as far as it is kept, to the front. NULL: no memory. */
static struct generation *keep_generation(struct store *store, uint64_t id)
{
	struct generation **kept = store->kept, *found;
	size_t at = 0;

	while (at < GENERATIONS_KEPT - 1 && !(kept[at] && kept[at]->id == id))
		at++;
	found = kept[at];
	memmove(kept + 1, kept, at * sizeof(*kept));
	kept[0] = found;
	if (found && found->id == id)
		return found;
	store_generation_free(found);
	kept[0] = calloc(1, sizeof(*found));
	if (kept[0] && generation_init(kept[0], id)) {
		free(kept[0]);
		kept[0] = NULL;
	}
	return kept[0];
}

int store_generation(struct store *store, uint64_t id, struct generation **out)
{
	struct generation *generation = keep_generation(store, id);
	int err = generation ? read_chunks(store, generation) : -ENOMEM;

	if (!err) {
		*out = generation;
	} else {
		store_generation_free(generation);
		store->kept[0] = NULL;
	}
	return err;
}

void store_drop_current(struct store *store)
{
	dict_deinit(&store->current.dict);
	store->current = (struct generation){.id = 0};
}

static int begin_generation(struct store *store, uint64_t day)
{
	uint64_t last;
	int err = db_number(store->db, "SELECT max(id) FROM generation", &last);

	if (!err && store->current.id && last < store->current.id)
		last = store->current.id;
	store_drop_current(store);
	if (!err)
		err = generation_init(&store->current, last + 1);
	if (err) {
		store->current.id = 0;
		return err;
	}
	store->current_day = day;
	store->current_is_new = true;
	return 0;
}

/* Load generation @id so that it can grow. 0, -EBADMSG: it cannot; or negative errno. */
static int load_current(struct store *store, uint64_t id, uint64_t day)
{
	struct generation read;
	int err = generation_init(&read, id);

	if (!err)
		err = read_chunks(store, &read);
	if (!err && read.damaged_cnt)
		err = -EBADMSG;
	if (!err)
		err = generation_init(&store->current, id);
	if (!err)
		err = dict_intern(&read.dict, &store->current.dict);
	dict_deinit(&read.dict);
	if (err)
		store_drop_current(store);
	store->current.last_nr = read.last_nr;
	store->current_day = day;
	store->current_is_new = false;
	return err;
}

/* Is a window of @day still one for the dictionary that is there? A clock that was set back a
 * little does not end a generation. */
static bool is_for_current(const struct store *store, uint64_t day)
{
	return store->current.id && !store->current.dict.prof.err &&
	       (day == store->current_day || day + 1 == store->current_day) &&
	       dict_bytes(&store->current.dict) < CURRENT_MAX_BYTES;
}

int store_current(struct store *store, uint64_t start_ns)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	const uint64_t day = start_ns / NSEC_PER_DAY;
	int step, err;

	if (is_for_current(store, day))
		return 0;
	if (store->current.id && !store->current.dict.prof.err)
		return begin_generation(store, day);
	stmt = db_prepare(store->db, "SELECT id, day FROM generation ORDER BY id DESC LIMIT 1");
	step = db_step(stmt);
	if (step < 0)
		return step;
	store_drop_current(store);
	if (step) {
		err = load_current(store, db_u64(stmt, 0), db_u64(stmt, 1));
		if (err && err != -EBADMSG)
			return err;
	}
	return is_for_current(store, day) ? 0 : begin_generation(store, day);
}

static int write_generation(struct store *store)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "INSERT INTO generation(id, day) VALUES(?, ?)");

	db_bind(stmt, 1, store->current.id);
	db_bind(stmt, 2, store->current_day);
	return db_step(stmt);
}

int store_write_dict(struct store *store)
{
	_cleanup_(buf_deinit) struct buf raw;
	_cleanup_(buf_deinit) struct buf packed;
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	uint64_t nr;
	int err = 0;

	buf_init(&raw, BUF_NO_MAX);
	buf_init(&packed, BUF_NO_MAX);
	if (store->current_is_new)
		err = write_generation(store);
	if (err || !dict_has_news(&store->current.dict))
		return err;
	err = db_number(store->db, "SELECT max(nr) FROM dict", &nr);
	dict_encode(&store->current.dict, &raw);
	if (!err)
		err = blob_pack(&raw, blob_place(BLOB_DICT, store->current.id, nr + 1),
				BLOB_LEVEL_NOW, &packed);
	if (err)
		return err;
	stmt = db_prepare(store->db,
			  "INSERT INTO dict(nr, generation, raw_bytes, blob) VALUES(?, ?, ?, ?)");
	db_bind(stmt, 1, nr + 1);
	db_bind(stmt, 2, store->current.id);
	db_bind(stmt, 3, raw.len);
	db_bind_blob(stmt, 4, packed.data, packed.len);
	return db_step(stmt);
}

void store_current_saved(struct store *store)
{
	store->current_is_new = false;
	if (dict_set_saved(&store->current.dict))
		store_drop_current(store);
}
