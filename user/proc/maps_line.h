/* SPDX-License-Identifier: Apache-2.0 */
/* A line of /proc/PID/maps (proc_pid_maps(5)). */
#ifndef BPFPROF_PROC_MAPS_LINE_H
#define BPFPROF_PROC_MAPS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "start-end perms offset dev inode path" */
struct maps_line {
	uint64_t start, end;
	uint64_t file_off; /* of start */
	bool is_exec;
	bool is_file; /* has an inode */
	const char *file; /* "dev inode": borrowed from the line, as is path */
	size_t file_len;
	const char *path; /* the rest of the line; empty where there is none */
	size_t path_len;
};

/* Parse @len bytes at @text, a line without its end. False when it is none. */
bool maps_line_parse(const char *text, size_t len, struct maps_line *out);

#endif
