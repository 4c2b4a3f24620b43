/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was learned of names, on its way into the cache: it is written when whoever waits for a
 * flame graph has it.
 */
#ifndef BPFPROF_SYMBOL_NAME_KEEPER_H
#define BPFPROF_SYMBOL_NAME_KEEPER_H

#include "symbol/name_cache.h"
#include "symbol/name_table.h"

struct name_keeper;

/* For the cache in @base, borrowed (NULL: the user's), which is opened when it is needed. *owned*;
 * NULL when memory is out. */
struct name_keeper *name_keeper_new(const char *base);

/* What was not saved is forgotten. NULL is fine. */
void name_keeper_free(struct name_keeper *keeper);
static inline void name_keeper_freep(struct name_keeper **keeper)
{
	name_keeper_free(*keeper);
}

/* What was kept by earlier runs; as cache_dir_open(), borrowed. NULL for a @keeper that is NULL. */
struct cache_dir *name_keeper_cache(struct name_keeper *keeper);

/* Keep @learned, which has no address in common with @kept. Both are taken over, and empty then. */
void name_keeper_add(struct name_keeper *keeper, struct kept_names *kept,
		     struct name_builder *learned);

/* Write all that was added. NULL is fine. */
void name_keeper_save(struct name_keeper *keeper);

#endif
