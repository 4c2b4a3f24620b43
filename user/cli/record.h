/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `bpfprof record`: what was asked for, and the steps of cmd_record.c. */
#ifndef BPFPROF_CLI_RECORD_H
#define BPFPROF_CLI_RECORD_H

#include "base/fs.h"
#include "capture/capture.h"
#include "capture/command.h"
#include "cli/cli.h"
#include "cli/debug_dirs.h"
#include "cli/opts.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/stopper.h"
#include "cli/viewer.h"
#include "elf/debuginfod.h"
#include "profile/ledger.h"
#include "profile/profile.h"
#include "symbol/jit_advice.h"

enum {
	/* For lines and inlined calls of one window: with all else, files are written within a
	 * second after the sampling. */
	RECORD_LINES_BUDGET_MS = 700,
	RECORD_SYMBOLS_WAIT_S = 10, /* for debuginfod, after the recording */
	/* For all names of one window. Those of 3 s of two busy CPUs, 9,000 frames, take 0.17 s. */
	RECORD_NAMES_BUDGET_MS = 8000,
};

/* The fields that the option table fills; "not given" is 0, NULL or empty. */
struct record_opts {
	bool all_cpus; /* what is done anyway; with COMMAND: not only it */
	struct number_set cpus, tgids, tids, uids;
	struct opts_list comms, cgroups, containers;
	bool no_inherit;

	uint64_t operand_ns; /* SECONDS */
	uint64_t duration_ns, delay_ns, interval_ns;

	struct opts_list events;
	uint64_t freq_hz, period;

	const char *where, *weight, *hist;
	char *weight_text; /* owned: of weight, without its unit */
	const char *weight_unit; /* borrowed from weight; NULL: none */
	bool off_cpu, wall, wakers, kernel_threads, parallelism, elapsed;
	const char *heap; /* NULL: not wanted; "": without a mode */
	uint64_t heap_rate_bytes;
	uint64_t leak_age_ns;
	const char *alloc_prefix;
	const char *min_block, *max_block;
	uint64_t min_block_ns, max_block_ns; /* of those */
	struct opts_choices states;
	const char *max_cpu;
	uint32_t max_cpu_permille; /* of that: of each CPU, for stacks of waits */
	double max_cpu_percent; /* of the machine; 0: no bound */

	bool user_only, kernel_only, include_idle;
	bool stacks; /* -g: accepted */
	const char *call_graph;
	struct opts_choices by;
	const char *timeline; /* NULL: not wanted; "": of the default width */
	uint64_t bucket_ns; /* of that; 0: not wanted */
	uint64_t max_depth, max_memory_bytes;
	bool no_inline, merge_clones, no_symbols;
	const char *btf;
	struct opts_list debug_dir_args;

	struct opts_list outputs;
	bool folded, annotate, force, open, strict;
	const char *value, *title, *stats;
	bool embed_source;

	struct opts_args args;
	struct opts_list cgroup_paths; /* -G and --container as folders of the cgroup file system;
					  strings owned */
	struct debug_dirs debug_dirs;
};

/*
 * Parse and check everything that needs no look at the machine's processes. True: go on. False:
 * leave with *@status_out. Release with record_opts_deinit() in either case.
 */
bool record_opts_parse(struct record_opts *opts, int argc, char **argv, int *status_out);
void record_opts_deinit(struct record_opts *opts);

/* Are the -e grammatical? Whether the machine has them is for capture_open() to say. 0, -ENOMEM, or
 * -EINVAL and one line in @why. */
int record_check_events(const struct record_opts *opts, struct buf *why);

/* Do -F and -c fit each other, and does this kernel allow -F? 0; -EINVAL with the reason in @why.
 */
int record_check_rate(const struct record_opts *opts, struct buf *why);

/*
 * Do the targets exist: pids, tids, CPUs, cgroups, containers? Fills cgroup_paths. 0, or negative
 * errno after log_error().
 */
int record_targets_check(struct record_opts *opts);

