/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the fleet store's table frames, from locations of a profile. Of the rows of one frame and
 * day the one with the largest `named` stays, and is read:
 *
 *	0		it has no name, or only its address for one
 *	1 .. 126	names without lines, as a stripped file's symbols are: how many
 *	127		the same after a file with lines was asked, which has none there
 *	128 ..		names with lines: 128 and how many, calls that were inlined among them
 *
 * (Rows that were written before version 3 of the schema have how many, lines or not.)
 */
#ifndef BPFPROF_CLICKHOUSE_FLEET_FRAME_H
#define BPFPROF_CLICKHOUSE_FLEET_FRAME_H

#include <stdint.h>

#include "clickhouse/native.h"
#include "profile/profile.h"

enum {
	FLEET_FRAME_COLUMN_CNT = 12,
	FLEET_NAMED_ASKED = 127,
	FLEET_NAMED_LINES = 128,
};

extern const struct native_column fleet_frame_columns[FLEET_FRAME_COLUMN_CNT];

/* What a row says besides the names and the flags, which are its location's; borrowed. */
struct fleet_frame {
	uint16_t day; /* since 1970 */
	uint8_t named;
	uint64_t frame, address;
	const char *path, *build_id;
};

/* What `named` is of @location's lines; never FLEET_NAMED_ASKED. */
uint8_t fleet_frame_named(const struct profile *prof, uint32_t location);

/* Add the row. */
void fleet_frame_add(struct native_block *block, const struct fleet_frame *frame,
		     const struct profile *prof, uint32_t location);

#endif
