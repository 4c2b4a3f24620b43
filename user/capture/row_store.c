/* SPDX-License-Identifier: Apache-2.0 */
/* Copying tables into the kernel's arrays, publishing and withdrawing them. */
#include "capture/row_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "unwind/step.h"

int row_store_init(struct row_store *store, struct loader *loader)
{
	const struct sizes *sizes = &loader->sizes;
	int err;

	*store = (struct row_store){.loader = loader};
	err = extents_init(&store->rows, sizes->row_blocks_cnt * BP_ROWS_PER_BLOCK,
			   BP_ROWS_PER_BLOCK);
	if (!err)
		err = extents_init(&store->pages, sizes->row_pages_cnt, 0);
	if (!err)
		err = extents_init(&store->rules, sizes->row_rules_cnt, 0);
	return err;
}

void row_store_deinit(struct row_store *store)
{
	for (size_t i = 0; i < store->cnt; i++)
		free(store->items[i].runs);
	free(store->items);
	extents_deinit(&store->rows);
	extents_deinit(&store->pages);
	extents_deinit(&store->rules);
	*store = (struct row_store){0};
}

/* Rows of neighbouring pages are given room together. */
enum { RUN_ROWS = 4096 };
_Static_assert(RUN_ROWS + (1 << BP_ROW_PAGE_BITS) <= BP_ROWS_PER_BLOCK, "a run fits a block");

static void resident_release(struct row_store *store, struct resident *resident)
{
	for (size_t i = 0; i < resident->run_cnt; i++)
		extents_free(&store->rows, resident->runs[i].first, resident->runs[i].cnt);
	extents_free(&store->pages, resident->rows.page_base, resident->rows.page_cnt);
	extents_free(&store->rules, resident->rows.rule_base, resident->rule_cnt);
	free(resident->runs);
	resident->runs = NULL;
	resident->run_cnt = resident->run_cap = 0;
}

/* How many rows the pages from *@page on have that make the next run; *@page moves behind them. */
static uint32_t next_run(const struct rows *rows, size_t *page)
{
	uint32_t cnt = 0;

	while (*page < rows->pages_cnt && cnt < RUN_ROWS)
		cnt += rows->pages[(*page)++].cnt;
	return cnt;
}

/* Take room for all rows. 0, -ENOSPC or -ENOMEM; what was taken is in @out in any case. */
static int runs_alloc(struct row_store *store, const struct rows *rows, struct resident *out)
{
	for (size_t page = 0; page < rows->pages_cnt;) {
		uint32_t cnt = next_run(rows, &page);
		int64_t first;

		if (array_reserve(&out->runs, &out->run_cap, out->run_cnt + 1, sizeof(*out->runs)))
			return -ENOMEM;
		first = extents_alloc(&store->rows, cnt);
		if (first < 0)
			return -ENOSPC;
		out->runs[out->run_cnt++] = (struct extent){(uint32_t)first, cnt};
		out->row_cnt += cnt;
	}
	return 0;
}

/* Take room for @table's pages, rules and rows. 0, or -ENOSPC or -ENOMEM and nothing taken. */
static int resident_alloc(struct row_store *store, const struct unwind_table *table,
			  struct resident *out)
{
	uint32_t page_cnt = table->rows.pages_cnt;
	int64_t page_base = extents_alloc(&store->pages, page_cnt), rule_base;
	int err;

	if (page_base < 0)
		return -ENOSPC;
	rule_base = extents_alloc(&store->rules, table->rules.cnt);
	if (rule_base < 0) {
		extents_free(&store->pages, page_base, page_cnt);
		return -ENOSPC;
	}
	out->rows.page_base = page_base;
	out->rows.page_cnt = page_cnt;
	out->rows.rule_base = rule_base;
	out->rule_cnt = table->rules.cnt;
	out->row_cnt = 0;
	err = runs_alloc(store, &table->rows, out);
	if (err)
		resident_release(store, out);
	return err;
}

static void resident_copy(struct row_store *store, const struct unwind_table *table,
			  const struct resident *resident)
{
	const struct shard_memory *mem = &store->loader->mem;
	const struct rows *rows = &table->rows;
	size_t page = 0;

	for (size_t i = 0; i < resident->run_cnt; i++) {
		uint32_t at = resident->runs[i].first;
		size_t end = page;

		if (!next_run(rows, &end)) {
			memset(mem->row_pages + resident->rows.page_base + page, 0,
			       (end - page) * sizeof(*mem->row_pages));
			page = end;
			continue;
		}
		memcpy(mem->rows + at, rows->items + rows->pages[page].first,
		       resident->runs[i].cnt * sizeof(uint32_t));
		for (; page < end; page++) {
			mem->row_pages[resident->rows.page_base + page] = (struct bp_row_page){
				.block = at / BP_ROWS_PER_BLOCK,
				.first = at % BP_ROWS_PER_BLOCK,
				.cnt = rows->pages[page].cnt,
			};
			at += rows->pages[page].cnt;
		}
	}
	memcpy(mem->row_rules + resident->rows.rule_base, table->rules.items,
	       resident->rule_cnt * sizeof(struct bp_rule));
}

