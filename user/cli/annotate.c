/* SPDX-License-Identifier: Apache-2.0 */
/* Counting the parts of a function: see annotate.h. */
#include "cli/annotate.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/search.h"

/* A part as it is counted, in the order in which they are met. */
struct counter {
	struct annotation *out;
	const struct report *report;
	uint32_t row;
	enum annotation_kind kind;
	struct hmap index; /* at -> part */
	uint32_t *last; /* owned: by part, 1 + the sample that counted there last */
	size_t last_cap;
};

static bool part_is(const void *owner, uint32_t index, const void *key)
{
	const struct annotation *annotation = owner;

	return annotation->parts[index].at == *(const uint64_t *)key;
}

/* The part @at, made when it is new; HMAP_NONE on -ENOMEM. */
static uint32_t part_of(struct counter *counter, uint64_t at)
{
	struct annotation *out = counter->out;
	uint64_t hash = hash_mix(0, at);
	uint32_t part = hmap_find(&counter->index, hash, part_is, out, &at);

	if (part != HMAP_NONE)
		return part;
	if (array_reserve(&out->parts, &out->cap, out->cnt + 1, sizeof(*out->parts)) ||
	    array_reserve(&counter->last, &counter->last_cap, out->cnt + 1,
			  sizeof(*counter->last)) ||
	    hmap_insert(&counter->index, hash, (uint32_t)out->cnt))
		return HMAP_NONE;
	out->parts[out->cnt] = (struct annotation_part){.at = at};
	return (uint32_t)out->cnt++;
}

/* The function is line @line of @location in the stack of @sample. */
static int count_frame(struct counter *counter, uint32_t location, uint32_t line, uint32_t sample,
		       int64_t amount, bool is_leaf)
{
	const struct profile *prof = counter->report->prof;
	const struct profile_location *loc = &prof->locations[location];
	uint64_t at = counter->kind == ANNOTATE_ADDRESSES ? loc->address
		      : line < loc->line_cnt		  ? prof->lines[loc->first_line + line].line
							  : 0;
	uint32_t part = part_of(counter, at);

	if (part == HMAP_NONE)
		return -ENOMEM;
	if (is_leaf)
		counter->out->parts[part].self += amount;
	if (counter->last[part] != sample + 1)
		counter->out->parts[part].total += amount;
	counter->last[part] = sample + 1;
	return 0;
}

static int count_sample(struct counter *counter, uint32_t sample)
{
	const struct profile *prof = counter->report->prof;
	const struct func_table *table = counter->report->table;
	const struct profile_stack *stack = &prof->stacks[prof->samples[sample].stack];
	int64_t amount =
		prof->values[(size_t)sample * prof->value_type_cnt + counter->report->value];
	bool is_leaf = true;
	int err = 0;

	for (uint32_t i = 0; i < stack->cnt; i++) {
		uint32_t location = prof->stack_locations[stack->first + i];
		uint32_t first = table->frame_first[location];

		for (uint32_t at = first; at < table->frame_first[location + 1] && !err; at++) {
			if (table->frames[at] == counter->row)
				err = count_frame(counter, location, at - first, sample, amount,
						  is_leaf);
			is_leaf = false;
		}
	}
	return err;
}

static int compare_parts(const void *left, const void *right)
{
	const struct annotation_part *one = left, *two = right;

	return (one->at > two->at) - (one->at < two->at);
}

int annotation_init(struct annotation *annotation, const struct report *report, uint32_t row,
		    enum annotation_kind kind)
{
	struct counter counter = {.out = annotation, .report = report, .row = row, .kind = kind};
	int err = 0;

	*annotation = (struct annotation){
		.self = report->table->rows[row].self,
		.total = report->table->rows[row].total,
	};
	hmap_init(&counter.index);
	for (uint32_t i = 0; i < report->prof->sample_cnt && !err; i++)
		err = count_sample(&counter, i);
	if (annotation->cnt)
		qsort(annotation->parts, annotation->cnt, sizeof(*annotation->parts),
		      compare_parts);
	hmap_deinit(&counter.index);
	free(counter.last);
	return err;
}

void annotation_deinit(struct annotation *annotation)
{
	free(annotation->parts);
	*annotation = (struct annotation){0};
}

struct annotation_part annotation_sum(const struct annotation *annotation, uint64_t from,
				      uint64_t end)
{
	const struct annotation_part *parts = annotation->parts;
	struct annotation_part sum = {.at = from};

	for (size_t i = SEARCH_CNT(j, annotation->cnt, parts[j].at < from);
	     i < annotation->cnt && parts[i].at < end; i++) {
		sum.self += parts[i].self;
		sum.total += parts[i].total;
	}
	return sum;
}

const struct annotation_part *annotation_hottest(const struct annotation *annotation)
{
	const struct annotation_part *best = annotation->parts;

	for (size_t i = 1; i < annotation->cnt; i++) {
		const struct annotation_part *part = &annotation->parts[i];

		if (part->self > best->self ||
		    (part->self == best->self && part->total > best->total))
			best = part;
	}
	return annotation->cnt ? best : NULL;
}
