/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/relay_symbols.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "base/seal.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"
#include "sink/relay.h"

enum {
	STATUS_TOO_LARGE = 413,
	TABLE_BYTES_MAX = 64 << 20, /* for which a request has time, besides */
};

static const struct seal message_seal = {
	.magic = {'B', 'P', 'F', 'S', 'Y', 'M', 'B', 'S'},
	.format = RELAY_SYMBOLS_VERSION,
	.rules = FLEET_SCHEMA_VERSION,
};

static const struct seal answer_seal = {
	.magic = {'B', 'P', 'F', 'W', 'A', 'N', 'T', 'S'},
	.format = RELAY_SYMBOLS_VERSION,
	.rules = FLEET_SCHEMA_VERSION,
};

/* --- Seals --- */

/* What is in @out from @begin on has a seal without its checksum. 0 or -ENOMEM. */
static int end_seal(struct buf *out, size_t begin)
{
	struct seal seal;

	if (out->err)
		return out->err;
	memcpy(&seal, out->data + begin, sizeof(seal));
	seal.checksum = seal_checksum(out->data + begin, out->len - begin);
	memcpy(out->data + begin, &seal, sizeof(seal));
	return 0;
}

/* @rd is over what is behind the seal. */
static int take_seal(const void *data, size_t len, const struct seal *wanted, struct reader *rd)
{
	struct seal seal;
	int err;

	if (len < sizeof(seal))
		return -EBADMSG;
	memcpy(&seal, data, sizeof(seal));
	err = seal_check(&seal, wanted);
	if (err)
		return err;
	if (seal_checksum(data, len) != seal.checksum)
		return -EILSEQ;
	reader_init(rd, (const char *)data + sizeof(seal), len - sizeof(seal));
	return 0;
}

bool relay_is_build_id(const char *text)
{
	uint8_t bytes[RELAY_BUILD_ID_MAX / 2];

	return hex_parse(text, bytes, sizeof(bytes)) > 0;
}

/* --- Messages --- */

int relay_symbols_write(const struct relay_symbols *symbols, struct buf *out)
{
	const size_t begin = out->len;

	buf_add(out, &message_seal, sizeof(message_seal));
	rb_add_u8(out, (uint8_t)symbols->step);
	rb_add_u64(out, symbols->host);
	rb_add_str(out, symbols->format);
	rb_add_str(out, symbols->build_id);
	rb_add_str(out, symbols->path);
	buf_add(out, symbols->table, symbols->table_len);
	return end_seal(out, begin);
}

/* Is there what its step needs, and nothing else? */
static bool is_whole(const struct relay_symbols *symbols)
{
	if (!symbols->host || symbols->host == UINT64_MAX || !*symbols->format)
		return false;
	switch (symbols->step) {
	case RELAY_SYMBOLS_ASK:
		return !*symbols->build_id && !*symbols->path && !symbols->table_len;
	case RELAY_SYMBOLS_CLAIM:
		return relay_is_build_id(symbols->build_id) && !symbols->table_len;
	case RELAY_SYMBOLS_TABLE:
		return relay_is_build_id(symbols->build_id) && symbols->table_len;
	default:
		return false;
	}
}

int relay_symbols_read(const void *data, size_t len, struct relay_symbols *out)
{
	struct relay_symbols symbols = {.table = NULL};
	struct reader rd;
	int err = take_seal(data, len, &message_seal, &rd);

	if (err)
		return err;
	symbols.step = reader_u8(&rd);
	symbols.host = reader_u64(&rd);
	rb_copy_text(&rd, symbols.format, sizeof(symbols.format));
	rb_copy_text(&rd, symbols.build_id, sizeof(symbols.build_id));
	rb_copy_text(&rd, symbols.path, sizeof(symbols.path));
	symbols.table_len = rd.err ? 0 : reader_left(&rd);
	symbols.table = symbols.table_len ? rd.pos : NULL;
	if (rd.err || !is_whole(&symbols))
		return -EBADMSG;
	*out = symbols;
	return 0;
}

/* --- Answers --- */

void relay_answer_begin(enum relay_symbols_answer answer, struct buf *out)
{
	buf_add(out, &answer_seal, sizeof(answer_seal));
	rb_add_u8(out, (uint8_t)answer);
}

void relay_answer_add(const char *build_id, const char *path, bool needs_lines, struct buf *out)
{
	rb_add_str(out, build_id);
	rb_add_str(out, path);
	rb_add_u8(out, needs_lines);
}

int relay_answer_end(struct buf *out)
{
	return end_seal(out, 0);
}

int relay_answer_read(const void *data, size_t len, enum relay_symbols_answer *out,
		      relay_wanted_fn *take, void *arg)
{
	struct relay_wanted wanted;
	struct reader rd;
	uint8_t answer;
	int err = take_seal(data, len, &answer_seal, &rd);

	if (err)
		return err;
	answer = reader_u8(&rd);
	if (answer < RELAY_SYMBOLS_WANTED || answer > RELAY_SYMBOLS_STORED)
		return -EBADMSG;
	while (!err && !reader_done(&rd)) {
		rb_copy_text(&rd, wanted.build_id, sizeof(wanted.build_id));
		rb_copy_text(&rd, wanted.path, sizeof(wanted.path));
		wanted.needs_lines = reader_u8(&rd);
		if (rd.err || answer != RELAY_SYMBOLS_WANTED || !relay_is_build_id(wanted.build_id))
			return -EBADMSG;
		err = take ? take(arg, &wanted) : 0;
	}
	if (!err)
		*out = answer;
	return err;
}

/* --- A host's side --- */

static const struct remote_kind kind = {
	RELAY_REMOTE_KIND,
	.path = RELAY_SYMBOLS_PATH,
	.body_bytes_max = TABLE_BYTES_MAX,
};

bool relay_symbols_is_url(const char *url)
{
	return remote_is_url(&kind, url);
}

int relay_symbols_open(const char *url, const struct sink_opts *opts, struct remote **out,
		       struct buf *why)
{
	struct sink *sink;
	int err = remote_open(&kind, url, opts, &sink, why);

	if (!err)
		*out = (struct remote *)sink;
	return err;
}

int relay_symbols_send(struct remote *remote, const struct relay_symbols *symbols,
		       enum relay_symbols_answer *out, relay_wanted_fn *take, void *arg,
		       struct buf *why)
{
	_cleanup_(buf_deinit) struct buf body;
	_cleanup_(buf_deinit) struct buf answer;
	int err;

	buf_init(&body, BUF_NO_MAX);
	buf_init(&answer, BUF_NO_MAX);
	remote->status = 0;
	err = relay_symbols_write(symbols, &body);
	if (!err)
		err = remote_post(remote, &body, &answer, why);
	if (err)
		return remote->status == STATUS_TOO_LARGE ? -EFBIG : err;
	err = relay_answer_read(buf_cstr(&answer), answer.len, out, take, arg);
	if (err == -EBADMSG || err == -EILSEQ || err == -ESTALE) {
		buf_add_str(why,
			    "what answers there is no relay of bpfprof, or of another version");
		return -EPROTO;
	}
	return err;
}
