/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches, sites and functions, each equal one once. */
#include "symbol/name_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/search.h"

/* --- Lookups --- */

/* How many stretches begin at or before @vaddr. */
static size_t stretches_to(const struct name_table *table, uint64_t vaddr)
{
	return SEARCH_CNT(i, table->stretches_cnt, table->stretches[i].lo <= vaddr);
}

const struct name_stretch *name_table_find(const struct name_table *table, uint64_t vaddr)
{
	size_t cnt = stretches_to(table, vaddr);
	const struct name_stretch *last = cnt ? &table->stretches[cnt - 1] : NULL;

	return last && vaddr - last->lo < last->bytes ? last : NULL;
}

void name_table_gap(const struct name_table *table, uint64_t vaddr, uint64_t *lo, uint64_t *hi)
{
	size_t cnt = stretches_to(table, vaddr);

	if (cnt) {
		const struct name_stretch *before = &table->stretches[cnt - 1];
		uint64_t end = before->lo + before->bytes;

		*lo = end > *lo ? end : *lo;
	}
	if (cnt < table->stretches_cnt && table->stretches[cnt].lo < *hi)
		*hi = table->stretches[cnt].lo;
}

/* --- Building --- */

int name_builder_init(struct name_builder *builder)
{
	*builder = (struct name_builder){0};
	hmap_init(&builder->by_site);
	hmap_init(&builder->by_function);
	return strtab_init(&builder->strings);
}

void name_builder_deinit(struct name_builder *builder)
{
	free(builder->stretches);
	free(builder->sites);
	free(builder->functions);
	strtab_deinit(&builder->strings);
	hmap_deinit(&builder->by_site);
	hmap_deinit(&builder->by_function);
}

static bool function_equals(const void *owner, uint32_t index, const void *key)
{
	const struct name_builder *builder = owner;

	return !memcmp(&builder->functions[index], key, sizeof(*builder->functions));
}

static bool site_equals(const void *owner, uint32_t index, const void *key)
{
	const struct name_builder *builder = owner;

	return !memcmp(&builder->sites[index], key, sizeof(*builder->sites));
}

/* Where a string begins among all of them; NAME_NONE when memory is out. */
static uint32_t add_string(struct name_builder *builder, const char *str, size_t len)
{
	uint32_t id = strtab_add(&builder->strings, str, len);

	return id == (uint32_t)STRTAB_NONE ? (uint32_t)NAME_NONE : builder->strings.offsets[id];
}

static uint32_t add_function(struct name_builder *builder, const struct name_function *function)
{
	uint64_t hash = hash_bytes(function, sizeof(*function));
	uint32_t known = hmap_find(&builder->by_function, hash, function_equals, builder, function);

	if (known != (uint32_t)HMAP_NONE)
		return known;
	if (array_reserve(&builder->functions, &builder->functions_cap, builder->functions_cnt + 1,
			  sizeof(*builder->functions)) ||
	    hmap_insert(&builder->by_function, hash, (uint32_t)builder->functions_cnt))
		return NAME_NONE;
	builder->functions[builder->functions_cnt] = *function;
	return (uint32_t)builder->functions_cnt++;
}

uint32_t name_builder_function(struct name_builder *builder, const char *name, size_t name_len,
			       const struct name_function *rest, const char *file)
{
	struct name_function function = *rest;

	function.name = add_string(builder, name, name_len);
	function.file = file ? add_string(builder, file, strlen(file)) : add_string(builder, "", 0);
	if (function.name == (uint32_t)NAME_NONE || function.file == (uint32_t)NAME_NONE)
		return NAME_NONE;
	return add_function(builder, &function);
}

int name_builder_show(struct name_builder *builder, uint32_t function, const char *name)
{
	uint32_t shown = add_string(builder, name, strlen(name));

	if (shown == (uint32_t)NAME_NONE)
		return -ENOMEM;
	builder->functions[function].shown = shown;
	return 0;
}

uint32_t name_builder_site(struct name_builder *builder, const struct name_site *site)
{
	uint64_t hash = hash_bytes(site, sizeof(*site));
	uint32_t known = hmap_find(&builder->by_site, hash, site_equals, builder, site);

	if (known != (uint32_t)HMAP_NONE)
		return known;
	if (array_reserve(&builder->sites, &builder->sites_cap, builder->sites_cnt + 1,
			  sizeof(*builder->sites)) ||
	    hmap_insert(&builder->by_site, hash, (uint32_t)builder->sites_cnt))
		return NAME_NONE;
	builder->sites[builder->sites_cnt] = *site;
	return (uint32_t)builder->sites_cnt++;
}

int name_builder_stretch(struct name_builder *builder, uint64_t lo, uint64_t hi, uint32_t site)
{
	int err;

	if (builder->stretches_cnt >= NAME_STRETCHES_MAX)
		return -E2BIG;
	err = array_reserve(&builder->stretches, &builder->stretches_cap,
			    builder->stretches_cnt + 1, sizeof(*builder->stretches));
	if (err)
		return err;
	builder->stretches[builder->stretches_cnt++] = (struct name_stretch){
		.lo = lo,
		.bytes = hi - lo < UINT32_MAX ? (uint32_t)(hi - lo) : UINT32_MAX,
		.site = site,
	};
	return 0;
}

