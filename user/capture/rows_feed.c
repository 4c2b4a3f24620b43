/* SPDX-License-Identifier: Apache-2.0 */
/* From executables met to rows in the kernel. */
#include "capture/rows_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"

/* Who found no room though it was in use asks again after so many drains: where all that is in use
 * does not fit, room is not fought for in each of them. */
enum { RETRY_DRAINS = 10 };

int rows_feed_init(struct rows_feed *feed, struct loader *loader, struct exes *exes)
{
	int err;

	*feed = (struct rows_feed){.exes = exes};
	err = row_store_init(&feed->store, loader);
	if (err)
		return err;
	feed->builder = row_builder_start();
	return feed->builder ? 0 : -errno;
}

void rows_feed_deinit(struct rows_feed *feed)
{
	if (feed->exes)
		feed->exes->preload = NULL;
	preload_stop(feed->preload);
	row_builder_stop(feed->builder);
	row_store_deinit(&feed->store);
	free(feed->expected);
	*feed = (struct rows_feed){0};
}

void rows_feed_preload(struct rows_feed *feed)
{
	if (feed->preload)
		return;
	feed->preload = preload_start(loader_meet_fd(feed->store.loader));
	feed->exes->preload = feed->preload;
	if (!feed->preload)
		log_debug("preload: %s", strerror(errno));
}

void rows_feed_expect(struct rows_feed *feed, const char *path)
{
	uint32_t exe_id = feed->preload ? preload_meet_path(feed->preload, path) : BP_EXE_NONE;

	if (exe_id == BP_EXE_NONE || array_reserve(&feed->expected, &feed->expected_cap,
						   feed->expected_cnt + 1, sizeof(*feed->expected)))
		return;
	feed->expected[feed->expected_cnt++] = exe_id;
	/* It may have been met, and asked for, as one that is mapped. */
	row_builder_hurry(feed->builder, exe_id);
}

static bool is_expected(const struct rows_feed *feed, uint32_t exe_id)
{
	for (size_t i = 0; i < feed->expected_cnt; i++)
		if (feed->expected[i] == exe_id)
			return true;
	return false;
}

bool rows_feed_is_preloaded(const struct rows_feed *feed)
{
	return !feed->preload || preload_is_done(feed->preload);
}

bool rows_feed_is_settled(const struct rows_feed *feed)
{
	return feed->asked_cnt == feed->exes->cnt && feed->taken_cnt == feed->asked_cnt;
}

bool rows_feed_has_expected(const struct rows_feed *feed)
{
	for (size_t i = 0; i < feed->expected_cnt; i++) {
		const struct exe_entry *exe = exes_find(feed->exes, feed->expected[i]);

		/* One that is not known has been announced, and not been read yet. */
		if (!exe || exe->rows_at == ROWS_AWAITED)
			return false;
	}
	return true;
}

static void refuse(struct rows_feed *feed, struct exe_entry *exe, enum rows_at rows_at)
{
	exe->rows_at = rows_at;
	row_store_refuse(&feed->store, exe->id, &exe->key,
			 exe->module->kind == MODULE_ANON ? BP_ROWS_JIT : BP_ROWS_REFUSED);
}

int rows_feed_ask(struct rows_feed *feed)
{
	for (; feed->asked_cnt < feed->exes->cnt; feed->asked_cnt++) {
		struct exe_entry *exe = &feed->exes->items[feed->asked_cnt];
		int err;

		/* Of who recorded before us. */
		if (exe->rows_at == ROWS_AWAITED && row_store_has(&feed->store, exe->id))
			exe->rows_at = ROWS_STORED;
		if (exe->rows_at != ROWS_AWAITED) {
			feed->taken_cnt++;
			continue;
		}
		if (exe->module->fd < 0 && exe->module->kind != MODULE_VDSO) {
			refuse(feed, exe, ROWS_NOWHERE);
			feed->taken_cnt++;
			continue;
		}
		err = row_builder_ask(feed->builder, exe->id, exe->module,
				      exe->is_sampled || is_expected(feed, exe->id));
		if (err)
			return err;
	}
	return 0;
}

int rows_feed_fd(const struct rows_feed *feed)
{
	return row_builder_fd(feed->builder);
}

void rows_feed_take(struct rows_feed *feed, uint64_t drain_nr)
{
	struct unwind_table *table;
	bool is_urgent;
	uint32_t exe_id;

	while (row_builder_take(feed->builder, &exe_id, &is_urgent, &table)) {
		struct exe_entry *exe = exes_find(feed->exes, exe_id);
		int err = -ENODATA;

		feed->taken_cnt++;
		if (exe && table)
			err = row_store_add(&feed->store, exe_id, &exe->key, table, drain_nr,
					    is_urgent);
		unwind_table_free(table);
		if (!exe)
			continue;
		if (err) {
			log_debug("rows: %s: %s", exe->module->path, strerror(-err));
			/* What was met by preloading alone may wait until a sample needs it. */
			exe->rows_retry_nr = drain_nr + (is_urgent ? RETRY_DRAINS : 0);
			refuse(feed, exe, err == -ENOSPC ? ROWS_CROWDED_OUT : ROWS_NOWHERE);
			continue;
		}
		exe->rows_at = ROWS_STORED;
	}
}

/* Samples need rows that are not in the store any more, or never were. */
static void ask_again(struct rows_feed *feed, struct exe_entry *exe)
{
	if (exe->module->fd < 0 && exe->module->kind != MODULE_VDSO) {
		exe->rows_at = ROWS_NOWHERE;
		return;
	}
	if (row_builder_ask(feed->builder, exe->id, exe->module, true))
		return;
	feed->taken_cnt--;
	exe->rows_at = ROWS_AWAITED;
	row_store_refuse(&feed->store, exe->id, &exe->key, BP_ROWS_AWAITED);
}

static void mark_used(struct rows_feed *feed, struct exe_entry *exe, uint64_t drain_nr)
{
	if (!row_store_used(&feed->store, exe->id, drain_nr) && exe->rows_at == ROWS_STORED) {
		exe->rows_at = ROWS_CROWDED_OUT;
		exe->rows_retry_nr = drain_nr;
	}
	if (exe->rows_at == ROWS_CROWDED_OUT && drain_nr >= exe->rows_retry_nr)
		ask_again(feed, exe);
}

void rows_feed_mark_used(struct rows_feed *feed, uint64_t drain_nr)
{
	for (size_t i = 0; i < feed->exes->cnt; i++) {
		struct exe_entry *exe = &feed->exes->items[i];

		if (exe->is_used)
			mark_used(feed, exe, drain_nr);
		exe->is_used = false;
	}
}
