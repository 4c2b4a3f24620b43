/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `bpfprof stat`: what was asked for, what was counted, how it is shown. */
#ifndef BPFPROF_CLI_STAT_H
#define BPFPROF_CLI_STAT_H

#include "base/fs.h"
#include "base/parse.h"
#include "capture/command.h"
#include "capture/task_counts.h"
#include "cli/cli.h"
#include "cli/stopper.h"
#include "event/counters.h"
#include "event/event.h"

struct stat_opts {
	struct opts_list events;
	bool all_cpus, no_inherit, json, force;
	struct number_set cpus, tgids;
	uint64_t duration_ns;
	const char *separator, *output;
	struct opts_args args;
};

struct stat_event {
	struct event event;
	struct counter counter;
	bool is_by_tasks; /* a probe of processes: in stat_run.task_counts, under its own index */
	struct counter_value value;
};

/* One run, from the first check to the exit status. */
struct stat_run {
	struct stat_opts *opts; /* borrowed */
	struct stat_event *events; /* owned */
	size_t cnt, cap;
	struct number_set cpus, tids; /* one of them is whose events are counted */
	struct task_counts *task_counts; /* owned; NULL: not needed */
	struct stopper stopper;
	struct command command; /* pid 0: none */
	struct fs_output output; /* path NULL: stderr */
	uint64_t elapsed_ns, user_us, system_us; /* the last two are COMMAND's */
	int command_status;
};

/* opts->events, or what a first look wants of those that open here. 0 or negative errno, logged. */
int stat_events_resolve(struct stat_run *run);

/* As people, scripts (-x) or programs (--json) want it, to the end of @out. */
void stat_print(const struct stat_run *run, struct buf *out);

#endif
