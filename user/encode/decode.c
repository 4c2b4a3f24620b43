/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a profile of whatever kind: decompression, and telling the formats apart. */
#include "encode/decode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "encode/gzip.h"
#include "encode/pprof.h"

enum {
	PROFILE_MAX_BYTES = 1 << 30, /* uncompressed */
	SNIFF_BYTES = 4096
};

static int explain(int err, struct buf *why, const char *text)
{
	if (why)
		buf_add_str(why, text);
	return err;
}

/*
 * The content of @data in *@out and *@out_len: @data itself, or decompressed into @plain, which the
 * caller owns. 0 or negative errno with the reason in @why.
 */
static int unpack(const void *data, size_t len, struct buf *plain, struct buf *why,
		  const void **out, size_t *out_len)
{
	int err;

	if (!gzip_is(data, len)) {
		*out = data;
		*out_len = len;
		return len > PROFILE_MAX_BYTES
			       ? explain(-EFBIG, why, "the profile is larger than 1 GiB")
			       : 0;
	}
	err = gzip_inflate(data, len, plain);
	if (err == -EFBIG)
		return explain(err, why, "the profile is larger than 1 GiB uncompressed");
	if (err == -EBADMSG)
		return explain(err, why, "corrupt profile: the gzip data is damaged or cut short");
	*out = buf_cstr(plain);
	*out_len = plain->len;
	return err;
}

/* A first line of a name and a count, whatever bytes the name has but NUL. pprof files begin with a
 * line's end (the tag of their first field). */
static bool begins_with_stack(const uint8_t *bytes, size_t len)
{
	const uint8_t *end = memchr(bytes, '\n', len);
	size_t at = end ? (size_t)(end - bytes) : 0, digits;

	if (at && bytes[at - 1] == '\r')
		at--;
	for (digits = 0; at && bytes[at - 1] >= '0' && bytes[at - 1] <= '9'; at--)
		digits++;
	return digits && at > 1 && bytes[at - 1] == ' ' && !memchr(bytes, '\0', at);
}

/* What is text has no control bytes but in names of folded stacks; every pprof file has some right
 * at its start. */
static bool is_text(const void *data, size_t len)
{
	const uint8_t *bytes = data;

	len = len < SNIFF_BYTES ? len : SNIFF_BYTES;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] < ' ' && bytes[i] != '\t' && bytes[i] != '\n' && bytes[i] != '\r')
			return begins_with_stack(bytes, len);
	}
	return true;
}

static bool is_anything(const void *data, size_t len)
{
	return true;
}

/* An object begins with a key; the frame "{main}" of folded PHP does not. */
static bool is_json(const void *data, size_t len)
{
	_cleanup_(json_reader_deinit) struct json_reader js;
	char chr;

	json_reader_init(&js, data, len);
	if (json_peek(&js) != '{')
		return false;
	reader_skip(&js.rd, 1);
	chr = json_peek(&js);
	return chr == '"' || chr == '}';
}

static const struct decoder decoder_json = {"json", is_json, json_decode};
static const struct decoder decoder_perf_script = {
	"perf-script",
	perf_script_sniff,
	perf_script_decode,
};
static const struct decoder decoder_folded = {"folded", is_text, folded_decode};
static const struct decoder decoder_pprof = {"pprof", is_anything, pprof_read};

static const struct decoder *const decoders[] = {
	&decoder_json, &decoder_perf_script, &decoder_folded, &decoder_pprof, NULL,
};

const struct decoder *const *decoder_list(void)
{
	return decoders;
}

int profile_decode(const void *data, size_t len, struct profile *out, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf plain;
	const struct decoder *const *decoder = decoders;
	int err;

	buf_init(&plain, PROFILE_MAX_BYTES);
	err = unpack(data, len, &plain, why, &data, &len);
	if (err)
		return err;
	while (!(*decoder)->sniff(data, len))
		decoder++;
	return (*decoder)->decode(data, len, out, why);
}

int pprof_decode(const void *data, size_t len, struct profile *out, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf plain;
	int err;

	buf_init(&plain, PROFILE_MAX_BYTES);
	err = unpack(data, len, &plain, why, &data, &len);
	return err ? err : pprof_read(data, len, out, why);
}
