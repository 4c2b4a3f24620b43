/* SPDX-License-Identifier: Apache-2.0 */
/* The FDEs of an executable in order of file offset. */
#include "unwind/fde_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

enum {
	DIGIT_BITS = 11,
	DIGITS = 1 << DIGIT_BITS,
};

void fde_list_deinit(struct fde_list *list)
{
	free(list->items);
	*list = (struct fde_list){0};
}

int exec_segments_of(const struct elf_segments *segments, struct elf_segments *out)
{
	struct elf_segments exec = {0};

	if (array_reserve(&exec.items, &exec.cap, EXEC_SEGMENTS_MAX, sizeof(*exec.items)))
		return -ENOMEM;
	for (size_t i = 0; i < segments->cnt; i++) {
		const struct elf_segment *segment = &segments->items[i];

		if (!segment->is_exec || !segment->file_bytes)
			continue;
		if (exec.cnt == EXEC_SEGMENTS_MAX) {
			elf_segments_deinit(&exec);
			return -EFBIG;
		}
		exec.items[exec.cnt++] = *segment;
	}
	*out = exec;
	return 0;
}

const struct elf_segment *exec_segment_at_vaddr(const struct elf_segments *exec, uint64_t vaddr)
{
	for (size_t i = 0; i < exec->cnt; i++)
		if (vaddr - exec->items[i].vaddr < exec->items[i].file_bytes)
			return &exec->items[i];
	return NULL;
}

const struct elf_segment *exec_segment_at_off(const struct elf_segments *exec, uint64_t file_off)
{
	for (size_t i = 0; i < exec->cnt; i++)
		if (file_off - exec->items[i].file_off < exec->items[i].file_bytes)
			return &exec->items[i];
	return NULL;
}

static int entry_add(struct fde_list *list, const struct cfi_fde *fde, bool is_signal,
		     bool is_second, const struct elf_segment *segment)
{
	uint64_t skip = fde->start_vaddr - segment->vaddr;
	uint64_t bytes = segment->file_bytes - skip;
	struct fde_entry *entry;

	if (list->cnt == FDES_MAX)
		return -EFBIG;
	if (array_reserve(&list->items, &list->cap, list->cnt + 1, sizeof(*list->items)))
		return -ENOMEM;
	if (bytes > fde->bytes)
		bytes = fde->bytes;
	/* The "return address" into a trampoline is its first byte, and is looked up minus one. */
	if (is_signal && skip) {
		skip--;
		bytes++;
	}
	entry = &list->items[list->cnt++];
	*entry = (struct fde_entry){
		.file_off = segment->file_off + skip,
		.bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
		.program_off = fde->program_off,
		.program_len = fde->program_len,
		.cie = fde->cie,
		.is_second = is_second,
	};
	return 0;
}

int fde_list_add(struct fde_list *list, struct cfi_walk *walk, const struct elf_segments *exec,
		 bool is_second)
{
	struct cfi_fde fde;
	int err;

	while (cfi_walk_next(walk, &fde)) {
		const struct elf_segment *segment = exec_segment_at_vaddr(exec, fde.start_vaddr);

		if (!segment || !fde.bytes) {
			list->outside_cnt++;
			continue;
		}
		err = entry_add(list, &fde, walk->cies[fde.cie].is_signal, is_second, segment);
		if (err)
			return err;
	}
	return walk->err;
}

/* One pass of a radix sort, stable: by the digit of file_off - @min at @shift. */
static void sort_pass(const struct fde_entry *from, struct fde_entry *to, size_t cnt, uint64_t min,
		      unsigned int shift)
{
	uint32_t next[DIGITS] = {0};
	uint32_t sum = 0;

	for (size_t i = 0; i < cnt; i++)
		next[(from[i].file_off - min) >> shift & (DIGITS - 1)]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		uint32_t digit_cnt = next[digit];

		next[digit] = sum;
		sum += digit_cnt;
	}
	for (size_t i = 0; i < cnt; i++)
		to[next[(from[i].file_off - min) >> shift & (DIGITS - 1)]++] = from[i];
}

/* Whether the list is in order already; its least and greatest offset. */
static bool list_is_sorted(const struct fde_list *list, uint64_t *min, uint64_t *max)
{
	bool sorted = true;

	*min = UINT64_MAX;
	*max = 0;
	for (size_t i = 0; i < list->cnt; i++) {
		uint64_t off = list->items[i].file_off;

		sorted = sorted && off >= *max;
		*max = off > *max ? off : *max;
		*min = off < *min ? off : *min;
	}
	return sorted;
}

static void drop_duplicates(struct fde_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->cnt; i++) {
		if (!kept || list->items[i].file_off != list->items[kept - 1].file_off)
			list->items[kept++] = list->items[i];
	}
	list->cnt = kept;
}

int fde_list_sort(struct fde_list *list)
{
	struct fde_entry *other;
	uint64_t min, max;

	if (!list_is_sorted(list, &min, &max)) {
		other = malloc(list->cnt * sizeof(*other));
		if (!other)
			return -ENOMEM;
		for (unsigned int shift = 0; shift < 64 && (max - min) >> shift;
		     shift += DIGIT_BITS) {
			struct fde_entry *from = list->items;

			sort_pass(from, other, list->cnt, min, shift);
			list->items = other;
			other = from;
		}
		list->cap = list->cnt;
		free(other);
	}
	drop_duplicates(list);
	return 0;
}
