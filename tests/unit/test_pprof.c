/* SPDX-License-Identifier: Apache-2.0 */
/* pprof, written and read: nothing is lost on the way, and no file can hurt the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "encode/decode.h"
#include "encode/encoder.h"
#include "encode/gzip.h"
#include "encode/pprof.h"
#include "encode/protobuf.h"
#include "profile_dump.h"
#include "sample_profile.h"

static void encode(const struct profile *prof, const struct encoder *encoder, uint32_t value,
		   struct buf *out)
{
	const struct encoder_opts opts = {.value = value};

	buf_init(out, BUF_NO_MAX);
	assert_int_equal(encoder->encode(prof, &opts, out), 0);
}

static void encode_pprof(const struct profile *prof, struct buf *out)
{
	encode(prof, &encoder_pprof, PROFILE_NONE, out);
}

/* The file without its compression. */
static void encode_raw(const struct profile *prof, struct buf *out)
{
	struct buf packed;

	encode_pprof(prof, &packed);
	buf_init(out, BUF_NO_MAX);
	assert_int_equal(gzip_inflate(packed.data, packed.len, out), 0);
	buf_deinit(&packed);
}

static void read_golden(const char *path, struct buf *out)
{
	buf_init(out, BUF_NO_MAX);
	assert_int_equal(fs_read_file(path, out), 0);
}

static void assert_same_bytes(const struct buf *left, const struct buf *right)
{
	assert_int_equal(left->len, right->len);
	assert_memory_equal(left->data, right->data, left->len);
}

static void test_round_trip(void **state)
{
	struct profile prof, copy;
	struct buf file, again;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&copy), 0);
	sample_profile(&prof);
	sample_set_ledger(&prof);
	/* what is not UTF-8 is repaired on the way out: another test */
	for (size_t i = 0; i < prof.strings.bytes_len; i++) {
		if ((uint8_t)prof.strings.bytes[i] >= 0x80)
			prof.strings.bytes[i] = 'U';
	}
	encode_pprof(&prof, &file);
	assert_int_equal(profile_decode(file.data, file.len, &copy, NULL), 0);
	assert_same(&prof, &copy);
	encode_pprof(&copy, &again);
	assert_same_bytes(&file, &again);
	buf_deinit(&file);
	buf_deinit(&again);
	profile_deinit(&prof);
	profile_deinit(&copy);
}

static void test_ledger_survives(void **state)
{
	struct profile prof, copy;
	struct ledger ledger;
	struct buf file;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&copy), 0);
	sample_profile(&prof);
	sample_set_ledger(&prof);
	encode_pprof(&prof, &file);
	assert_int_equal(pprof_decode(file.data, file.len, &copy, NULL), 0);
	assert_int_equal(profile_get_ledger(&copy, &ledger), 0);
	assert_int_equal(ledger.events[0].sum.recorded, 5124);
	assert_true(ledger_balances(&ledger, NULL));
	ledger_deinit(&ledger);
	buf_deinit(&file);
	profile_deinit(&prof);
	profile_deinit(&copy);
}

static void test_golden(void **state)
{
	struct profile prof;
	struct buf raw, golden;

	assert_int_equal(profile_init(&prof), 0);
	sample_profile(&prof);
	encode_raw(&prof, &raw);
	read_golden("tests/golden/sample.pb", &golden);
	assert_same_bytes(&raw, &golden);
	buf_deinit(&raw);
	buf_deinit(&golden);
	profile_deinit(&prof);
}

/* A profile of Go's runtime, against the stacks that Go's own reader prints for it. */
static void test_profile_of_go(void **state)
{
	struct profile prof;
	struct buf file, golden, folded;

	assert_int_equal(profile_init(&prof), 0);
	read_golden("tests/golden/go-cpu.pb.gz", &file);
	read_golden("tests/golden/go-cpu.folded", &golden);
	assert_int_equal(profile_decode(file.data, file.len, &prof, NULL), 0);
	assert_int_equal(prof.default_value, 1); /* not named: the last */
	assert_int_equal(prof.period, 10000000);
	assert_int_equal(prof.mappings[0].flags, MAPPING_HAS_FUNCTIONS);
	assert_int_equal(strtab_find(&prof.strings, "task", 4) == STRTAB_NONE, 0);
	encode(&prof, &encoder_folded, 0, &folded);
	assert_string_equal(buf_cstr(&folded), buf_cstr(&golden));
	buf_deinit(&file);
	buf_deinit(&golden);
	buf_deinit(&folded);
	profile_deinit(&prof);
}

