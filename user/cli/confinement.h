/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a command gives up what it needs no longer (base/confine.h, base/privilege.h): before the
 * first foreign byte is read, or, where something is recorded, when it has been set up. COMMAND and
 * the browser of --open have been made by then, with all that we were given.
 */
#ifndef BPFPROF_CLI_CONFINEMENT_H
#define BPFPROF_CLI_CONFINEMENT_H

#include <stdbool.h>
#include <sys/types.h>

/* From here on files are read and written. @has_network: servers are asked for symbols. Where the
 * kernel has no seccomp, -v says so. */
void confine_reader(bool has_network);

/* From here on what listens is asked, and files are read; to be called before other threads are
 * made, which it gives their capabilities. */
void confine_server(bool has_network);

struct recorder {
	bool has_network;
	bool writes_as_others; /* files that are not this user's, or in such a folder */
	pid_t child; /* COMMAND; 0: none */
	bool is_agent; /* see struct confine_opts */
};

/* From here on processes are read as well, and what has been loaded is used. */
void confine_recorder(const struct recorder *recorder);

#endif
