/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/reader.h"
#include "clickhouse/native.h"
#include "clickhouse/rowbinary.h"
#include "store/blob.h"

enum {
	CHUNK_BYTES = 1 << 20,
	LIST_BYTES_MAX = 8 << 20,
};

static uint64_t module_of(const char *build_id)
{
	return hash_bytes(build_id, strlen(build_id));
}

static uint64_t place_of(const char *build_id)
{
	return blob_place(BLOB_SYMBOLS, module_of(build_id), 0);
}

static void add_text(struct buf *sql, const char *text)
{
	ch_add_quoted(sql, text, strlen(text));
}

/* --- What is wanted --- */

int fleet_symbols_wanted(struct ch_client *client, const char *format, struct fleet_modules *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	*out = (struct fleet_modules){.cnt = 0};
	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, LIST_BYTES_MAX);
	buf_add_str(&sql, "SELECT build_id, path, lacking, toUInt8(why = 'no_lines') FROM modules "
			  "FINAL WHERE why IN ('no_file', 'no_lines') AND build_id NOT IN (SELECT "
			  "build_id FROM symbol_tables WHERE format = ");
	add_text(&sql, format);
	buf_printf(&sql,
		   " AND (chunks > 0 OR at > now() - %d)) ORDER BY lacking DESC, build_id LIMIT "
		   "%d FORMAT RowBinary",
		   FLEET_CLAIM_S, FLEET_WANTED_MAX);
	err = sql.err ? sql.err : ch_client_query(client, buf_cstr(&sql), &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd)) {
		err = fleet_modules_take(out, &rd);
		if (reader_u8(&rd) && !err)
			out->items[out->cnt - 1].why = "no_lines";
		else if (!err)
			out->items[out->cnt - 1].why = "no_file";
	}
	return err ? err : rd.err ? -EPROTO : 0;
}

/* --- Claims --- */

/* Who has the first claim, or the table: that is UINT64_MAX then. 0: nobody. */
static int find_holder(struct ch_client *client, const struct fleet_table_key *key, uint64_t *out)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "SELECT if(chunks > 0, toUInt64(%" PRIu64 "), host) FROM symbol_tables FINAL "
		   "WHERE build_id = ",
		   UINT64_MAX);
	add_text(&sql, key->build_id);
	buf_add_str(&sql, " AND format = ");
	add_text(&sql, key->format);
	buf_printf(&sql,
		   " AND (chunks > 0 OR at > now() - %d) ORDER BY chunks = 0, at, host LIMIT 1",
		   FLEET_CLAIM_S);
	return sql.err ? sql.err : ch_client_number(client, buf_cstr(&sql), out);
}

/* The row of @key's host, by the server's clock, which claims of all hosts are compared by. */
static int write_row(struct ch_client *client, const struct fleet_table_key *key, uint64_t digest,
		     size_t chunks, size_t bytes)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "INSERT INTO symbol_tables (module, build_id, format, host, at, path, digest, "
		   "chunks, bytes) SELECT toUInt64(%" PRIu64 "), ",
		   module_of(key->build_id));
	add_text(&sql, key->build_id);
	buf_add_str(&sql, ", ");
	add_text(&sql, key->format);
	buf_printf(&sql, ", toUInt64(%" PRIu64 "), now(), ", key->host);
	add_text(&sql, key->path);
	buf_printf(&sql, ", toUInt64(%" PRIu64 "), toUInt32(%zu), toUInt64(%zu)", digest, chunks,
		   bytes);
	return sql.err ? sql.err : ch_client_query(client, buf_cstr(&sql), NULL);
}

int fleet_symbols_has(struct ch_client *client, const struct fleet_table_key *key, bool *out)
{
	uint64_t holder = 0;
	int err = find_holder(client, key, &holder);

	*out = !err && holder == UINT64_MAX;
	return err;
}

int fleet_symbols_claim(struct ch_client *client, const struct fleet_table_key *key, bool *is_ours)
{
	uint64_t holder;
	int err = find_holder(client, key, &holder);

	if (!err && !holder) {
		err = write_row(client, key, 0, 0, 0);
		sleep(FLEET_SETTLE_S);
		if (!err)
			err = find_holder(client, key, &holder);
	}
	*is_ours = !err && holder == key->host;
	return err;
}

/* --- Uploading --- */

