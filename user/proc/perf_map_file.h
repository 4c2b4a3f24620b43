/* SPDX-License-Identifier: Apache-2.0 */
/* The file in which a JIT runtime (Node, OpenJDK, CPython) says what it has compiled to where. */
#ifndef BPFPROF_PROC_PERF_MAP_FILE_H
#define BPFPROF_PROC_PERF_MAP_FILE_H

#include <sys/types.h>

/*
 * Open the /tmp/perf-PID.map of process @tgid for reading: below its root, and with the PID that it
 * has for itself. /tmp is anybody's, so only a regular file counts that belongs to the process's
 * effective user or to root and that not everybody may write to. The descriptor (owned, O_CLOEXEC);
 * -ENOENT: there is none; -EINVAL: it is no regular file (or a symbolic link, which is not
 * followed); -EPERM: it is somebody else's, or open to everybody; -ESRCH or -ENOENT: the process is
 * gone; -EACCES and the like.
 */
int perf_map_file_open(pid_t tgid);

#endif
