/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system call that nothing works without, and that answers ENOSYS. One of three says so, and each
 * is mended elsewhere:
 *
 *	the kernel	was built without it
 *	a filter	seccomp(2), by which a container's runtime or a service manager hides it
 *	an emulation	of Linux, which runs us and does not pass the call on
 *
 * The kernel has a setting where it has the call: perf_event_paranoid is the official sign
 * (perf_event_open(2), notes), unprivileged_bpf_disabled is made by the same source as bpf(2)
 * (CONFIG_BPF_SYSCALL; Linux 4.4). That a filter is upon us is in /proc/PID/status (proc(5)).
 */
#ifndef BPFPROF_BASE_ABSENT_CALL_H
#define BPFPROF_BASE_ABSENT_CALL_H

#include "base/buf.h"

enum absent_call {
	ABSENT_PERF_EVENT_OPEN,
	ABSENT_BPF,
};

/*
 * Append why @call answers ENOSYS to who does @what ("load the BPF programs"), and what helps: one
 * line without its end. @proc: where proc(5) is mounted, "/proc".
 */
void absent_call_explain(const char *what, enum absent_call call, const char *proc,
			 struct buf *out);

#endif
