/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bpfprof top`: a recording whose windows are shown and forgotten. The order of things is
 * record's: what can be refused is refused before COMMAND runs; then
 *
 *	capture_run() until the interval is over -> capture_window() -> names -> table -> shown
 *
 * until the end is near: -n, -d, a signal, the key q, the end of COMMAND or of all of -p.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "cli/confinement.h"
#include "cli/top.h"
#include "symbol/demangle.h"

/* How soon the terminal's new size is seen, which no descriptor tells. */
#define LOOK_NS (500 * NSEC_PER_MSEC)

/* One run, from the first check to the exit status. */
struct top {
	struct top_opts *opts; /* borrowed */
	struct stopper stopper;
	struct capture *capture; /* owned */
	struct command command; /* pid 0: none */
	struct top_table table;
	struct top_names names;
	struct top_view view;
	struct top_state state;
	struct top_screen screen;
	int wake_fd; /* epoll: signals, and the keyboard where there is a screen */
	uint64_t cpu_ns, bpf_ns, window_ns; /* meters at the end of the last window */
	uint64_t shown_cnt;
	struct jit_advice jit_advice;
};

static int failure(const struct top *top)
{
	return top->opts->record.args.command ? CLI_COMMAND_FAILED : CLI_FAILED;
}

static uint64_t earlier(uint64_t one, uint64_t two)
{
	return one < two ? one : two;
}

/* --- Setting up --- */

static int open_capture(struct top *top)
{
	static const char *const events[] = {"cpu-clock", NULL};
	struct capture_opts opts = record_capture_opts(&top->opts->record);

	opts.events = events;
	return capture_open(&opts, &top->capture);
}

static int start_command(struct top *top)
{
	char **argv = top->opts->record.args.command;
	int err = argv ? command_start(&top->command, argv) : 0;

	if (err)
		log_error("cannot start '%s': %s%s", argv[0], strerror(-err),
			  err == -EINVAL ? " (SUDO_UID and SUDO_GID must be numbers)" : "");
	if (err || !argv)
		return err;
	stopper_set_child(&top->stopper, top->command.pid);
	return 0;
}

static int follow_command(struct top *top)
{
	char **argv = top->opts->record.args.command;
	int err;

	if (!argv || top->opts->record.all_cpus)
		return 0;
	err = capture_add_command(top->capture, top->command.pid, argv[0]);
	if (err)
		log_error("cannot follow '%s': %s", argv[0], strerror(-err));
	return err;
}

/* 0, or the exit status that env(1) would have after log_error(). */
static int release_command(struct top *top)
{
	int err = top->command.pid ? command_release(&top->command) : 0;

	if (!err)
		return 0;
	stopper_set_child(&top->stopper, 0);
	log_error("cannot run '%s': %s", top->opts->record.args.command[0], strerror(-err));
	return err == -ENOENT ? CLI_COMMAND_NOT_FOUND : CLI_COMMAND_NOT_RUNNABLE;
}

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* What capture_run() waits on; the screen where there is one. 0 or negative errno. */
static int open_screen(struct top *top)
{
	int err;

	top->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (top->wake_fd < 0)
		return -errno;
	err = watch(top->wake_fd, top->stopper.wake_fd);
	if (err || top->opts->batch)
		return err;
	if (top_screen_open(&top->screen, top->stopper.wake_fd))
		return 0;
	top_screen_draw(&top->screen, &top->view, &top->table, &top->state);
	return watch(top->wake_fd, STDIN_FILENO);
}

/* --- A window --- */

static uint32_t cpu_cnt(const struct top *top)
{
	size_t picked = top->opts->record.cpus.cnt;
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return picked ? (uint32_t)picked : online > 0 ? (uint32_t)online : 1;
}

static void note_state(struct top *top, const struct profile *prof, const struct ledger *ledger)
{
	struct top_state *state = &top->state;
	uint64_t now_ns = clock_monotonic_ns(), cpu_ns = clock_process_cpu_ns();
	uint64_t bpf_ns = ledger->cost.bpf_run_ns;
	double span_ns = now_ns > top->window_ns ? (double)(now_ns - top->window_ns) : 1;

	*state = (struct top_state){
		.window_s = (double)prof->duration_ns / NSEC_PER_SEC,
		.time_ns = clock_realtime_ns(),
		.freq_hz = top->opts->record.freq_hz,
		.complete = ledger->stacks.complete,
		.stacks = ledger->stacks.complete + ledger_reasons_sum(&ledger->stacks.truncated),
		.own_permille =
			1000 * (double)(cpu_ns - top->cpu_ns + bpf_ns - top->bpf_ns) / span_ns,
		.bpf_permille = 1000 * (double)(bpf_ns - top->bpf_ns) / span_ns,
	};
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		const struct ledger_row *sum = &ledger->events[i].sum;

		state->samples += i ? 0 : sum->recorded;
		state->never_ran += i ? 0 : sum->never_ran_busy;
		state->lost += ledger_reasons_sum(&sum->lost);
	}
	top->cpu_ns = cpu_ns;
	top->bpf_ns = bpf_ns;
	top->window_ns = now_ns;
	top->view.cpu_cnt = cpu_cnt(top);
}

static int add_window(struct top *top, struct profile *prof)
{
	const struct symbolizer_opts naming = {
		.kernel = capture_kernel(top->capture),
		.start_ns = clock_monotonic_ns() - prof->duration_ns,
		.end_ns = clock_monotonic_ns(),
		.jit_advice = &top->jit_advice,
		.names_budget_ns = top->opts->record.interval_ns / 2 + NSEC_PER_SEC,
	};
	struct top_window window = {
		.prof = prof,
		.by = top->opts->record.by.text,
		.naming = &naming,
	};
	uint32_t sort = top->table.sort;
	int err;

	window.modules = capture_modules(top->capture, &window.module_cnt);
	if (top_table_is_full(&top->table)) {
		top_table_deinit(&top->table);
		top_names_forget(&top->names);
		top->screen.callee = TOP_NONE;
		top->view.cnt = 0;
		err = top_table_init(&top->table, sort);
		if (err)
			return err;
	}
	top_table_begin(&top->table, (double)prof->duration_ns,
			top->opts->zero || top->screen.wants_clear);
	top->screen.wants_clear = false;
	err = top_names_add(&top->names, &top->table, &window);
	top_table_prune(&top->table);
	return err ? err : top->table.err;
}

static int print(struct top *top)
{
	_cleanup_(buf_deinit) struct buf out;
	int err;

	buf_init(&out, BUF_NO_MAX);
	top_print(&top->view, &top->table, &top->state, top->opts->entries, &out);
	err = out.err ? out.err : fs_write_all(STDOUT_FILENO, out.data, out.len);
	/* Whoever read has seen enough. */
	if (err && err != -EPIPE)
		log_error("standard output: %s", strerror(-err));
	return err;
}

static int show(struct top *top)
{
	int err;

	if (top->screen.is_frozen)
		return 0;
	err = top_view_update(&top->view, &top->table);
	if (err)
		return err;
	if (!top->screen.is_open)
		return print(top);
	top_screen_refresh(&top->screen, &top->view, &top->table);
	top_screen_draw(&top->screen, &top->view, &top->table, &top->state);
	return 0;
}

/* 0; -EPIPE: nobody reads any more; negative errno after log_error(). */
static int take_window(struct top *top)
{
	struct profile *prof = NULL;
	struct ledger *ledger = NULL;
	int err = capture_window(top->capture, &prof, &ledger);

	if (!err) {
		err = add_window(top, prof);
		note_state(top, prof, ledger);
		profile_deinit(prof);
		ledger_deinit(ledger);
		free(prof);
		free(ledger);
	}
	if (!err)
		err = show(top);
	if (err && err != -EPIPE)
		log_error("table %llu: %s", (unsigned long long)top->shown_cnt + 1, strerror(-err));
	top->shown_cnt += !err;
	return err;
}

/* --- The run --- */

/* Is it time to end, whatever the clock says? */
static bool must_end(struct top *top)
{
	stopper_rearm(&top->stopper);
	return stopper_is_asked(&top->stopper) || stopper_child_ended(&top->stopper) ||
	       top->screen.wants_end;
}

static void take_keys(struct top *top)
{
	if (top->screen.is_open && top_screen_keys(&top->screen, &top->view, &top->table))
		top_screen_draw(&top->screen, &top->view, &top->table, &top->state);
}

/* Until @until_ns, or until it is time to end (true), or negative errno after log_error(). */
static int sample_until(struct top *top, uint64_t until_ns)
{
	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t wake_ns =
			top->screen.is_open ? earlier(until_ns, now_ns + LOOK_NS) : until_ns;
		int wake = capture_run(top->capture, wake_ns, top->wake_fd);

		if (wake < 0) {
			log_error("sampling: %s", strerror(-wake));
			return wake;
		}
		take_keys(top);
		if (wake == CAPTURE_TARGET_GONE || wake == CAPTURE_STOPPED || must_end(top))
			return true;
		if (clock_monotonic_ns() >= until_ns)
			return false;
	}
}

/* 0 or negative errno after log_error(). */
static int sample(struct top *top)
{
	const struct record_opts *record = &top->opts->record;
	uint64_t now_ns = clock_monotonic_ns(), next_ns = now_ns;
	uint64_t end_ns = record->duration_ns && record->duration_ns < UINT64_MAX - now_ns
				  ? now_ns + record->duration_ns
				  : UINT64_MAX;
	int err = 0, ended = 0;

	while (!ended && now_ns < end_ns &&
	       (!top->opts->iterations || top->shown_cnt < top->opts->iterations)) {
		/* A table that took longer than the interval swallows the ones it missed. */
		while (next_ns <= now_ns)
			next_ns += record->interval_ns;
		ended = sample_until(top, earlier(next_ns, end_ns));
		if (ended < 0)
			return ended;
		if (ended && top->screen.is_open)
			break;
		err = take_window(top);
		if (err)
			return err == -EPIPE ? 0 : err;
		now_ns = clock_monotonic_ns();
	}
	return 0;
}

/* COMMAND's exit status; a second signal ends the wait and us. */
static int wait_for_command(struct top *top)
{
	if (!top->command.pid)
		return CLI_OK;
	if (!stopper_child_ended(&top->stopper))
		log_info("the last table was shown, '%s' goes on: waiting for it",
			 top->opts->record.args.command[0]);
	while (!stopper_child_ended(&top->stopper)) {
		stopper_wait(&top->stopper, UINT64_MAX);
		stopper_rearm(&top->stopper);
	}
	stopper_set_child(&top->stopper, 0);
	return command_wait(&top->command);
}

static int run(struct top *top)
{
	int status, err = start_command(top);

	err = err ? err : open_capture(top);
	err = err ? err : follow_command(top);
	err = err ? err : capture_start(top->capture, top->stopper.wake_fd);
	if (err) {
		if (!log_error_is_told())
			log_error("top: %s", strerror(-err));
		return failure(top);
	}
	status = release_command(top);
	if (status)
		return status;
	screen_prepare();
	demangle_preload();
	confine_recorder(&(const struct recorder){.child = top->command.pid});
	top->window_ns = clock_monotonic_ns();
	top->cpu_ns = clock_process_cpu_ns();
	err = open_screen(top);
	if (err)
		log_error("the terminal: %s", strerror(-err));
	else
		err = sample(top);
	top_screen_close(&top->screen);
	capture_stop(top->capture);
	record_tell_stopped(top->capture);
	if (err)
		return failure(top);
	status = wait_for_command(top);
	return status < 0 ? failure(top) : status;
}

static void set_view(struct top *top)
{
	const struct top_opts *opts = top->opts;
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	top->view = (struct top_view){
		.order = opts->order.bits,
		.is_last = opts->zero,
		.in_ms = opts->ms,
		.has_off_cpu = opts->off_cpu,
	};
	if (opts->filter)
		top_view_filter(&top->view, opts->filter, &why);
}

static int top(struct top_opts *opts)
{
	struct top top = {
		.opts = opts,
		.command = {.go_fd = -1, .exec_fd = -1},
		.wake_fd = -1,
		.screen = {.callee = TOP_NONE},
	};
	int status = CLI_OK, err;

	signal(SIGPIPE, SIG_IGN);
	set_view(&top);
	err = top_table_init(&top.table, opts->sort.bits);
	err = err ? err : top_names_init(&top.names);
	if (err)
		log_error("top: %s", strerror(-err));
	if (err || record_targets_check(&opts->record))
		status = failure(&top);
	if (!status && (err = stopper_start(&top.stopper))) {
		log_error("signals: %s", strerror(-err));
		status = failure(&top);
	}
	if (!status)
		status = run(&top);
	command_abandon(&top.command);
	capture_close(top.capture);
	if (top.wake_fd >= 0)
		close(top.wake_fd);
	stopper_end(&top.stopper);
	top_view_deinit(&top.view);
	top_names_deinit(&top.names);
	top_table_deinit(&top.table);
	return status;
}

int cmd_top(int argc, char **argv)
{
	struct top_opts opts;
	int status = CLI_OK;

	if (top_opts_parse(&opts, argc, argv, &status))
		status = top(&opts);
	top_opts_deinit(&opts);
	return status;
}
