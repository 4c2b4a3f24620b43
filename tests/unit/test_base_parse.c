/* SPDX-License-Identifier: Apache-2.0 */
/* Values as people type them: units, fractions, overflow, lists of CPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/parse.h"

typedef int parse_fn(const char *str, uint64_t *out);

struct value_case {
	const char *str;
	int err;
	uint64_t value;
};

enum { UNTOUCHED = 0x5a5a };

static void check_cases(parse_fn *parse, const struct value_case *cases, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		uint64_t value = UNTOUCHED;
		int err = parse(cases[i].str, &value);

		if (err != cases[i].err || value != (err ? UNTOUCHED : cases[i].value))
			fail_msg("'%s': err %d, value %llu", cases[i].str, err,
				 (unsigned long long)value);
	}
}

#define CHECK_CASES(parse, cases) check_cases(parse, cases, sizeof(cases) / sizeof((cases)[0]))

static void test_u64(void **state)
{
	static const struct value_case cases[] = {
		{"0", 0, 0},
		{"007", 0, 7},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999999999", -ERANGE, 0},
		{"99999999999999999999999999x", -EINVAL, 0},
		{"0x0", 0, 0},
		{"0xfFfF", 0, 0xffff},
		{"0XfF", 0, 0xff},
		{"0xffffffffffffffff", 0, UINT64_MAX},
		{"0x10000000000000000", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"0x", -EINVAL, 0},
		{"x", -EINVAL, 0},
		{"ff", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1k", -EINVAL, 0},
		{"1\n", -EINVAL, 0},
	};

	CHECK_CASES(parse_u64, cases);
}

static void test_bytes(void **state)
{
	static const struct value_case cases[] = {
		{"4096", 0, 4096},
		{"64k", 0, 65536},
		{"64K", 0, 65536},
		{"10M", 0, 10485760},
		{"2G", 0, UINT64_C(2147483648)},
		{"1T", 0, UINT64_C(1) << 40},
		{"16777215T", 0, UINT64_C(16777215) << 40},
		{"16777216T", -ERANGE, 0},
		{"18446744073709551616", -ERANGE, 0},
		{"18446744073709551616k", -ERANGE, 0},
		{"18446744073709551616q", -EINVAL, 0},
		{"k", -EINVAL, 0},
		{"1kk", -EINVAL, 0},
		{"1.5k", -EINVAL, 0},
		{"-1k", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
	};

	CHECK_CASES(parse_bytes, cases);
}

static void test_count(void **state)
{
	static const struct value_case cases[] = {
		{"1000", 0, 1000},
		{"64k", 0, 64000},
		{"10M", 0, 10000000},
		{"3G", 0, UINT64_C(3000000000)},
		{"18446744T", 0, UINT64_C(18446744000000000000)},
		{"18446745T", -ERANGE, 0},
		{"1 k", -EINVAL, 0},
		{"10ms", -EINVAL, 0},
	};

	CHECK_CASES(parse_count, cases);
}

static void test_duration(void **state)
{
	static const struct value_case cases[] = {
		{"30", 0, UINT64_C(30000000000)},
		{"0", 0, 0},
		{"0.5", 0, 500000000},
		{"1.000000001", 0, 1000000001},
		{"0.0000000009", 0, 0},
		{"0.1234567891234567891234567", 0, 123456789},
		{"500ms", 0, 500000000},
		{"20us", 0, 20000},
		{"7ns", 0, 7},
		{"1.5ns", 0, 1},
		{"2.5ms", 0, 2500000},
		{"3s", 0, UINT64_C(3000000000)},
		{"5m", 0, UINT64_C(300000000000)},
		{"0.5m", 0, UINT64_C(30000000000)},
		{"2h", 0, UINT64_C(7200000000000)},
		{"1.25h", 0, UINT64_C(4500000000000)},
		{"7d", 0, UINT64_C(604800000000000)},
		{"18446744073", 0, UINT64_C(18446744073000000000)},
		{"18446744074", -ERANGE, 0},
		{"18446744073.709551615", 0, UINT64_MAX},
		{"18446744073.709551616", -ERANGE, 0},
		{"213504d", -ERANGE, 0},
		{"", -EINVAL, 0},
		{".5", -EINVAL, 0},
		{"1.", -EINVAL, 0},
		{"1.s", -EINVAL, 0},
		{"1.5.5", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"5 m", -EINVAL, 0},
		{"5M", -EINVAL, 0},
		{"-5", -EINVAL, 0},
		{"inf", -EINVAL, 0},
	};

	CHECK_CASES(parse_duration_ns, cases);
}

static void check_set(const char *str, const uint32_t *want, size_t cnt)
{
	struct number_set set = {0};

	assert_int_equal(number_set_parse(&set, str), 0);
	assert_int_equal(set.cnt, cnt);
	assert_memory_equal(set.items, want, cnt * sizeof(*want));
	number_set_deinit(&set);
	assert_null(set.items);
	assert_int_equal(set.cnt, 0);
}

#define CHECK_SET(str, ...)                                           \
	do {                                                          \
		const uint32_t want[] = {__VA_ARGS__};                \
                                                                      \
		check_set(str, want, sizeof(want) / sizeof(want[0])); \
	} while (0)

static void test_set_forms(void **state)
{
	CHECK_SET("0", 0);
	CHECK_SET("0,2-5", 0, 2, 3, 4, 5);
	CHECK_SET("3-3", 3);
	CHECK_SET("9,1,5", 1, 5, 9);
	CHECK_SET("4-6,1-5,5,5", 1, 2, 3, 4, 5, 6);
	CHECK_SET("4294967295", UINT32_MAX);
	CHECK_SET("4294967294-4294967295,0", 0, UINT32_MAX - 1, UINT32_MAX);
}

static void test_set_refusals(void **state)
{
	static const struct value_case cases[] = {
		{"", -EINVAL, 0},
		{",", -EINVAL, 0},
		{"1,", -EINVAL, 0},
		{",1", -EINVAL, 0},
		{"1,,2", -EINVAL, 0},
		{"1-", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"5-2", -EINVAL, 0},
		{"1-2-3", -EINVAL, 0},
		{"a", -EINVAL, 0},
		{"1 ,2", -EINVAL, 0},
		{"0x1", -EINVAL, 0},
		{"4294967296", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"99999999999999999999999z", -EINVAL, 0},
		{"0-99999999999999999999999", -ERANGE, 0},
		{"0-4294967295", -ERANGE, 0},
		{"0-1048576", -ERANGE, 0},
		{"0-1048575,7", -ERANGE, 0},
		{"20-30,x", -EINVAL, 0},
	};
	struct number_set set = {0};

	assert_int_equal(number_set_parse(&set, "7,9"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = number_set_parse(&set, cases[i].str);

		if (err != cases[i].err)
			fail_msg("'%s': err %d", cases[i].str, err);
		assert_int_equal(set.cnt, 2);
		assert_true(number_set_has(&set, 7) && number_set_has(&set, 9));
	}
	number_set_deinit(&set);
}

static void test_set_large_range(void **state)
{
	struct number_set set = {0};

	/* Falling halves: a set that inserts one by one would take minutes. */
	assert_int_equal(number_set_parse(&set, "524288-1048575,0-524287"), 0);
	assert_int_equal(set.cnt, 1048576);
	for (uint32_t i = 0; i < 1048576; i++)
		assert_true(set.items[i] == i);
	number_set_deinit(&set);
}

