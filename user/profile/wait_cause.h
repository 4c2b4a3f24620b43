/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a thread that does not run waits, read off its kernel stack: "futex", "disk I/O", "page
 * fault". Names of functions in, a name out: what wait_rules.def lists. Kernels 5.10 to 6.18,
 * x86-64 and arm64.
 *
 * @names are kernel functions as /proc/kallsyms has them, leaf first; what compilers append
 * (".isra.0", ".cold") and the spellings of system calls ("__x64_sys_", "__se_compat_sys_") are
 * seen through. A frame without a name is NULL or "".
 */
#ifndef BPFPROF_PROFILE_WAIT_CAUSE_H
#define BPFPROF_PROFILE_WAIT_CAUSE_H

#include <stddef.h>

/*
 * The cause as a static string: one of WAIT_CAUSE's names; "other" where no rule says more,
 * "unknown" where no frame has a name. Frames before wait_stack_begin() do not count, so it is the
 * same before and after they are cut off. Allocates nothing; two binary searches per frame.
 */
const char *wait_cause(const char *const *names, size_t cnt);

/*
 * Index of the first frame that belongs to the wait: __schedule, or schedule or preempt_schedule*
 * where that one is missing, or finish_task_switch where no such frame follows it. The frames
 * before it are those of whoever took the stack: the BPF program, the tracepoint, an interrupt. 0
 * where there is none of them.
 */
size_t wait_stack_begin(const char *const *names, size_t cnt);

#endif
