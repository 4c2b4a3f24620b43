/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes with JIT code in the profile. Their runtimes may list the names of what they compile.
 * The lists are opened when a frame is first seen, because by the end the process may be gone; what
 * is not there yet is looked for again, at ever longer intervals.
 */
#ifndef BPFPROF_CAPTURE_JIT_H
#define BPFPROF_CAPTURE_JIT_H

#include <stddef.h>
#include <stdint.h>

#include "proc/module.h"

struct jit_process {
	uint64_t start_ns; /* CLOCK_BOOTTIME */
	uint32_t tgid;
	uint32_t mapping; /* in the window's profile; PROFILE_NONE: no frame yet */
	struct module *module; /* owned */
	uint64_t last_window;
	uint64_t looked, look_next; /* the drains in which its lists were and will be looked for */
};

struct jit {
	struct jit_process *items; /* owned */
	size_t cnt, cap;
	uint64_t window; /* counts them */
	uint64_t drain; /* counts them */
};

void jit_deinit(struct jit *jit);

/*
 * The process (@tgid, @start_ns), new or known; good until the next call. NULL: no memory, or too
 * many processes, or its process number was another's in this window: two lists of names would be
 * one.
 */
struct jit_process *jit_find(struct jit *jit, uint32_t tgid, uint64_t start_ns);

/* After a drain: look again for lists that were not there when it is time to, which it is after 1,
 * 2, 4, 8... drains. */
void jit_look_again(struct jit *jit);

/* Before a window's frames are named: look again for all lists that were not there. */
void jit_refresh(struct jit *jit);

/* A new window with a new profile. Processes of the one before the last are forgotten; the modules
 * of the last may still be asked for names. */
void jit_begin_window(struct jit *jit);

#endif
