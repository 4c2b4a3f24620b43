/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings on demand, with scripts of a shell in the place of the program that records: what they
 * give, what they say and how they end, and clients that do not wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/on_demand.h"
#include "base/clock.h"
#include "scratch.h"

/* More than any of this takes, however busy the machine is. */
static const uint64_t LONG_NS = 60 * NSEC_PER_SEC;
/* How long what has to be in time is tried again. */
static const uint64_t PATIENCE_NS = 30 * NSEC_PER_SEC;

static const char too_long[] = "the recording took too long: the machine is too busy for it";

struct recorder {
	char folder[64];
	char program[96];
	struct on_demand on_demand;
	struct web_capture request;
	struct buf out, why;
};

static int set_up(void **state)
{
	struct recorder *rec = calloc(1, sizeof(*rec));

	assert_non_null(rec);
	snprintf(rec->folder, sizeof(rec->folder), "/tmp/bpfprof-on-demand-XXXXXX");
	assert_non_null(mkdtemp(rec->folder));
	snprintf(rec->program, sizeof(rec->program), "%s/record", rec->folder);
	rec->on_demand.program = rec->program;
	rec->request = (struct web_capture){.duration_ns = LONG_NS, .client_fd = -1};
	buf_init(&rec->out, BUF_NO_MAX);
	buf_init(&rec->why, BUF_NO_MAX);
	*state = rec;
	return 0;
}

static int tear_down(void **state)
{
	struct recorder *rec = *state;

	assert_int_equal(atomic_load(&rec->on_demand.running), 0);
	buf_deinit(&rec->out);
	buf_deinit(&rec->why);
	remove_tree(rec->folder);
	free(rec);
	return 0;
}

/* Let @script be the program. It is written by a child: a descriptor for writing that another
 * thread's child inherits would make it busy. */
static void program_is(const struct recorder *rec, const char *script)
{
	char text[1024];

	snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
	RUN_IN(rec->folder, "sh", "-c", "printf %s \"$1\" >record && chmod 700 record", "sh", text);
}

static int capture(struct recorder *rec)
{
	buf_reset(&rec->out);
	buf_reset(&rec->why);
	return on_demand_capture(&rec->on_demand, &rec->request, &rec->out, &rec->why);
}

static const char *path_of(const struct recorder *rec, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", rec->folder, name);
	return path;
}

/* The process id that the script left when it had come so far; 0: it had not. */
static int pid_left(const struct recorder *rec)
{
	FILE *file = fopen(path_of(rec, "pid"), "re");
	char line[32] = "";

	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file) || !strchr(line, '\n'))
		line[0] = '\0';
	fclose(file);
	return (int)strtol(line, NULL, 10);
}

/*
 * The same with a limit of 1.5 s, of which the last 0.45 s are for what the script does when it is
 * asked to finish. A machine may be too busy to begin it in the one, or to go on with it in the
 * other: that is no try. One counts, whatever it gives, in which the script has left its process
 * id, unless what it says is @too_busy (NULL: nothing).
 */
static int capture_soon(struct recorder *rec, const char *too_busy)
{
	uint64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
	bool counts;
	int err;

	rec->request.duration_ns = NSEC_PER_MSEC;
	do {
		unlink(path_of(rec, "pid"));
		err = capture(rec);
		counts = pid_left(rec) && (!too_busy || strcmp(buf_cstr(&rec->why), too_busy));
	} while (!counts && clock_monotonic_ns() < until_ns);
	return err;
}

static void test_output(void **state)
{
	struct recorder *rec = *state;

	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	setenv("DEBUGINFOD_URLS_TOO", "kept", 1);
	program_is(rec, "printf '%s|' \"$@\" \"${DEBUGINFOD_URLS-none}\" "
			"\"${DEBUGINFOD_URLS_TOO-none}\"; cat");
	rec->request = (struct web_capture){
		.kind = WEB_CAPTURE_ALLOCS, .pid = 7, .duration_ns = LONG_NS, .client_fd = -1};
	assert_int_equal(capture(rec), 0);
	assert_string_equal(buf_cstr(&rec->out),
			    "record|-q|--output=-.pb.gz|--duration=60000ms|--heap|--heap-rate=512k|"
			    "--pid=7|none|kept|");
	assert_int_equal(rec->why.len, 0);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_URLS_TOO");
}