static void test_empty(void **state)
{
	struct profile prof, copy;
	struct buf file;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&copy), 0);
	profile_add_value_type(&prof, "samples", "count");
	encode_pprof(&prof, &file);
	assert_int_equal(pprof_decode(file.data, file.len, &copy, NULL), 0);
	assert_int_equal(copy.sample_cnt, 0);
	assert_int_equal(copy.value_type_cnt, 1);
	buf_deinit(&file);
	profile_deinit(&prof);
	profile_deinit(&copy);
}

static void test_invalid_utf8(void **state)
{
	struct profile prof, copy;
	struct buf file;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&copy), 0);
	sample_profile(&prof);
	encode_pprof(&prof, &file);
	assert_int_equal(profile_decode(file.data, file.len, &copy, NULL), 0);
	assert_int_not_equal(strtab_find(&copy.strings, "caf\xc3\xa9 ?( ???", 13), STRTAB_NONE);
	assert_int_not_equal(strtab_find(&copy.strings, "bad?;comm\n", 10), STRTAB_NONE);
	buf_deinit(&file);
	profile_deinit(&prof);
	profile_deinit(&copy);
}

/* A number 0 without unit and a text "" are different labels, also in a format without nulls. */
static void test_empty_labels(void **state)
{
	struct profile prof, copy;
	struct profile_label label;
	struct buf file;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&copy), 0);
	profile_add_value_type(&prof, "samples", "count");
	label = (struct profile_label){.key = profile_string(&prof, "k"), .str = STRTAB_EMPTY};
	profile_sample(&prof, profile_stack(&prof, NULL, 0), profile_labels(&prof, &label, 1),
		       (int64_t[]){1});
	label.str = PROFILE_NONE;
	profile_sample(&prof, profile_stack(&prof, NULL, 0), profile_labels(&prof, &label, 1),
		       (int64_t[]){2});
	encode_pprof(&prof, &file);
	assert_int_equal(pprof_decode(file.data, file.len, &copy, NULL), 0);
	assert_int_equal(copy.sample_cnt, 2);
	assert_same(&prof, &copy);
	buf_deinit(&file);
	profile_deinit(&prof);
	profile_deinit(&copy);
}

/* --- Files as others may write them, made field by field --- */

static void add_strings(struct buf *file, const char *const *strings)
{
	for (; *strings; strings++)
		pb_add_bytes(file, PPROF_STRING_TABLE, *strings, strlen(*strings));
}

static void add_type(struct buf *file, uint64_t type, uint64_t unit)
{
	size_t begin = pb_begin(file, PPROF_SAMPLE_TYPE);

	pb_add_nonzero(file, PPROF_VALUE_TYPE_TYPE, type);
	pb_add_nonzero(file, PPROF_VALUE_TYPE_UNIT, unit);
	pb_end(file, begin);
}

static void add_function(struct buf *file, uint64_t id, uint64_t name)
{
	size_t begin = pb_begin(file, PPROF_FUNCTION);

	pb_add_nonzero(file, PPROF_FUNCTION_NAME, name);
	pb_add_nonzero(file, PPROF_FUNCTION_ID, id);
	pb_end(file, begin);
}

static void add_mapping(struct buf *file, uint64_t id, uint64_t path, uint64_t start)
{
	size_t begin = pb_begin(file, PPROF_MAPPING);

	pb_add_nonzero(file, PPROF_MAPPING_ID, id);
	pb_add_nonzero(file, PPROF_MAPPING_START, start);
	pb_add_nonzero(file, PPROF_MAPPING_LIMIT, start + 0x1000);
	pb_add_nonzero(file, PPROF_MAPPING_FILENAME, path);
	pb_end(file, begin);
}

/* @function 0: no line. */
static void add_location(struct buf *file, uint64_t id, uint64_t mapping, uint64_t address,
			 uint64_t function)
{
	size_t begin = pb_begin(file, PPROF_LOCATION), line;

	pb_add_nonzero(file, PPROF_LOCATION_ID, id);
	pb_add_nonzero(file, PPROF_LOCATION_MAPPING_ID, mapping);
	pb_add_nonzero(file, PPROF_LOCATION_ADDRESS, address);
	if (function) {
		line = pb_begin(file, PPROF_LOCATION_LINE);
		pb_add_nonzero(file, PPROF_LINE_FUNCTION_ID, function);
		pb_end(file, line);
	}
	pb_end(file, begin);
}

