/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: each distinct byte string once, known by a u32 id. Id 0 is "". */
#ifndef BPFPROF_BASE_STRTAB_H
#define BPFPROF_BASE_STRTAB_H

#include "base/hmap.h"

enum { STRTAB_EMPTY = 0, STRTAB_NONE = UINT32_MAX };

struct strtab {
	char *bytes; /* owned: all strings, each NUL-terminated */
	size_t bytes_len, bytes_cap;
	uint32_t *offsets; /* owned: id -> offset into bytes */
	size_t cnt, cap;
	struct hmap index;
};

int strtab_init(struct strtab *tab); /* 0 or -ENOMEM */
void strtab_deinit(struct strtab *tab);

/* The id of @len bytes at @str (cut at an embedded NUL), new or known; STRTAB_NONE when memory or
 * ids run out. */
uint32_t strtab_add(struct strtab *tab, const char *str, size_t len);

/* The id of @len bytes at @str if it is interned, else STRTAB_NONE. */
uint32_t strtab_find(const struct strtab *tab, const char *str, size_t len);

/* The same without looking: the string gets the next id, and neither strtab_add() nor strtab_find()
 * will meet it. For tables that are only read by id. */
uint32_t strtab_append(struct strtab *tab, const char *str, size_t len);

/* Where each string stands in the order of their bytes, by id; *owned* by the caller, NULL without
 * memory. Strings that are there twice (strtab_append()) have neighbouring places. */
uint32_t *strtab_ranks(struct strtab *tab);

/* Borrowed until the next strtab_add(). @id must be valid. */
static inline const char *strtab_get(const struct strtab *tab, uint32_t id)
{
	return tab->bytes + tab->offsets[id];
}

#endif
