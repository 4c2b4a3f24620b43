/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of a generation: a profile without samples, whose indices are the numbers that
 * batches hold. It only grows, and is stored as chunks: each has what was added since the one
 * before, in one or more payloads of columns.
 *
 *	payload = length, counts before, counts added (of each table of struct dict_mark), strings,
 *	          new mappings, changed mappings, functions, locations with their lines,
 *	          names given to earlier locations, stacks, label sets
 *
 * A payload that was read before may come again (chunks are put together while readers look) and
 * changes nothing then; one that does not fit to what is there is damage.
 */
#ifndef BPFPROF_STORE_DICT_H
#define BPFPROF_STORE_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/reader.h"
#include "profile/profile.h"

/* How many of each there are. */
struct dict_mark {
	uint64_t strings, mappings, functions, locations, stacks, label_sets;
};

struct dict {
	struct profile prof;
	struct dict_mark saved; /* what chunks hold */
	struct profile_mapping *saved_mappings; /* the first saved.mappings of them, as in chunks */
	size_t saved_mapping_cap;
	uint32_t *named; /* locations that got their lines after they were added, in that order */
	size_t named_cnt, named_cap, named_saved;
};

int dict_init(struct dict *dict); /* 0 or -ENOMEM */
void dict_deinit(struct dict *dict);

/* Memory that it takes. */
uint64_t dict_bytes(const struct dict *dict);

struct dict_mark dict_mark_of(const struct dict *dict);

/* Not memcmp(): what lies between members and behind them is of no interest. */
static inline bool dict_mapping_is_same(const struct profile_mapping *left,
					const struct profile_mapping *right)
{
	return left->start == right->start && left->limit == right->limit &&
	       left->file_off == right->file_off && left->path == right->path &&
	       left->build_id == right->build_id && left->flags == right->flags;
}

/* Is there anything that no chunk holds yet? */
bool dict_has_news(const struct dict *dict);

/* Give @location, which has none, its lines. The dictionary's error is sticky, in its profile. */
void dict_name(struct dict *dict, uint32_t location, const struct profile_line *lines,
	       size_t line_cnt);

/* Append a payload with what is new to @out, whose error is sticky. */
void dict_encode(const struct dict *dict, struct buf *out);

/* What is there is in chunks now. 0 or -ENOMEM: it may be encoded again then, which does no harm.
 */
int dict_set_saved(struct dict *dict);

/*
 * Add the payloads in @rd, which are hostile, to @dict, which is only to be read then: its profile
 * has no indices (hmaps). 0; -EBADMSG: they are not what dict_encode() writes, or do not follow
 * what is there, and what they held before that stays; -ENOMEM.
 */
int dict_decode(struct dict *dict, struct reader *rd);

/* Make of @src, as decoded, a dictionary that can grow: @dst, which is initialised and empty, with
 * the same numbers. 0, -EBADMSG: it has an entry twice; -ENOMEM. */
int dict_intern(const struct dict *src, struct dict *dst);

#endif
