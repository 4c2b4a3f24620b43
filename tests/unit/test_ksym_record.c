/* SPDX-License-Identifier: Apache-2.0 */
/* Records of kernel code that comes and goes: as the kernel writes them, and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "proc/ksym_record.h"

struct bytes {
	uint8_t data[512];
	size_t len;
};

static void add(struct bytes *bytes, const void *data, size_t len)
{
	assert_true(bytes->len + len <= sizeof(bytes->data));
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

static void add_header(struct bytes *bytes, uint32_t type, size_t size)
{
	struct perf_event_header header = {.type = type, .size = (uint16_t)size};

	add(bytes, &header, sizeof(header));
}

/* perf_event_ksymbol_output(): the name with its NUL, padded to 8 bytes, and the time. */
static void add_ksymbol(struct bytes *bytes, const char *name, uint16_t flags, uint64_t time_ns)
{
	size_t name_len = (strlen(name) / 8 + 1) * 8;
	uint64_t ip = 0xffffffffc0001000;
	uint32_t len = 0x123;
	uint16_t type = PERF_RECORD_KSYMBOL_TYPE_BPF;
	char padded[64] = {0};

	memcpy(padded, name, strlen(name));
	add_header(bytes, PERF_RECORD_KSYMBOL, 8 + 16 + name_len + 8);
	add(bytes, &ip, sizeof(ip));
	add(bytes, &len, sizeof(len));
	add(bytes, &type, sizeof(type));
	add(bytes, &flags, sizeof(flags));
	add(bytes, padded, name_len);
	add(bytes, &time_ns, sizeof(time_ns));
}

static struct reader reader_of(const struct bytes *bytes)
{
	struct reader rd;

	reader_init(&rd, bytes->data, bytes->len);
	return rd;
}

static void test_records(void **state)
{
	static const uint64_t zeroes[3];
	struct bytes bytes = {.len = 0};
	struct ksym_record record;
	struct reader rd;

	add_ksymbol(&bytes, "bpf_prog_6deef7357e7b4530_sd_fw", 0, 77);
	add_ksymbol(&bytes, "kprobe", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, 78);
	add_header(&bytes, PERF_RECORD_LOST, 8 + sizeof(zeroes));
	add(&bytes, zeroes, sizeof(zeroes));
	add_header(&bytes, PERF_RECORD_EXIT, 8 + sizeof(zeroes));
	add(&bytes, zeroes, sizeof(zeroes));
	rd = reader_of(&bytes);
	assert_true(ksym_record_next(&rd, &record));
	assert_int_equal(record.kind, KSYM_RECORD_CAME);
	assert_int_equal(record.ip, 0xffffffffc0001000);
	assert_int_equal(record.code_bytes, 0x123);
	assert_int_equal(record.time_ns, 77);
	assert_string_equal(record.name, "bpf_prog_6deef7357e7b4530_sd_fw");
	assert_true(ksym_record_next(&rd, &record));
	assert_int_equal(record.kind, KSYM_RECORD_WENT);
	assert_int_equal(record.time_ns, 78);
	assert_string_equal(record.name, "kprobe");
	assert_true(ksym_record_next(&rd, &record));
	assert_int_equal(record.kind, KSYM_RECORD_LOST);
	assert_true(ksym_record_next(&rd, &record));
	assert_int_equal(record.kind, KSYM_RECORD_OTHER);
	assert_false(ksym_record_next(&rd, &record));
	assert_int_equal(rd.err, 0);
}

/* Cut anywhere: no record, an error, and what is there is untouched. */
static void test_cut(void **state)
{
	struct bytes whole = {.len = 0};

	add_ksymbol(&whole, "name", 0, 77);
	for (size_t len = 1; len < whole.len; len++) {
		struct ksym_record record = {.name = "untouched"};
		uint8_t *copy = malloc(len); /* ASan sees a read too far */
		struct reader rd;

		assert_non_null(copy);
		memcpy(copy, whole.data, len);
		reader_init(&rd, copy, len);
		assert_false(ksym_record_next(&rd, &record));
		assert_int_not_equal(rd.err, 0);
		assert_string_equal(record.name, "untouched");
		free(copy);
	}
}

/* Sizes that cannot be: less than a header, no room for the time, a name without an end. */
static void test_malformed(void **state)
{
	static const size_t sizes[] = {0, 7, 8, 16, 24, 31};
	struct ksym_record record;
	struct bytes bytes;
	struct reader rd;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct perf_event_header *header = (void *)bytes.data;

		bytes.len = 0;
		add_ksymbol(&bytes, "name", 0, 77);
		header->size = (uint16_t)sizes[i];
		rd = reader_of(&bytes);
		assert_false(ksym_record_next(&rd, &record));
		assert_int_not_equal(rd.err, 0);
	}
	bytes.len = 0;
	add_ksymbol(&bytes, "name", 0, UINT64_MAX);
	memset(bytes.data + 24, 'x', bytes.len - 24);
	rd = reader_of(&bytes);
	assert_false(ksym_record_next(&rd, &record));
	assert_int_not_equal(rd.err, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
