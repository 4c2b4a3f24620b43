/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes with JIT code in the profile. Their runtimes may list the names of what they compile;
 * the list is opened when a frame is first seen, because by the end the process may be gone.
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
};

struct jit {
	struct jit_process *items; /* owned */
	size_t cnt, cap;
	uint64_t window; /* counts them */
};

void jit_deinit(struct jit *jit);

/*
 * The process (@tgid, @start_ns), new or known; good until the next call. NULL: no memory, or too
 * many processes, or its process number was another's in this window: two lists of names would be
 * one.
 */
struct jit_process *jit_find(struct jit *jit, uint32_t tgid, uint64_t start_ns);

/* Before a window's frames are named: look again for lists that were not there. */
void jit_refresh(struct jit *jit);

/* A new window with a new profile. Processes of the one before the last are forgotten; the modules
 * of the last may still be asked for names. */
void jit_begin_window(struct jit *jit);

#endif
