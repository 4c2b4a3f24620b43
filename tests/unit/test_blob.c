/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed bytes: they come back where they belong, and nothing else passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/hmap.h"
#include "encode/protobuf.h"
#include "store/blob.h"

static const char text[] = "text that is stored, text that is stored, text that is stored";

static void pack_text(struct buf *out)
{
	struct buf raw;

	buf_init(&raw, BUF_NO_MAX);
	buf_init(out, BUF_NO_MAX);
	buf_add_str(&raw, text);
	assert_int_equal(blob_pack(&raw, 1, BLOB_LEVEL_NOW, out), 0);
	buf_deinit(&raw);
}

/* A blob of a right seal, whatever it holds: a length and a frame of zstd of @raw. */
static void seal(const char *raw, uint64_t len, struct buf *out)
{
	char frame[256];
	size_t frame_len = ZSTD_compress(frame, sizeof(frame), raw, strlen(raw), 1);
	uint64_t sum;

	assert_false(ZSTD_isError(frame_len));
	buf_reset(out);
	buf_add(out, "\1\0\0\0\0\0\0\0\0", 9);
	pb_add_varint(out, len);
	buf_add(out, frame, frame_len);
	sum = htole64(hash_mix(hash_bytes(out->data + 9, out->len - 9), 1));
	memcpy(out->data + 1, &sum, sizeof(sum));
}

static void test_round_trip(void **state)
{
	struct buf packed, raw;

	pack_text(&packed);
	buf_init(&raw, BUF_NO_MAX);
	buf_add_str(&raw, "before: ");
	assert_int_equal(blob_unpack(packed.data, packed.len, 1, &raw), 0);
	assert_string_equal(buf_cstr(&raw) + strlen("before: "), text);
	buf_deinit(&packed);

	/* Nothing at all is something, too. */
	buf_reset(&raw);
	buf_init(&packed, BUF_NO_MAX);
	assert_int_equal(blob_pack(&raw, 1, BLOB_LEVEL_LATER, &packed), 0);
	assert_int_equal(blob_unpack(packed.data, packed.len, 1, &raw), 0);
	assert_int_equal(raw.len, 0);
	buf_deinit(&packed);
	buf_deinit(&raw);
}

/* No bit may be another one, no byte be missing, no other place be meant. */
static void test_damage(void **state)
{
	struct buf packed, raw;

	pack_text(&packed);
	buf_init(&raw, BUF_NO_MAX);
	for (size_t bit = 0; bit < packed.len * 8; bit++) {
		packed.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(blob_unpack(packed.data, packed.len, 1, &raw), -EBADMSG);
		packed.data[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t len = 0; len < packed.len; len++)
		assert_int_equal(blob_unpack(packed.data, len, 1, &raw), -EBADMSG);
	assert_int_equal(blob_unpack(packed.data, packed.len, 2, &raw), -EBADMSG);
	assert_int_equal(raw.len, 0);
	buf_deinit(&packed);
	buf_deinit(&raw);
}

/* Who can write a right seal can still not make us allocate, nor take what is not there. */
static void test_lies(void **state)
{
	struct buf blob, raw;

	buf_init(&blob, BUF_NO_MAX);
	buf_init(&raw, BUF_NO_MAX);
	seal(text, strlen(text), &blob);
	assert_int_equal(blob_unpack(blob.data, blob.len, 1, &raw), 0);
	assert_string_equal(buf_cstr(&raw), text);
	buf_reset(&raw);
	seal(text, strlen(text) - 1, &blob);
	assert_int_equal(blob_unpack(blob.data, blob.len, 1, &raw), -EBADMSG);
	seal(text, strlen(text) + 1, &blob);
	assert_int_equal(blob_unpack(blob.data, blob.len, 1, &raw), -EBADMSG);
	seal(text, BLOB_MAX_BYTES + 1, &blob);
	assert_int_equal(blob_unpack(blob.data, blob.len, 1, &raw), -EBADMSG);
	seal(text, UINT64_MAX, &blob);
	assert_int_equal(blob_unpack(blob.data, blob.len, 1, &raw), -EBADMSG);
	assert_int_equal(raw.len, 0);
	assert_true(raw.cap < 1 << 20);
	buf_deinit(&blob);
	buf_deinit(&raw);
}

/* What failed before is not stored, nor what is too long. */
static void test_refused(void **state)
{
	struct buf raw, out;

	buf_init(&raw, BUF_NO_MAX);
	buf_init(&out, BUF_NO_MAX);
	raw.err = -EFBIG;
	assert_int_equal(blob_pack(&raw, 1, BLOB_LEVEL_NOW, &out), -EFBIG);
	raw.err = 0;
	raw.data = calloc(1, BLOB_MAX_BYTES + 2);
	assert_non_null(raw.data);
	raw.len = BLOB_MAX_BYTES + 1;
	raw.cap = raw.len + 1;
	assert_int_equal(blob_pack(&raw, 1, BLOB_LEVEL_NOW, &out), -E2BIG);
	assert_int_equal(out.len, 0);
	buf_reset(&raw);
	buf_add_str(&raw, text);
	out.err = -ENOMEM;
	assert_int_equal(blob_pack(&raw, 1, BLOB_LEVEL_NOW, &out), -ENOMEM);
	out.err = 0;
	assert_int_equal(blob_pack(&raw, 1, BLOB_LEVEL_NOW, &out), 0);
	raw.err = -ENOMEM;
	assert_int_equal(blob_unpack(out.data, out.len, 1, &raw), -ENOMEM);
	raw.err = 0;
	buf_deinit(&raw);
	buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
