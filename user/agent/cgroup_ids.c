/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup_ids.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"

int cgroup_ids_init(struct cgroup_ids *ids, const char *root)
{
	*ids = (struct cgroup_ids){.root = root};
	hmap_init(&ids->index);
	return strtab_init(&ids->paths);
}

void cgroup_ids_deinit(struct cgroup_ids *ids)
{
	free(ids->items);
	hmap_deinit(&ids->index);
	strtab_deinit(&ids->paths);
}

void cgroup_ids_forget(struct cgroup_ids *ids)
{
	const char *root = ids->root;

	cgroup_ids_deinit(ids);
	/* Without memory nothing is found. */
	if (cgroup_ids_init(ids, root))
		ids->walked_ns = UINT64_MAX;
}

static bool has_id(const void *owner, uint32_t index, const void *key)
{
	return ((const struct cgroup_ids *)owner)->items[index].id == *(const uint64_t *)key;
}

static uint32_t find(const struct cgroup_ids *ids, uint64_t id)
{
	return hmap_find(&ids->index, hash_mix(0, id), has_id, ids, &id);
}

static int add(struct cgroup_ids *ids, uint64_t id, const char *path)
{
	uint32_t name, known = find(ids, id);

	name = strtab_add(&ids->paths, path, strlen(path));
	if (name == (uint32_t)STRTAB_NONE)
		return -ENOMEM;
	if (known != HMAP_NONE) {
		ids->items[known].path = name;
		return 0;
	}
	if (array_reserve(&ids->items, &ids->cap, ids->cnt + 1, sizeof(*ids->items)) ||
	    hmap_insert(&ids->index, hash_mix(0, id), (uint32_t)ids->cnt))
		return -ENOMEM;
	ids->items[ids->cnt++] = (struct cgroup_id){id, name};
	return 0;
}

static void close_fts(FTS **fts)
{
	if (*fts)
		fts_close(*fts);
}

/* Groups that have gone stay known, as samples of theirs may still come; of too many, all are
 * forgotten first. */
static void walk(struct cgroup_ids *ids)
{
	char *const roots[] = {(char *)ids->root, NULL};
	_cleanup_(close_fts) FTS *fts = NULL;
	size_t root_len = strlen(ids->root);
	FTSENT *entry;

	if (ids->cnt >= CGROUP_IDS_MAX / 2)
		cgroup_ids_forget(ids);
	fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	while (fts && (entry = fts_read(fts)) && ids->cnt < CGROUP_IDS_MAX) {
		if (entry->fts_info != FTS_D)
			continue;
		if (entry->fts_level >= CGROUP_IDS_DEPTH_MAX)
			fts_set(fts, entry, FTS_SKIP);
		if (add(ids, entry->fts_statp->st_ino,
			entry->fts_path[root_len] ? entry->fts_path + root_len : "/"))
			return;
	}
}

const char *cgroup_ids_find(struct cgroup_ids *ids, uint64_t id, uint64_t now_ns)
{
	uint32_t known = find(ids, id);

	if (known == HMAP_NONE &&
	    (!ids->walked_ns || now_ns - ids->walked_ns >= CGROUP_IDS_WALK_NS) &&
	    ids->walked_ns != UINT64_MAX) {
		ids->walked_ns = now_ns;
		walk(ids);
		known = find(ids, id);
	}
	return known == HMAP_NONE ? NULL : strtab_get(&ids->paths, ids->items[known].path);
}
