/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/relay_message.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/reader.h"
#include "base/seal.h"
#include "clickhouse/native_read.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"

static const struct seal seal_wanted = {
	.magic = {'B', 'P', 'F', 'R', 'E', 'L', 'A', 'Y'},
	.format = RELAY_MESSAGE_VERSION,
	.rules = FLEET_SCHEMA_VERSION,
};

/* --- Writing --- */

int relay_message_write(const struct relay_head *head, const struct fleet_blocks *blocks,
			struct buf *out)
{
	const size_t begin = out->len;
	struct seal seal = seal_wanted;
	int err = 0;

	buf_add(out, &seal, sizeof(seal));
	rb_add_u64(out, head->epoch);
	rb_add_u64(out, head->first_seq);
	rb_add_u64(out, head->last_seq);
	rb_add_str(out, head->id);
	rb_add_str(out, head->name);
	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++) {
		rb_add_u8(out, blocks->of[i].row_cnt > 0);
		if (blocks->of[i].row_cnt)
			err = native_encode(&blocks->of[i], out);
	}
	if (err || out->err)
		return err ? err : out->err;
	seal.checksum = seal_checksum(out->data + begin, out->len - begin);
	memcpy(out->data + begin, &seal, sizeof(seal));
	return 0;
}

/* --- Reading --- */

static int take_seal(const void *data, size_t len)
{
	struct seal seal;
	int err;

	if (len < sizeof(seal))
		return -EBADMSG;
	memcpy(&seal, data, sizeof(seal));
	err = seal_check(&seal, &seal_wanted);
	if (err)
		return err;
	return seal_checksum(data, len) == seal.checksum ? 0 : -EILSEQ;
}

int relay_message_read(const void *data, size_t len, struct relay_head *out,
		       struct fleet_blocks *blocks)
{
	struct relay_head head;
	struct reader rd;
	int err = take_seal(data, len);

	if (err)
		return err;
	reader_init(&rd, (const char *)data + sizeof(struct seal), len - sizeof(struct seal));
	head.epoch = reader_u64(&rd);
	head.first_seq = reader_u64(&rd);
	head.last_seq = reader_u64(&rd);
	rb_copy_text(&rd, head.id, sizeof(head.id));
	rb_copy_text(&rd, head.name, sizeof(head.name));
	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++)
		if (reader_u8(&rd))
			err = native_decode(&rd, &blocks->of[i]);
	if (err || rd.err || rd.pos != rd.end)
		return err ? err : -EBADMSG;
	*out = head;
	return 0;
}

/* --- Checking --- */

static size_t column_of(enum fleet_block block, const char *name)
{
	return native_column_of(&fleet_row_tables[block], name);
}

static int deny_row(enum fleet_block block, struct buf *why)
{
	buf_printf(why, "rows of table %s are of another host", fleet_row_tables[block].name);
	return -EACCES;
}

static int deny_name(const char *name, size_t len, struct buf *why)
{
	buf_printf(why, "this token may not speak for host '%.*s'", (int)len, name);
	return -EACCES;
}

/* Is every row of @block of @host? */
static int check_hosts(const struct fleet_blocks *blocks, enum fleet_block block, uint64_t host,
		       struct buf *why)
{
	const size_t column = column_of(block, "host");

	for (uint64_t i = 0; i < blocks->of[block].row_cnt; i++)
		if (native_number(&blocks->of[block], column, i) != host)
			return deny_row(block, why);
	return 0;
}

/* The rows of table hosts: what the host is called. */
static int check_names(const struct relay_head *head, const struct fleet_blocks *blocks,
		       relay_may_fn *may, void *arg, struct buf *why)
{
	const struct native_block *block = &blocks->of[FLEET_HOSTS];
	struct reader ids = native_texts(block, column_of(FLEET_HOSTS, "id"));
	struct reader names = native_texts(block, column_of(FLEET_HOSTS, "name"));

	for (uint64_t i = 0; i < block->row_cnt; i++) {
		size_t id_len, name_len;
		const char *id = rb_text(&ids, &id_len), *name = rb_text(&names, &name_len);

		if (id_len != strlen(head->id) || memcmp(id, head->id, id_len) != 0)
			return deny_row(FLEET_HOSTS, why);
		if (!may(arg, name, name_len))
			return deny_name(name, name_len, why);
	}
	return 0;
}

