/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the symbols of a file to disjoint address ranges with one name each, so that a lookup is one
 * binary search. Pure: knows no ELF file.
 *
 * A worked example, [start, end) name:
 *
 *	symbols                         ranges
 *	[10, 50) outer   global         [10, 20) outer
 *	[10, 50) __outer global    ->   [20, 30) inner
 *	[20, 30) inner   local          [30, 50) outer
 *	 25      label   (size 0)       [60, 70) start
 *	 60      start   (size 0)       [70, 80) next
 *	[70, 80) next    weak
 *
 * Of several symbols at one address the first in (size descending, global > weak > local, fewest
 * leading underscores, table order) names it. An inner symbol hides the outer one only as far as it
 * reaches. A symbol without size inside one with size is a label and names nothing; elsewhere it
 * reaches to the next symbol or to its section's end.
 */
#ifndef BPFPROF_ELF_SYMBOL_INDEX_H
#define BPFPROF_ELF_SYMBOL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum symbol_rank {
	SYMBOL_GLOBAL,
	SYMBOL_WEAK,
	SYMBOL_LOCAL,
	SYMBOL_PLT, /* made up by us: yields to whatever the file says */
};

/* Addresses are relative to a base that the caller keeps: 32 bits span any text. */
struct symbol {
	uint32_t start;
	uint32_t end; /* of an unsized symbol: how far it may reach at the most */
	uint32_t name; /* the caller's; handed through */
	uint8_t rank; /* enum symbol_rank */
	bool is_sized;
};

struct symbol_range {
	uint32_t start, end;
	uint32_t name;
};

/* The text of a symbol's name, for the count of underscores; borrowed while the build runs. */
typedef const char *symbol_name_fn(const void *arg, uint32_t name);

struct symbol_index {
	struct symbol_range *ranges; /* owned; ascending, disjoint */
	size_t cnt, cap;
};

/*
 * Build @out (untouched on failure) from @symbols, which are reordered. 0 or -ENOMEM. O(cnt); 86 k
 * symbols take about 3 ms.
 */
int symbol_index_build(struct symbol *symbols, size_t cnt, symbol_name_fn *name_of, const void *arg,
		       struct symbol_index *out);
void symbol_index_deinit(struct symbol_index *index);

/* The range that contains @rel, borrowed from the index; NULL when none does. O(log cnt). */
const struct symbol_range *symbol_index_find(const struct symbol_index *index, uint32_t rel);

#endif