/* Several times what a pipe holds, binary, beside an endless talk of which nobody wants all. */
static void test_much(void **state)
{
	struct recorder *rec = *state;

	program_is(rec, "yes complaint | head -n 20000 >&2; head -c 1000000 /dev/zero; exit 4");
	assert_int_equal(capture(rec), 0);
	assert_int_equal(rec->out.len, 1000000);
	for (size_t i = 0; i < rec->out.len; i++)
		assert_int_equal(rec->out.data[i], 0);
	assert_int_equal(rec->why.len, 0);
}

static void test_failures(void **state)
{
	static const struct {
		const char *script;
		int err;
		const char *why;
	} cases[] = {
		{"echo bpfprof: no such pid >&2; exit 2", -EINVAL, "no such pid"},
		{"printf 'no prefix' >&2; exit 1", -EIO, "no prefix"},
		{"printf 'bpfprof: one\ntwo\n' >&2; exit 1", -EIO, "one"},
		{"printf '\n' >&2; exit 1", -EIO, ""},
		{"exit 3", -EIO, "the recording ended with status 3"},
		{"kill -SEGV $$", -EIO, "the recording ended with status 139"},
	};
	struct recorder *rec = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		program_is(rec, cases[i].script);
		assert_int_equal(capture(rec), cases[i].err);
		assert_string_equal(buf_cstr(&rec->why), cases[i].why);
	}
	rec->on_demand.program = "/nowhere";
	assert_int_equal(capture(rec), -EIO);
	assert_string_equal(buf_cstr(&rec->why), "the recording ended with status 127");
}

/* A reply has its bound, and a recording that knows none is ended. */
static void test_too_large(void **state)
{
	struct recorder *rec = *state;

	program_is(rec, "exec cat /dev/zero");
	rec->out.max_bytes = 1 << 20;
	assert_int_equal(capture(rec), -EFBIG);
	assert_string_equal(buf_cstr(&rec->why),
			    "the profile is too large: ask for less time, or a pid");
	rec->out.max_bytes = BUF_NO_MAX;
}

