/* SPDX-License-Identifier: Apache-2.0 */
/* What to tell runtimes whose JIT code has no names although they could have listed them. */
#ifndef BPFPROF_SYMBOL_JIT_ADVICE_H
#define BPFPROF_SYMBOL_JIT_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "proc/module.h"

enum { JIT_RUNTIMES_MAX = 16 };

/* Of all windows of a recording; zeroes to begin with. */
struct jit_advice {
	struct {
		const struct module *first; /* borrowed until jit_advice_tell() */
		size_t process_cnt, frame_cnt;
		bool is_told;
	} runtimes[JIT_RUNTIMES_MAX];
};

/* @module (MODULE_JIT) has @cnt frames without names. Nothing is noted where it has a list, or
 * where its program is of no runtime that we know. */
void jit_advice_note(struct jit_advice *advice, const struct module *module, size_t cnt);

/* One warning for each runtime that was noted, and was told nothing before. */
void jit_advice_tell(struct jit_advice *advice);

#endif
