/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the lists are that JIT runtimes write: they lie in folders that are anybody's. */
#ifndef BPFPROF_PROC_JIT_OWNER_H
#define BPFPROF_PROC_JIT_OWNER_H

#include <stdint.h>
#include <sys/types.h>

/* A process whose runtime may have written one. */
struct jit_owner {
	int proc_fd; /* owned: its folder in /proc, so that no other process can come between */
	uint64_t own_pid; /* in its own PID namespace */
	uint64_t euid; /* in our user namespace, as stat shows file owners */
};

/* Look at process @tgid. 0, with *@out owned (jit_owner_close()); -ENOENT or -ESRCH: it is gone;
 * other negative errno. */
int jit_owner_open(pid_t tgid, struct jit_owner *out);

void jit_owner_close(struct jit_owner *owner);

/* The root of its file system, O_PATH and owned; negative errno. */
int jit_owner_root(const struct jit_owner *owner);

/* May @fd, a regular file, be what it has written: is it the effective user's or root's, and not
 * open to everybody? 0, -EPERM, or another negative errno. */
int jit_owner_check(const struct jit_owner *owner, int fd);

#endif
