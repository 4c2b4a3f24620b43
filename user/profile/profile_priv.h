/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the profile model share among themselves, and nobody else may use. */
#ifndef BPFPROF_PROFILE_PROFILE_PRIV_H
#define BPFPROF_PROFILE_PROFILE_PRIV_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/profile.h"

/* Room for @more elements behind the @cnt that the column @items has; false, and prof->err set,
 * where memory or 32-bit indices run out or an earlier error stands. */
bool profile_reserve(struct profile *prof, void *items, size_t *cap, size_t cnt, size_t more,
		     size_t elem_bytes);

/* Note @index, which is about to become valid, under @hash; false, and prof->err set, on failure.
 */
bool profile_note(struct profile *prof, struct hmap *map, uint64_t hash, size_t index);

/* Take the samples away, with their values (value_type_cnt each): both arrays are the caller's. The
 * profile has none then. */
void profile_take_samples(struct profile *prof, struct profile_sample **samples, int64_t **values,
			  size_t *cnt);

/* Does the comment with this string id hold a ledger? */
bool profile_is_ledger_comment(const struct profile *prof, uint32_t comment);

#endif
