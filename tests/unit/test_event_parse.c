/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of -e: every form, and every mistake with what is said about it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"
#include "event/event_names.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct good_case {
	const char *text;
	struct event_spec want;
};

#define C EVENT_COUNTER
#define T EVENT_TRACEPOINT
#define U EVENT_UPROBE

/* clang-format off */
static const struct good_case good[] = {
	{"cycles", {C, .name = "cycles"}},
	{"  cycles  ", {C, .name = "cycles"}},
	{"cpu-cycles:u", {C, .name = "cpu-cycles", .user_only = true}},
	{"instructions:k", {C, .name = "instructions", .kernel_only = true}},
	{"cycles:uk", {C, .name = "cycles"}},
	{"cycles:ppp", {C, .name = "cycles"}},
	{"cycles:uP", {C, .name = "cycles", .user_only = true}},
	{"L1-dcache-load-misses", {C, .name = "L1-dcache-load-misses"}},
	{"llc-loads", {C, .name = "llc-loads"}},
	{"dTLB-misses", {C, .name = "dTLB-misses"}},
	{"branch-load-misses", {C, .name = "branch-load-misses"}},
	{"r1a8", {C, .name = "r1a8"}},
	{"rC0:u", {C, .name = "rC0", .user_only = true}},
	{"cpu/event=0x3c,umask=0x1/", {C, .group = "cpu", .name = "event=0x3c,umask=0x1"}},
	{"cpu/event=0x3c/u", {C, .group = "cpu", .name = "event=0x3c", .user_only = true}},
	{"cpu/event=0x3c/:k", {C, .group = "cpu", .name = "event=0x3c", .kernel_only = true}},
	{"cpu/cache-misses,freq=99/", {C, .group = "cpu", .name = "cache-misses", .freq_hz = 99}},
	{"cpu/period=10k,inv/", {C, .group = "cpu", .name = "inv", .period = 10000}},
	{"cpu//", {C, .group = "cpu", .name = ""}},
	{"uncore_imc_0/cas_count_read/", {C, .group = "uncore_imc_0", .name = "cas_count_read"}},
	{"cycles/freq=99/", {C, .name = "cycles", .freq_hz = 99}},
	{"cycles:u/period=1000/", {C, .name = "cycles", .period = 1000, .user_only = true}},
	{"page-faults/period=10/u", {C, .name = "page-faults", .period = 10, .user_only = true}},
	{"sched:sched_switch", {T, .group = "sched", .name = "sched_switch"}},
	{"sched:sched_switch:k", {T, .group = "sched", .name = "sched_switch", .kernel_only = true}},
	{"tracepoint:sched:sched_switch", {T, .group = "sched", .name = "sched_switch"}},
	{"t:sched:*/period=3/", {T, .group = "sched", .name = "*", .period = 3}},
	{"syscalls:sys_enter_*", {T, .group = "syscalls", .name = "sys_enter_*"}},
	{"kprob:vfs_read", {T, .group = "kprob", .name = "vfs_read"}},
	{"kprobe:vfs_read", {EVENT_KPROBE, .name = "vfs_read"}},
	{"kprobe:vfs_read+0x10", {EVENT_KPROBE, .name = "vfs_read", .off = 16, .has_off = true}},
	{"kprobe:0xffffffff81000000", {EVENT_KPROBE, .addr = 0xffffffff81000000, .has_addr = true}},
	{"k:vfs_*:k", {EVENT_KPROBE, .name = "vfs_*", .kernel_only = true}},
	{"p:vfs_read", {EVENT_KPROBE, .name = "vfs_read"}},
	{"p:vfs_read:k", {EVENT_KPROBE, .name = "vfs_read", .kernel_only = true}},
	{"kretprobe:vfs_read", {EVENT_KRETPROBE, .name = "vfs_read"}},
	{"kr:f/freq=9/", {EVENT_KRETPROBE, .name = "f", .freq_hz = 9}},
	{"uprobe:libc:malloc", {U, .path = "libc", .name = "malloc"}},
	{"u:libc:malloc+4", {U, .path = "libc", .name = "malloc", .off = 4, .has_off = true}},
	{"p:libc:malloc", {U, .path = "libc", .name = "malloc"}},
	{"r:/bin/sh:main", {EVENT_URETPROBE, .path = "/bin/sh", .name = "main"}},
	{"uprobe:/a/b:c/d:f", {U, .path = "/a/b:c/d", .name = "f"}},
	{"uprobe:/a:b/c:u", {U, .path = "/a:b/c", .name = "u"}},
	{"uprobe:libc:malloc:u", {U, .path = "libc", .name = "malloc", .user_only = true}},
	{"uprobe:./x:ns::Class::f", {U, .path = "./x", .name = "ns::Class::f"}},
	{"uprobe:./x:f(int, char)", {U, .path = "./x", .name = "f(int, char)"}},
	{"uprobe:./x:operator+", {U, .path = "./x", .name = "operator+"}},
	{"uprobe:./x:net/http.(*conn).serve", {U, .path = "./x", .name = "net/http.(*conn).serve"}},
	{"uprobe:/bin/x:0x401000", {U, .path = "/bin/x", .addr = 0x401000, .has_addr = true}},
	{"uprobe:/bin/x:f/period=10/", {U, .path = "/bin/x", .name = "f", .period = 10}},
	{"uretprobe:libc:malloc", {EVENT_URETPROBE, .path = "libc", .name = "malloc"}},
	{"ur:libc:mal*", {EVENT_URETPROBE, .path = "libc", .name = "mal*"}},
	{"usdt:/bin/x:prov:name", {EVENT_USDT, .path = "/bin/x", .group = "prov", .name = "name"}},
	{"U:/bin/x:name", {EVENT_USDT, .path = "/bin/x", .name = "name"}},
};

