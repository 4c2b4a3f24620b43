/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of announcements, one per CPU. */
#include "capture/ksym_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

/* Behind the page that says how full the ring is; a power of two. A record has some 90 bytes. */
enum { RING_PAGES = 2 };

static size_t ring_bytes(void)
{
	return RING_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t mapped_bytes(void)
{
	return ring_bytes() + (size_t)sysconf(_SC_PAGESIZE);
}

static int open_event(uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_ring(struct ksym_events *events, struct ksym_ring *ring)
{
	struct epoll_event wanted = {.events = EPOLLIN};
	int fd = open_event(ring->cpu), err;
	void *mem;

	if (fd < 0)
		return fd;
	mem = mmap(NULL, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem != MAP_FAILED && !epoll_ctl(events->epoll_fd, EPOLL_CTL_ADD, fd, &wanted)) {
		ring->fd = fd;
		ring->mem = mem;
		return 0;
	}
	err = -errno;
	if (mem != MAP_FAILED)
		munmap(mem, mapped_bytes());
	close(fd);
	return err;
}

static void close_ring(struct ksym_ring *ring)
{
	if (ring->mem)
		munmap(ring->mem, mapped_bytes());
	if (ring->fd >= 0)
		close(ring->fd);
	ring->mem = NULL;
	ring->fd = -1;
}

int ksym_events_open(struct ksym_events *events, const struct number_set *cpus)
{
	int err;

	*events = (struct ksym_events){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	if (events->epoll_fd < 0)
		return -errno;
	err = array_reserve(&events->rings, &events->cap, cpus->cnt, sizeof(*events->rings));
	for (size_t i = 0; i < cpus->cnt && !err; i++) {
		events->rings[events->cnt] = (struct ksym_ring){.cpu = cpus->items[i], .fd = -1};
		err = open_ring(events, &events->rings[events->cnt++]);
		if (err == -ENODEV)
			err = 0;
	}
	return err;
}

void ksym_events_close(struct ksym_events *events)
{
	for (size_t i = 0; i < events->cnt; i++)
		close_ring(&events->rings[i]);
	free(events->rings);
	if (events->epoll_fd >= 0)
		close(events->epoll_fd);
	*events = (struct ksym_events){.epoll_fd = -1};
}

int ksym_events_fd(const struct ksym_events *events)
{
	return events->epoll_fd;
}

static struct ksym_ring *ring_of(struct ksym_events *events, uint32_t cpu)
{
	for (size_t i = 0; i < events->cnt; i++)
		if (events->rings[i].cpu == cpu)
			return &events->rings[i];
	return NULL;
}

void ksym_events_cpu_offline(struct ksym_events *events, uint32_t cpu)
{
	struct ksym_ring *ring = ring_of(events, cpu);

	if (ring)
		close_ring(ring);
}

void ksym_events_cpu_online(struct ksym_events *events, uint32_t cpu)
{
	struct ksym_ring *ring = ring_of(events, cpu);

	if (ring && ring->fd < 0)
		open_ring(events, ring);
}

/* Take everything out of @ring into @copy of ring_bytes(), in order. How much; -EOVERFLOW when the
 * marks make no sense. */
static ssize_t take(struct ksym_ring *ring, uint8_t *copy)
{
	struct perf_event_mmap_page *page = ring->mem;
	const uint8_t *data = (const uint8_t *)ring->mem + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail, len = head - tail;
	size_t at = tail & (ring_bytes() - 1), first = ring_bytes() - at;

	if (len <= ring_bytes()) {
		first = first < len ? first : len;
		memcpy(copy, data + at, first);
		memcpy(copy + first, data, len - first);
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return len <= ring_bytes() ? (ssize_t)len : -EOVERFLOW;
}

/* Records of all rings. Names point into bytes. */
struct batch {
	struct ksym_record *items; /* owned */
	size_t cnt, cap;
	uint8_t *bytes; /* owned: ring_bytes() for each ring */
};

static int batch_add(struct batch *batch, const struct ksym_record *record)
{
	int err = array_reserve(&batch->items, &batch->cap, batch->cnt + 1, sizeof(*batch->items));

	if (!err)
		batch->items[batch->cnt++] = *record;
	return err;
}

static int read_ring(struct ksym_ring *ring, uint8_t *copy, struct batch *batch)
{
	static const struct ksym_record lost = {.kind = KSYM_RECORD_LOST};
	ssize_t len = take(ring, copy);
	struct ksym_record record;
	struct reader rd;
	int err = 0;

	reader_init(&rd, copy, len < 0 ? 0 : (size_t)len);
	while (!err && ksym_record_next(&rd, &record))
		if (record.kind != KSYM_RECORD_OTHER)
			err = batch_add(batch, &record);
	if (!err && (len < 0 || rd.err))
		err = batch_add(batch, &lost);
	return err;
}

static bool has_records(const struct ksym_ring *ring)
{
	const struct perf_event_mmap_page *page = ring->mem;

	return page && __atomic_load_n(&page->data_head, __ATOMIC_RELAXED) != page->data_tail;
}

static int read_rings(struct ksym_events *events, struct batch *batch)
{
	int err = 0;

	for (size_t i = 0; i < events->cnt && !err; i++) {
		if (!has_records(&events->rings[i]))
			continue;
		if (!batch->bytes)
			batch->bytes = malloc(events->cnt * ring_bytes());
		err = batch->bytes
			      ? read_ring(&events->rings[i], batch->bytes + i * ring_bytes(), batch)
			      : -ENOMEM;
	}
	return err;
}

static int record_cmp(const void *left, const void *right)
{
	const struct ksym_record *lhs = left, *rhs = right;

	return (lhs->time_ns > rhs->time_ns) - (lhs->time_ns < rhs->time_ns);
}

int ksym_events_read(struct ksym_events *events, ksym_record_fn *fn, void *arg)
{
	struct batch batch = {0};
	int err = read_rings(events, &batch);

	/* What comes on one CPU may go on another. */
	if (batch.cnt)
		qsort(batch.items, batch.cnt, sizeof(*batch.items), record_cmp);
	for (size_t i = 0; i < batch.cnt; i++)
		fn(arg, &batch.items[i]);
	free(batch.items);
	free(batch.bytes);
	return err;
}
