/* SPDX-License-Identifier: Apache-2.0 */
/* PMUs from a tree that looks like sysfs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "event/counters.h"
#include "event/pmu.h"
#include "scratch.h"

static char root[] = "/tmp/bpfprof-pmu-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_tree(void **state)
{
	if (!mkdtemp(root))
		return -1;
	put("cpu/type", "4\n");
	put("cpu/format/event", "config:0-7\n");
	put("cpu/format/umask", "config:8-15\n");
	put("cpu/format/inv", "config:23\n");
	put("cpu/format/split", "config:0-3,60-63\n");
	put("cpu/format/ldlat", "config1:0-15\n");
	put("cpu/format/high", "config2:63\n");
	put("cpu/format/strange", "config7:0-3\n");
	put("cpu/format/upside", "config:9-3\n");
	put("cpu/format/beyond", "config:60-64\n");
	put("cpu/events/cache-misses", "event=0x2e,umask=0x41\n");
	put("cpu/events/cache-misses.scale", "2.0\n");
	put("cpu/events/cache-misses.unit", "Bytes\n");
	put("cpu/events/open", "event=0x2e,umask=?\n");
	put("cpu/events/again", "again\n");
	put("uncore/type", "17\n");
	put("uncore/cpumask", "0,4\n");
	put("broken/type", "many\n");
	put("uprobe/type", "8\n");
	put("uprobe/format/retprobe", "config:0\n");
	return 0;
}

static int remove_root(void **state)
{
	return remove_tree(root);
}

static struct pmu_config good(const char *terms)
{
	struct pmu_config config = {0};
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (pmu_config(root, "cpu", terms, &config, &why))
		fail_msg("%s: %s", terms, buf_cstr(&why));
	assert_int_equal(config.type, 4);
	buf_deinit(&why);
	return config;
}

static void bad(const char *pmu, const char *terms, int err, const char *says)
{
	struct pmu_config config = {.type = 99};
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(pmu_config(root, pmu, terms, &config, &why), err);
	if (!strstr(buf_cstr(&why), says))
		fail_msg("%s: %s", terms, buf_cstr(&why));
	assert_int_equal(config.type, 99);
	buf_deinit(&why);
}

static void test_terms(void **state)
{
	struct pmu_config config = good("event=0x3c,umask=1,inv");

	assert_int_equal(config.config[0], 0x3c | 1 << 8 | 1 << 23);
	assert_int_equal(good("cache-misses").config[0], 0x412e);
	assert_int_equal(good("cache-misses,umask=0x42").config[0], 0x422e);
	assert_int_equal(good("").config[0], 0);
	assert_true(good("split=0xa5").config[0] == 0xa000000000000005);
	config = good("ldlat=30,high,config=0x1122");
	assert_int_equal(config.config[0], 0x1122);
	assert_int_equal(config.config[1], 30);
	assert_true(config.config[2] == 1ULL << 63);
	assert_true(good("config=0xffffffffffffffff").config[0] == UINT64_MAX);
	assert_int_equal(good("open,umask=3").config[0], 0x32e);
}

static void test_mistakes(void **state)
{
	bad("cpu", "evnt=1", -EINVAL, "no term 'evnt' (did you mean 'event'?)");
	bad("cpu", "cache-mises", -EINVAL, "did you mean 'cache-misses'?");
	bad("cpu", "qqqqqqqqqq", -EINVAL, "no term 'qqqqqqqqqq' (it has the files of");
	bad("cpu", "event=0x100", -EINVAL, "no room for a value so large");
	bad("cpu", "event=x", -EINVAL, "needs a number");
	bad("cpu", "strange=1", -EINVAL, "not understood");
	bad("cpu", "upside=1", -EINVAL, "not understood");
	bad("cpu", "beyond=1", -EINVAL, "not understood");
	bad("cpu", "open", -EINVAL, "a term without a value");
	bad("cpu", "again", -EINVAL, "names itself");
	bad("cpu", "../type=1", -EINVAL, "no term '../type'");
	bad("cqu", "", -ENOENT, "no PMU 'cqu' (did you mean 'cpu'?)");
	bad("zzzzzzzz", "", -ENOENT, "there are: broken, cpu, uncore, uprobe");
	bad("..", "", -ENOENT, "no PMU '..'");
	bad("broken", "", -EBADMSG, "its type");
}

static int count_event(const char *pmu, const char *event, void *ctx)
{
	size_t *cnt = ctx;

	cnt[event != NULL]++;
	return event && strchr(event, '.') ? -EINVAL : 0;
}

static void test_rest(void **state)
{
	size_t cnt[2] = {0};
	uint32_t number;
	char *mask;

	assert_int_equal(pmu_type(root, "uprobe", &number), 0);
	assert_int_equal(number, 8);
	assert_int_equal(pmu_type(root, "kprobe", &number), -ENOENT);
	assert_int_equal(pmu_format_bit(root, "uprobe", "retprobe", &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(pmu_format_bit(root, "uprobe", "ref_ctr_offset", &number), -ENOENT);
	mask = pmu_cpumask(root, "uncore");
	assert_string_equal(mask, "0,4");
	free(mask);
	assert_null(pmu_cpumask(root, "cpu"));
	assert_int_equal(pmu_each(root, count_event, cnt), 0);
	assert_int_equal(cnt[0], 4);
	assert_int_equal(cnt[1], 3);
}

static void test_scale(void **state)
{
	assert_int_equal(counter_scale(100, 10, 10), 100);
	assert_int_equal(counter_scale(100, 10, 5), 200);
	assert_int_equal(counter_scale(100, 10, 0), 0);
	assert_int_equal(counter_scale(0, 0, 0), 0);
	assert_true(counter_scale(UINT64_MAX / 4, 2000000000, 1000000000) == UINT64_MAX / 4 * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_root);
}
