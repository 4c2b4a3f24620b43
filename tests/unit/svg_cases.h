/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles that the flame graph is tested with. test_svg.c compares the small ones with
 * tests/golden/; `test_svg --emit FOLDER` writes them all as SVG files for the browser test.
 */
#ifndef BPFPROF_TESTS_SVG_CASES_H
#define BPFPROF_TESTS_SVG_CASES_H

#include <stdio.h>

#include "encode/encoder.h"
#include "flame_fixture.h"

struct svg_case {
	const char *name;
	bool is_golden;
	const char *type, *unit;
	struct encoder_opts opts;
	void (*fill)(struct profile *prof);
};

#define LEDGER_LINE                                                                           \
	"ledger: 5,940 ticks = 5,936 ran + 4 never ran (1 busy, 3 idle); 5,936 ran = 5,124 "  \
	"recorded + 812 filtered + 0 lost; stacks: 5,101 complete, 20 without user stack, 3 " \
	"truncated (no_rows 3)"

static inline void fill_kinds(struct profile *prof)
{
	prof->period_type.type = profile_string(prof, "cpu-clock");
	prof->period_type.unit = profile_string(prof, "nanoseconds");
	prof->period = 10101010;
	prof->duration_ns = 30010000000;
	prof->time_ns = 1763663412ULL * 1000000000;
	fixture_add(prof, "nginx", 410,
		    "main|ngx_master_process_cycle|ngx_worker_process_cycle|"
		    "ngx_process_events_and_timers|ngx_epoll_process_events|"
		    "l:epoll_wait|k:entry_SYSCALL_64_after_hwframe|k:do_epoll_wait|"
		    "k:schedule_hrtimeout_range");
	fixture_add(prof, "nginx", 820,
		    "main|ngx_master_process_cycle|ngx_worker_process_cycle|"
		    "ngx_process_events_and_timers|ngx_http_process_request|"
		    "ngx_http_gzip_body_filter|l:deflate|l:deflate_slow|"
		    "i:longest_match");
	fixture_add(prof, "nginx", 95,
		    "main|ngx_master_process_cycle|ngx_worker_process_cycle|"
		    "ngx_process_events_and_timers|ngx_http_process_request|"
		    "ngx_http_gzip_body_filter|l:deflate|l:crc32_z");
	fixture_add(prof, "nginx", 130,
		    "s:[truncated: no_rows]|ngx_http_lua_run_thread|l:lj_BC_CALL");
	fixture_add(prof, "node", 700,
		    "l:__libc_start_main|node::Start(int, char**)|"
		    "node::SpinEventLoop|l:uv_run|l:uv__io_poll|"
		    "v8::internal::Execution::Call|j:*handleRequest server.js:42|"
		    "j:*JSON.stringify|v8::internal::JsonStringifier::Serialize|"
		    "i:v8::internal::StringBuilder::Append");
	fixture_add(prof, "node", 240,
		    "l:__libc_start_main|node::Start(int, char**)|"
		    "node::SpinEventLoop|l:uv_run|l:uv__io_poll|"
		    "v8::internal::Execution::Call|j:*handleRequest server.js:42|"
		    "j:~render template.js:7|s:[312 frames elided]|j:~leaf x.js:1");
	fixture_add(prof, "node", 60,
		    "l:__libc_start_main|node::Start(int, char**)|"
		    "node::SpinEventLoop|l:uv_run|l:uv__io_poll|l:epoll_pwait|"
		    "k:entry_SYSCALL_64_after_hwframe|k:do_epoll_wait");
	fixture_add(prof, "kworker/1:2", 55,
		    "k:ret_from_fork|k:kthread|k:worker_thread|"
		    "k:process_one_work|k:blk_mq_run_work_fn");
	fixture_add(prof, "postgres", 180,
		    "_start|main|PostmasterMain|ServerLoop|PostgresMain|"
		    "exec_simple_query|ExecutorRun|i:ExecProcNode|"
		    "ExecHashJoin|w:pg_wake|l:pthread_cond_signal");
	fixture_add(prof, "postgres", 33,
		    "_start|main|PostmasterMain|ServerLoop|PostgresMain|"
		    "exec_simple_query|a:7f30");
	fixture_add(prof, "sh", 1, "_start|l:__libc_start_main|main");
}

static inline void fill_hostile(struct profile *prof)
{
	static char longest[10001];

	memset(longest, 'x', 10000);
	fixture_add(prof, "<b>", 11, "a<b & \"c\" 'd'");
	fixture_add(prof, "<b>", 12, "]]]]]><script>alert(1)</script>");
	fixture_add(prof, "<b>", 13, "</script><svg onload=alert(1)>");
	fixture_add(prof, "<b>", 14, "ctl\x01\x02\x1b[31m\n\t\x7f");
	fixture_add(prof, "<b>", 15, "bad\xff\xc0\xaf\xed\xa0\x80\xf5utf8\xe2\x82");
	fixture_add(prof, "<b>", 16,
		    "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe2\x80\xaegpj.exe\xe2\x80\xac");
	fixture_add(prof, "<b>", 17,
		    "\xe5\x87\xbd\xe6\x95\xb0\xf0\x9f\x94\xa5\xc2\x85\xef\xbf\xbf");
	fixture_add(prof, "<b>", 18, "<!-- &#0; &amp; &lt; %s%n ${x} `y` \\u0041 \\");
	fixture_add(prof, "<b>", 19, longest);
	fixture_add(prof, "__proto__", 20, "__proto__|constructor|toString");
}

