/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a ring of any content. Its size, both positions and its data are the input's; what
 * is read lies within the data, positions only rise, and none passes the producer's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/ring_reader.h"

enum { RING_BYTES = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint64_t positions[2];
	struct ring_reader ring;
	uint64_t at, before = 0;
	const void *record;
	uint32_t bytes;
	uint8_t *twice;
	uint8_t sum = 0;

	if (len < sizeof(positions))
		return 0;
	memcpy(positions, data, sizeof(positions));
	data += sizeof(positions);
	len -= sizeof(positions);
	twice = calloc(2, RING_BYTES);
	if (!twice)
		return 0;
	memcpy(twice, data, len < RING_BYTES ? len : RING_BYTES);
	memcpy(twice + RING_BYTES, twice, RING_BYTES);
	ring = (struct ring_reader){
		.consumer = &positions[0],
		.producer = &positions[1],
		.data = twice,
		.bytes = RING_BYTES,
		.pos = positions[0],
	};
	while (ring_reader_next(&ring, &record, &bytes, &at) > 0) {
		const uint8_t *from = record;

		if (at < before || ring.pos <= at || ring.pos > positions[1])
			abort();
		before = at;
		for (uint32_t i = 0; i < bytes; i++)
			sum += from[i];
		ring_reader_release(&ring, at);
		if (positions[0] > ring.pos)
			abort();
	}
	ring_reader_release(&ring, UINT64_MAX);
	free(twice);
	__asm__ volatile("" : : "r"(sum));
	return 0;
}
