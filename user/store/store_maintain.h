/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of work that store_maintain() does, each a transaction of its own. */
#ifndef BPFPROF_STORE_STORE_MAINTAIN_H
#define BPFPROF_STORE_STORE_MAINTAIN_H

#include <stdint.h>

#include "store/store_priv.h"

/*
 * Put the first group of windows from *@seq on together whose minute ended before @before_ns; *@seq
 * is then the one after. Damaged windows stay as they are. 1: done, 0: there is none; or negative
 * errno.
 */
int store_compact_step(struct store *store, const struct kinds *kinds, uint64_t before_ns,
		       uint64_t *seq);

/* Put the first run of small chunks of a dictionary together. Likewise. */
int store_compact_dict(struct store *store);

/* Drop some of the oldest windows, those that ended before @before_ns (0: whenever they did) and
 * are not after @held_seq, and leave a tombstone with @reason; dictionaries that no window needs go
 * with them. Likewise. */
int store_drop_step(struct store *store, uint64_t before_ns, uint64_t held_seq, const char *reason);

/* Bytes of the database that hold something. 0 or negative errno. */
int store_used_bytes(struct store *store, uint64_t *out);

/* Give some of the pages that hold nothing back to the file system. Likewise. */
int store_shrink_step(struct store *store);

#endif
