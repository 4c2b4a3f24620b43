/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols to disjoint ranges: radix sort by address, best name per address, one sweep. */
#include "elf/symbol_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/search.h"

enum {
	RADIX_BITS = 11, /* three passes cover 32 bits, and the counts stay in the first-level cache
			  */
	RADIX_SIZE = 1 << RADIX_BITS,
	NEST_MAX = 32, /* symbols within symbols; two or three occur */
};

static bool is_sorted(const struct symbol *symbols, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++) {
		if (symbols[i - 1].start > symbols[i].start)
			return false;
	}
	return true;
}

/* Stable, so that symbols of one address stay in table order. */
static void radix_pass(const struct symbol *src, struct symbol *dst, size_t cnt, int shift)
{
	uint32_t place[RADIX_SIZE] = {0};
	uint32_t sum = 0;

	for (size_t i = 0; i < cnt; i++)
		place[(src[i].start >> shift) % RADIX_SIZE]++;
	for (size_t i = 0; i < RADIX_SIZE; i++) {
		uint32_t here = place[i];

		place[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < cnt; i++)
		dst[place[(src[i].start >> shift) % RADIX_SIZE]++] = src[i];
}

static int sort_by_start(struct symbol *symbols, size_t cnt)
{
	_cleanup_free_ struct symbol *other = NULL;

	if (is_sorted(symbols, cnt))
		return 0;
	other = malloc(cnt * sizeof(*other));
	if (!other)
		return -ENOMEM;
	radix_pass(symbols, other, cnt, 0);
	radix_pass(other, symbols, cnt, RADIX_BITS);
	radix_pass(symbols, other, cnt, 2 * RADIX_BITS);
	memcpy(symbols, other, cnt * sizeof(*other));
	return 0;
}

static size_t underscore_cnt(const char *name)
{
	return strspn(name, "_");
}

/* Does @left name their common address better than @right? */
static bool is_better(const struct symbol *left, const struct symbol *right,
		      symbol_name_fn *name_of, const void *arg)
{
	if (left->is_sized != right->is_sized)
		return left->is_sized;
	if (left->is_sized && left->end != right->end)
		return left->end > right->end;
	if (left->rank != right->rank)
		return left->rank < right->rank;
	return underscore_cnt(name_of(arg, left->name)) < underscore_cnt(name_of(arg, right->name));
}

/* Keep the best symbol of each address. Returns how many are left. */
static size_t unique_by_start(struct symbol *symbols, size_t cnt, symbol_name_fn *name_of,
			      const void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (!kept || symbols[kept - 1].start != symbols[i].start)
			symbols[kept++] = symbols[i];
		else if (is_better(&symbols[i], &symbols[kept - 1], name_of, arg))
			symbols[kept - 1] = symbols[i];
	}
	return kept;
}

/* The sweep: the symbols that are open at the current address, outermost first. */
struct sweep {
	struct symbol_index index;
	struct symbol open[NEST_MAX];
	size_t depth;
	uint32_t pos; /* ranges are emitted up to here */
	int err;
};

/* The innermost open symbol names [pos, end). */
static void emit_until(struct sweep *sweep, uint32_t end)
{
	struct symbol_index *index = &sweep->index;

	if (!sweep->depth || sweep->pos >= end || sweep->err)
		return;
	sweep->err =
		array_reserve(&index->ranges, &index->cap, index->cnt + 1, sizeof(*index->ranges));
	if (sweep->err)
		return;
	index->ranges[index->cnt++] = (struct symbol_range){
		.start = sweep->pos,
		.end = end,
		.name = sweep->open[sweep->depth - 1].name,
	};
	sweep->pos = end;
}

/* Close what ends at or before @start. */
static void close_until(struct sweep *sweep, uint32_t start)
{
	while (sweep->depth && sweep->open[sweep->depth - 1].end <= start) {
		emit_until(sweep, sweep->open[sweep->depth - 1].end);
		sweep->depth--;
	}
}

static void open_symbol(struct sweep *sweep, const struct symbol *sym)
{
	if (sweep->depth == NEST_MAX) { /* only a forged file nests so: forget the outermost */
		sweep->depth--;
		memmove(&sweep->open[0], &sweep->open[1], sweep->depth * sizeof(sweep->open[0]));
	}
	sweep->open[sweep->depth++] = *sym;
	sweep->pos = sym->start;
}

int symbol_index_build(struct symbol *symbols, size_t cnt, symbol_name_fn *name_of, const void *arg,
		       struct symbol_index *out)
{
	struct sweep sweep = {0};
	int err = sort_by_start(symbols, cnt);

	if (err)
		return err;
	cnt = unique_by_start(symbols, cnt, name_of, arg);
	for (size_t i = 0; i < cnt; i++) {
		struct symbol *sym = &symbols[i];

		close_until(&sweep, sym->start);
		if (!sym->is_sized && sweep.depth)
			continue;
		if (!sym->is_sized && i + 1 < cnt && sym->end > symbols[i + 1].start)
			sym->end = symbols[i + 1].start;
		emit_until(&sweep, sym->start);
		open_symbol(&sweep, sym);
	}
	close_until(&sweep, UINT32_MAX);
	if (sweep.err) {
		symbol_index_deinit(&sweep.index);
		return sweep.err;
	}
	*out = sweep.index;
	return 0;
}

void symbol_index_deinit(struct symbol_index *index)
{
	free(index->ranges);
	*index = (struct symbol_index){0};
}

const struct symbol_range *symbol_index_find(const struct symbol_index *index, uint32_t rel)
{
	size_t cnt = SEARCH_CNT(i, index->cnt, index->ranges[i].start <= rel);

	return cnt && rel < index->ranges[cnt - 1].end ? &index->ranges[cnt - 1] : NULL;
}
