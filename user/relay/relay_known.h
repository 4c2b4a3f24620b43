/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the dictionary this relay has put into the fleet's store, day by day: hosts tell it all
 * that they name, and what many of them have in common is inserted once.
 */
#ifndef BPFPROF_RELAY_RELAY_KNOWN_H
#define BPFPROF_RELAY_RELAY_KNOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "clickhouse/native.h"
#include "sink/fleet_known.h"
#include "sink/fleet_rows.h"

struct relay_known {
	struct fleet_known sent;
	size_t cnt; /* entries; beyond a bound all are forgotten, and sent again */
};

void relay_known_init(struct relay_known *known);
void relay_known_deinit(struct relay_known *known);

/* An insert failed: it is not sure what is there. */
void relay_known_forget(struct relay_known *known);

/*
 * Which rows of @rows, of table @block, has the store not got? *@keep is *owned* (free()): one for
 * each row; NULL: all. They count as sent from now on. 0 or -ENOMEM.
 */
int relay_known_choose(struct relay_known *known, enum fleet_block block,
		       const struct native_block *rows, bool **keep);

#endif
