/* SPDX-License-Identifier: Apache-2.0 */
/* What Prometheus reads: every metric has its HELP and TYPE, labels are escaped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "agent/metrics.h"

static void format(const struct metrics_values *values, struct buf *out)
{
	struct metrics metrics;

	metrics_init(&metrics);
	metrics_set(&metrics, values);
	buf_init(out, BUF_NO_MAX);
	assert_int_equal(metrics_format(&metrics, out), 0);
	metrics_deinit(&metrics);
}

static void test_text(void **state)
{
	struct metrics_values values = {
		.stored = 5, .cpu_s = 0.25, .http_cpu_s = 0.125, .rss_bytes = 1 << 20};
	struct buf out;

	metric_count_add(&values.seen, "cpu", 7);
	metric_count_add(&values.seen, "cpu", 1);
	metric_count_add(&values.seen, "a\"b\\c\nd", 2);
	metric_count_add(&values.dropped, "disabled", 3);
	format(&values, &out);
	assert_non_null(strstr(buf_cstr(&out), "# TYPE bpfprof_samples_seen_total counter\n"
					       "bpfprof_samples_seen_total{kind=\"cpu\"} 8\n"));
	assert_non_null(strstr(buf_cstr(&out), "{kind=\"a\\\"b\\\\c\\nd\"} 2\n"));
	assert_non_null(
		strstr(buf_cstr(&out), "bpfprof_samples_dropped_total{reason=\"disabled\"} 3\n"));
	assert_non_null(strstr(buf_cstr(&out), "\nbpfprof_samples_stored_total 5\n"));
	assert_non_null(strstr(buf_cstr(&out), "\nbpfprof_agent_cpu_seconds_total 0.25\n"));
	assert_non_null(strstr(buf_cstr(&out), "\nbpfprof_agent_http_cpu_seconds_total 0.125\n"));
	assert_non_null(strstr(buf_cstr(&out), "\nbpfprof_agent_rss_bytes 1048576\n"));
	assert_non_null(strstr(buf_cstr(&out), "\nbpfprof_build_info{version=\""));
	buf_deinit(&out);
}

/* Of each line with a value, the two before its metric's first one name it. */
static void test_every_metric_is_explained(void **state)
{
	struct metrics_values values = {.stored = 1};
	char name[80] = "", wanted[200];
	struct buf out;

	metric_count_add(&values.seen, "cpu", 7);
	metric_count_add(&values.dropped, "x", 7);
	metric_count_add(&values.stack_errors, "no_rows", 7);
	format(&values, &out);
	for (const char *line = buf_cstr(&out); *line; line = strchr(line, '\n') + 1) {
		size_t len = strcspn(line, " {");

		if (line[0] == '#')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)len, line);
		snprintf(wanted, sizeof(wanted), "# HELP %s ", name);
		assert_non_null(strstr(buf_cstr(&out), wanted));
		snprintf(wanted, sizeof(wanted), "# TYPE %s ", name);
		assert_non_null(strstr(buf_cstr(&out), wanted));
		assert_int_equal(strncmp(name, "bpfprof_", 8), 0);
	}
	assert_string_equal(name, "bpfprof_build_info");
	buf_deinit(&out);
}

static void test_too_many_names(void **state)
{
	struct metric_counts counts = {.cnt = 0};
	uint64_t sum = 0;
	char name[16];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		metric_count_add(&counts, name, 1);
		metric_count_add(&counts, name, 1);
	}
	assert_in_range(counts.cnt, 2, METRIC_COUNTS_MAX);
	for (size_t i = 0; i < counts.cnt; i++)
		sum += counts.items[i].cnt;
	assert_int_equal(sum, 200);
	assert_string_equal(counts.items[counts.cnt - 1].name, "other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_every_metric_is_explained),
		cmocka_unit_test(test_too_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
