/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracefs, wherever it is. Many machines have it mounted; on others (small virtual machines,
 * containers with the right privileges) we make a mount that has no place in any tree: fsmount(2)
 * gives a descriptor of the file system's root, nobody else sees anything, and it goes away with
 * the descriptor.
 */
#ifndef BPFPROF_EVENT_KERNEL_FS_H
#define BPFPROF_EVENT_KERNEL_FS_H

#include "base/buf.h"

/* tracefs's root, an *owned* descriptor for openat(2). Negative errno, with one line in @why: what
 * forbids it and how to mend it. */
int kernel_fs_tracefs(struct buf *why);

/* The same of debugfs, silent: few kernels need it, none must have it. */
int kernel_fs_debugfs(void);

/* Append the file @path below @dir to @out. 0 or negative errno. */
int kernel_fs_read(int dir, const char *path, struct buf *out);

#endif
