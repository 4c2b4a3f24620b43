/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that are no code are told by their names, in every format that has names:
 *
 *	"[truncated: REASON]", "[N frames elided]"	a stack that is not whole
 *	"[running: not sampled]"			time on the CPU that no sample saw
 *	"[blocked: CAUSE]", "[runnable: WHY]"		the leaf of a wait: its state
 *	"--"						behind it are the waker's frames
 */
#ifndef BPFPROF_PROFILE_SYNTHETIC_H
#define BPFPROF_PROFILE_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>

enum synthetic {
	SYNTHETIC_NOT, /* code */
	SYNTHETIC_INCOMPLETE,
	SYNTHETIC_RUNNING,
	SYNTHETIC_BLOCKED,
	SYNTHETIC_RUNNABLE,
	SYNTHETIC_WAKER,
};

/* What a frame called @name, @len bytes, is. */
enum synthetic synthetic_of(const char *name, size_t len);

/* Is that the state in which a thread's time was? */
bool synthetic_is_state(const char *name);

#endif
