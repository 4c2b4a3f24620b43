/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings. */
#include "base/strtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

struct strtab_key {
	const char *str;
	size_t len; /* no NUL within */
};

static struct strtab_key strtab_key(const char *str, size_t len)
{
	struct strtab_key key = {.str = "", .len = 0};

	if (len) {
		key.str = str;
		key.len = strnlen(str, len);
	}
	return key;
}

static bool strtab_equal(const void *owner, uint32_t index, const void *key)
{
	const struct strtab_key *wanted = key;
	const char *str = strtab_get(owner, index);

	return !strncmp(str, wanted->str, wanted->len) && !str[wanted->len];
}

int strtab_init(struct strtab *tab)
{
	*tab = (struct strtab){.bytes = NULL};
	hmap_init(&tab->index);
	if (strtab_add(tab, "", 0) == STRTAB_NONE) {
		strtab_deinit(tab);
		return -ENOMEM;
	}
	return 0;
}

void strtab_deinit(struct strtab *tab)
{
	free(tab->bytes);
	free(tab->offsets);
	hmap_deinit(&tab->index);
	*tab = (struct strtab){.bytes = NULL};
}

/* Append @key's bytes; where they are part of our own, growth moves them under our feet. */
static int append_bytes(struct strtab *tab, struct strtab_key key)
{
	uintptr_t own_off = (uintptr_t)key.str - (uintptr_t)tab->bytes;
	bool is_own = tab->bytes && own_off < tab->bytes_len;
	size_t need = tab->bytes_len + key.len + 1;
	int err;

	if (key.len >= UINT32_MAX || need > UINT32_MAX)
		return -ENOMEM;
	err = array_reserve(&tab->bytes, &tab->bytes_cap, need, 1);
	if (err)
		return err;
	memcpy(tab->bytes + tab->bytes_len, is_own ? tab->bytes + own_off : key.str, key.len);
	tab->bytes[tab->bytes_len + key.len] = '\0';
	return 0;
}

uint32_t strtab_add(struct strtab *tab, const char *str, size_t len)
{
	struct strtab_key key = strtab_key(str, len);
	uint64_t hash = hash_bytes(key.str, key.len);
	uint32_t id = hmap_find(&tab->index, hash, strtab_equal, tab, &key);

	if (id != HMAP_NONE)
		return id;
	/* Everything that can fail comes before the first lasting change. */
	if (tab->cnt >= STRTAB_NONE ||
	    array_reserve(&tab->offsets, &tab->cap, tab->cnt + 1, sizeof(*tab->offsets)) ||
	    append_bytes(tab, key) || hmap_insert(&tab->index, hash, (uint32_t)tab->cnt))
		return STRTAB_NONE;
	id = (uint32_t)tab->cnt++;
	tab->offsets[id] = (uint32_t)tab->bytes_len;
	tab->bytes_len += key.len + 1;
	return id;
}

uint32_t strtab_append(struct strtab *tab, const char *str, size_t len)
{
	struct strtab_key key = strtab_key(str, len);
	uint32_t id = (uint32_t)tab->cnt;

	if (tab->cnt >= STRTAB_NONE ||
	    array_reserve(&tab->offsets, &tab->cap, tab->cnt + 1, sizeof(*tab->offsets)) ||
	    append_bytes(tab, key))
		return STRTAB_NONE;
	tab->offsets[tab->cnt++] = (uint32_t)tab->bytes_len;
	tab->bytes_len += key.len + 1;
	return id;
}

uint32_t strtab_find(const struct strtab *tab, const char *str, size_t len)
{
	struct strtab_key key = strtab_key(str, len);

	return hmap_find(&tab->index, hash_bytes(key.str, key.len), strtab_equal, tab, &key);
}

static int compare_strings(const void *left, const void *right, void *tab)
{
	return strcmp(strtab_get(tab, *(const uint32_t *)left),
		      strtab_get(tab, *(const uint32_t *)right));
}

uint32_t *strtab_ranks(struct strtab *tab)
{
	_cleanup_free_ uint32_t *order = calloc(tab->cnt, sizeof(*order));
	uint32_t *ranks = calloc(tab->cnt, sizeof(*ranks));

	if (!order || !ranks) {
		free(ranks);
		return NULL;
	}
	for (uint32_t i = 0; i < tab->cnt; i++)
		order[i] = i;
	qsort_r(order, tab->cnt, sizeof(*order), compare_strings, tab);
	for (uint32_t i = 0; i < tab->cnt; i++)
		ranks[order[i]] = i;
	return ranks;
}