/* One value, repeated fields not packed. */
static void add_sample(struct buf *file, const uint64_t *locations, size_t cnt, uint64_t value)
{
	size_t begin = pb_begin(file, PPROF_SAMPLE);

	pb_add_uint(file, PPROF_SAMPLE_VALUE, value);
	for (size_t i = 0; i < cnt; i++)
		pb_add_uint(file, PPROF_SAMPLE_LOCATION_ID, locations[i]);
	pb_end(file, begin);
}

/* Every reference before what it refers to, ids sparse, huge and unordered, fields of the future.
 */
static void foreign_file(struct buf *file)
{
	static const char *const strings[] = {"",     "samples",	   "count",  "main",
					      "leaf", "[kernel.kallsyms]", "/bin/x", NULL};

	add_sample(file, (uint64_t[]){UINT64_MAX, 77}, 2, 3);
	add_sample(file, (uint64_t[]){5}, 1, 4);
	add_location(file, 77, 900, 0x401000, 12);
	add_location(file, UINT64_MAX, 8, 0xffffffff81000000, 3);
	add_location(file, 5, 900, 0x402000, 0);
	pb_add_uint(file, PPROF_COMMENT, 6);
	pb_add_bytes(file, PPROF_COMMENT, "\x06\x03", 2); /* packed, one of them again */
	pb_add_bytes(file, 4000, "future", 6);
	pb_add_uint(file, 500, 7);
	pb_add_varint(file, 99 << 3 | PB_FIXED32);
	buf_add(file, "1234", 4);
	pb_add_varint(file, 98 << 3 | PB_FIXED64);
	buf_add(file, "12345678", 8);
	add_function(file, 12, 3);
	add_function(file, 3, 4);
	add_mapping(file, 900, 6, 0x400000);
	add_mapping(file, 8, 5, 0xffffffff80000000);
	add_type(file, 1, 2);
	add_strings(file, strings);
}

static void test_foreign_file(void **state)
{
	struct profile prof;
	struct buf file, folded;

	assert_int_equal(profile_init(&prof), 0);
	buf_init(&file, BUF_NO_MAX);
	foreign_file(&file);
	assert_int_equal(profile_decode(file.data, file.len, &prof, NULL), 0);
	encode(&prof, &encoder_folded, PROFILE_NONE, &folded);
	assert_string_equal(buf_cstr(&folded), "[x+0x402000] 4\nmain;leaf 3\n");
	assert_int_equal(prof.location_cnt, 3);
	assert_int_equal(prof.locations[1].flags, LOCATION_KERNEL);
	assert_int_equal(prof.locations[0].flags, 0);
	assert_int_equal(prof.comment_cnt, 2);
	assert_string_equal(profile_str(&prof, prof.comments[0]), "/bin/x");
	assert_string_equal(profile_str(&prof, prof.comments[1]), "main");
	buf_deinit(&file);
	buf_deinit(&folded);
	profile_deinit(&prof);
}

/* The same image at two addresses, as two processes of one file see it: one mapping, one frame. */
static void test_one_image_twice(void **state)
{
	static const char *const strings[] = {"", "samples", "count", "/bin/x", NULL};
	struct profile prof;
	struct buf file;

	assert_int_equal(profile_init(&prof), 0);
	buf_init(&file, BUF_NO_MAX);
	add_mapping(&file, 1, 3, 0x550000000000);
	add_mapping(&file, 2, 3, 0x560000000000);
	add_location(&file, 1, 1, 0x550000000123, 0);
	add_location(&file, 2, 2, 0x560000000123, 0);
	add_sample(&file, (uint64_t[]){1}, 1, 1);
	add_sample(&file, (uint64_t[]){2}, 1, 1);
	add_type(&file, 1, 2);
	add_strings(&file, strings);
	assert_int_equal(pprof_decode(file.data, file.len, &prof, NULL), 0);
	assert_int_equal(prof.mapping_cnt, 1);
	assert_int_equal(prof.location_cnt, 1);
	assert_int_equal(prof.sample_cnt, 1);
	assert_int_equal(profile_total(&prof, 0), 2);
	buf_deinit(&file);
	profile_deinit(&prof);
}

