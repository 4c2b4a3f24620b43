/* SPDX-License-Identifier: Apache-2.0 */
/* A BPF ring buffer's records, released when their reader says so. */
#include "capture/ring_reader.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

enum { LOOK_AGAIN_US = 100 };

int ring_reader_open(struct ring_reader *ring, int map_fd, uint32_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*ring = (struct ring_reader){
		.bytes = bytes,
		.mem_bytes = {page, page + 2 * (size_t)bytes},
	};
	ring->mem[0] = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (ring->mem[0] == MAP_FAILED) {
		ring->mem[0] = NULL;
		return -errno;
	}
	ring->mem[1] = mmap(NULL, ring->mem_bytes[1], PROT_READ, MAP_SHARED, map_fd, (off_t)page);
	if (ring->mem[1] == MAP_FAILED) {
		int err = -errno;

		ring->mem[1] = NULL;
		ring_reader_close(ring);
		return err;
	}
	ring->consumer = ring->mem[0];
	ring->producer = ring->mem[1];
	ring->data = (const uint8_t *)ring->mem[1] + page;
	ring->pos = __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE);
	return 0;
}

void ring_reader_close(struct ring_reader *ring)
{
	for (int i = 0; i < 2; i++)
		if (ring->mem[i])
			munmap(ring->mem[i], ring->mem_bytes[i]);
	*ring = (struct ring_reader){0};
}

int ring_reader_next(struct ring_reader *ring, const void **data, uint32_t *len, uint64_t *at)
{
	uint64_t producer = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);

	if (ring->pos % 8 || ring->pos > producer || producer - ring->pos > ring->bytes)
		return -EBADMSG;
	while (producer - ring->pos >= BPF_RINGBUF_HDR_SZ) {
		uint64_t begin = ring->pos, taken;
		const uint8_t *record = ring->data + (begin & (ring->bytes - 1));
		uint32_t head = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);

		if (head & BPF_RINGBUF_BUSY_BIT)
			return 0;
		*len = head & ~(uint32_t)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		taken = ((uint64_t)*len + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
		if (taken > producer - begin)
			return -EBADMSG;
		ring->pos = begin + taken;
		if (head & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*data = record + BPF_RINGBUF_HDR_SZ;
		*at = begin;
		return 1;
	}
	return ring->pos == producer ? 0 : -EBADMSG;
}

int ring_reader_next_before(struct ring_reader *ring, uint64_t end, const void **data,
			    uint32_t *len, uint64_t *at)
{
	uint64_t until_ns = 0;

	for (;;) {
		int more = ring_reader_next(ring, data, len, at);
		uint64_t now_ns;

		if (more || ring->pos >= end)
			return more;
		now_ns = clock_monotonic_ns();
		if (!until_ns)
			until_ns = now_ns + RING_READER_WAIT_NS;
		else if (now_ns > until_ns)
			return 0;
		usleep(LOOK_AGAIN_US);
	}
}

uint64_t ring_reader_end(const struct ring_reader *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
}

void ring_reader_release(struct ring_reader *ring, uint64_t pos)
{
	if (pos > ring->pos)
		pos = ring->pos;
	if (ring->consumer && pos > __atomic_load_n(ring->consumer, __ATOMIC_RELAXED))
		__atomic_store_n(ring->consumer, pos, __ATOMIC_RELEASE);
}

uint64_t ring_reader_held_bytes(const struct ring_reader *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) -
	       __atomic_load_n(ring->consumer, __ATOMIC_RELAXED);
}