/* Labels "host" of sources. */
static int check_labels(const struct fleet_blocks *blocks, relay_may_fn *may, void *arg,
			struct buf *why)
{
	const struct native_block *block = &blocks->of[FLEET_SOURCES];
	const size_t keys_column = column_of(FLEET_SOURCES, "keys");
	const size_t vals_column = column_of(FLEET_SOURCES, "vals");
	struct reader keys = native_texts(block, keys_column);
	struct reader vals = native_texts(block, vals_column);
	uint64_t end, at = 0;

	for (uint64_t i = 0; i < block->row_cnt; i++) {
		end = native_array_end(block, keys_column, i);
		if (native_array_end(block, vals_column, i) != end) {
			buf_add_str(why, "a source has labels without values");
			return -EBADMSG;
		}
		for (; at < end; at++) {
			size_t key_len, len;
			const char *key = rb_text(&keys, &key_len), *val = rb_text(&vals, &len);

			if (key_len == strlen("host") && !memcmp(key, "host", key_len) &&
			    !may(arg, val, len))
				return deny_name(val, len, why);
		}
	}
	return 0;
}

/* What rows there are, or what is said of them. */
struct tally {
	uint64_t rows, n;
};

/* A window's row comes behind those of its batches, and has as many rows as they in sum. */
static int add_ledger(const struct native_block *ledger, struct tally *sum, struct buf *why)
{
	const size_t kind_column = column_of(FLEET_BATCHES, "kind");
	const size_t rows_column = column_of(FLEET_BATCHES, "rows");
	const size_t n_column = column_of(FLEET_BATCHES, "n");
	const size_t seq_column = column_of(FLEET_BATCHES, "seq");
	uint64_t open_rows = 0, open_seq = 0;
	bool is_open = false;

	for (uint64_t i = 0; i < ledger->row_cnt; i++) {
		const uint64_t seq = native_number(ledger, seq_column, i);
		const uint64_t rows = native_number(ledger, rows_column, i);
		const bool is_window = native_number(ledger, kind_column, i) == FLEET_WINDOW_KIND;

		if ((is_open && seq != open_seq) || (is_window && rows != open_rows)) {
			buf_printf(why, "the ledger of window %" PRIu64 " is not whole", seq);
			return -EBADMSG;
		}
		is_open = !is_window;
		open_seq = seq;
		open_rows = is_window ? 0 : open_rows + rows;
		sum->rows += is_window ? 0 : rows;
		sum->n += is_window ? 0 : native_number(ledger, n_column, i);
	}
	if (!is_open)
		return 0;
	buf_printf(why, "the ledger has no row of window %" PRIu64, open_seq);
	return -EBADMSG;
}

static int check_ledger(const struct fleet_blocks *blocks, struct buf *why)
{
	const struct native_block *samples = &blocks->of[FLEET_SAMPLES];
	const size_t n_column = column_of(FLEET_SAMPLES, "n");
	struct tally told = {0}, there = {.rows = samples->row_cnt};
	int err = add_ledger(&blocks->of[FLEET_BATCHES], &told, why);

	if (err)
		return err;
	for (uint64_t i = 0; i < samples->row_cnt; i++)
		there.n += native_number(samples, n_column, i);
	if (told.rows == there.rows && told.n == there.n)
		return 0;
	buf_printf(why,
		   "the ledger has %" PRIu64 " rows with %" PRIu64 " in sum, the samples %" PRIu64
		   " with %" PRIu64,
		   told.rows, told.n, there.rows, there.n);
	return -EBADMSG;
}

int relay_message_check(const struct relay_head *head, const struct fleet_blocks *blocks,
			relay_may_fn *may, void *arg, struct buf *why)
{
	static const enum fleet_block with_host[] = {FLEET_HOSTS, FLEET_SOURCES, FLEET_SAMPLES,
						     FLEET_BATCHES};
	const uint64_t host = fleet_host(head->id);
	int err = 0;

	if (!may(arg, head->name, strlen(head->name)))
		return deny_name(head->name, strlen(head->name), why);
	for (size_t i = 0; i < sizeof(with_host) / sizeof(*with_host) && !err; i++)
		err = check_hosts(blocks, with_host[i], host, why);
	if (!err)
		err = check_names(head, blocks, may, arg, why);
	if (!err)
		err = check_labels(blocks, may, arg, why);
	return err ? err : check_ledger(blocks, why);
}
