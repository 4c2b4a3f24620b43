/* SPDX-License-Identifier: Apache-2.0 */
/* Files that processes have mapped, each looked at once: which functions of it allocate. */
#ifndef BPFPROF_CAPTURE_HEAP_FILES_H
#define BPFPROF_CAPTURE_HEAP_FILES_H

#include <stddef.h>
#include <sys/types.h>

struct capture_heap_opts;
struct heap_places;

struct heap_file {
	dev_t dev;
	ino_t ino;
	int fd; /* owned; -1 where nothing is to be probed */
	struct heap_places *places; /* owned; NULL where there are none */
	char name[128]; /* for people */
};

struct heap_files {
	struct heap_file *items; /* owned */
	size_t cnt, cap;
};

void heap_files_deinit(struct heap_files *files);

/* The index of the file @fd (borrowed), which is called @name; negative errno where it cannot be
 * read. Linear in the number of files. */
ssize_t heap_files_find(struct heap_files *files, int fd, const char *name,
			const struct capture_heap_opts *opts);

#endif