static const struct {
	const char *text, *says;
} bad[] = {
	{"", "an event is empty"},
	{"cycles,", "an event is empty"},
	{"cycles,,faults", "an event is empty"},
	{"cylces", "event 'cylces': unknown event (did you mean 'cycles'?"},
	{"L1-dcache-load-miss", "did you mean 'L1-dcache-load-misses'?"},
	{"qwertyuiop", "unknown event (a counter such as"},
	{"kprobe", "what to probe is missing: kprobe:..."},
	{"rxyz", "unknown event"},
	{"r11112222333344445", "unknown event"},
	{"cycles:", "nothing behind the last ':'"},
	{"cycles:h", "modifier 'h': a hypervisor"},
	{"cycles:uG", "modifier 'G': guests"},
	{"cycles:D", "modifier 'D': counters are not pinned"},
	{"cycles:x", "unknown modifier 'x'"},
	{"{cycles,instructions}:S", "events are not read in groups: leave out the braces"},
	{"cycles/freq=0/", "'freq=0' must be a number above 0"},
	{"cycles/freq/", "'freq=' must be a number above 0"},
	{"cycles/period=many/", "'period=many' must be"},
	{"cycles/freq=1,period=1/", "exclude each other"},
	{"cycles/frq=9/", "unknown term 'frq' (did you mean 'freq'?)"},
	{"cycles/umask=9/", "unknown term 'umask' (freq=N or period=N)"},
	{"cycles//", "nothing between the slashes"},
	{"cycles/", "a '/' alone"},
	{"cpu/event=1", "a '/' alone"},
	{"cpu/event=1,,inv/", "an empty term"},
	{"../x/event=1/", "is no PMU's name"},
	{"c%u/x/", "'%' cannot be in a PMU's name"},
	{"sched:", "not of the form"},
	{":sched_switch", "not of the form"},
	{"sched:sched_switch:u", "':u' would leave nothing: a tracepoint is always in the kernel"},
	{"x:%s%n", "not of the form CATEGORY:NAME"},
	{"x:..", "not of the form"},
	{"sched:a/../b/", "unknown term '../b'"},
	{"kprobes:vfs_read:x:y", "unknown kind 'kprobes' (did you mean 'kprobe:'?)"},
	{"uprobes:/bin/bash:main", "unknown kind 'uprobes' (did you mean 'uprobe:'?)"},
	{"tracepoint:sched", "a tracepoint is CATEGORY:NAME"},
	{"kprobe:", "the function is missing"},
	{"kprobe:vfs read", "' ' cannot be in a kernel function's name"},
	{"kprobe:ext4:ext4_sync", "a kernel probe is kprobe:FUNCTION"},
	{"kprobe:0xzz", "'0xzz' is no address"},
	{"kprobe:f+x", "'+x' is no offset"},
	{"kretprobe:f+8", "leave out '+8'"},
	{"kprobe:f:u", "':u' would leave nothing: a kprobe is always in the kernel"},
	{"uprobe:malloc", "the file is missing: uprobe:PATH:FUNCTION"},
	{"uprobe:/bin/sh:", "the function is missing: uprobe:PATH:FUNCTION"},
	{"uprobe::f", "the file is missing"},
	{"uprobe:libc:malloc:k", "':k' would leave nothing: a uprobe is always in a program"},
	{"uprobe:libc:malloc/frq=1/", "unknown term 'frq' (did you mean 'freq'?)"},
	{"usdt:x", "usdt:PATH:PROVIDER:NAME"},
	{"usdt:/x:a b:c", "' ' cannot be in a provider's name"},
};
/* clang-format on */

