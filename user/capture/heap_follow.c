/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/heap_follow.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "abi.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/privilege.h"
#include "bpfprof.skel.h"
#include "capture/heap.h"
#include "capture/heap_search.h"
#include "capture/loader.h"

#define LOOK_AGAIN_MIN_NS (1 * NSEC_PER_SEC)
#define LOOK_AGAIN_MAX_NS (64 * NSEC_PER_SEC)

/* A process that may load another allocator. */
struct looked {
	pid_t tgid;
	uint64_t next_ns, gap_ns;
};

struct heap_follower {
	struct heap *heap; /* borrowed */
	struct ring_buffer *ring; /* owned */
	struct looked *looked; /* owned */
	size_t looked_cnt, looked_cap;
	int stop_fd; /* owned */
	pthread_t thread;
};

static void look_later(struct heap_follower *follower, pid_t tgid)
{
	struct looked looked = {
		.tgid = tgid,
		.next_ns = clock_monotonic_ns() + LOOK_AGAIN_MIN_NS,
		.gap_ns = LOOK_AGAIN_MIN_NS,
	};

	for (size_t i = 0; i < follower->looked_cnt; i++)
		if (follower->looked[i].tgid == tgid) {
			follower->looked[i] = looked;
			return;
		}
	if (!array_reserve(&follower->looked, &follower->looked_cap, follower->looked_cnt + 1,
			   sizeof(*follower->looked)))
		follower->looked[follower->looked_cnt++] = looked;
}

static void follow_fork(struct heap_search *search, const struct bp_heap_event *event)
{
	struct heap_children *children = &search->heap->children;
	uint64_t lag_ns;

	heap_search_forget(search->heap, search->tgid);
	heap_search_child(search, (pid_t)event->parent);
	lag_ns = clock_monotonic_ns() - event->time_ns;
	__atomic_fetch_add(&children->cnt, 1, __ATOMIC_RELAXED);
	if (!search->found)
		__atomic_fetch_add(&children->missed, 1, __ATOMIC_RELAXED);
	else if (lag_ns > children->lag_ns)
		__atomic_store_n(&children->lag_ns, lag_ns, __ATOMIC_RELAXED);
}

static void follow_exec(struct heap_search *search, const struct bp_heap_event *event)
{
	if (event->is_other_task)
		heap_search_forget(search->heap, search->tgid);
	heap_search_exec(search);
}

static int on_process(void *arg, void *data, size_t len)
{
	struct heap_follower *follower = arg;
	const struct bp_heap_event *event = data;
	struct heap_search search = {.heap = follower->heap};

	if (len < sizeof(*event))
		return 0;
	search.tgid = (pid_t)event->tgid;
	if (event->parent)
		follow_fork(&search, event);
	else
		follow_exec(&search, event);
	look_later(follower, search.tgid);
	return 0;
}

/* What processes have mapped since: of each more and more seldom. */
static void look_again(struct heap_follower *follower, uint64_t now_ns)
{
	size_t cnt = 0;

	for (size_t i = 0; i < follower->looked_cnt; i++) {
		struct looked looked = follower->looked[i];
		struct heap_search search = {.heap = follower->heap, .tgid = looked.tgid};

		if (now_ns >= looked.next_ns) {
			if (heap_search_mapped(&search))
				continue;
			if (looked.gap_ns < LOOK_AGAIN_MAX_NS)
				looked.gap_ns *= 2;
			looked.next_ns = now_ns + looked.gap_ns;
		}
		follower->looked[cnt++] = looked;
	}
	follower->looked_cnt = cnt;
}

static void *follower_main(void *arg)
{
	struct heap_follower *follower = arg;
	struct pollfd fds[] = {
		{.fd = follower->stop_fd, .events = POLLIN},
		{.fd = ring_buffer__epoll_fd(follower->ring), .events = POLLIN},
	};

	privilege_keep(PRIVILEGES_RUN);
	while (!fds[0].revents) {
		ring_buffer__consume(follower->ring);
		look_again(follower, clock_monotonic_ns());
		poll(fds, sizeof(fds) / sizeof(*fds), (int)(LOOK_AGAIN_MIN_NS / NSEC_PER_MSEC));
	}
	return NULL;
}

static void follower_free(struct heap_follower *follower)
{
	ring_buffer__free(follower->ring);
	if (follower->stop_fd >= 0)
		close(follower->stop_fd);
	free(follower->looked);
	free(follower);
}

int heap_follow_start(struct heap *heap, struct heap_follower **out)
{
	struct heap_follower *follower = calloc(1, sizeof(*follower));
	int err;

	if (!follower)
		return -ENOMEM;
	follower->heap = heap;
	follower->stop_fd = eventfd(0, EFD_CLOEXEC);
	follower->ring = ring_buffer__new(bpf_map__fd(heap->loader->skel->maps.heap_ring),
					  on_process, follower, NULL);
	err = follower->stop_fd < 0 || !follower->ring ? -errno : 0;
	for (size_t i = 0; i < heap->probed_cnt; i++)
		look_later(follower, heap->probed[i].tgid);
	if (!err)
		err = -pthread_create(&follower->thread, NULL, follower_main, follower);
	if (err) {
		follower_free(follower);
		return err;
	}
	*out = follower;
	return 0;
}

void heap_follow_stop(struct heap_follower *follower)
{
	if (!follower)
		return;
	eventfd_write(follower->stop_fd, 1);
	pthread_join(follower->thread, NULL);
	follower_free(follower);
}