static inline void fill_nothing(struct profile *prof)
{
	(void)prof;
}

static inline void fill_zeros(struct profile *prof)
{
	fixture_add(prof, "idle", 0, "main");
	fixture_add(prof, "idle", 0, "main|loop");
}

/* 600 levels above a truncation, beside a shallow half. */
static inline void fill_deep(struct profile *prof)
{
	char path[16384] = "s:[truncated: too_deep]";
	size_t len = strlen(path);

	fixture_add(prof, "flat", 1000, "main|work");
	for (int i = 0; i < 600; i++)
		len += (size_t)snprintf(path + len, sizeof(path) - len, "|level_%03d", i);
	fixture_add(prof, "deep", 1000, path);
}

static inline void fill_times(struct profile *prof)
{
	fixture_add(prof, "db", 12345678901, "main|wait|k:schedule");
	fixture_add(prof, "db", 1500000, "main|lock");
	fixture_add(prof, "db", 999, "main|spin");
}

/* 10 s of a server's threads, waits with their wakers among them. */
static inline void fill_wall(struct profile *prof)
{
	fixture_add(prof, "postgres", 3000000000,
		    "main|wait|l:sem_wait|k:futex_wait|s:[blocked: futex]|s:--|"
		    "w:unlock|w:commit|n:walwriter");
	fixture_add(prof, "postgres", 1000000000,
		    "main|wait|l:sem_wait|k:futex_wait|s:[runnable: woken]");
	fixture_add(prof, "postgres", 2000000000, "main|work|l:copy");
	fixture_add(prof, "postgres", 1500000000, "main|work");
	fixture_add(prof, "postgres", 1500000000, "main|work|l:preempted|s:[runnable: preempted]");
	fixture_add(prof, "postgres", 1000000000, "s:[blocked: not sampled]");
}

static inline void fill_bytes(struct profile *prof)
{
	fixture_add(prof, "app", 3LL << 30, "main|cache");
	fixture_add(prof, "app", 1536, "main|small");
	fixture_add(prof, "app", 100, "main|tiny");
}

/* One frame of a million beside 400 of one: far below a pixel until zoomed. */
static inline void fill_narrow(struct profile *prof)
{
	char path[64];

	fixture_add(prof, "app", 1000000, "main|hot");
	for (int i = 0; i < 400; i++) {
		snprintf(path, sizeof(path), "main|cold|cold_%03d|inner_%03d", i, i);
		fixture_add(prof, "app", 1, path);
	}
}

/* The next number of a xorshift sequence, below @limit. */
static inline unsigned svg_random(uint64_t *seed, unsigned limit)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (unsigned)(*seed >> 33) % limit;
}

/*
 * 100,000 stacks of 13 to 29 frames which share their roots and differ in their leaves, as real
 * ones do; the same on every run.
 */
static inline void fill_large(struct profile *prof)
{
	uint64_t seed = 88172645463325252ULL;
	char path[4096];

	for (int i = 0; i < 100000; i++) {
		size_t len =
			(size_t)snprintf(path, sizeof(path), "_start|l:__libc_start_main|main");
		int depth = 10 + (int)svg_random(&seed, 17);

		for (int level = 0; level < depth; level++) {
			unsigned limit = level < 4 ? 4 : level < depth - 2 ? 1 : 60;
			unsigned pick = svg_random(&seed, limit);

			len += (size_t)snprintf(
				path + len, sizeof(path) - len,
				"|%sservice::module_%d::Handler<%u>::process_%u(long)",
				pick % 3 == 1 ? "l:" : "", level, pick, pick * 7);
		}
		fixture_add(prof, i % 4 ? "server" : "client", 1 + svg_random(&seed, 50), path);
	}
}

static const struct svg_case svg_cases[] = {
	{"kinds",
	 true,
	 "samples",
	 "count",
	 {.value = PROFILE_NONE, .ledger_line = LEDGER_LINE},
	 fill_kinds},
	{"hostile",
	 true,
	 "samples",
	 "count",
	 {.value = PROFILE_NONE,
	  .title = "<title> & \x01\xff ]]>",
	  .subtitle = "</text><script/>",
	  .ledger_line = "--> \" ' & <"},
	 fill_hostile},
	{"empty",
	 true,
	 "samples",
	 "count",
	 {.value = PROFILE_NONE, .ledger_line = LEDGER_LINE},
	 fill_nothing},
	{"zeros", true, "samples", "count", {.value = PROFILE_NONE}, fill_zeros},
	{"times", true, "off-cpu", "nanoseconds", {.value = PROFILE_NONE}, fill_times},
	{"wall", true, "wall", "nanoseconds", {.value = PROFILE_NONE}, fill_wall},
	{"bytes",
	 true,
	 "alloc_space",
	 "bytes",
	 {.value = PROFILE_NONE, .title = "Live heap", .subtitle = "one subtitle"},
	 fill_bytes},
	{"narrow", true, "page-faults", "count", {.value = PROFILE_NONE}, fill_narrow},
	{"deep",
	 false,
	 "samples",
	 "count",
	 {.value = PROFILE_NONE, .ledger_line = LEDGER_LINE},
	 fill_deep},
	{"large", false, "samples", "count", {.value = PROFILE_NONE}, fill_large},
};

enum { SVG_CASE_CNT = sizeof(svg_cases) / sizeof(*svg_cases) };

#endif
