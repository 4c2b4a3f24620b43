/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads with a queue of requests each, and one queue of results, under one lock. */
#include "capture/row_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "base/privilege.h"
#include "unwind/table_cache.h"

enum { VDSO_IMAGE_BYTES = 2 * 4096 };

struct build_item {
	uint32_t exe_id;
	int fd; /* owned; -1: the vdso */
	bool is_urgent;
	uint32_t build_id_len; /* 0: none */
	uint8_t build_id[BUILD_ID_MAX];
	struct unwind_table *table; /* owned, of results */
};

struct build_queue {
	struct build_item *items; /* owned */
	size_t head, cnt, cap; /* items[head .. cnt) wait */
};

/* Who builds tables, and what waits for it. */
struct build_lane {
	struct row_builder *builder;
	pthread_t thread;
	pthread_cond_t wake;
	struct build_queue queue;
};

struct row_builder {
	pthread_mutex_t lock;
	struct build_lane urgent, idle; /* neither waits for a table of the other, large as it is */
	struct build_queue done; /* has room for all that it will get */
	size_t awaited_cnt; /* how many that is */
	int done_fd; /* owned */
	bool stop;
};

static int queue_push(struct build_queue *queue, struct build_item item)
{
	int err = array_reserve(&queue->items, &queue->cap, queue->cnt + 1, sizeof(item));

	if (!err)
		queue->items[queue->cnt++] = item;
	return err;
}

static bool queue_pop(struct build_queue *queue, struct build_item *out)
{
	if (queue->head == queue->cnt)
		return false;
	*out = queue->items[queue->head++];
	if (queue->head == queue->cnt)
		queue->head = queue->cnt = 0;
	return true;
}

static void queue_deinit(struct build_queue *queue)
{
	struct build_item item;

	while (queue_pop(queue, &item)) {
		if (item.fd >= 0)
			close(item.fd);
		unwind_table_free(item.table);
	}
	free(queue->items);
}

static void build(struct build_item *item, struct cache_dir *cache)
{
	if (item->fd < 0) {
		item->table = unwind_table_from_memory((void *)getauxval(AT_SYSINFO_EHDR),
						       VDSO_IMAGE_BYTES);
	} else {
		item->table = table_cache_get(cache, item->fd, item->build_id, item->build_id_len);
		close(item->fd);
		item->fd = -1;
	}
	if (!item->table)
		log_debug("rows: executable %u: no table (errno %d)", item->exe_id, errno);
}

static void *lane_main(void *arg)
{
	struct cache_dir *cache = table_cache_open(NULL, TABLE_CACHE_BYTES);
	struct build_lane *lane = arg;
	struct row_builder *builder = lane->builder;
	struct build_item item;

	privilege_keep(PRIVILEGES_RUN);
	pthread_mutex_lock(&builder->lock);
	while (!builder->stop) {
		if (!queue_pop(&lane->queue, &item)) {
			pthread_cond_wait(&lane->wake, &builder->lock);
			continue;
		}
		pthread_mutex_unlock(&builder->lock);
		build(&item, cache);
		pthread_mutex_lock(&builder->lock);
		builder->done.items[builder->done.cnt++] = item;
		builder->awaited_cnt--;
		eventfd_write(builder->done_fd, 1);
	}
	pthread_mutex_unlock(&builder->lock);
	cache_dir_close(cache);
	return NULL;
}

static int lane_start(struct row_builder *builder, struct build_lane *lane)
{
	int err;

	lane->builder = builder;
	pthread_cond_init(&lane->wake, NULL);
	err = pthread_create(&lane->thread, NULL, lane_main, lane);
	if (err)
		pthread_cond_destroy(&lane->wake);
	return -err;
}

/* After builder->stop was set. */
static void lane_stop(struct build_lane *lane)
{
	pthread_mutex_lock(&lane->builder->lock);
	pthread_cond_signal(&lane->wake);
	pthread_mutex_unlock(&lane->builder->lock);
	pthread_join(lane->thread, NULL);
	queue_deinit(&lane->queue);
	pthread_cond_destroy(&lane->wake);
}