static void check_word(const char *text, const char *got, const char *want)
{
	if ((got && want) ? strcmp(got, want) : got != want)
		fail_msg("'%s': '%s', not '%s'", text, got ? got : "(none)",
			 want ? want : "(none)");
}

static void check_same(const char *text, const struct event_spec *got,
		       const struct event_spec *want)
{
	check_word(text, got->group, want->group);
	check_word(text, got->name, want->name);
	check_word(text, got->path, want->path);
	if (got->kind != want->kind || got->addr != want->addr || got->off != want->off ||
	    got->freq_hz != want->freq_hz || got->period != want->period ||
	    got->has_addr != want->has_addr || got->has_off != want->has_off ||
	    got->user_only != want->user_only || got->kernel_only != want->kernel_only)
		fail_msg("'%s': kind %d, address 0x%llx, offset %llu, freq %llu, period %llu, u%d "
			 "k%d",
			 text, got->kind, (unsigned long long)got->addr,
			 (unsigned long long)got->off, (unsigned long long)got->freq_hz,
			 (unsigned long long)got->period, got->user_only, got->kernel_only);
}

static void release(struct event_spec *specs, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		event_spec_deinit(&specs[i]);
	free(specs);
}

static void test_good(void **state)
{
	for (size_t i = 0; i < COUNT(good); i++) {
		struct event_spec *specs;
		struct buf why;
		size_t cnt;

		buf_init(&why, BUF_NO_MAX);
		if (event_parse(good[i].text, &specs, &cnt, &why))
			fail_msg("'%s': %s", good[i].text, buf_cstr(&why));
		assert_int_equal(cnt, 1);
		check_same(good[i].text, &specs[0], &good[i].want);
		assert_int_equal(why.len, 0);
		release(specs, cnt);
		buf_deinit(&why);
	}
}

static void test_bad(void **state)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct event_spec *specs = NULL;
		struct buf why;
		size_t cnt = 77;

		buf_init(&why, BUF_NO_MAX);
		if (event_parse(bad[i].text, &specs, &cnt, &why) != -EINVAL)
			fail_msg("'%s' was taken", bad[i].text);
		if (!strstr(buf_cstr(&why), bad[i].says) || strchr(buf_cstr(&why), '\n'))
			fail_msg("'%s': %s", bad[i].text, buf_cstr(&why));
		assert_null(specs);
		assert_int_equal(cnt, 77);
		buf_deinit(&why);
	}
}

static void test_lists(void **state)
{
	static const char *const texts[] = {
		"cycles",     "cpu/event=1,umask=2/u",	"uprobe:/usr/lib/x.so:f(int, int)",
		"p:vfs_read", "page-faults/period=10/", "uprobe:/bin/a:b",
		"sched:*",
	};
	struct event_spec *specs;
	struct buf list, why;
	size_t cnt;

	buf_init(&list, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	for (size_t i = 0; i < COUNT(texts); i++)
		buf_printf(&list, "%s%s", i ? i % 2 ? "," : ", " : "", texts[i]);
	assert_int_equal(event_parse(buf_cstr(&list), &specs, &cnt, &why), 0);
	assert_int_equal(cnt, COUNT(texts));
	for (size_t i = 0; i < cnt; i++)
		assert_string_equal(specs[i].text, texts[i]);
	release(specs, cnt);

	buf_reset(&list);
	for (int i = 0; i < 300; i++)
		buf_add_str(&list, i ? ",cycles" : "cycles");
	assert_int_equal(event_parse(buf_cstr(&list), &specs, &cnt, &why), -EINVAL);
	assert_string_equal(buf_cstr(&why), "more than 256 events");
	buf_deinit(&list);
	buf_deinit(&why);
}

/* Every name that is listed is found again, and means what it did. */
static void test_names(void **state)
{
	struct event_name name, found;
	size_t cnt = 0;

	for (; event_name_at(cnt, &name); cnt++) {
		assert_true(event_name_find(name.name, &found));
		assert_string_equal(found.name, name.name);
		assert_int_equal(found.type, name.type);
		assert_int_equal(found.config, name.config);
	}
	assert_int_equal(cnt, 27 + 7 * 3 * 2);
	assert_true(event_name_find("dTLB-store-misses", &found));
	assert_int_equal(found.config, 0x10103);
	assert_true(event_name_find("l1-icache-prefetches", &found));
	assert_int_equal(found.config, 0x201);
	assert_false(event_name_find("LLC-", &found));
	assert_false(event_name_find("branch-mispredicts", &found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
