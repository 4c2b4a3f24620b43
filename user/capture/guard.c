/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a recording, and the file that forbids it. */
#include "capture/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/loader.h"
#include "capture/own_memory.h"

/* Root's, and nobody else may change what is there. */
static bool is_roots_alone(const struct stat *st)
{
	return !st->st_uid && !(st->st_mode & S_IWOTH) && (!st->st_gid || !(st->st_mode & S_IWGRP));
}

bool guard_file_counts(const char *path, const char **why_not)
{
	const char *slash = strrchr(path, '/'), *why = NULL;
	_cleanup_free_ char *folder = slash ? strndup(path, (size_t)(slash - path)) : NULL;
	struct stat st;
	bool counts = false;

	if (lstat(path, &st))
		why = NULL;
	else if (!S_ISREG(st.st_mode))
		why = "it is no regular file";
	else if (!is_roots_alone(&st))
		why = "it is not root's alone to write";
	else if (!folder || lstat(folder, &st) || !S_ISDIR(st.st_mode) || !is_roots_alone(&st))
		why = "its folder is not root's alone to write";
	else
		counts = true;
	if (why_not)
		*why_not = why;
	return counts;
}

int guard_open(struct guard *guard, const struct capture_opts *opts)
{
	const char *why_not;

	*guard = (struct guard){.max_cpu_percent = opts->max_cpu_percent,
				.max_own_bytes = opts->max_own_bytes};
	if (guard->max_own_bytes && guard->max_own_bytes < GUARD_MEMORY_LEAST)
		guard->max_own_bytes = GUARD_MEMORY_LEAST;
	if (guard_file_counts(LEDGER_STOP_FILE, &why_not)) {
		log_error("recording is forbidden on this machine: root's file '%s' is there "
			  "(remove it to record)",
			  LEDGER_STOP_FILE);
		return -EPERM;
	}
	if (why_not)
		log_warn("'%s' forbids nothing: %s", LEDGER_STOP_FILE, why_not);
	return 0;
}

void guard_resume(struct guard *guard)
{
	guard->resumed_ns = clock_process_cpu_ns();
	guard->is_running = true;
}

static uint64_t own_cpu_ns(const struct guard *guard)
{
	return guard->own_ns + (guard->is_running ? clock_process_cpu_ns() - guard->resumed_ns : 0);
}

void guard_pause(struct guard *guard)
{
	guard->own_ns = own_cpu_ns(guard);
	guard->is_running = false;
}

static void stop(struct guard *guard, const char *reason, double observed, double allowed)
{
	snprintf(guard->stopped.reason, sizeof(guard->stopped.reason), "%s", reason);
	guard->stopped.observed = observed;
	guard->stopped.allowed = allowed;
}

bool guard_add_reading(struct guard *guard, uint64_t now_ns, uint64_t used_ns, uint32_t cpu_cnt,
		       double *percent_out)
{
	const double window_ns = (double)GUARD_WINDOW_S * NSEC_PER_SEC * cpu_cnt;
	uint32_t last = guard->reading_cnt++;
	uint64_t before_ns = used_ns;
	double percent;

	guard->readings[last % GUARD_READINGS] = (struct guard_reading){now_ns, used_ns};
	/* The oldest that is not older than the window; counts only grow. */
	for (uint32_t i = last < GUARD_READINGS ? 0 : last - GUARD_READINGS + 1; i <= last; i++) {
		const struct guard_reading *reading = &guard->readings[i % GUARD_READINGS];

		if (now_ns - reading->time_ns <= GUARD_WINDOW_S * NSEC_PER_SEC &&
		    reading->used_ns < before_ns)
			before_ns = reading->used_ns;
	}
	percent = 100 * (double)(used_ns - before_ns) / window_ns;
	if (percent <= guard->max_cpu_percent)
		return false;
	*percent_out = percent;
	return true;
}

static bool uses_too_much_cpu(struct guard *guard, const struct loader *loader, uint64_t now_ns)
{
	uint64_t own_ns = own_cpu_ns(guard);
	long cpu_cnt = sysconf(_SC_NPROCESSORS_ONLN);
	struct program_stats programs;
	double percent;

	if (!(guard->max_cpu_percent > 0))
		return false;
	if (!guard->begun_ns)
		guard->begun_ns = now_ns;
	if (now_ns - guard->begun_ns < GUARD_SETTLED_S * NSEC_PER_SEC)
		guard->settling_ns = own_ns;
	loader_cost(loader, &programs);
	if (!guard_add_reading(guard, now_ns, programs.run_ns + own_ns - guard->settling_ns,
			       cpu_cnt > 0 ? (uint32_t)cpu_cnt : 1, &percent))
		return false;
	stop(guard, "max_cpu", percent, guard->max_cpu_percent);
	return true;
}

static bool uses_too_much_memory(struct guard *guard)
{
	uint64_t bytes = guard->max_own_bytes ? own_rss_anon_bytes() : 0;

	if (bytes <= guard->max_own_bytes)
		return false;
	stop(guard, "max_memory", (double)bytes, (double)guard->max_own_bytes);
	return true;
}

bool guard_check(struct guard *guard, const struct loader *loader, uint64_t now_ns)
{
	if (guard->stopped.reason[0])
		return true;
	if (now_ns < guard->next_ns)
		return false;
	guard->next_ns = now_ns + GUARD_CHECK_MS * NSEC_PER_MSEC;
	if (guard_file_counts(LEDGER_STOP_FILE, NULL)) {
		stop(guard, "stop_file", 0, 0);
		return true;
	}
	return uses_too_much_cpu(guard, loader, now_ns) || uses_too_much_memory(guard);
}