/* Is the process gone whose id the script left? */
static void check_is_gone(const struct recorder *rec)
{
	int pid = pid_left(rec);

	assert_true(pid > 0);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

/* Asked to finish, it does so; who does not is killed. Both wait for what never comes. */
static void test_too_long(void **state)
{
	struct recorder *rec = *state;

	assert_int_equal(mkfifo(path_of(rec, "never"), 0600), 0);
	program_is(rec, "trap 'echo late; exit 0' INT\necho $$ >${0%/*}/pid\n"
			"while :; do read line <>${0%/*}/never; done");
	assert_int_equal(capture_soon(rec, too_long), 0);
	assert_string_equal(buf_cstr(&rec->why), "");
	assert_string_equal(buf_cstr(&rec->out), "late\n");
	program_is(rec, "trap '' INT\necho $$ >${0%/*}/pid\n"
			"while :; do read line <>${0%/*}/never; done");
	assert_int_equal(capture_soon(rec, NULL), -ETIMEDOUT);
	assert_string_equal(buf_cstr(&rec->why), too_long);
	check_is_gone(rec);
}

/* One that has closed its outputs has given all, and is not waited for longer than that. */
static void test_lingering(void **state)
{
	struct recorder *rec = *state;

	program_is(rec,
		   "trap '' INT\necho all; echo $$ >${0%/*}/pid; exec >/dev/null 2>&1 sleep 60");
	assert_int_equal(capture_soon(rec, too_long), -EIO);
	assert_string_equal(buf_cstr(&rec->why), "the recording ended with status 137");
	check_is_gone(rec);
}

static void test_client_gone(void **state)
{
	struct recorder *rec = *state;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	rec->request.client_fd = pair[0];
	program_is(rec, "echo $$ >${0%/*}/pid; echo begun; exec sleep 60");
	close(pair[1]);
	assert_int_equal(capture(rec), -ECANCELED);
	assert_int_equal(rec->why.len, 0);
	close(pair[0]);
}

static void test_too_many(void **state)
{
	struct recorder *rec = *state;

	program_is(rec, "echo x");
	atomic_store(&rec->on_demand.running, ON_DEMAND_AT_ONCE_MAX);
	assert_int_equal(capture(rec), -EBUSY);
	assert_string_equal(buf_cstr(&rec->why), "2 recordings are under way already");
	assert_int_equal(atomic_load(&rec->on_demand.running), ON_DEMAND_AT_ONCE_MAX);
	atomic_store(&rec->on_demand.running, ON_DEMAND_AT_ONCE_MAX - 1);
	assert_int_equal(capture(rec), 0);
	assert_int_equal(atomic_load(&rec->on_demand.running), ON_DEMAND_AT_ONCE_MAX - 1);
	atomic_store(&rec->on_demand.running, 0);
	rec->request.hz = 99;
	rec->request.kind = WEB_CAPTURE_OFF_CPU;
	assert_int_equal(capture(rec), -EINVAL);
}

/* --- What a client may say --- */

static void test_arguments(void **state)
{
	static const struct {
		struct web_capture request;
		const char *wanted; /* of duration_ns = 2 s */
	} cases[] = {
		{{.kind = WEB_CAPTURE_CPU}, ""},
		{{.kind = WEB_CAPTURE_CPU, .hz = 499}, "--freq=499|"},
		{{.kind = WEB_CAPTURE_OFF_CPU, .comm = "a b*"}, "--off-cpu|--comm=a b*|"},
		{{.kind = WEB_CAPTURE_CPU, .cgroup = "/sys/fs/cgroup/a.slice"},
		 "--cgroup=/sys/fs/cgroup/a.slice|"},
		{{.kind = WEB_CAPTURE_CPU, .event = "sched:sched_switch", .pid = 7},
		 "--pid=7|--event=sched:sched_switch|"},
		{{.kind = WEB_CAPTURE_ALLOCS, .pid = 7}, "--heap|--heap-rate=512k|--pid=7|"},
	};
	static const char begin[] = "record|-q|--output=-.pb.gz|--duration=2000ms|";
	struct recorder *rec = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct web_capture request = cases[i].request;
		struct on_demand_args args;

		request.duration_ns = 2 * NSEC_PER_SEC;
		assert_int_equal(on_demand_args_make(&request, &args, &rec->why), 0);
		assert_int_equal(rec->why.len, 0);
		assert_string_equal(args.items[0], "bpfprof");
		assert_null(args.items[args.cnt]);
		buf_reset(&rec->out);
		for (size_t arg = 1; arg < args.cnt; arg++)
			buf_printf(&rec->out, "%s|", args.items[arg]);
		assert_memory_equal(buf_cstr(&rec->out), begin, sizeof(begin) - 1);
		assert_string_equal(buf_cstr(&rec->out) + sizeof(begin) - 1, cases[i].wanted);
		on_demand_args_deinit(&args);
		assert_int_equal(args.cnt, 0);
	}
}

