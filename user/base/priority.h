/* SPDX-License-Identifier: Apache-2.0 */
/* Being preferred for a moment, on a machine whose CPUs are all busy. */
#ifndef BPFPROF_BASE_PRIORITY_H
#define BPFPROF_BASE_PRIORITY_H

struct priority {
	int nice;
	int autogroup_nice; /* PRIORITY_NO_AUTOGROUP: there is none */
};

enum { PRIORITY_NO_AUTOGROUP = 100 };

/*
 * Prefer the calling thread, for work of some tens of milliseconds that somebody waits for: as one
 * of many it would take several times as long. With kernel.sched_autogroup_enabled nice values
 * count within a session only, so the session is preferred too, for as long (sched(7)). Without
 * CAP_SYS_NICE nothing changes. Returns what priority_restore() wants.
 */
struct priority priority_raise(void);
void priority_restore(const struct priority *before);

#endif
