/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a debuginfod server did not give for one reason: how many, and the names of those that
 * matter most. */
#ifndef BPFPROF_ELF_DEBUGINFOD_TALLY_H
#define BPFPROF_ELF_DEBUGINFOD_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { TALLY_SHOWN = 3 };

struct debuginfod_tally {
	size_t cnt;
	int err; /* of the first that has one */
	/* Those that weigh most, in that order, equal ones as they came; the paths are borrowed. */
	struct {
		const char *path;
		uint64_t weight;
	} shown[TALLY_SHOWN];
	struct buf names;
};

/* Count a file, which is of the image @path (borrowed until debuginfod_tally_name()). @err: 0 or
 * why. */
void debuginfod_tally_add(struct debuginfod_tally *tally, const char *path, uint64_t weight,
			  int err);

/* Append to tally->names: "a, b, c and 3 more". */
void debuginfod_tally_name(struct debuginfod_tally *tally);

#endif