static int put_chunk(struct ch_client *client, const struct fleet_table_key *key, uint64_t digest,
		     uint32_t nr, const char *data, size_t len)
{
	static const struct native_column columns[] = {
		{"module", NATIVE_U64}, {"build_id", NATIVE_TEXT}, {"digest", NATIVE_U64},
		{"nr", NATIVE_U32},	{"data", NATIVE_TEXT},
	};
	static const struct native_table table = {"symbol_chunks", columns,
						  sizeof(columns) / sizeof(*columns)};
	struct native_block block;
	int err = native_init(&block, &table);

	if (!err) {
		native_add(&block, module_of(key->build_id));
		native_add_str(&block, key->build_id);
		native_add(&block, digest);
		native_add(&block, nr);
		native_add_text(&block, data, len);
		err = native_insert(&block, client);
	}
	native_deinit(&block);
	return err;
}

int fleet_symbols_pack(const char *build_id, const void *data, size_t len, struct buf *out)
{
	const struct buf raw = {.data = (char *)data, .len = len};

	return blob_pack(&raw, place_of(build_id), BLOB_LEVEL_LATER, out);
}

int fleet_symbols_unpack(const char *build_id, const void *packed, size_t len, struct buf *out)
{
	return blob_unpack(packed, len, place_of(build_id), out);
}

int fleet_symbols_put(struct ch_client *client, const struct fleet_table_key *key,
		      const void *packed, size_t len)
{
	const uint64_t digest = hash_bytes(packed, len);
	const char *bytes = packed;
	uint32_t nr = 0;
	int err = 0;

	for (size_t at = 0; at < len && !err; at += CHUNK_BYTES)
		err = put_chunk(client, key, digest, nr++, bytes + at,
				len - at < CHUNK_BYTES ? len - at : CHUNK_BYTES);
	return err ? err : write_row(client, key, digest, nr, len);
}

/* --- Reading --- */

struct table_row {
	uint64_t digest, bytes;
	uint32_t chunks;
};

/* The last whole one. */
static int find_table(struct ch_client *client, const char *build_id, const char *format,
		      struct table_row *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, LIST_BYTES_MAX);
	buf_add_str(&sql,
		    "SELECT digest, bytes, chunks FROM symbol_tables FINAL WHERE build_id = ");
	add_text(&sql, build_id);
	buf_add_str(&sql, " AND format = ");
	add_text(&sql, format);
	buf_add_str(&sql, " AND chunks > 0 ORDER BY at DESC, digest LIMIT 1 FORMAT RowBinary");
	err = sql.err ? sql.err : ch_client_query(client, buf_cstr(&sql), &answer);
	if (err || !answer.len)
		return err ? err : -ENOENT;
	reader_init(&rd, answer.data, answer.len);
	out->digest = reader_u64(&rd);
	out->bytes = reader_u64(&rd);
	out->chunks = reader_u32(&rd);
	return rd.err ? -EPROTO : out->bytes > FLEET_TABLE_BYTES_MAX ? -EBADMSG : 0;
}

/* The chunks in @answer, behind each other. */
static int join_chunks(const struct buf *answer, const struct table_row *row, struct buf *out)
{
	struct reader rd;
	uint32_t nr = 0;

	reader_init(&rd, answer->data, answer->len);
	while (!reader_done(&rd)) {
		const char *data;
		size_t len;

		if (reader_u32(&rd) != nr++)
			return -EBADMSG;
		data = rb_text(&rd, &len);
		if (data)
			buf_add(out, data, len);
	}
	if (rd.err || out->err)
		return out->err ? out->err : -EPROTO;
	return nr == row->chunks && out->len == row->bytes &&
			       hash_bytes(out->data, out->len) == row->digest
		       ? 0
		       : -EBADMSG;
}

int fleet_symbols_get(struct ch_client *client, const char *build_id, const char *format,
		      struct buf *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	_cleanup_(buf_deinit) struct buf packed;
	struct table_row row;
	int err = find_table(client, build_id, format, &row);

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, 2 * (size_t)FLEET_TABLE_BYTES_MAX);
	buf_init(&packed, FLEET_TABLE_BYTES_MAX);
	if (err)
		return err;
	buf_add_str(&sql, "SELECT nr, data FROM symbol_chunks WHERE build_id = ");
	add_text(&sql, build_id);
	/* What was sent twice is there twice until the server has merged it. */
	buf_printf(&sql, " AND digest = %" PRIu64 " ORDER BY nr LIMIT 1 BY nr FORMAT RowBinary",
		   row.digest);
	err = sql.err ? sql.err : ch_client_query(client, buf_cstr(&sql), &answer);
	if (!err)
		err = join_chunks(&answer, &row, &packed);
	return err ? err : fleet_symbols_unpack(build_id, packed.data, packed.len, out);
}
