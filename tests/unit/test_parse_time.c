/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people write them: durations back, dates with and without zone, unix seconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/parse_time.h"

/* 2026-11-20 12:00:00 UTC, as `date -u -d @1795176000` has it. */
#define NOON_S UINT64_C(1795176000)
#define NOW_NS (NOON_S * NSEC_PER_SEC + 5)
#define UNTOUCHED UINT64_C(0x5a5a)

struct time_case {
	const char *str;
	int err;
	uint64_t value;
};

static void check_cases(const struct time_case *cases, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		uint64_t value = UNTOUCHED;
		int err = parse_time_ns(cases[i].str, NOW_NS, &value);

		if (err != cases[i].err || value != (err ? UNTOUCHED : cases[i].value))
			fail_msg("'%s': err %d, value %llu", cases[i].str, err,
				 (unsigned long long)value);
	}
}

#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof((cases)[0]))

static void use_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

static void test_durations(void **state)
{
	static const struct time_case cases[] = {
		{"now", 0, NOW_NS},
		{"0s", 0, NOW_NS},
		{"15m", 0, NOW_NS - 900 * NSEC_PER_SEC},
		{"1h", 0, NOW_NS - 3600 * NSEC_PER_SEC},
		{"1.5h", 0, NOW_NS - 5400 * NSEC_PER_SEC},
		{"2d", 0, NOW_NS - 2 * 86400 * NSEC_PER_SEC},
		{"5ns", 0, NOW_NS - 5},
		{"30000d", 0, 0}, /* before 1970: everything */
		{"99999999999999999999d", -ERANGE, 0},
		{"30", -EINVAL, 0}, /* half a minute, or 1970? */
		{"1w", -EINVAL, 0},
		{"h", -EINVAL, 0},
		{"-1h", 0, NOW_NS - 3600 * NSEC_PER_SEC},
		{"-1.5h", 0, NOW_NS - 5400 * NSEC_PER_SEC},
		{"-30", 0, NOW_NS - 30 * NSEC_PER_SEC},
		{"now-1h", 0, NOW_NS - 3600 * NSEC_PER_SEC},
		{"now-30000d", 0, 0},
		{"now-99999999999999999999d", -ERANGE, 0},
		{"now-", -EINVAL, 0},
		{"now+1h", -EINVAL, 0},
		{"now1h", -EINVAL, 0},
		{"now--1h", -EINVAL, 0},
		{"now-2026-11-20", -EINVAL, 0},
		{"now ", -EINVAL, 0},
		{"--1h", -EINVAL, 0},
		{"+1h", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{"soon", -EINVAL, 0},
		{"1h ", -EINVAL, 0},
		{" 1h", -EINVAL, 0},
		{"1 h", -EINVAL, 0},
		{"Now", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	CHECK_CASES(cases);
}

static void test_unix_seconds(void **state)
{
	static const struct time_case cases[] = {
		{"1795176000", 0, NOON_S * NSEC_PER_SEC},
		{"1795176000.5", 0, NOON_S * NSEC_PER_SEC + 500000000},
		{"1795176000.0000000019", 0, NOON_S * NSEC_PER_SEC + 1},
		{"100000000", 0, 100000000 * NSEC_PER_SEC},
		{"18446744073", 0, 18446744073 * NSEC_PER_SEC},
		{"99999999", -EINVAL, 0},
		{"0", -EINVAL, 0},
		{"18446744074", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"9223372036854775808", -ERANGE, 0},
		{"1795176000.", -EINVAL, 0},
		{"1795176000,5", -EINVAL, 0},
		{"0x6b000000", -EINVAL, 0},
		{"1e9", -EINVAL, 0},
	};

	CHECK_CASES(cases);
}

static void test_rfc3339(void **state)
{
	static const struct time_case cases[] = {
		{"2026-11-20T12:00:00Z", 0, NOON_S * NSEC_PER_SEC},
		{"2026-11-20t12:00:00z", 0, NOON_S * NSEC_PER_SEC},
		{"2026-11-20 12:00:00Z", 0, NOON_S * NSEC_PER_SEC},
		{"2026-11-20T12:00:00.25Z", 0, NOON_S * NSEC_PER_SEC + 250000000},
		{"2026-11-20T13:30:00+01:30", 0, NOON_S * NSEC_PER_SEC},
		{"2026-11-20T04:00:00-08:00", 0, NOON_S * NSEC_PER_SEC},
		{"2026-11-20T12:00:00-00:00", 0, NOON_S * NSEC_PER_SEC},
		{"2026-11-20T11:59:60Z", 0, NOON_S * NSEC_PER_SEC},
		{"2026-11-21T00:00:00+12:00", 0, NOON_S * NSEC_PER_SEC},
		{"1970-01-01T00:00:00Z", 0, 0},
		{"2024-02-29T00:00:00Z", 0, 1709164800 * NSEC_PER_SEC},
		{"2000-02-29T00:00:00Z", 0, 951782400 * NSEC_PER_SEC},
		{"2023-02-29T00:00:00Z", -EINVAL, 0},
		{"2100-02-29T00:00:00Z", -EINVAL, 0},
		{"2026-13-01T00:00:00Z", -EINVAL, 0},
		{"2026-00-01T00:00:00Z", -EINVAL, 0},
		{"2026-11-00T00:00:00Z", -EINVAL, 0},
		{"2026-11-31T00:00:00Z", -EINVAL, 0},
		{"2026-11-20T24:00:00Z", -EINVAL, 0},
		{"2026-11-20T12:60:00Z", -EINVAL, 0},
		{"2026-11-20T12:00:61Z", -EINVAL, 0},
		{"2026-11-20T12:00:00+24:00", -EINVAL, 0},
		{"2026-11-20T12:00:00+01:60", -EINVAL, 0},
		{"2026-11-20T12:00:00+0100", -EINVAL, 0},
		{"2026-11-20T12:00:00.Z", -EINVAL, 0},
		{"2026-11-20T12:00:00ZZ", -EINVAL, 0},
		{"2026-11-20T1:00:00Z", -EINVAL, 0},
		{"2026-11-20X12:00:00Z", -EINVAL, 0},
		{"1969-12-31T23:59:59Z", -ERANGE, 0},
		{"1970-01-01T00:00:00+00:01", -ERANGE, 0},
		{"9999-12-31T23:59:59Z", -ERANGE, 0},
	};

	use_zone("UTC0");
	CHECK_CASES(cases);
	/* A zone that is written is the one that counts. */
	use_zone("XYZ+9");
	CHECK_CASES(cases);
}

static void test_local(void **state)
{
	/* Winter: an hour east; summer: two. */
	static const struct time_case berlin[] = {
		{"2026-11-20 13:00:00", 0, NOON_S * NSEC_PER_SEC},
		{"2026-11-20 13:00", 0, NOON_S * NSEC_PER_SEC},
		{"2026-11-20T13:00:00.5", 0, NOON_S * NSEC_PER_SEC + 500000000},
		{"2026-11-20", 0, (NOON_S - 13 * 3600) * NSEC_PER_SEC},
		{"2026-07-20 14:00", 0, 1784548800 * NSEC_PER_SEC},
		{"2026-11-20 13", -EINVAL, 0},
		{"2026-11-20 ", -EINVAL, 0},
		{"2026-11", -EINVAL, 0},
		{"20261120", -EINVAL, 0},
		{"1970-01-01 00:30", -ERANGE, 0},
	};
	static const struct time_case west[] = {
		{"2026-11-20 04:00", 0, NOON_S * NSEC_PER_SEC},
		{"1970-01-01 00:30", 0, 8 * 3600 * NSEC_PER_SEC + 1800 * NSEC_PER_SEC},
	};

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	CHECK_CASES(berlin);
	use_zone("PST8");
	CHECK_CASES(west);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_unix_seconds),
		cmocka_unit_test(test_rfc3339),
		cmocka_unit_test(test_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
