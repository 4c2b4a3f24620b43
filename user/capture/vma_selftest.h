/* SPDX-License-Identifier: Apache-2.0 */
/* Does the lockless VMA walk find what /proc/self/maps shows on this kernel? */
#ifndef BPFPROF_CAPTURE_VMA_SELFTEST_H
#define BPFPROF_CAPTURE_VMA_SELFTEST_H

#include <stdbool.h>

/* Run program bp_selftest (@prog_fd) for every mapping of ours; true when it finds all of them. */
bool vma_selftest(int prog_fd);

#endif
