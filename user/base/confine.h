/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process may still ask of the kernel once it reads what others wrote: no_new_privs, and a
 * seccomp filter on all of its threads. A call is treated in one of three ways:
 *
 *	allowed  what the rest of the work makes, some of it with certain arguments only (maps of
 *	         BPF but no new program, threads but no process, memory but none to execute; a
 *	         recording may make copies of itself, which are as confined, but not as
 *	         fork() and system() do)
 *	ended    what only somebody makes who has taken us over: to execute a program, to trace or
 *	         write into a process, to load a module, to mount, to become another user. The
 *	         process ends there, with one line that names the call
 *	ENOSYS   everything else, as from a kernel that has no such call: a C library that is newer
 *	         than this table finds another way, and a recording does not end for its sake
 *
 * What is started has to be started before: children inherit both.
 */
#ifndef BPFPROF_BASE_CONFINE_H
#define BPFPROF_BASE_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

enum confine_work {
	CONFINE_READING, /* of files that others wrote, and writing of our own */
	CONFINE_RECORDING, /* and of processes, perf events and the maps of BPF programs */
};

struct confine_opts {
	enum confine_work work;
	/* Sockets, and libraries that are loaded when they are needed: what asks servers for
	 * symbols. */
	bool has_network;
	pid_t child; /* may be sent signals; 0: nobody */
	bool is_agent; /* a recording that changes while it goes on: programs are loaded again */
	bool serves; /* sockets that are open or listened on are used, but none is made */
};

/*
 * Confine the whole process, for good. 0; negative errno where the kernel has no seccomp filters
 * or forbids them (-EINVAL, -ENOSYS, -EACCES): nothing but no_new_privs is changed then.
 */
int confine(const struct confine_opts *opts);

/* Does this kernel let us? 0 or negative errno as above. */
int confine_probe(void);

#endif