static void test_refusals(void **state)
{
	static const char no_event[] = "event: only counters (cycles, page-faults) and tracepoints "
				       "(sched:sched_switch) are recorded on demand";
	static const char no_cgroup[] = "cgroup: no path (wanted: /sys/fs/cgroup/...)";
	static const char no_comm[] = "comm: no pattern for names of threads";
	static const struct {
		struct web_capture request;
		const char *why;
	} cases[] = {
		{{.comm = ""}, no_comm},
		{{.comm = "a\nb"}, no_comm},
		{{.comm = "a\x7f"}, no_comm},
		{{.comm = "0123456789012345678901234567890123456789012345678901234567890123x"},
		 no_comm},
		{{.cgroup = "sys/fs/cgroup"}, no_cgroup},
		{{.cgroup = "/sys/fs/cgroup/../../.."}, no_cgroup},
		{{.cgroup = "/sys/fs/cgroup/\t"}, no_cgroup},
		{{.event = ""}, no_event},
		{{.event = "-o"}, no_event},
		{{.event = "kprobe:schedule"}, no_event},
		{{.event = "usdt:/bin/x:a:b"}, no_event},
		{{.event = "cycles,instructions"}, no_event},
		{{.event = "sched:sched_switch:u"}, no_event},
		{{.event = "cycles", .kind = WEB_CAPTURE_OFF_CPU}, "event: only of profile"},
		{{.kind = WEB_CAPTURE_ALLOCS}, "the heap is one process's: pid="},
		{{.kind = WEB_CAPTURE_OFF_CPU, .hz = 99}, "hz: only of profile"},
	};
	struct recorder *rec = *state;

	program_is(rec, "echo >${0%/*}/pid");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		rec->request = cases[i].request;
		rec->request.duration_ns = LONG_NS;
		rec->request.client_fd = -1;
		assert_int_equal(capture(rec), -EINVAL);
		assert_string_equal(buf_cstr(&rec->why), cases[i].why);
		assert_int_equal(rec->out.len, 0);
	}
	/* Nothing was run. */
	buf_reset(&rec->why);
	buf_printf(&rec->why, "%s/pid", rec->folder);
	assert_int_equal(access(buf_cstr(&rec->why), F_OK), -1);
}

/* --- A machine that gives out --- */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Leave @cnt descriptors to be had; the limit as it was. */
static struct rlimit leave_descriptors(size_t cnt)
{
	struct rlimit before, limit;
	int fd = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	for (size_t left = cnt; left; fd++)
		left -= !is_open(fd);
	limit.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

static size_t open_descriptors(void)
{
	size_t cnt = 0;

	for (int fd = 0; fd < 256; fd++)
		cnt += is_open(fd);
	return cnt;
}

/* Neither both pipes nor one and a half: that is told, and what was opened is closed. */
static void test_no_descriptors(void **state)
{
	struct recorder *rec = *state;

	program_is(rec, "echo x");
	for (size_t left = 1; left <= 3; left++) {
		size_t before = open_descriptors();
		struct rlimit limit = leave_descriptors(left);
		int err = capture(rec);

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_int_equal(err, -EMFILE);
		assert_string_equal(buf_cstr(&rec->why),
				    "no recording can be started: Too many open files");
		assert_int_equal(open_descriptors(), before);
	}
	assert_int_equal(capture(rec), 0);
	assert_string_equal(buf_cstr(&rec->out), "x\n");
}

/* Who ignores SIGCHLD has the kernel reap: how it ended cannot be told, so it is no success. */
static void test_reaped_by_others(void **state)
{
	struct recorder *rec = *state;

	program_is(rec, "echo x");
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(capture(rec), -EIO);
	signal(SIGCHLD, SIG_DFL);
	assert_string_equal(buf_cstr(&rec->why), "the recording ended with status 127");
}

static volatile sig_atomic_t tick_cnt;

static void on_tick(int signo)
{
	tick_cnt++;
}

/* A signal in the midst of waiting is no end. */
static void test_interrupted(void **state)
{
	const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {0};
	const struct sigaction action = {.sa_handler = on_tick};
	struct recorder *rec = *state;
	int err;

	program_is(rec, "echo a; sleep 0.3; echo b; sleep 0.1");
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	setitimer(ITIMER_REAL, &often, NULL);
	err = capture(rec);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	assert_int_equal(err, 0);
	assert_true(tick_cnt > 1);
	assert_string_equal(buf_cstr(&rec->out), "a\nb\n");
	assert_int_equal(rec->why.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_output, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_much, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_large, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lingering, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_client_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_arguments, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_descriptors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reaped_by_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interrupted, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