static void publish(struct row_store *store, const struct resident *resident,
		    const struct bp_rows *rows)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (resident->is_vdso)
		store->loader->mem.ctl->vdso_rows = *rows;
	else
		loader_publish_rows(store->loader, &resident->key, rows);
	/* What the kernel side has kept of this executable is out of date. */
	__atomic_add_fetch(&store->loader->mem.ctl->rows_nr, 1, __ATOMIC_SEQ_CST);
}

static size_t least_recently_used(const struct row_store *store, uint64_t drain_nr)
{
	size_t oldest = SIZE_MAX;

	for (size_t i = 0; i < store->cnt; i++) {
		const struct resident *resident = &store->items[i];

		if (resident->rows.page_cnt && resident->last_used < drain_nr &&
		    !resident->is_vdso &&
		    (oldest == SIZE_MAX || resident->last_used < store->items[oldest].last_used))
			oldest = i;
	}
	return oldest;
}

/* Withdraw one executable. 0, or -ENOSPC when all were used in this drain. */
static int evict_one(struct row_store *store, uint64_t drain_nr)
{
	static const struct bp_rows none = {.state = BP_ROWS_REFUSED};
	size_t victim = least_recently_used(store, drain_nr);
	struct resident *resident;
	int err;

	if (victim == SIZE_MAX)
		return -ENOSPC;
	resident = &store->items[victim];
	publish(store, resident, &none);
	err = loader_wait_for_programs(store->loader);
	if (err)
		return err;
	store->rows_resident -= resident->row_cnt;
	log_debug("rows: executable %u makes room", resident->exe_id);
	resident_release(store, resident);
	*resident = store->items[--store->cnt];
	store->evictions++;
	return 0;
}

int row_store_add(struct row_store *store, uint32_t exe_id, const struct bp_exe_key *key,
		  const struct unwind_table *table, uint64_t drain_nr, bool may_evict)
{
	struct resident new = {.exe_id = exe_id,
			       .is_vdso = exe_id == BP_EXE_VDSO,
			       .last_used = may_evict ? drain_nr : 0};
	int err;

	if (key)
		new.key = *key;
	err = array_reserve(&store->items, &store->cap, store->cnt + 1, sizeof(*store->items));
	if (err)
		return err;
	err = resident_alloc(store, table, &new);
	while (err == -ENOSPC && may_evict && !evict_one(store, drain_nr))
		err = resident_alloc(store, table, &new);
	if (err) {
		store->refused += err == -ENOSPC;
		return err;
	}
	new.rows.first_page = table->rows.first_page;
	new.rows.state = BP_ROWS_BUILT;
	new.rows.tracks_bx = table->rules.tracks_bx;
	resident_copy(store, table, &new);
	store->rows_resident += new.row_cnt;
	publish(store, &new, &new.rows);
	store->items[store->cnt++] = new;
	return 0;
}

void row_store_refuse(struct row_store *store, uint32_t exe_id, const struct bp_exe_key *key,
		      enum bp_rows_state why)
{
	const struct bp_rows none = {.state = why};
	const struct resident nothing = {.key = *key, .is_vdso = exe_id == BP_EXE_VDSO};

	publish(store, &nothing, &none);
}

/* The rule16 in force at the low bits @key of page @page. */
static uint16_t page_find(const struct shard_memory *mem, const struct bp_row_page *page,
			  uint16_t key)
{
	const uint32_t *rows = mem->rows + page->block * BP_ROWS_PER_BLOCK + page->first;

	return page->cnt ? row_page_find(rows, page->cnt, key) : RULE16_GAP;
}

int row_store_find(const struct row_store *store, uint32_t exe_id, uint64_t file_off,
		   struct bp_rule *out, bool *tracks_bx)
{
	const struct shard_memory *mem = &store->loader->mem;
	const struct resident *resident = NULL;
	struct rule_set rules = {.arch = step_native_arch()};
	uint16_t rule16 = RULE16_GAP;
	uint64_t page;

	for (size_t i = 0; i < store->cnt && !resident; i++)
		if (store->items[i].exe_id == exe_id)
			resident = &store->items[i];
	if (!resident)
		return -ENOENT;
	*tracks_bx = resident->rows.tracks_bx;
	page = (file_off >> BP_ROW_PAGE_BITS) - resident->rows.first_page;
	if (page < resident->rows.page_cnt)
		rule16 = page_find(mem, &mem->row_pages[resident->rows.page_base + page],
				   row_key_of(file_off));
	rules.items = mem->row_rules + resident->rows.rule_base;
	rules.cnt = resident->rule_cnt;
	rule16_decode(&rules, rule16, out);
	return 0;
}

bool row_store_has(const struct row_store *store, uint32_t exe_id)
{
	for (size_t i = 0; i < store->cnt; i++)
		if (store->items[i].exe_id == exe_id)
			return true;
	return false;
}

bool row_store_used(struct row_store *store, uint32_t exe_id, uint64_t drain_nr)
{
	for (size_t i = 0; i < store->cnt; i++) {
		if (store->items[i].exe_id == exe_id) {
			store->items[i].last_used = drain_nr;
			return true;
		}
	}
	return false;
}