static void test_set_add_and_has(void **state)
{
	struct number_set set = {0};

	assert_false(number_set_has(&set, 0));
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(number_set_add(&set, i * 7919 % 1000 * 2), 0);
	assert_int_equal(set.cnt, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(number_set_add(&set, i * 2), 0);
	assert_int_equal(set.cnt, 1000);
	for (uint32_t i = 0; i < 2002; i++)
		assert_int_equal(number_set_has(&set, i), i < 2000 && i % 2 == 0);
	assert_int_equal(number_set_parse(&set, "1,3,1998-2003"), 0);
	assert_int_equal(set.cnt, 1000 + 2 + 5);
	assert_true(number_set_has(&set, 1) && number_set_has(&set, 2003));
	assert_false(number_set_has(&set, UINT32_MAX));
	number_set_deinit(&set);
}

/* /sys/devices/system/cpu/online of a machine of 4,096 CPUs: all, half of them, every other. */
static void test_many_cpus(void **state)
{
	struct number_set set = {0};
	struct buf list;

	assert_int_equal(number_set_parse(&set, "0-4095"), 0);
	assert_int_equal(set.cnt, 4096);
	assert_int_equal(set.items[4095], 4095);
	number_set_deinit(&set);
	assert_int_equal(number_set_parse(&set, "0-1023,2048-3071"), 0);
	assert_int_equal(set.cnt, 2048);
	assert_int_equal(set.items[1024], 2048);
	assert_false(number_set_has(&set, 1024));
	number_set_deinit(&set);
	buf_init(&list, BUF_NO_MAX);
	for (unsigned int cpu = 0; cpu < 4096; cpu += 2)
		buf_printf(&list, "%s%u", cpu ? "," : "", cpu);
	assert_int_equal(number_set_parse(&set, buf_cstr(&list)), 0);
	assert_int_equal(set.cnt, 2048);
	assert_int_equal(set.items[2047], 4094);
	number_set_deinit(&set);
	buf_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_set_forms),
		cmocka_unit_test(test_set_refusals),
		cmocka_unit_test(test_set_large_range),
		cmocka_unit_test(test_set_add_and_has),
		cmocka_unit_test(test_many_cpus),
	};

	return cmocka_run_group_tests_name("base/parse", tests, NULL, NULL);
}
