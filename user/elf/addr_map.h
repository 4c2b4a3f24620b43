/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From address ranges that contain one another, or overlap in any other way, to disjoint ones: at
 * every address the range with the greatest id wins. Ids are given in the order of the entries of
 * .debug_info, so a child wins over its parent. Pure: knows no DWARF.
 *
 *	spans			map
 *	[10, 50) 0		10: 0
 *	[20, 40) 1	->	20: 1
 *	[30, 35) 2		30: 2
 *				35: 1
 *				40: 0
 *				50: none
 */
#ifndef BPFPROF_ELF_ADDR_MAP_H
#define BPFPROF_ELF_ADDR_MAP_H

#include <stddef.h>
#include <stdint.h>

enum { ADDR_MAP_NONE = UINT32_MAX };

struct addr_span {
	uint64_t lo, hi; /* hi is outside */
	uint32_t id;
};

struct addr_map {
	/* From lo to the next piece's lo. */
	struct addr_piece {
		uint64_t lo;
		uint32_t id; /* ADDR_MAP_NONE: a gap */
	} * pieces; /* owned; ascending */
	size_t cnt, cap;
};

/* Build @out (untouched on failure) from @spans, which are reordered. 0 or -ENOMEM. O(cnt log cnt)
 */
int addr_map_build(struct addr_span *spans, size_t cnt, struct addr_map *out);
void addr_map_deinit(struct addr_map *map);

/* The id at @vaddr, or ADDR_MAP_NONE. O(log cnt). */
uint32_t addr_map_find(const struct addr_map *map, uint64_t vaddr);

/* The same, and the piece or gap [*@lo, *@hi) around @vaddr that has it. */
uint32_t addr_map_piece(const struct addr_map *map, uint64_t vaddr, uint64_t *lo, uint64_t *hi);

#endif
