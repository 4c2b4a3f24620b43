/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose functions allocate: the names by which allocators are known, in whatever file they stand,
 * shared library or static program.
 *
 * A file is an allocator's when it defines a function that allocates and one that frees, under one
 * prefix ("" for malloc itself, "je_" for je_malloc). C++'s operators are taken only from such a
 * file: elsewhere, as in libstdc++, they call malloc().
 */
#ifndef BPFPROF_CAPTURE_HEAP_FAMILY_H
#define BPFPROF_CAPTURE_HEAP_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi_heap.h"

enum { HEAP_PLACES_MAX = 256 };

/* A function to be probed. */
struct heap_place {
	uint64_t file_off; /* of its first byte */
	uint64_t probe_off; /* where the probe is cheap, on every way that is of interest; else
			       file_off */
	uint64_t vaddr;
	enum bp_heap_call call;
};

struct heap_places {
	struct heap_place items[HEAP_PLACES_MAX];
	size_t cnt;
	char prefix[32]; /* of what was found, for people */
};

/*
 * The allocator's functions in the file @fd (borrowed), each once; @prefix: one more than those
 * known, or NULL. @with_maps: mmap() and its like instead. 0 with cnt 0: it is none. Negative
 * errno: the file cannot be read.
 */
int heap_places_find(int fd, const char *prefix, bool with_maps, struct heap_places *out);

#endif
