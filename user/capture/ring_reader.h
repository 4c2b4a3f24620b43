/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a BPF ring buffer (kernel/bpf/ringbuf.c) without giving up what was read: the kernel may
 * write over a record only when the consumer's position is behind it, and that is moved by
 * ring_reader_release() alone. Who dies in between leaves the records to the next reader.
 *
 *	consumer    position that is released	in the ring's first page, ours to write
 *	pos         read next			ours alone; consumer <= pos <= producer
 *	producer    written so far		in the second page
 *
 * Positions count bytes since the ring was made and never wrap; record at position p lies at p
 * modulo the ring's size. The kernel maps the data twice, so that none is cut. The kernel wakes a
 * poller only where the consumer stood at the new record: who holds records back looks again by
 * the clock.
 */
#ifndef BPFPROF_CAPTURE_RING_READER_H
#define BPFPROF_CAPTURE_RING_READER_H

#include <stddef.h>
#include <stdint.h>

#define RING_READER_WAIT_NS 2000000000ULL

struct ring_reader {
	uint64_t *consumer; /* in shared memory */
	const uint64_t *producer; /* likewise */
	const uint8_t *data; /* twice @bytes */
	uint64_t bytes; /* a power of two */
	uint64_t pos;
	void *mem[2]; /* owned mappings; NULL: the memory is another's */
	size_t mem_bytes[2];
};

/* Map the ring @map_fd (borrowed for the call) of @bytes, and begin at its consumer's position. 0
 * or negative errno. */
int ring_reader_open(struct ring_reader *ring, int map_fd, uint32_t bytes);
void ring_reader_close(struct ring_reader *ring); /* of zeros: nothing */

/*
 * The next record: 1, and *@data (borrowed until it is released), *@len bytes, and *@at, where it
 * begins. 0: there is none that is finished. -EBADMSG: what stands there can be no record; nothing
 * moves any more.
 */
int ring_reader_next(struct ring_reader *ring, const void **data, uint32_t *len, uint64_t *at);

/*
 * The same of what was written before position @end (ring_reader_end()): a record there that is not
 * finished, which holds back those behind it, is waited for, as a program that was preempted, or a
 * virtual CPU that was, goes on sooner or later. 0 also when that takes longer than
 * RING_READER_WAIT_NS.
 */
int ring_reader_next_before(struct ring_reader *ring, uint64_t end, const void **data,
			    uint32_t *len, uint64_t *at);

/* Where what is written from now on begins. */
uint64_t ring_reader_end(const struct ring_reader *ring);

/* The kernel may have what lies before @pos. Never moves back, nor beyond what was read. */
void ring_reader_release(struct ring_reader *ring, uint64_t pos);

/* Bytes read or not that the kernel may not write over yet. */
uint64_t ring_reader_held_bytes(const struct ring_reader *ring);

#endif