static void assert_corrupt(struct buf *file, const char *reason)
{
	struct profile prof;
	struct buf why;

	assert_int_equal(profile_init(&prof), 0);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(pprof_decode(buf_cstr(file), file->len, &prof, &why), -EBADMSG);
	assert_string_equal(buf_cstr(&why), reason);
	buf_deinit(&why);
	buf_deinit(file);
	profile_deinit(&prof);
}

/* Strings and one value type, to be made wrong in one thing. */
static void begin_file(struct buf *file)
{
	static const char *const strings[] = {"", "samples", "count", NULL};

	buf_init(file, BUF_NO_MAX);
	add_strings(file, strings);
	add_type(file, 1, 2);
}

static void test_bad_references(void **state)
{
	struct buf file;

	begin_file(&file);
	add_type(&file, 3, 2);
	assert_corrupt(&file, "corrupt profile: sample type 1 refers to string 3, "
			      "which is not there");
	begin_file(&file);
	add_function(&file, 1, 1ULL << 40);
	assert_corrupt(&file, "corrupt profile: function 0 refers to string 1099511627776, "
			      "which is not there");
	begin_file(&file);
	add_location(&file, 1, 4, 0, 0);
	assert_corrupt(&file, "corrupt profile: location 0 refers to mapping 4, "
			      "which is not there");
	begin_file(&file);
	add_location(&file, 1, 0, 0, 9);
	assert_corrupt(&file, "corrupt profile: location 0 refers to function 9, "
			      "which is not there");
	begin_file(&file);
	add_sample(&file, NULL, 0, 1);
	add_sample(&file, (uint64_t[]){99}, 1, 1);
	assert_corrupt(&file, "corrupt profile: sample 1 refers to location 99, "
			      "which is not there");
	begin_file(&file);
	pb_add_uint(&file, PPROF_COMMENT, 3);
	assert_corrupt(&file, "corrupt profile: comment 0 refers to string 3, "
			      "which is not there");
}

static void test_bad_ids(void **state)
{
	struct buf file;

	begin_file(&file);
	add_function(&file, 0, 1);
	assert_corrupt(&file, "corrupt profile: function 0 has id 0");
	begin_file(&file);
	add_location(&file, 7, 0, 1, 0);
	add_location(&file, 5, 0, 2, 0);
	add_location(&file, 7, 0, 3, 0);
	assert_corrupt(&file, "corrupt profile: there are two locations with id 7");
}

static void test_bad_structure(void **state)
{
	struct buf file;

	begin_file(&file);
	add_type(&file, 2, 1);
	add_sample(&file, NULL, 0, 1);
	assert_corrupt(&file, "corrupt profile: sample 0 has 1 values where the profile has 2 "
			      "value types");
	buf_init(&file, BUF_NO_MAX);
	assert_corrupt(&file, "corrupt profile: it is empty");
	buf_init(&file, BUF_NO_MAX);
	pb_add_bytes(&file, PPROF_STRING_TABLE, "x", 1);
	assert_corrupt(&file, "corrupt profile: string 0 should be empty");
	begin_file(&file);
	pb_add_uint(&file, PPROF_SAMPLE, 3);
	assert_corrupt(&file, "corrupt profile: sample 0 is malformed or cut short");
	begin_file(&file);
	for (int i = 1; i < PROFILE_VALUES_MAX; i++)
		add_type(&file, 1, 2);
	add_type(&file, 1, 2);
	assert_corrupt(&file, "corrupt profile: sample type 24 is one more than the 24 that are "
			      "supported");
	begin_file(&file);
	pb_add_varint(&file, PPROF_SAMPLE << 3 | PB_BYTES);
	pb_add_varint(&file, 1000);
	buf_add_str(&file, "short");
	assert_corrupt(&file, "corrupt profile: byte 27 is malformed or cut short");
}

/* --- Compression --- */

static int decode_quietly(const void *data, size_t len)
{
	struct profile prof;
	int err;

	assert_int_equal(profile_init(&prof), 0);
	err = profile_decode(data, len, &prof, NULL);
	profile_deinit(&prof);
	return err;
}

