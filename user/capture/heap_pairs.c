/* SPDX-License-Identifier: Apache-2.0 */
/* --heap=sites: who frees what whom allocated. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/cleanup.h"
#include "bpfprof.skel.h"
#include "capture/drain.h"
#include "capture/heap.h"
#include "capture/loader.h"

/* The stack that allocated, "--", and behind it the one that frees, its leaf first: as wakers stand
 * behind waits. */
static uint32_t joined_stack(struct profile *prof, uint32_t alloc, uint32_t release)
{
	const struct profile_stack above = prof->stacks[release], below = prof->stacks[alloc];
	size_t cnt = (size_t)above.cnt + 1 + below.cnt, at = 0;
	_cleanup_free_ uint32_t *locations = calloc(cnt, sizeof(*locations));

	if (!locations) {
		prof->err = -ENOMEM;
		return PROFILE_NONE;
	}
	for (uint32_t i = above.cnt; i; i--)
		locations[at++] = prof->stack_locations[above.first + i - 1];
	locations[at++] = profile_named_location(prof, "--", LOCATION_SYNTHETIC);
	memcpy(locations + at, prof->stack_locations + below.first, below.cnt * sizeof(*locations));
	return profile_stack(prof, locations, cnt);
}

static void add_pair(struct heap *heap, struct drain *drain, const struct bp_heap_pair *pair,
		     const struct bp_heap_pair_sum *sum)
{
	uint64_t half = heap->opts.rate_bytes ? 1 << (BP_HEAP_UNIT_BITS - 1) : 0;
	struct heap_values values = {
		.freed_objects = heap->opts.rate_bytes ? (sum->objects + half) >> BP_HEAP_UNIT_BITS
						       : sum->objects,
		.freed_bytes = sum->bytes,
	};
	uint32_t alloc_labels, free_labels, alloc, release;

	if (pair->alloc_site >= heap->site_cnt || pair->free_site >= heap->site_cnt)
		return;
	alloc = heap_site_stack(heap, drain, pair->alloc_site, &alloc_labels);
	release = heap_site_stack(heap, drain, pair->free_site, &free_labels);
	if (alloc == PROFILE_NONE || release == PROFILE_NONE)
		return;
	heap_add(drain->prof, &heap->summary, joined_stack(drain->prof, alloc, release),
		 alloc_labels, &values);
}

void heap_fill_pairs(struct heap *heap, struct drain *drain)
{
	int fd = bpf_map__fd(heap->loader->skel->maps.heap_pairs);
	struct bp_heap_pair pair, next;
	bool is_first = true;

	while (!bpf_map_get_next_key(fd, is_first ? NULL : &pair, &next)) {
		struct bp_heap_pair_sum sum;

		is_first = false;
		pair = next;
		if (!bpf_map_lookup_elem(fd, &pair, &sum))
			add_pair(heap, drain, &pair, &sum);
	}
}
