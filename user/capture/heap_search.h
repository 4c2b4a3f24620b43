/* SPDX-License-Identifier: Apache-2.0 */
/* The allocators of one process, each probed once. */
#ifndef BPFPROF_CAPTURE_HEAP_SEARCH_H
#define BPFPROF_CAPTURE_HEAP_SEARCH_H

#include <stddef.h>
#include <sys/types.h>

struct heap;

/* A file of a process has its probes. */
struct heap_probed {
	pid_t tgid;
	size_t file; /* index of heap.files */
};

struct heap_search {
	struct heap *heap; /* borrowed */
	pid_t tgid;
	size_t found; /* files with an allocator that have been probed */
	int err; /* of the last that could not be; logged */
};

/* What the process has mapped. 0; negative errno where its maps cannot be read (it is gone). */
int heap_search_mapped(struct heap_search *search);

/* What @program, a path or a name in $PATH, and the libraries that it needs are going to be: the
 * number of its files, 0 where there is no such program. */
size_t heap_search_program(struct heap_search *search, const char *program);

/* What it is going to map, by exec, of which the dynamic linker has mapped nothing yet. */
void heap_search_exec(struct heap_search *search);

/* What its @parent has, so far as that has been searched. */
void heap_search_child(struct heap_search *search, pid_t parent);

/* Process @tgid has no probes any more: they were of the thread that was its first, or it is
 * another process of the same number. */
void heap_search_forget(struct heap *heap, pid_t tgid);

#endif
