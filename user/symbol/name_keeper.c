/* SPDX-License-Identifier: Apache-2.0 */
/* A list of tables, and their way into files. */
#include "symbol/name_keeper.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

/* Of one module. */
struct job {
	struct kept_names kept; /* owned */
	struct name_builder learned; /* owned */
};

struct name_keeper {
	const char *base;
	struct cache_dir *cache; /* owned */
	bool is_open;
	struct job *jobs; /* owned */
	size_t cnt, cap;
};

struct name_keeper *name_keeper_new(const char *base)
{
	struct name_keeper *keeper = calloc(1, sizeof(*keeper));

	if (keeper)
		keeper->base = base;
	return keeper;
}

static void forget_jobs(struct name_keeper *keeper)
{
	for (size_t i = 0; i < keeper->cnt; i++) {
		kept_names_deinit(&keeper->jobs[i].kept);
		name_builder_deinit(&keeper->jobs[i].learned);
	}
	keeper->cnt = 0;
}

void name_keeper_free(struct name_keeper *keeper)
{
	if (!keeper)
		return;
	forget_jobs(keeper);
	free(keeper->jobs);
	cache_dir_close(keeper->cache);
	free(keeper);
}

struct cache_dir *name_keeper_cache(struct name_keeper *keeper)
{
	if (!keeper)
		return NULL;
	if (!keeper->is_open)
		keeper->cache = name_cache_open(keeper->base);
	keeper->is_open = true;
	return keeper->cache;
}

void name_keeper_add(struct name_keeper *keeper, struct kept_names *kept,
		     struct name_builder *learned)
{
	struct job job = {*kept, *learned};

	*kept = (struct kept_names){0};
	*learned = (struct name_builder){0};
	if (array_reserve(&keeper->jobs, &keeper->cap, keeper->cnt + 1, sizeof(*keeper->jobs))) {
		kept_names_deinit(&job.kept);
		name_builder_deinit(&job.learned);
		return;
	}
	keeper->jobs[keeper->cnt++] = job;
}

void name_keeper_save(struct name_keeper *keeper)
{
	if (!keeper)
		return;
	for (size_t i = 0; i < keeper->cnt; i++) {
		const struct name_table learned = name_builder_table(&keeper->jobs[i].learned);

		kept_names_save(&keeper->jobs[i].kept, name_keeper_cache(keeper), &learned);
	}
	forget_jobs(keeper);
}
