/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bpfprof stat`: exact counts. The order of things is record's: all that can be refused is refused
 * before COMMAND runs.
 *
 * Counters and tracepoints of processes are perf events that their threads and children inherit.
 * Probes cannot be inherited: those of processes are counted by programs (capture/task_counts.h),
 * those of CPUs by perf.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/targets.h"
#include "cli/confinement.h"
#include "cli/record.h"
#include "cli/stat.h"
#include "event/names_of.h"

#define AT(member, type) .offset = OPT_AT(struct stat_opts, member, type)

static const struct opt stat_options[] = {
	{OPT_GROUP, .help = "What"},
	{OPT_LIST, 'e', "event", "EVENT", AT(events, struct opts_list),
	 .help = "repeatable, or a comma list, as for record (see bpfprof list)"},
	{OPT_GROUP, .help = "Whose"},
	{OPT_FLAG, 'a', "all-cpus", AT(all_cpus, bool),
	 .help = "everything that runs (the default without COMMAND and -p)"},
	{OPT_NUMBERS, 'C', "cpu", "LIST", AT(cpus, struct number_set),
	 .help = "everything on these CPUs: 0,2-5"},
	{OPT_NUMBERS, 'p', "pid", "LIST", AT(tgids, struct number_set),
	 .help = "these processes, and what they start from then on"},
	{OPT_FLAG, 'i', "no-inherit", AT(no_inherit, bool), .flags = OPT_NEGATABLE,
	 .help = "without what they start"},
	{OPT_DURATION, 'd', "duration", "TIME", AT(duration_ns, uint64_t), .min = 1,
	 .help = "stop after this long; without it, until Ctrl-C or the target's end"},
	{OPT_GROUP, .help = "Output"},
	{OPT_STRING, 'x', "separator", "TEXT", AT(separator, const char *),
	 .help = "lines of: count, unit, event, percent counted, rate per second"},
	{OPT_FLAG, 0, "json", AT(json, bool), .help = "as one JSON object"},
	{OPT_STRING, 'o', "output", "FILE", AT(output, const char *), .flags = OPT_IS_FILE,
	 .help = "there instead of stderr; '-' is standard output"},
	{OPT_FLAG, 0, "force", AT(force, bool), .help = "replace an existing file"},
	{OPT_END},
};

static const struct opts_example stat_examples[] = {
	{"bpfprof stat -e page-faults,context-switches -- make", "of a program and its children"},
	{"bpfprof stat -e 'syscalls:sys_enter_*at' -p 1234 -d 10", "of a process, for 10 s"},
	{"bpfprof stat -e uprobe:libc:malloc -- ls", "calls of a function"},
	{NULL},
};

/* The first word that is no option is COMMAND's. */
static bool take_operand(void *target, const char *arg)
{
	return false;
}

const struct opts_spec stat_spec = {
	.name = "stat",
	.usage = "stat [-e EVENT...] [-a | -p LIST] [-d TIME] [-- COMMAND ARG...]",
	.summary = "Count events exactly, without samples",
	.details = "COMMAND runs as $SUDO_UID where that is set, and its exit status is ours. "
		   "Where there are more events than the PMU has counters, they take turns: counts "
		   "are then scaled up, and the percentage of the time is shown.",
	.options = stat_options,
	.examples = stat_examples,
	.take_operand = take_operand,
};

static int failure(const struct stat_run *run)
{
	return run->opts->args.command ? CLI_COMMAND_FAILED : CLI_FAILED;
}

static bool is_of_cpus(const struct stat_opts *opts)
{
	return opts->all_cpus || opts->cpus.cnt || (!opts->tgids.cnt && !opts->args.command);
}

/* --- Whose --- */

/* Add the threads of process @tgid. */
static int add_threads(struct number_set *tids, uint32_t tgid)
{
	struct names names = {0};
	char path[40];
	int err;

	snprintf(path, sizeof(path), "/proc/%u/task", tgid);
	err = names_of(AT_FDCWD, path, 1, &names);
	for (size_t i = 0; i < names.cnt && !err; i++)
		err = number_set_parse(tids, names.items[i]);
	names_deinit(&names);
	return err == -ENOENT ? 0 : err;
}

static int all_threads(struct stat_run *run)
{
	const struct number_set *tgids = &run->opts->tgids;
	int err = 0;

	for (size_t i = 0; i < tgids->cnt && !err; i++)
		err = add_threads(&run->tids, tgids->items[i]);
	if (!err && run->command.pid)
		err = number_set_add(&run->tids, (uint32_t)run->command.pid);
	return err;
}

static int find_targets(struct stat_run *run)
{
	_cleanup_free_ char *online = NULL;
	int err = 0;

	if (!is_of_cpus(run->opts))
		return all_threads(run);
	for (size_t i = 0; i < run->opts->cpus.cnt && !err; i++)
		err = number_set_add(&run->cpus, run->opts->cpus.items[i]);
	if (run->cpus.cnt || err)
		return err;
	online = fs_read_line("/sys/devices/system/cpu/online");
	return online ? number_set_parse(&run->cpus, online) : -errno;
}

/* --- Opening --- */

/*
 * The set of threads whose hits of probes count. Threads that were made while we looked are found
 * by looking again: from the first look on, programs follow those that are in.
 */
static int open_task_counts(struct stat_run *run, struct buf *why)
{
	size_t known = 0;
	int err = task_counts_open(run->cnt, &run->task_counts, why);

	do {
		known = run->tids.cnt;
		for (size_t i = 0; i < known && !err; i++)
			err = task_counts_add(run->task_counts, run->tids.items[i],
					      run->command.pid == (pid_t)run->tids.items[i]);
		err = err ? err : all_threads(run);
	} while (!err && run->tids.cnt > known);
	if (err && !why->len)
		buf_printf(why, "BPF: %s", strerror(-err));
	return err;
}

static int open_by_tasks(struct stat_run *run, size_t index, struct buf *why)
{
	int err = run->task_counts ? 0 : open_task_counts(run, why);

	err = err ? err
		  : task_counts_attach(run->task_counts, index, &run->events[index].event, why);
	run->events[index].is_by_tasks = !err;
	return err;
}

static int open_event(struct stat_run *run, size_t index)
{
	struct stat_event *item = &run->events[index];
	struct counter_target target = {
		.cpus = run->cpus.cnt ? &run->cpus : NULL,
		.tids = &run->tids,
		.inherit = !run->opts->no_inherit,
		.on_exec = run->command.pid,
	};
	_cleanup_(buf_deinit) struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	if (event_is_probe(item->event.spec.kind) && !target.cpus && target.inherit)
		err = open_by_tasks(run, index, &why);
	else
		err = counter_open(&item->counter, &item->event, &target, &why);
	if (err)
		log_error("%s", buf_error_text(&why, err));
	return err;
}

static int open_events(struct stat_run *run)
{
	int err = find_targets(run);

	if (err)
		log_error("what to count: %s", strerror(-err));
	for (size_t i = 0; i < run->cnt && !err; i++)
		err = open_event(run, i);
	return err;
}

/* --- Counting --- */

static int start_command(struct stat_run *run)
{
	char **argv = run->opts->args.command;
	int err = argv ? command_start(&run->command, argv) : 0;

	if (err)
		log_error("cannot start '%s': %s%s", argv[0], strerror(-err),
			  err == -EINVAL ? " (SUDO_UID and SUDO_GID must be numbers)" : "");
	else if (argv)
		stopper_set_child(&run->stopper, run->command.pid);
	return err;
}

/* 0, or the exit status that env(1) would have after log_error(). */
static int release_command(struct stat_run *run)
{
	int err = run->command.pid ? command_release(&run->command) : 0;

	if (!err)
		return 0;
	stopper_set_child(&run->stopper, 0);
	log_error("cannot run '%s': %s", run->opts->args.command[0], strerror(-err));
	return err == -ENOENT ? CLI_COMMAND_NOT_FOUND : CLI_COMMAND_NOT_RUNNABLE;
}

/* COMMAND's own events begin with its exec. */
static int enable(struct stat_run *run)
{
	int err = 0;

	if (run->command.pid && !run->cpus.cnt)
		return 0;
	for (size_t i = 0; i < run->cnt && !err; i++)
		err = counter_enable(&run->events[i].counter);
	if (err)
		log_error("starting to count: %s", strerror(-err));
	return err;
}

/* Until the deadline, a signal, or the end of COMMAND or of all of -p. */
static void wait_for_end(struct stat_run *run, struct targets *targets, uint64_t begin_ns)
{
	uint64_t span_ns = run->opts->duration_ns, now_ns = begin_ns;

	while (!span_ns || now_ns - begin_ns < span_ns) {
		uint64_t left_ms =
			span_ns ? (span_ns - (now_ns - begin_ns)) / NSEC_PER_MSEC + 1 : 3600000;
		struct pollfd fds[] = {
			{.fd = run->stopper.wake_fd, .events = POLLIN},
			{.fd = targets_poll_fd(targets), .events = POLLIN},
		};

		stopper_rearm(&run->stopper);
		if (stopper_is_asked(&run->stopper) || stopper_child_ended(&run->stopper) ||
		    (targets->cnt && targets_all_gone(targets)))
			return;
		poll(fds, 2, left_ms < 3600000 ? (int)left_ms : 3600000);
		now_ns = clock_monotonic_ns();
	}
}

static int read_event(struct stat_run *run, size_t index)
{
	struct stat_event *item = &run->events[index];

	return item->is_by_tasks ? task_counts_read(run->task_counts, index, &item->value.count)
				 : counter_read(&item->counter, &item->value);
}

static int read_events(struct stat_run *run)
{
	int err = 0;

	for (size_t i = 0; i < run->cnt; i++)
		counter_disable(&run->events[i].counter);
	for (size_t i = 0; i < run->cnt && !err; i++) {
		err = read_event(run, i);
		if (err)
			log_error("event '%s': reading it: %s", run->events[i].event.name,
				  strerror(-err));
	}
	return err;
}

static uint64_t usec(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

/* COMMAND's end, where counting ended before it. */
static void reap_command(struct stat_run *run)
{
	struct rusage usage;

	while (!stopper_child_ended(&run->stopper)) {
		stopper_wait(&run->stopper, UINT64_MAX);
		stopper_rearm(&run->stopper);
	}
	stopper_set_child(&run->stopper, 0);
	run->command_status = command_wait(&run->command);
	getrusage(RUSAGE_CHILDREN, &usage);
	run->user_us = usec(&usage.ru_utime);
	run->system_us = usec(&usage.ru_stime);
}

static int print(struct stat_run *run)
{
	_cleanup_(buf_deinit) struct buf out;
	int err;

	buf_init(&out, BUF_NO_MAX);
	stat_print(run, &out);
	err = out.err;
	if (!err && run->output.path)
		err = fs_output_commit(&run->output, out.data, out.len);
	else if (!err)
		err = fs_write_all(STDERR_FILENO, out.data, out.len);
	if (err)
		log_error("output '%s': %s", run->opts->output ? run->opts->output : "stderr",
			  strerror(-err));
	return err;
}

/* From COMMAND's fork on. Exit status. */
static int count(struct stat_run *run, struct targets *targets)
{
	bool has_command = run->opts->args.command;
	struct recorder recorder = {
		.writes_as_others = run->output.path && !fs_output_is_ours(run->output.path),
	};
	uint64_t begin_ns;
	int status;

	if (start_command(run) || open_events(run))
		return failure(run);
	recorder.child = run->command.pid;
	begin_ns = clock_monotonic_ns();
	if (enable(run))
		return failure(run);
	status = release_command(run);
	if (status)
		return status;
	confine_recorder(&recorder);
	wait_for_end(run, targets, begin_ns);
	run->elapsed_ns = clock_monotonic_ns() - begin_ns;
	if (read_events(run))
		return failure(run);
	if (has_command)
		reap_command(run);
	if (print(run) || run->command_status < 0)
		return failure(run);
	return run->command_status;
}

/* --- The command --- */

static int open_output(struct stat_run *run)
{
	const char *path = run->opts->output;
	int err = path ? fs_output_open(path, run->opts->force, &run->output) : 0;

	if (err)
		output_log_error(path, err);
	return err;
}

static int prepare(struct stat_run *run, struct targets *targets)
{
	/* Borrows the sets. */
	struct record_opts named = {.cpus = run->opts->cpus, .tgids = run->opts->tgids};
	int err = record_targets_check(&named);

	err = err ? err : stat_events_resolve(run);
	err = err ? err : open_output(run);
	err = err ? err : targets_open(targets, &run->opts->tgids);
	if (err)
		return err;
	err = stopper_start(&run->stopper);
	if (err)
		log_error("signals: %s", strerror(-err));
	return err;
}

static int run_stat(struct stat_opts *opts)
{
	struct stat_run run = {.opts = opts, .command = {.go_fd = -1, .exec_fd = -1}};
	struct targets targets = {.epoll_fd = -1};
	int status;

	signal(SIGPIPE, SIG_IGN);
	status = prepare(&run, &targets) ? failure(&run) : count(&run, &targets);
	command_abandon(&run.command);
	task_counts_close(run.task_counts);
	for (size_t i = 0; i < run.cnt; i++) {
		counter_close(&run.events[i].counter);
		event_deinit(&run.events[i].event);
	}
	free(run.events);
	number_set_deinit(&run.cpus);
	number_set_deinit(&run.tids);
	if (run.output.path)
		fs_output_abandon(&run.output);
	targets_deinit(&targets);
	stopper_end(&run.stopper);
	return status;
}

/* 0; -EINVAL with one line in @why. */
static int check_opts(const struct stat_opts *opts, struct buf *why)
{
	if (opts->json && opts->separator)
		buf_add_str(why, "options '--json' and '-x' exclude each other");
	else if (opts->tgids.cnt && opts->args.command)
		buf_add_str(why, "options '-p' and COMMAND exclude each other");
	else if (opts->tgids.cnt && (opts->all_cpus || opts->cpus.cnt))
		buf_add_str(why, "options '-p' and '-a' or '-C' exclude each other");
	else if (opts->no_inherit && is_of_cpus(opts))
		buf_add_str(why, "option '-i': only with -p or COMMAND");
	return why->len ? -EINVAL : 0;
}

int cmd_stat(int argc, char **argv)
{
	_cleanup_(buf_deinit) struct buf why;
	struct stat_opts opts = {0};
	int status;

	buf_init(&why, BUF_NO_MAX);
	if (cli_begin(&stat_spec, argc, argv, &opts, &opts.args, &status)) {
		if (check_opts(&opts, &why)) {
			log_error("%s (see bpfprof stat --help)", buf_cstr(&why));
			status = CLI_USAGE;
		} else {
			status = run_stat(&opts);
		}
	}
	opts_deinit(&stat_spec, &opts, &opts.args);
	return status;
}
