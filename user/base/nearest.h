/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean ...?": the name nearest to a mistyped one. */
#ifndef BPFPROF_BASE_NEAREST_H
#define BPFPROF_BASE_NEAREST_H

#include <stdint.h>

/*
 * The letters to be inserted, deleted, replaced or swapped with their neighbour to turn @from into
 * @into (optimal string alignment). UINT32_MAX when either is longer than 63 bytes.
 */
uint32_t edit_distance(const char *from, const char *into);

/* A search for the name nearest to @typed, with names offered one after another. */
struct nearest {
	const char *typed; /* borrowed */
	const char *best; /* borrowed from nearest_offer()'s caller; NULL: none is near enough */
	uint32_t distance; /* of @best; at first what is just too far */
};

void nearest_init(struct nearest *nearest, const char *typed);

/* Of equally near ones the first stays. A name that @typed (of 3 letters or more) begins is nearer
 * than any mistyped one. */
void nearest_offer(struct nearest *nearest, const char *name);

#endif
