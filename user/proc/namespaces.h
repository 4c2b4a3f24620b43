/* SPDX-License-Identifier: Apache-2.0 */
/* Are we in a container: in namespaces(7) that are not the machine's first ones? */
#ifndef BPFPROF_PROC_NAMESPACES_H
#define BPFPROF_PROC_NAMESPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The inode number of our pid namespace; 0 when it is the first one, whose numbers the kernel uses,
 * or where /proc does not tell. */
uint32_t namespaces_pid(void);

/* Is /proc that of our pid namespace? 0; -ESRCH with one line in @why: its numbers are of other
 * processes than ours. */
int namespaces_check_proc(struct buf *why);

#endif