/* The folder of the control group that @id (a container's id or the beginning of it) runs in,
 * owned; NULL + errno after log_error(). */
char *container_cgroup(const char *id);

/* The mount point of the unified control group hierarchy. */
const char *cgroup_root(void);

/* Say why @cap's recording was ended before its time, and what to do about it; nothing where it was
 * not. */
void record_tell_stopped(struct capture *cap);

/* What capture_open() needs; borrows from @opts. */
struct capture_opts record_capture_opts(const struct record_opts *opts);

/* --timeline: its width into bucket_ns. 0, or -EINVAL and one line in @why. */
int record_timeline_check(struct record_opts *opts, struct buf *why);

/* What splits stacks, enum capture_by: --by, and the lanes of a timeline. */
uint32_t record_timeline_by(const struct record_opts *opts);

/* The default title, "CPU flame graph: all CPUs", and what stands under it. @event: the first;
 * NULL: none is sampled. Appended to @out. */
void record_title(const struct record_opts *opts, const struct event *event, struct buf *out);
void record_subtitle(const struct profile *prof, const struct ledger *ledger, const char *rate,
		     struct buf *out);

/* Add the comment "bpfprof-recording: {json}": command, host, kernel, CPUs. Failure is @prof's err.
 */
void record_add_facts(struct profile *prof);

/* What is recorded and how often, after another one in @out: "cpu-clock at 99 Hz", "cache-misses
 * (one sample every 10000)". */
void record_rate(const struct event *event, struct buf *out);

/* cmd_record(), and how long COMMAND ran, from its release to its end; 0: it did not. */
int record_timed(int argc, char **argv, uint64_t *command_ns);

/* One run of `record`, from the first check to the exit status. */
struct recording {
	struct record_opts *opts; /* borrowed */
	struct stopper stopper;
	struct output_set outputs;
	struct output_naming naming; /* of the current window */
	struct fs_output stats; /* path NULL: none */
	struct capture *capture; /* owned */
	struct debuginfod *debuginfod; /* owned; NULL: no server is asked for symbols */
	struct command command; /* pid 0: none */
	struct viewer viewer; /* of --open */
	struct progress progress;
	uint64_t max_rate_hz; /* what the kernel allowed when it was set up */
	bool is_fallback; /* the event stands in for a missing PMU */
	struct buf title, rate;
	struct ledger totals; /* of all windows: --stats, --strict */
	uint64_t finish_cpu_ns; /* CPU time of ours that went into names and files */
	struct jit_advice jit_advice; /* that was given */
	struct name_keeper *keeper; /* owned; NULL: no names are kept */
	uint64_t rss_peak_bytes; /* anonymous memory after the files were written */
	bool is_over; /* sampling has ended: what is written now is the last window */
	bool has_samples;
	bool has_failed; /* an output could not be written, a value was not there */
};

/*
 * Take what was sampled since the last window and make files of it: name it, encode it, write it,
 * sum it up on stderr. @end_ns: CLOCK_MONOTONIC at which its sampling ended. 0, or negative errno
 * after log_error() when the recording cannot go on; outputs that could not be written set
 * has_failed instead.
 */
int record_window(struct recording *rec, uint64_t end_ns);

/* Servers for symbols, where $DEBUGINFOD_URLS names some and names are wanted. 0 or -ENOMEM. */
int record_symbols_start(struct recording *rec);

/*
 * Wait for the symbols that are on their way: RECORD_SYMBOLS_WAIT_S at most, and until a signal
 * ends it, which then does nothing else. Says what did not arrive: what @prof, complete, misses
 * most first. Nothing without servers.
 */
void record_symbols_wait(struct recording *rec, const struct profile *prof);

/* Write --stats. 0, or negative errno after log_error(). */
int record_stats(struct recording *rec);

/* The ten hottest functions, the event, @ledger in one line, the files; nothing under -q. */
void record_summary(const struct recording *rec, const struct profile *prof,
		    const struct ledger *ledger);

/* Why there are no samples, in one line. */
void record_explain_empty(const struct ledger *ledger, struct buf *out);

#endif
