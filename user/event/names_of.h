/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a folder, sorted. */
#ifndef BPFPROF_EVENT_NAMES_OF_H
#define BPFPROF_EVENT_NAMES_OF_H

#include <stddef.h>

struct names {
	char **items; /* owned, and each of them */
	size_t cnt, cap;
};

/*
 * The entries of @path (relative to @dir as in openat(2)) that do not begin with a dot; folders
 * only with @folders. 0, -E2BIG beyond 100,000 of them, other negative errno.
 */
int names_of(int dir, const char *path, int folders, struct names *out);

int names_add(struct names *names, const char *name); /* 0 or -ENOMEM */
void names_deinit(struct names *names);

#endif
