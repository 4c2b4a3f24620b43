/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that wait for the store: see spool.h. */
#include "agent/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void spool_init(struct spool *spool, const struct spool_sink *sink, size_t max_bytes)
{
	*spool = (struct spool){.sink = *sink, .max_bytes = max_bytes};
}

void spool_deinit(struct spool *spool)
{
	for (size_t i = 0; i < spool->cnt; i++)
		agent_window_deinit(&spool->items[i].window);
	free(spool->items);
	*spool = (struct spool){.items = NULL};
}

/* The store may get better by itself. Else it is this window that it cannot take. */
static bool is_passing(int err)
{
	return err == -ENOSPC || err == -EROFS || err == -EIO || err == -EDQUOT || err == -EBUSY ||
	       err == -ENOMEM;
}

static void note_dropped(struct spool *spool, const struct agent_window *window, const char *reason)
{
	struct spool_dropped *dropped = &spool->dropped;

	if (!dropped->window_cnt || window->start_ns < dropped->start_ns)
		dropped->start_ns = window->start_ns;
	if (window->end_ns > dropped->end_ns)
		dropped->end_ns = window->end_ns;
	dropped->window_cnt++;
	dropped->sample_cnt += window->sample_cnt;
	snprintf(dropped->reason, sizeof(dropped->reason), "%s", reason);
	spool->dropped_windows++;
	spool->dropped_samples += window->sample_cnt;
}

static void take_out(struct spool *spool, size_t nr)
{
	spool->bytes -= spool->items[nr].bytes;
	agent_window_deinit(&spool->items[nr].window);
	spool->cnt--;
	memmove(&spool->items[nr], &spool->items[nr + 1],
		(spool->cnt - nr) * sizeof(*spool->items));
}

static const char *error_name(int err)
{
	const char *name = strerrorname_np(-err);

	return name ? name : "error";
}

static void drop_oldest(struct spool *spool, const char *reason)
{
	note_dropped(spool, &spool->items[0].window, reason);
	take_out(spool, 0);
}

static int tell_dropped(struct spool *spool)
{
	const struct spool_dropped *dropped = &spool->dropped;
	int err;

	if (!dropped->window_cnt)
		return 0;
	err = spool->sink.add_tombstone(spool->sink.arg, dropped->start_ns, dropped->end_ns,
					dropped->window_cnt, dropped->sample_cnt, dropped->reason);
	if (!err)
		spool->dropped = (struct spool_dropped){.window_cnt = 0};
	return err;
}

/* Store, or drop, the oldest. 0; an error that passes: it stays. */
static int store_oldest(struct spool *spool)
{
	const struct agent_window *window = &spool->items[0].window;
	int err = spool->sink.add(spool->sink.arg, window);

	if (err && err != -EEXIST) {
		if (is_passing(err))
			return err;
		drop_oldest(spool, error_name(err));
		return 0;
	}
	spool->stored_windows += !err;
	spool->stored_samples += err ? 0 : window->sample_cnt;
	take_out(spool, 0);
	return 0;
}

static int flush(struct spool *spool)
{
	int err = tell_dropped(spool);

	while (!err && spool->cnt)
		err = store_oldest(spool);
	return err ? err : tell_dropped(spool);
}

int spool_flush(struct spool *spool, uint64_t now_ns, bool must)
{
	if (!spool->cnt && !spool->dropped.window_cnt)
		return spool->err = 0;
	if (spool->err && now_ns < spool->retry_ns && !must)
		return spool->err;
	spool->err = flush(spool);
	if (!spool->err) {
		spool->wait_ns = 0;
		return 0;
	}
	spool->wait_ns = !spool->wait_ns			   ? SPOOL_RETRY_MIN_NS
			 : spool->wait_ns < SPOOL_RETRY_MAX_NS / 2 ? 2 * spool->wait_ns
								   : SPOOL_RETRY_MAX_NS;
	spool->retry_ns = now_ns + spool->wait_ns;
	return spool->err;
}

void spool_add(struct spool *spool, struct agent_window *window, uint64_t now_ns)
{
	struct spool_item item = {.window = *window, .bytes = agent_window_bytes(window)};

	*window = (struct agent_window){.prof = NULL};
	if (array_reserve(&spool->items, &spool->cap, spool->cnt + 1, sizeof(*spool->items))) {
		note_dropped(spool, &item.window, error_name(-ENOMEM));
		agent_window_deinit(&item.window);
		return;
	}
	spool->items[spool->cnt++] = item;
	spool->bytes += item.bytes;
	spool_flush(spool, now_ns, false);
	while (spool->cnt && spool->bytes > spool->max_bytes)
		drop_oldest(spool, error_name(spool->err));
}