/* Of a builder whose threads have ended. */
static void builder_free(struct row_builder *builder)
{
	queue_deinit(&builder->done);
	pthread_mutex_destroy(&builder->lock);
	if (builder->done_fd >= 0)
		close(builder->done_fd);
	free(builder);
}

static void set_stop(struct row_builder *builder)
{
	pthread_mutex_lock(&builder->lock);
	builder->stop = true;
	pthread_mutex_unlock(&builder->lock);
}

struct row_builder *row_builder_start(void)
{
	struct row_builder *builder = calloc(1, sizeof(*builder));
	int err;

	if (!builder)
		return NULL;
	pthread_mutex_init(&builder->lock, NULL);
	builder->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = builder->done_fd < 0 ? -errno : lane_start(builder, &builder->urgent);
	if (!err) {
		err = lane_start(builder, &builder->idle);
		if (!err)
			return builder;
		set_stop(builder);
		lane_stop(&builder->urgent);
	}
	builder_free(builder);
	errno = -err;
	return NULL;
}

void row_builder_stop(struct row_builder *builder)
{
	if (!builder)
		return;
	set_stop(builder);
	lane_stop(&builder->urgent);
	lane_stop(&builder->idle);
	builder_free(builder);
}

/* Whoever asks gets an answer, also when memory is short by then. */
static int push_awaited(struct row_builder *builder, struct build_lane *lane,
			struct build_item item)
{
	struct build_queue *done = &builder->done;
	int err = array_reserve(&done->items, &done->cap, done->cnt + builder->awaited_cnt + 1,
				sizeof(item));

	if (!err)
		err = queue_push(&lane->queue, item);
	if (!err)
		builder->awaited_cnt++;
	return err;
}

int row_builder_ask(struct row_builder *builder, uint32_t exe_id, const struct module *module,
		    bool is_urgent)
{
	struct build_lane *lane = is_urgent ? &builder->urgent : &builder->idle;
	struct build_item item = {
		.exe_id = exe_id,
		.fd = -1,
		.is_urgent = is_urgent,
		.build_id_len = module->build_id_len,
	};
	int err;

	memcpy(item.build_id, module->build_id, sizeof(item.build_id));
	if (module->fd >= 0) {
		item.fd = fcntl(module->fd, F_DUPFD_CLOEXEC, 0);
		if (item.fd < 0)
			return -errno;
	}
	pthread_mutex_lock(&builder->lock);
	err = push_awaited(builder, lane, item);
	pthread_cond_signal(&lane->wake);
	pthread_mutex_unlock(&builder->lock);
	if (err && item.fd >= 0)
		close(item.fd);
	return err;
}

void row_builder_hurry(struct row_builder *builder, uint32_t exe_id)
{
	struct build_queue *idle = &builder->idle.queue;

	pthread_mutex_lock(&builder->lock);
	for (size_t i = idle->head; i < idle->cnt; i++) {
		struct build_item item = idle->items[i];

		if (item.exe_id != exe_id)
			continue;
		item.is_urgent = true;
		if (!queue_push(&builder->urgent.queue, item)) {
			idle->items[i] = idle->items[idle->head];
			queue_pop(idle, &item);
			pthread_cond_signal(&builder->urgent.wake);
		}
		break;
	}
	pthread_mutex_unlock(&builder->lock);
}

int row_builder_fd(const struct row_builder *builder)
{
	return builder->done_fd;
}

bool row_builder_take(struct row_builder *builder, uint32_t *exe_id, bool *is_urgent,
		      struct unwind_table **table)
{
	struct build_item item;
	eventfd_t ignored;
	bool taken;

	pthread_mutex_lock(&builder->lock);
	taken = queue_pop(&builder->done, &item);
	if (!taken)
		eventfd_read(builder->done_fd, &ignored);
	pthread_mutex_unlock(&builder->lock);
	if (!taken)
		return false;
	*exe_id = item.exe_id;
	*is_urgent = item.is_urgent;
	*table = item.table;
	return true;
}
