/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind every thread of a running process, stopped again and again, or of a core file, and compare
 * with libdwfl.
 *
 *	snapshot --pid PID [--rounds N] [--interval-us N]
 *	snapshot --core FILE [--print]		--print: "TID ip ip ..." per thread, leaf first
 *
 * A stack is equal when libdwfl finds the same frames; `further` when it stops before the bottom
 * and agrees up to there; `leaving` when it goes wrong above libgcc's unwinder, which at that
 * moment has put the registers of the frame it goes to where the CFI looks for its own. Exit: 0
 * when none differs and all are complete.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/parse.h"
#include "core_file.h"
#include "libdw_chain.h"
#include "space.h"

enum {
	THREADS_MAX = 256,
	SHOWN_MAX = 20, /* stacks */
	SHOWN_FRAMES = 12,
};

struct totals {
	uint64_t stacks, frames, equal, further, leaving, both_end, differ, incomplete;
	bool is_print;
};

struct options {
	uint64_t pid, rounds, interval_us;
	const char *core;
	bool is_print;
};

/* --- Compare --- */

/* Frames around @same, the first that differs. */
static void show(const struct space *space, const struct bpfhost_walk *walk, const uint64_t *ips,
		 size_t cnt, size_t same, pid_t tid)
{
	char ours[64], theirs[64];
	size_t max = walk->total > cnt ? walk->total : cnt;

	max = max < same + SHOWN_FRAMES ? max : same + SHOWN_FRAMES;

	printf("stack of %d: outcome %u, %u frames, libdwfl %zu\n", tid, walk->outcome, walk->total,
	       cnt);
	for (size_t i = same > SHOWN_FRAMES ? same - SHOWN_FRAMES : 0; i < max; i++)
		printf("  %2zu %-40s %s\n", i,
		       i < walk->total
			       ? space_describe(space,
						bpfhost_frame_ip(&space->task,
								 bpfhost_frame(walk, (uint32_t)i)),
						ours, sizeof(ours))
			       : "-",
		       i < cnt ? space_describe(space, ips[i], theirs, sizeof(theirs)) : "-");
}

/* How many frames agree, leaf first. Of a thread in a system call ours stands on that instruction.
 */
static size_t agree(const struct space *space, const struct bpfhost_walk *walk, bool is_call_site,
		    const uint64_t *ips, size_t cnt)
{
	uint32_t total = walk->total, i;

	for (i = 0; i < total && i < cnt; i++) {
		/* Elided. */
		if (total > BP_FRAMES_USER && i >= BP_FRAMES_LEAF && i < total - BP_FRAMES_ROOT)
			continue;
		if (bpfhost_frame_ip(&space->task, bpfhost_frame(walk, i)) !=
		    ips[i] - (!i && is_call_site))
			break;
	}
	return i;
}

/* Do the frames cease to agree at the caller of one that leaves frames for good, or at that one's?
 */
static bool is_leaving(struct libdw_chain *libdw, const uint64_t *ips, size_t same)
{
	for (size_t i = same > 2 ? same - 2 : 0; i < same; i++) {
		const char *name = libdw_chain_symbol(libdw, ips[i]);

		if (name && !strncmp(name, "_Unwind_", strlen("_Unwind_")))
			return true;
	}
	return false;
}

static void compare(struct space *space, struct libdw_chain *libdw, pid_t tid,
		    const struct user_regs_struct *regs, struct totals *totals)
{
	static uint64_t ips[BP_WALK_MAX];
	bool is_call_site = (long)regs->orig_rax >= 0, libdw_complete;
	struct bpfhost_walk walk;
	size_t cnt, same;

	bpfhost_walk(&space->task, regs, is_call_site, &walk);
	cnt = libdw_chain_get(libdw, tid, ips, BP_WALK_MAX, &libdw_complete);
	same = agree(space, &walk, is_call_site, ips, cnt);
	totals->stacks++;
	totals->frames += walk.total;
	if (totals->is_print) {
		printf("%d", tid);
		for (uint32_t i = 0; i < walk.total && walk.total <= BP_FRAMES_USER; i++)
			printf(" %lx", bpfhost_frame_ip(&space->task, bpfhost_frame(&walk, i)));
		printf("\n");
	}
	if (walk.outcome != BP_STACK_COMPLETE && !libdw_complete && same == walk.total)
		totals->both_end++;
	else if (walk.outcome != BP_STACK_COMPLETE)
		totals->incomplete++;
	else if (same == cnt && same == walk.total)
		totals->equal++;
	else if (same == cnt && cnt)
		totals->further++;
	else if (!libdw_complete && is_leaving(libdw, ips, same))
		totals->leaving++;
	else
		totals->differ++;
	if ((walk.outcome != BP_STACK_COMPLETE || same != cnt) &&
	    totals->differ + totals->incomplete <= SHOWN_MAX)
		show(space, &walk, ips, cnt, same, tid);
}

