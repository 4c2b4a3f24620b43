/* SPDX-License-Identifier: Apache-2.0 */
/* --comm patterns as the automata that the kernel side runs. */
#ifndef BPFPROF_CAPTURE_GLOB_H
#define BPFPROF_CAPTURE_GLOB_H

#include "abi.h"

/*
 * Compile @pattern ('*' any run, '?' any byte, '\' takes the next byte literally) into @out. 0, or
 * -E2BIG with more than BP_GLOB_TOKENS_MAX tokens.
 */
int glob_compile(const char *pattern, struct bp_glob *out);

#endif
