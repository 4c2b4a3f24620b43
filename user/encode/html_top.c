/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest functions for a reader without scripts: as the page's own table counts them, a
 * function once per stack, however often it recurs there. */
#include "encode/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "encode/svg.h"

enum { TOP_ROWS = 25 };

struct function_sum {
	int64_t self, total;
	uint32_t name;
	uint32_t last_sample; /* + 1: the one that was counted last */
};

static struct function_sum *sum_of(struct function_sum *sums, const struct flame_frame *frame,
				   uint32_t sample)
{
	struct function_sum *sum = &sums[frame->name];

	sum->name = frame->name;
	return sum->last_sample == sample + 1 ? NULL : sum;
}

/* The sampled thread's time is not its waker's: it belongs to the state below. */
static bool is_wakers(const struct flame_frame *frame)
{
	return frame->flags & FLAME_WAKER || frame->kind == FLAME_WOKEN_BY;
}

static void count_sample(const struct flame_frames *frames, struct function_sum *sums,
			 uint32_t sample, int64_t weight)
{
	const struct profile *prof = frames->prof;
	const struct profile_stack *stack = &prof->stacks[prof->samples[sample].stack];
	const struct flame_frame *leaf = NULL;

	for (uint32_t i = 0; i < stack->cnt; i++) {
		uint32_t location = prof->stack_locations[stack->first + i];

		for (uint32_t at = frames->first[location + 1]; at-- > frames->first[location];) {
			const struct flame_frame *frame = &frames->items[at];
			struct function_sum *sum;

			if (is_wakers(frame))
				continue;
			sum = sum_of(sums, frame, sample);
			leaf = leaf ? leaf : frame;
			if (!sum)
				continue;
			sum->last_sample = sample + 1;
			sum->total = profile_value_sum(sum->total, weight);
		}
	}
	if (leaf)
		sums[leaf->name].self = profile_value_sum(sums[leaf->name].self, weight);
}

static int compare_sums(const void *left_ptr, const void *right_ptr)
{
	const struct function_sum *left = left_ptr, *right = right_ptr;

	if (left->self != right->self)
		return left->self < right->self ? 1 : -1;
	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	return left->name < right->name ? -1 : left->name > right->name;
}

static void add_row(struct buf *out, const struct flame_frames *frames,
		    const struct function_sum *sum, const struct svg_unit *unit, int64_t whole)
{
	buf_add_str(out, "<tr><td>");
	svg_add_value(out, unit, sum->self);
	buf_add_str(out, "</td><td>");
	svg_add_percent(out, sum->self, whole);
	buf_add_str(out, "</td><td>");
	svg_add_value(out, unit, sum->total);
	buf_add_str(out, "</td><td>");
	svg_add_percent(out, sum->total, whole);
	buf_add_str(out, "</td><td>");
	svg_add_text(out, strtab_get(&frames->names, sum->name));
	buf_add_str(out, "</td></tr>\n");
}

static int add_rows(struct buf *out, const struct flame_frames *frames, uint32_t value)
{
	const struct profile *prof = frames->prof;
	const struct profile_value_type *type = &prof->value_types[value];
	struct svg_unit unit =
		svg_unit_of(profile_str(prof, type->type), profile_str(prof, type->unit));
	_cleanup_free_ struct function_sum *sums = calloc(frames->names.cnt, sizeof(*sums));
	int64_t whole = 0;

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < prof->sample_cnt; i++) {
		int64_t weight = prof->values[(size_t)i * prof->value_type_cnt + value];

		if (weight <= 0)
			continue;
		whole = profile_value_sum(whole, weight);
		count_sample(frames, sums, i, weight);
	}
	qsort(sums, frames->names.cnt, sizeof(*sums), compare_sums);
	for (size_t i = 0; i < TOP_ROWS && i < frames->names.cnt && sums[i].total > 0; i++)
		add_row(out, frames, &sums[i], &unit, whole);
	return 0;
}

int html_add_top(struct buf *out, const struct flame_frames *frames, uint32_t value)
{
	return value < frames->prof->value_type_cnt ? add_rows(out, frames, value) : 0;
}
