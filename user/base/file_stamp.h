/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file something was made from. A build-id alone would not do: `strip` keeps it, some builds
 * set a constant, and anyone can link a program that has libc's. Owner and group are compared so
 * that a user's file can only ever stand in for files of the same user.
 */
#ifndef BPFPROF_BASE_FILE_STAMP_H
#define BPFPROF_BASE_FILE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

/* Part of files that are kept: no padding, compared as bytes. */
struct file_stamp {
	uint32_t uid, gid;
	uint64_t size_bytes;
	int64_t mtime_s;
	uint32_t mtime_ns;
	uint32_t pad; /* 0 */
};

_Static_assert(sizeof(struct file_stamp) == 32, "no padding");

/* The stamp of @fd's file. False, and nothing should be kept of it: it may be changed by anybody,
 * and its mtime set back, or it cannot be looked at. */
bool file_stamp_get(int fd, struct file_stamp *out);

#endif
