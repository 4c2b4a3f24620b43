/* SPDX-License-Identifier: Apache-2.0 */
/* What a terminal shows while something takes long. */
#ifndef BPFPROF_CLI_PROGRESS_H
#define BPFPROF_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The line "3.0 s, 291 samples" that is rewritten in place while a recording runs; only where
 * stderr is a terminal and -q was not given.
 */
struct progress {
	bool is_shown;
	uint64_t start_ns;
	uint64_t next_ns; /* CLOCK_MONOTONIC of the next repaint; UINT64_MAX: never */
};

void progress_start(struct progress *progress, uint64_t now_ns);
void progress_update(struct progress *progress, uint64_t now_ns, uint64_t samples);
/* Instead, what is waited for: so many files, @left_ns longer at most (0: until they are decided).
 */
void progress_wait(struct progress *progress, uint64_t now_ns, size_t file_cnt, uint64_t left_ns);
void progress_clear(struct progress *progress); /* before anything else is printed */

#endif
