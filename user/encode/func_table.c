/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with self and total: see func_table.h. */
#include "encode/func_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static bool row_is(const void *owner, uint32_t index, const void *key)
{
	const struct func_table *table = owner;
	const struct func_row *row = &table->rows[index], *wanted = key;

	if (row->function != wanted->function || row->mapping != wanted->mapping)
		return false;
	return row->function != PROFILE_NONE || row->location == wanted->location;
}

/* The row of @key, made when it is new; HMAP_NONE on -ENOMEM. */
static uint32_t row_of(struct func_table *table, const struct func_row *key)
{
	uint64_t hash = hash_mix(hash_mix(key->function, key->mapping),
				 key->function == PROFILE_NONE ? key->location : 0);
	uint32_t row = hmap_find(&table->index, hash, row_is, table, key);

	if (row != HMAP_NONE)
		return row;
	if (array_reserve(&table->rows, &table->row_cap, table->row_cnt + 1, sizeof(*table->rows)))
		return HMAP_NONE;
	row = (uint32_t)table->row_cnt;
	if (hmap_insert(&table->index, hash, row))
		return HMAP_NONE;
	table->rows[table->row_cnt++] = *key;
	return row;
}

static int add_frame(struct func_table *table, uint32_t location, uint32_t function)
{
	struct func_row key = {function, location, table->prof->locations[location].mapping};
	uint32_t row = row_of(table, &key);

	if (row == HMAP_NONE || array_reserve(&table->frames, &table->frame_cap,
					      table->frame_cnt + 1, sizeof(*table->frames)))
		return -ENOMEM;
	table->frames[table->frame_cnt++] = row;
	return 0;
}

static int add_location(struct func_table *table, uint32_t location)
{
	const struct profile *prof = table->prof;
	const struct profile_location *loc = &prof->locations[location];
	int err = 0;

	table->frame_first[location] = (uint32_t)table->frame_cnt;
	if (loc->flags & (LOCATION_SYNTHETIC | LOCATION_WAKER))
		return 0;
	if (!loc->line_cnt)
		return add_frame(table, location, PROFILE_NONE);
	for (uint32_t i = 0; i < loc->line_cnt && !err; i++)
		err = add_frame(table, location, prof->lines[loc->first_line + i].function);
	return err;
}

int64_t func_table_stack(const struct func_table *table, uint32_t sample, uint32_t **out,
			 size_t *cap)
{
	const struct profile *prof = table->prof;
	const struct profile_stack *stack = &prof->stacks[prof->samples[sample].stack];
	size_t cnt = 0;

	for (uint32_t i = 0; i < stack->cnt; i++) {
		uint32_t location = prof->stack_locations[stack->first + i];
		uint32_t first = table->frame_first[location];
		uint32_t end = table->frame_first[location + 1];

		if (array_reserve(out, cap, cnt + (end - first) + 1, sizeof(**out)))
			return -ENOMEM;
		for (; first < end; first++)
			(*out)[cnt++] = table->frames[first];
	}
	return (int64_t)cnt;
}

/* Add every sample to the rows of its stack; @last[row] is 1 + the sample that counted there last.
 */
static int count_samples(struct func_table *table, uint32_t value, uint32_t *last)
{
	const struct profile *prof = table->prof;
	uint32_t *stack = NULL;
	size_t cap = 0;
	int64_t cnt = 0;

	for (uint32_t i = 0; i < prof->sample_cnt && cnt >= 0; i++) {
		int64_t amount = prof->values[(size_t)i * prof->value_type_cnt + value];

		table->total += amount;
		cnt = func_table_stack(table, i, &stack, &cap);
		if (cnt > 0)
			table->rows[stack[0]].self += amount;
		for (int64_t j = 0; j < cnt; j++) {
			if (last[stack[j]] == i + 1)
				continue;
			last[stack[j]] = i + 1;
			table->rows[stack[j]].total += amount;
		}
	}
	free(stack);
	return cnt < 0 ? (int)cnt : 0;
}

int func_table_init(struct func_table *table, const struct profile *prof, uint32_t value)
{
	uint32_t *last;
	int err = 0;

	*table = (struct func_table){.prof = prof};
	hmap_init(&table->index);
	table->frame_first = calloc(prof->location_cnt + 1, sizeof(*table->frame_first));
	if (!table->frame_first)
		return -ENOMEM;
	for (uint32_t i = 0; i < prof->location_cnt && !err; i++)
		err = add_location(table, i);
	if (err)
		return err;
	table->frame_first[prof->location_cnt] = (uint32_t)table->frame_cnt;
	last = calloc(table->row_cnt + 1, sizeof(*last));
	err = last ? count_samples(table, value, last) : -ENOMEM;
	free(last);
	return err;
}

void func_table_deinit(struct func_table *table)
{
	hmap_deinit(&table->index);
	free(table->rows);
	free(table->frame_first);
	free(table->frames);
	*table = (struct func_table){0};
}
