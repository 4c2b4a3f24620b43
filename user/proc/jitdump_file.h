/* SPDX-License-Identifier: Apache-2.0 */
/* The jitdump in which a runtime (V8, CPython, .NET, LLVM's JIT) keeps what it has compiled. */
#ifndef BPFPROF_PROC_JITDUMP_FILE_H
#define BPFPROF_PROC_JITDUMP_FILE_H

#include <sys/types.h>

/*
 * Open the jit-PID.dump of process @tgid for reading. It may be in any folder: the runtime maps a
 * page of it as executable to show where. Of several the one with the PID that the process has for
 * itself is taken, else the last mapped (a forked child has its parent's). It is opened as the
 * mapping, which serves when the file has been deleted, or by its path below the process's root
 * where that is not permitted; symbolic links are not followed. It counts on the terms of
 * perf_map_file_open(): -ENOENT, -EINVAL, -EPERM, -ESRCH, -EACCES and the like as there; -ESTALE:
 * under its path there is another file by now. Costs a reading of the process's maps.
 */
int jitdump_file_open(pid_t tgid);

#endif
