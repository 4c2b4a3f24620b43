/* SPDX-License-Identifier: Apache-2.0 */
/* Names that come after the samples. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/profile_import.h"
#include "store/store_priv.h"

/* The last dictionary that was written, where this writer has not asked for it yet. */
static int load_current(struct store *store)
{
	uint64_t day;
	int err;

	if (store->mode != STORE_WRITE)
		return -EINVAL;
	if (store->current.id)
		return 0;
	err = db_number(store->db, "SELECT day FROM generation ORDER BY id DESC LIMIT 1", &day);
	return err ? err : store_current(store, day * 86400 * NSEC_PER_SEC);
}

static int collect_unnamed(const struct dict *dict, size_t max, struct profile *out, uint32_t *ids)
{
	struct profile_import import;
	int err = profile_import_init(&import, out, &dict->prof);

	if (err)
		return err;
	for (size_t i = dict->prof.location_cnt; i-- > 0 && out->location_cnt < max && !out->err;) {
		const size_t cnt = out->location_cnt;

		if (dict->prof.locations[i].line_cnt)
			continue;
		profile_import_location(&import, (uint32_t)i);
		if (out->location_cnt > cnt)
			ids[cnt] = (uint32_t)i;
	}
	profile_import_deinit(&import);
	return out->err;
}

int store_unnamed(struct store *store, size_t max, struct profile *out, uint32_t *ids)
{
	struct profile prof;
	int err = profile_init(&prof);

	if (err)
		return err;
	err = load_current(store);
	if (!err)
		err = collect_unnamed(&store->current.dict, max, &prof, ids);
	if (err) {
		profile_deinit(&prof);
		return store_fail(store, "read names of", err);
	}
	store->unnamed_id = store->current.id;
	*out = prof;
	return 0;
}

/* The lines of location @index of the import's source for @id. */
static int name_location(struct dict *dict, struct profile_import *import, size_t index,
			 uint32_t id)
{
	const struct profile_location *loc = &import->src->locations[index];
	_cleanup_free_ struct profile_line *lines = calloc(loc->line_cnt + 1U, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		lines[i] = import->src->lines[loc->first_line + i];
		lines[i].function = profile_import_function(import, lines[i].function);
	}
	dict_name(dict, id, lines, loc->line_cnt);
	return dict->prof.err;
}

static int write_names(struct store *store)
{
	_cleanup_(db_rollback) sqlite3 *guard = store->db;
	int err = db_begin(store->db, true);

	if (!err)
		err = store_write_dict(store);
	if (!err)
		err = db_commit(store->db);
	if (!err)
		store_current_saved(store);
	return err;
}

int store_set_names(struct store *store, const struct profile *named, const uint32_t *ids)
{
	struct dict *dict = &store->current.dict;
	struct profile_import import;
	int err;

	if (!store->current.id || store->current.id != store->unnamed_id)
		return -ESTALE;
	err = profile_import_init(&import, &dict->prof, named);
	if (err)
		return store_fail(store, "write names to", err);
	for (size_t i = 0; i < named->location_cnt && !err; i++)
		if (named->locations[i].line_cnt && ids[i] < dict->prof.location_cnt)
			err = name_location(dict, &import, i, ids[i]);
	profile_import_deinit(&import);
	if (!err)
		err = write_names(store);
	if (dict->prof.err)
		store_drop_current(store);
	return err ? store_fail(store, "write names to", err) : 0;
}
