/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a command under `bpfprof record`, in a child process of ours: each recording starts as
 * the first one does, none can leave anything behind for the next, and what the system has counted
 * for the children of that process is what it has counted for the command.
 */
#ifndef BPFPROF_CLI_COMPARE_RUN_H
#define BPFPROF_CLI_COMPARE_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct compare_run {
	int status; /* exit status of `record`: the command's own, 125 to 127 as env(1) */
	bool is_stopped; /* somebody asked us to end */
	uint64_t wall_ns; /* of the command, from its start to its end */
	uint64_t cpu_ns; /* of the command, and of the children that it waited for */
};

/*
 * Run `record @argv` (NULL-terminated, @argc of them, as cmd_record() takes them) with an empty
 * standard input, its standard output thrown away unless @show_output. SIGINT, SIGTERM and SIGHUP
 * to us alone are passed on. 0 or negative errno.
 */
int compare_run(int argc, char **argv, bool show_output, struct compare_run *out);

#endif
