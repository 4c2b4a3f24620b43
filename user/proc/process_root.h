/* SPDX-License-Identifier: Apache-2.0 */
/* The root of the file system that a process sees, which may be another than ours. */
#ifndef BPFPROF_PROC_PROCESS_ROOT_H
#define BPFPROF_PROC_PROCESS_ROOT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The root of process @tgid, O_PATH and *owned*; -ENOENT when there is no such process, -EACCES. */
int process_root_open(pid_t tgid);

/* Is that our own, mounts included? */
bool process_root_is_own(int root_fd);

/*
 * The folder that process @tgid was chrooted to, as paths in its /proc/TGID/maps begin: its length;
 * 0 and "" where that is "/" or not known.
 */
size_t process_root_folder(pid_t tgid, char out[static PATH_MAX]);

#endif
