/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds as a store has them: what stores share that read their batches into profiles. */
#ifndef BPFPROF_STORE_KINDS_H
#define BPFPROF_STORE_KINDS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "store/store.h"

/* One that consists of something else (another rate, another value type) is another kind of the
 * same name. */
struct kind {
	uint64_t id;
	char name[STORE_NAME_MAX];
	char event[LEDGER_NAME_MAX]; /* of the ledger, or "" */
	struct profile types; /* value types, default value, period */
};

struct kinds {
	struct kind *items; /* owned */
	size_t cnt, cap;
};

void kinds_deinit(struct kinds *kinds);

/* Add the value types of @kinds to @prof, each once, and which of them column i of kinds->items[k]
 * is: value_at[k][i]. The default is the first kind's; the period, too, where all have the same,
 * else 0. -E2BIG: too many. */
typedef uint32_t kind_values[PROFILE_VALUES_MAX];
int kinds_take_types(const struct kinds *kinds, struct profile *prof, kind_values *value_at);

#endif
