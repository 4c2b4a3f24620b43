/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep over the spans by their start. Those that reach over the place of the sweep are kept in a
 * heap with the greatest id on top; the ones that have ended leave it when they come up.
 */
#include "elf/addr_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/search.h"

struct sweep {
	const struct addr_span *spans; /* ascending by lo */
	size_t cnt;
	size_t next; /* the first that has not begun */
	size_t *heap;
	size_t heap_cnt;
};

static int compare_spans(const void *left, const void *right)
{
	const struct addr_span *a = left, *b = right;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static bool is_above(const struct sweep *sweep, size_t a, size_t b)
{
	return sweep->spans[sweep->heap[a]].id > sweep->spans[sweep->heap[b]].id;
}

static void heap_swap(struct sweep *sweep, size_t a, size_t b)
{
	size_t kept = sweep->heap[a];

	sweep->heap[a] = sweep->heap[b];
	sweep->heap[b] = kept;
}

static void heap_push(struct sweep *sweep, size_t span)
{
	size_t at = sweep->heap_cnt++;

	sweep->heap[at] = span;
	for (; at && is_above(sweep, at, (at - 1) / 2); at = (at - 1) / 2)
		heap_swap(sweep, at, (at - 1) / 2);
}

static void heap_pop(struct sweep *sweep)
{
	size_t at = 0;

	sweep->heap[0] = sweep->heap[--sweep->heap_cnt];
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= sweep->heap_cnt)
			return;
		if (child + 1 < sweep->heap_cnt && is_above(sweep, child + 1, child))
			child++;
		if (!is_above(sweep, child, at))
			return;
		heap_swap(sweep, at, child);
		at = child;
	}
}

/* From @lo on it is @id. */
static int add_piece(struct addr_map *map, uint64_t lo, uint32_t id)
{
	int err;

	if (map->cnt && map->pieces[map->cnt - 1].id == id)
		return 0;
	err = array_reserve(&map->pieces, &map->cap, map->cnt + 1, sizeof(*map->pieces));
	if (!err)
		map->pieces[map->cnt++] = (struct addr_piece){.lo = lo, .id = id};
	return err;
}

static int sweep_run(struct sweep *sweep, struct addr_map *map)
{
	uint64_t place = 0;
	int err = 0;

	while (!err && (sweep->heap_cnt || sweep->next < sweep->cnt)) {
		const struct addr_span *top;

		if (!sweep->heap_cnt)
			place = sweep->spans[sweep->next].lo;
		while (sweep->next < sweep->cnt && sweep->spans[sweep->next].lo == place)
			heap_push(sweep, sweep->next++);
		while (sweep->heap_cnt && sweep->spans[sweep->heap[0]].hi <= place)
			heap_pop(sweep);
		if (!sweep->heap_cnt) {
			err = add_piece(map, place, (uint32_t)ADDR_MAP_NONE);
			continue;
		}
		top = &sweep->spans[sweep->heap[0]];
		err = add_piece(map, place, top->id);
		place = top->hi;
		if (sweep->next < sweep->cnt && sweep->spans[sweep->next].lo < place)
			place = sweep->spans[sweep->next].lo;
	}
	return err;
}

int addr_map_build(struct addr_span *spans, size_t cnt, struct addr_map *out)
{
	_cleanup_free_ size_t *heap = NULL;
	struct sweep sweep = {.spans = spans, .cnt = cnt};
	struct addr_map map = {0};
	int err;

	if (!cnt) {
		*out = map;
		return 0;
	}
	heap = malloc(cnt * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	sweep.heap = heap;
	qsort(spans, cnt, sizeof(*spans), compare_spans);
	err = sweep_run(&sweep, &map);
	if (err) {
		addr_map_deinit(&map);
		return err;
	}
	*out = map;
	return 0;
}

void addr_map_deinit(struct addr_map *map)
{
	free(map->pieces);
	*map = (struct addr_map){0};
}

/* How many pieces begin at or before @vaddr. */
static size_t pieces_to(const struct addr_map *map, uint64_t vaddr)
{
	return SEARCH_CNT(i, map->cnt, map->pieces[i].lo <= vaddr);
}

uint32_t addr_map_find(const struct addr_map *map, uint64_t vaddr)
{
	size_t cnt = pieces_to(map, vaddr);

	return cnt ? map->pieces[cnt - 1].id : (uint32_t)ADDR_MAP_NONE;
}

uint32_t addr_map_piece(const struct addr_map *map, uint64_t vaddr, uint64_t *lo, uint64_t *hi)
{
	size_t cnt = pieces_to(map, vaddr);

	*lo = cnt ? map->pieces[cnt - 1].lo : 0;
	*hi = cnt < map->cnt ? map->pieces[cnt].lo : UINT64_MAX;
	return cnt ? map->pieces[cnt - 1].id : (uint32_t)ADDR_MAP_NONE;
}
