/* SPDX-License-Identifier: Apache-2.0 */
/* What to tell runtimes whose code has no names although they could have listed them. */
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
	unsigned int python_minor; /* of an interpreter that has much to do; 0: of none */
	bool has_python, is_python_told; /* names of Python functions were found */
};

/* @module (MODULE_JIT) has @cnt frames without names. Nothing is noted where it has lists that have
 * all, or where its program is of no runtime that we know. */
void jit_advice_note(struct jit_advice *advice, const struct module *module, size_t cnt);

/* The file at @path is in a good part of the samples. An interpreter's frames all have names, but
 * those of what it interprets only if it was asked: CPython 3.12 and newer. */
void jit_advice_note_file(struct jit_advice *advice, const char *path);

/* One warning for each runtime that was noted, and was told nothing before. */
void jit_advice_tell(struct jit_advice *advice);

#endif
