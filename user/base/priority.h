/* SPDX-License-Identifier: Apache-2.0 */
/* Being preferred for a moment, on a machine whose CPUs are all busy. */
#ifndef BPFPROF_BASE_PRIORITY_H
#define BPFPROF_BASE_PRIORITY_H

/*
 * Prefer the calling thread, for work of some tens of milliseconds that somebody waits for: as one
 * of many it would take several times as long. Without CAP_SYS_NICE nothing changes. Returns what
 * priority_restore() wants.
 */
int priority_raise(void);
void priority_restore(int before);

#endif