/* --- A running process --- */

/* The threads that could be stopped, into @tids. */
static size_t stop_all(pid_t pid, pid_t *tids)
{
	char name[32];
	struct dirent *entry;
	size_t cnt = 0;
	DIR *dir;

	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	dir = opendir(name);
	while (dir && cnt < THREADS_MAX && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int status;

		if (tid <= 0 || ptrace(PTRACE_SEIZE, tid, NULL, NULL))
			continue;
		if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
		    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			continue;
		tids[cnt++] = tid;
	}
	if (dir)
		closedir(dir);
	return cnt;
}

static int look_at_process(pid_t pid, struct totals *totals)
{
	pid_t tids[THREADS_MAX];
	size_t cnt = stop_all(pid, tids);
	struct libdw_chain libdw;
	struct space *space = calloc(1, sizeof(*space));
	int err = space ? space_init_process(space, pid) : -ENOMEM;

	if (!err && cnt && !libdw_chain_process(&libdw, pid)) {
		for (size_t i = 0; i < cnt; i++) {
			struct user_regs_struct regs;

			if (!ptrace(PTRACE_GETREGS, tids[i], NULL, &regs))
				compare(space, &libdw, tids[i], &regs, totals);
		}
		libdw_chain_deinit(&libdw);
	}
	for (size_t i = 0; i < cnt; i++)
		ptrace(PTRACE_DETACH, tids[i], NULL, NULL);
	if (space)
		space_deinit(space);
	free(space);
	return err;
}

/* --- A core file --- */

static int look_at_core(const char *path, struct totals *totals)
{
	static struct space space;
	struct libdw_chain libdw;
	struct core_file core;
	int err = core_file_open(&core, path, &space);

	if (!err && !libdw_chain_core(&libdw, path)) {
		for (size_t i = 0; i < core.threads_cnt; i++)
			compare(&space, &libdw, core.threads[i].tid, &core.threads[i].regs, totals);
		libdw_chain_deinit(&libdw);
	}
	space_deinit(&space);
	core_file_deinit(&core);
	return err;
}

static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option options[] = {
		{"pid", required_argument, NULL, 'p'},
		{"rounds", required_argument, NULL, 'n'},
		{"interval-us", required_argument, NULL, 'i'},
		{"core", required_argument, NULL, 'c'},
		{"print", no_argument, NULL, 'v'},
		{0},
	};
	int opt, err = 0;

	*out = (struct options){.rounds = 1, .interval_us = 3000};
	while (!err && (opt = getopt_long(argc, argv, "p:n:i:c:v", options, NULL)) != -1) {
		if (opt == 'p')
			err = parse_u64(optarg, &out->pid);
		else if (opt == 'n')
			err = parse_u64(optarg, &out->rounds);
		else if (opt == 'i')
			err = parse_u64(optarg, &out->interval_us);
		else if (opt == 'c')
			out->core = optarg;
		else if (opt == 'v')
			out->is_print = true;
		else
			err = -EINVAL;
	}
	return err || optind != argc || !out->pid == !out->core ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct totals totals = {0};
	struct options options;
	int err = 0;

	if (parse_options(argc, argv, &options)) {
		fprintf(stderr, "usage: snapshot --pid PID [--rounds N] [--interval-us N] | "
				"--core FILE [--print]\n");
		return 2;
	}
	totals.is_print = options.is_print;
	if (options.core)
		err = look_at_core(options.core, &totals);
	for (uint64_t i = 0; options.pid && i < options.rounds && !err; i++) {
		err = look_at_process((pid_t)options.pid, &totals);
		usleep((useconds_t)options.interval_us);
	}
	printf("stacks %lu\nframes %lu\nequal %lu\nfurther %lu\nleaving %lu\n"
	       "both_end %lu\ndiffer %lu\nincomplete %lu\n",
	       totals.stacks, totals.frames, totals.equal, totals.further, totals.leaving,
	       totals.both_end, totals.differ, totals.incomplete);
	/* A core file has a few stacks. */
	return err || !totals.stacks || totals.differ || totals.incomplete ||
	       totals.both_end > totals.stacks / 100 || totals.leaving > 1 + totals.stacks / 100;
}
