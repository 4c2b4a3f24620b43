/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that come and go while we sample: the kernel's uevents on a netlink socket. */
#ifndef BPFPROF_CAPTURE_HOTPLUG_H
#define BPFPROF_CAPTURE_HOTPLUG_H

#include <stdbool.h>
#include <stdint.h>

/* A socket to poll, or negative errno (without it hotplug goes unnoticed until the end; not fatal).
 */
int hotplug_open(void);

/* Read one event; true when a CPU went or came. False at the end of what is there. */
struct hotplug_event {
	uint32_t cpu;
	bool is_online;
};
bool hotplug_next(int fd, struct hotplug_event *out, bool *more);

#endif
