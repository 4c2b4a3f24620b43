/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the dictionary the fleet store is known to have, day by day, so that a stack travels once
 * a day. Numbers of the last KNOWN_DAYS days that were asked for.
 */
#ifndef BPFPROF_SINK_FLEET_KNOWN_H
#define BPFPROF_SINK_FLEET_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hmap.h"

enum { KNOWN_DAYS = 2 };

enum fleet_entry { FLEET_FRAME, FLEET_STACK, FLEET_SOURCE, FLEET_ENTRY_CNT };

struct fleet_known {
	struct fleet_known_day {
		uint16_t day; /* since 1970; 0: none */
		struct hmap sets[FLEET_ENTRY_CNT];
	} days[KNOWN_DAYS]; /* [0] was used last */
};

void fleet_known_init(struct fleet_known *known);
void fleet_known_deinit(struct fleet_known *known);

/* It may no longer be what the server has. */
void fleet_known_forget(struct fleet_known *known);

/* Add @id of @day: 1, 0 where it was there, or -ENOMEM. */
int fleet_known_add(struct fleet_known *known, uint16_t day, enum fleet_entry entry, uint64_t id);

#endif
