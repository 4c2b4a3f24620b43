/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the lists are that JIT runtimes write: they lie in folders that are anybody's. */
#ifndef BPFPROF_PROC_JIT_OWNER_H
#define BPFPROF_PROC_JIT_OWNER_H

#include <stdint.h>
#include <sys/types.h>

/* A process whose runtime may have written one. */
struct jit_owner {
	int proc_fd; /* its folder in /proc, so that no other process can come between */
	uint64_t own_pid; /* in its own PID namespace */
	uint64_t euid; /* in our user namespace, as stat shows file owners */
};

/*
 * The regular file that @open_file (which returns an owned descriptor or negative errno) finds for
 * process @tgid, if the process may have written it: it is the effective user's or root's, and not
 * open to everybody. A descriptor, *owned*; -EPERM: it may not; -ENOENT or -ESRCH: the process is
 * gone, or has no such file; other negative errno.
 */
int jit_owner_open_file(pid_t tgid, int (*open_file)(const struct jit_owner *owner));

/* The root of its file system, O_PATH and owned; negative errno. */
int jit_owner_root(const struct jit_owner *owner);

#endif