void name_builder_cut(struct name_builder *builder, size_t cnt)
{
	builder->stretches_cnt = cnt;
}

struct name_table name_builder_table(const struct name_builder *builder)
{
	return (struct name_table){
		.stretches = builder->stretches,
		.sites = builder->sites,
		.functions = builder->functions,
		.strings = builder->strings.bytes,
		.stretches_cnt = (uint32_t)builder->stretches_cnt,
		.sites_cnt = (uint32_t)builder->sites_cnt,
		.functions_cnt = (uint32_t)builder->functions_cnt,
		.strings_bytes = (uint32_t)builder->strings.bytes_len,
	};
}

/* --- Joining --- */

/* A table that is being copied: where its sites and functions are in the copy; NAME_NONE: not there
 * yet. */
struct source {
	const struct name_table *table;
	uint32_t *sites, *functions; /* owned */
	uint32_t at; /* the next stretch */
};

static void source_deinit(struct source *source)
{
	free(source->sites);
	free(source->functions);
}

/* NULL when memory is out. */
static uint32_t *new_column(uint32_t cnt)
{
	uint32_t *column = malloc((cnt + 1UL) * sizeof(*column));

	for (uint32_t i = 0; column && i < cnt; i++)
		column[i] = NAME_NONE;
	return column;
}

static int source_init(struct source *source, const struct name_table *table)
{
	*source = (struct source){
		.table = table,
		.sites = new_column(table->sites_cnt),
		.functions = new_column(table->functions_cnt),
	};
	return source->sites && source->functions ? 0 : -ENOMEM;
}

static uint32_t copy_function(struct name_builder *out, struct source *from, uint32_t function)
{
	const struct name_function *copied = &from->table->functions[function];
	const char *strings = from->table->strings;
	const char *name = strings + copied->name, *shown = strings + copied->shown;
	struct name_function rest = *copied;

	if (from->functions[function] != (uint32_t)NAME_NONE)
		return from->functions[function];
	rest.shown = add_string(out, shown, strlen(shown));
	if (rest.shown == (uint32_t)NAME_NONE)
		return NAME_NONE;
	from->functions[function] =
		name_builder_function(out, name, strlen(name), &rest, strings + copied->file);
	return from->functions[function];
}

/* The copy of @site, whose caller has been copied. In the other table there is hardly an equal one,
 * as it has other addresses: nobody looks for it, which is most of the work. */
static uint32_t copy_one_site(struct name_builder *out, struct source *from, uint32_t site)
{
	struct name_site copy = from->table->sites[site];

	if (copy.caller != (uint32_t)NAME_NONE)
		copy.caller = from->sites[copy.caller];
	copy.function = copy_function(out, from, copy.function);
	if (copy.function == (uint32_t)NAME_NONE ||
	    array_reserve(&out->sites, &out->sites_cap, out->sites_cnt + 1, sizeof(*out->sites)))
		return NAME_NONE;
	from->sites[site] = (uint32_t)out->sites_cnt;
	out->sites[out->sites_cnt++] = copy;
	return from->sites[site];
}

/* The copy of @site and of what it is called from, outermost first: callers come before their
 * callees.
 */
static uint32_t copy_site(struct name_builder *out, struct source *from, uint32_t site)
{
	while (from->sites[site] == (uint32_t)NAME_NONE) {
		const struct name_site *sites = from->table->sites;
		uint32_t at = site;

		while (sites[at].caller != (uint32_t)NAME_NONE &&
		       from->sites[sites[at].caller] == (uint32_t)NAME_NONE)
			at = sites[at].caller;
		if (copy_one_site(out, from, at) == (uint32_t)NAME_NONE)
			return NAME_NONE;
	}
	return from->sites[site];
}

static int copy_stretch(struct name_builder *out, struct source *from)
{
	const struct name_stretch *stretch = &from->table->stretches[from->at++];
	uint32_t site = stretch->site;

	if (site != (uint32_t)NAME_NONE) {
		site = copy_site(out, from, site);
		if (site == (uint32_t)NAME_NONE)
			return -ENOMEM;
	}
	return name_builder_stretch(out, stretch->lo, stretch->lo + stretch->bytes, site);
}

/* The one that the next stretch is of; NULL at the end of both. */
static struct source *next_source(struct source *left, struct source *right)
{
	bool has_left = left->at < left->table->stretches_cnt;
	bool has_right = right->at < right->table->stretches_cnt;

	if (has_left && has_right)
		return left->table->stretches[left->at].lo < right->table->stretches[right->at].lo
			       ? left
			       : right;
	if (has_left)
		return left;
	return has_right ? right : NULL;
}

int name_builder_join(struct name_builder *out, const struct name_table *left,
		      const struct name_table *right)
{
	_cleanup_(source_deinit) struct source from_left = {0}, from_right = {0};
	struct source *next;
	int err = source_init(&from_left, left);

	if (!err)
		err = source_init(&from_right, right);
	while (!err && (next = next_source(&from_left, &from_right)))
		err = copy_stretch(out, next);
	return err;
}
