/* SPDX-License-Identifier: Apache-2.0 */
/* BPF programs that the kernel runs for every task (SEC("iter/task")). */
#ifndef BPFPROF_CAPTURE_ITERATE_H
#define BPFPROF_CAPTURE_ITERATE_H

#include <bpf/libbpf.h>
#include <stddef.h>

typedef int iterate_fn(void *arg, const void *record);

/*
 * Run @prog for every task; what it writes are records of @record_bytes, each given to @fn; 0 and
 * NULL where it writes nothing. 0, negative errno, or what @fn returned when that was not 0.
 */
int iterate_tasks(struct bpf_program *prog, iterate_fn *fn, void *arg, size_t record_bytes);

#endif
