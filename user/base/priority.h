/* SPDX-License-Identifier: Apache-2.0 */
/* Being preferred for a moment, on a machine whose CPUs are all busy. */
#ifndef BPFPROF_BASE_PRIORITY_H
#define BPFPROF_BASE_PRIORITY_H

/*
 * Prefer the calling thread, for work of some tens of milliseconds that somebody waits for: as one
 * of many it would take several times as long. Where kernel.sched_autogroup_enabled is set this
 * counts within a session only (sched(7)); the session's own weight is left alone, because it would
 * outlive a process that is killed meanwhile, and kernel threads, RCU's among them, starve beside a
 * session that weighs 86 times as much. Without CAP_SYS_NICE nothing changes. Returns what
 * priority_restore() wants.
 */
int priority_raise(void);
void priority_restore(int before);

#endif
