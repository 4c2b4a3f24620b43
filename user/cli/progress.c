/* SPDX-License-Identifier: Apache-2.0 */
/* One line, rewritten in place. */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum { REPAINT_NS = 500 * 1000 * 1000 };

void progress_start(struct progress *progress, uint64_t now_ns)
{
	progress->is_shown = isatty(STDERR_FILENO) && log_get_level() >= LOG_NORMAL;
	progress->start_ns = now_ns;
	progress->next_ns = progress->is_shown ? now_ns + REPAINT_NS : UINT64_MAX;
}

void progress_update(struct progress *progress, uint64_t now_ns, uint64_t samples)
{
	if (now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + REPAINT_NS;
	fprintf(stderr, "\rbpfprof: %.1f s", (double)(now_ns - progress->start_ns) / NSEC_PER_SEC);
	/* Samples are known from the first drain on. */
	if (samples)
		fprintf(stderr, ", %llu samples", (unsigned long long)samples);
	fputs(" (Ctrl-C finishes)\033[K", stderr);
}

void progress_wait(struct progress *progress, uint64_t now_ns, size_t file_cnt, uint64_t left_ns)
{
	if (now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + REPAINT_NS;
	fprintf(stderr, "\rbpfprof: waiting for debuginfod: %zu left", file_cnt);
	if (left_ns)
		fprintf(stderr, ", up to %.0f s more (Ctrl-C goes on without)",
			(double)left_ns / NSEC_PER_SEC);
	fputs("\033[K", stderr);
}

void progress_clear(struct progress *progress)
{
	if (progress->is_shown)
		fputs("\r\033[K", stderr);
}