static void test_gzip_members(void **state)
{
	struct profile prof;
	struct buf raw, file;

	assert_int_equal(profile_init(&prof), 0);
	sample_profile(&prof);
	encode_raw(&prof, &raw);
	buf_init(&file, BUF_NO_MAX);
	for (size_t at = 0; at < raw.len; at += 100) {
		struct gzip_writer gzip;

		gzip_writer_init(&gzip, &file);
		gzip_writer_add(&gzip, raw.data + at, raw.len - at < 100 ? raw.len - at : 100);
		assert_int_equal(gzip_writer_finish(&gzip), 0);
	}
	assert_int_equal(decode_quietly(file.data, file.len), 0);
	buf_add_str(&file, "more");
	assert_int_equal(decode_quietly(file.data, file.len), -EBADMSG);
	buf_deinit(&file);
	buf_deinit(&raw);
	profile_deinit(&prof);
}

static void test_bomb(void **state)
{
	enum { MEMBER_BYTES = 16 << 20 };
	struct buf member, file, why;
	struct gzip_writer gzip;
	struct profile prof;
	char *zeros = calloc(1, MEMBER_BYTES);

	buf_init(&member, BUF_NO_MAX);
	buf_init(&file, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	gzip_writer_init(&gzip, &member);
	gzip_writer_add(&gzip, zeros, MEMBER_BYTES);
	assert_int_equal(gzip_writer_finish(&gzip), 0);
	for (int i = 0; i < 65; i++)
		buf_add(&file, member.data, member.len);
	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(pprof_decode(file.data, file.len, &prof, &why), -EFBIG);
	assert_string_equal(buf_cstr(&why), "the profile is larger than 1 GiB uncompressed");
	profile_deinit(&prof);
	buf_deinit(&why);
	buf_deinit(&file);
	buf_deinit(&member);
	free(zeros);
}

static void test_truncated(void **state)
{
	struct profile prof;
	struct buf file, raw;

	assert_int_equal(profile_init(&prof), 0);
	sample_profile(&prof);
	encode_pprof(&prof, &file);
	for (size_t len = 2; len < file.len; len++)
		assert_int_equal(decode_quietly(file.data, len), -EBADMSG);
	encode_raw(&prof, &raw);
	/* Without compression a cut between two messages can leave a whole, smaller profile. */
	for (size_t len = 1; len < raw.len; len++) {
		char *exact = malloc(len);
		int err;

		memcpy(exact, raw.data, len);
		err = decode_quietly(exact, len);
		assert_true(err == 0 || err == -EBADMSG);
		free(exact);
	}
	buf_deinit(&file);
	buf_deinit(&raw);
	profile_deinit(&prof);
}

/* Every byte of a valid file replaced by some others. */
static void test_damaged(void **state)
{
	static const uint8_t masks[] = {0x01, 0x08, 0x80, 0xff};
	struct profile prof;
	struct buf raw;
	int bad_cnt = 0;

	assert_int_equal(profile_init(&prof), 0);
	sample_profile(&prof);
	encode_raw(&prof, &raw);
	for (size_t i = 0; i < raw.len; i++) {
		for (size_t j = 0; j < sizeof(masks); j++) {
			int err;

			raw.data[i] = (char)(raw.data[i] ^ masks[j]);
			err = decode_quietly(raw.data, raw.len);
			assert_true(err == 0 || err == -EBADMSG);
			bad_cnt += err != 0;
			raw.data[i] = (char)(raw.data[i] ^ masks[j]);
		}
	}
	assert_true(bad_cnt > 500);
	buf_deinit(&raw);
	profile_deinit(&prof);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),	cmocka_unit_test(test_ledger_survives),
		cmocka_unit_test(test_golden),		cmocka_unit_test(test_profile_of_go),
		cmocka_unit_test(test_empty),		cmocka_unit_test(test_invalid_utf8),
		cmocka_unit_test(test_empty_labels),	cmocka_unit_test(test_foreign_file),
		cmocka_unit_test(test_one_image_twice), cmocka_unit_test(test_bad_references),
		cmocka_unit_test(test_bad_ids),		cmocka_unit_test(test_bad_structure),
		cmocka_unit_test(test_gzip_members),	cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_truncated),	cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("encode/pprof", tests, NULL, NULL);
}
