/* SPDX-License-Identifier: Apache-2.0 */
/* Taking over the rows of the process before us. */
#include "capture/rows_adopt.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/log.h"

/* Where the rows of @page are. -EBADMSG: not in the arrays. */
static int page_extent(const struct row_store *store, const struct bp_row_page *page,
		       struct extent *out)
{
	if (page->block >= store->loader->sizes.row_blocks_cnt ||
	    page->first + (uint32_t)page->cnt > BP_ROWS_PER_BLOCK)
		return -EBADMSG;
	*out = (struct extent){page->block * BP_ROWS_PER_BLOCK + page->first, page->cnt};
	return 0;
}

/* The rules that rows refer to are those up to the highest. */
static void count_rules(const struct row_store *store, struct extent rows, struct resident *out)
{
	const uint32_t *items = store->loader->mem.rows + rows.first;

	for (uint32_t i = 0; i < rows.cnt; i++) {
		uint32_t rule16 = items[i] >> 16, index = rule16 & ~(uint32_t)BP_RULE16_ESCAPE;

		if ((rule16 & BP_RULE16_ESCAPE) && index >= out->rule_cnt)
			out->rule_cnt = index + 1;
	}
}

/* Pages that follow each other have their rows so, mostly. */
static int add_run(struct resident *out, struct extent rows)
{
	struct extent *last = out->run_cnt ? &out->runs[out->run_cnt - 1] : NULL;

	if (!rows.cnt)
		return 0;
	out->row_cnt += rows.cnt;
	if (last && last->first + last->cnt == rows.first && rows.first % BP_ROWS_PER_BLOCK) {
		last->cnt += rows.cnt;
		return 0;
	}
	if (array_reserve(&out->runs, &out->run_cap, out->run_cnt + 1, sizeof(*out->runs)))
		return -ENOMEM;
	out->runs[out->run_cnt++] = rows;
	return 0;
}

static int read_pages(const struct row_store *store, struct resident *out)
{
	const struct sizes *sizes = &store->loader->sizes;
	int err = 0;

	if (out->rows.page_base > sizes->row_pages_cnt ||
	    out->rows.page_cnt > sizes->row_pages_cnt - out->rows.page_base)
		return -EBADMSG;
	for (uint32_t i = 0; i < out->rows.page_cnt && !err; i++) {
		struct extent rows;

		err = page_extent(store, &store->loader->mem.row_pages[out->rows.page_base + i],
				  &rows);
		if (err)
			break;
		count_rules(store, rows, out);
		err = add_run(out, rows);
	}
	return err;
}

/* All of its room, or none. */
static int take_room(struct row_store *store, const struct resident *resident)
{
	size_t taken = 0;
	int err = extents_take(&store->pages, resident->rows.page_base, resident->rows.page_cnt);

	if (err)
		return err;
	err = extents_take(&store->rules, resident->rows.rule_base, resident->rule_cnt);
	while (!err && taken < resident->run_cnt) {
		err = extents_take(&store->rows, resident->runs[taken].first,
				   resident->runs[taken].cnt);
		taken += !err;
	}
	if (!err)
		return 0;
	while (taken--)
		extents_free(&store->rows, resident->runs[taken].first, resident->runs[taken].cnt);
	extents_free(&store->pages, resident->rows.page_base, resident->rows.page_cnt);
	return err;
}

static int adopt(struct row_store *store, uint32_t exe_id, const struct bp_exe_key *key,
		 const struct bp_rows *rows)
{
	struct resident new = {.exe_id = exe_id, .is_vdso = exe_id == BP_EXE_VDSO, .rows = *rows};
	int err = array_reserve(&store->items, &store->cap, store->cnt + 1, sizeof(*store->items));

	if (err)
		return err;
	new.key = *key;
	err = read_pages(store, &new);
	if (!err)
		err = take_room(store, &new);
	if (err) {
		free(new.runs);
		return err;
	}
	store->rows_resident += new.row_cnt;
	store->items[store->cnt++] = new;
	return 0;
}

static int adopt_exe(struct rows_feed *feed, uint32_t exe_id, const struct bp_exe_key *key,
		     const struct bp_rows *rows)
{
	struct exe_entry *exe = exes_find(feed->exes, exe_id);
	int err = 0;

	if (rows->page_cnt || rows->state == BP_ROWS_BUILT)
		err = adopt(&feed->store, exe_id, key, rows);
	else if (rows->state == BP_ROWS_AWAITED)
		return 0;
	if (err == -ENOMEM)
		return err;
	if (err) {
		log_debug("rows of executable %u: not as they should be; built again", exe_id);
		row_store_refuse(&feed->store, exe_id, key, BP_ROWS_AWAITED);
		return 0;
	}
	if (exe && (rows->page_cnt || rows->state == BP_ROWS_BUILT))
		exe->rows_at = ROWS_STORED;
	else if (exe) /* whether it has none or found no room is not known any more */
		exe->rows_at = rows->state == BP_ROWS_REFUSED ? ROWS_CROWDED_OUT : ROWS_NOWHERE;
	return 0;
}

int rows_adopt(struct rows_feed *feed)
{
	const struct loader *loader = feed->store.loader;
	const struct bp_exe_key none = {0};
	struct bp_exe_key key, *before = NULL;
	int fd = loader_exes_fd(loader), err;

	err = adopt_exe(feed, BP_EXE_VDSO, &none, &loader->mem.ctl->vdso_rows);
	while (!err && !bpf_map_get_next_key(fd, before, &key)) {
		struct bp_exe exe;

		if (!bpf_map_lookup_elem(fd, &key, &exe))
			err = adopt_exe(feed, exe.id, &key, &exe.rows);
		before = &key;
	}
	log_debug("rows: %llu of %zu executables were there",
		  (unsigned long long)feed->store.rows_resident, feed->store.cnt);
	return err;
}
