/* SPDX-License-Identifier: Apache-2.0 */
/* What to tell a runtime whose JIT code has no names. */
#ifndef BPFPROF_SYMBOL_JIT_ADVICE_H
#define BPFPROF_SYMBOL_JIT_ADVICE_H

#include <stddef.h>

#include "proc/module.h"

/* One warning when @module (MODULE_JIT) has @cnt frames without names although its runtime, known
 * by the program's name, could have listed them. */
void jit_advise(const struct module *module, size_t cnt);

#endif
