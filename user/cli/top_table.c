/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that age: see top_table.h. */
#include "cli/top_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"

/* Less of a stack than this, ns on and off the CPU together, is not worth its place. */
static const double little_ns = 20000;

int top_table_init(struct top_table *table, uint32_t sort)
{
	*table = (struct top_table){.sort = sort};
	hmap_init(&table->function_index);
	hmap_init(&table->row_index);
	hmap_init(&table->stack_index);
	table->err = strtab_init(&table->strings);
	return table->err;
}

void top_table_deinit(struct top_table *table)
{
	strtab_deinit(&table->strings);
	hmap_deinit(&table->function_index);
	hmap_deinit(&table->row_index);
	hmap_deinit(&table->stack_index);
	free(table->functions);
	free(table->rows);
	free(table->sums);
	free(table->counted_by);
	free(table->stacks);
	free(table->frames);
	*table = (struct top_table){0};
}

/* --- Names --- */

static uint32_t fail(struct top_table *table)
{
	table->err = -ENOMEM;
	return TOP_NONE;
}

uint32_t top_table_string(struct top_table *table, const char *str)
{
	uint32_t id = strtab_add(&table->strings, str, strlen(str));

	return id == (uint32_t)STRTAB_NONE ? fail(table) : id;
}

static bool function_is(const void *owner, uint32_t index, const void *key)
{
	const struct top_table *table = owner;

	return !memcmp(&table->functions[index], key, sizeof(*table->functions));
}

uint32_t top_table_function(struct top_table *table, const char *name, const char *module,
			    bool is_kernel)
{
	const struct top_function key = {top_table_string(table, name),
					 top_table_string(table, module), is_kernel};
	uint64_t hash = hash_mix(hash_mix(key.name, key.module), is_kernel);
	uint32_t known = hmap_find(&table->function_index, hash, function_is, table, &key);

	if (table->err || known != (uint32_t)HMAP_NONE)
		return table->err ? (uint32_t)TOP_NONE : known;
	if (array_reserve(&table->functions, &table->function_cap, table->function_cnt + 1,
			  sizeof(*table->functions)) ||
	    hmap_insert(&table->function_index, hash, (uint32_t)table->function_cnt))
		return fail(table);
	table->functions[table->function_cnt] = key;
	return (uint32_t)table->function_cnt++;
}

static bool row_is(const void *owner, uint32_t index, const void *key)
{
	const struct top_table *table = owner;

	return !memcmp(&table->rows[index], key, sizeof(*table->rows));
}

uint32_t top_table_row(struct top_table *table, uint32_t who, uint32_t function)
{
	struct top_row key = {TOP_NONE, TOP_NONE, TOP_NONE, 0};
	uint32_t known;
	uint64_t hash;

	if (table->err)
		return TOP_NONE;
	if (table->sort & TOP_SORT_WHO)
		key.who = who;
	if (table->sort & TOP_SORT_MODULE)
		key.module = table->functions[function].module;
	if (table->sort & TOP_SORT_FUNCTION)
		key.name = table->functions[function].name;
	if (table->sort & (TOP_SORT_MODULE | TOP_SORT_FUNCTION))
		key.is_kernel = table->functions[function].is_kernel;
	hash = hash_mix(hash_mix(hash_mix(key.who, key.module), key.name), key.is_kernel);
	known = hmap_find(&table->row_index, hash, row_is, table, &key);
	if (known != (uint32_t)HMAP_NONE)
		return known;
	if (array_reserve(&table->rows, &table->row_cap, table->row_cnt + 1,
			  sizeof(*table->rows)) ||
	    hmap_insert(&table->row_index, hash, (uint32_t)table->row_cnt))
		return fail(table);
	table->rows[table->row_cnt] = key;
	return (uint32_t)table->row_cnt++;
}

const char *top_table_str(const struct top_table *table, uint32_t name)
{
	return name == (uint32_t)TOP_NONE ? "" : strtab_get(&table->strings, name);
}

/* --- Stacks --- */

void top_table_begin(struct top_table *table, double ns, bool forget)
{
	double left = forget ? 0 : exp2(-ns / (TOP_HALF_LIFE_S * (double)NSEC_PER_SEC));

	for (size_t i = 0; i < table->stack_cnt; i++) {
		struct top_stack *stack = &table->stacks[i];

		stack->past.cpu *= left;
		stack->past.off *= left;
		stack->last = (struct top_time){0, 0};
	}
	table->past_all.cpu *= left;
	table->past_all.off *= left;
	table->last_all = (struct top_time){0, 0};
	table->past_ns = table->past_ns * left + ns;
	table->last_ns = ns;
}

struct stack_key {
	const uint32_t *rows;
	uint32_t cnt, waiter;
};

static bool stack_is(const void *owner, uint32_t index, const void *key)
{
	const struct top_table *table = owner;
	const struct top_stack *stack = &table->stacks[index];
	const struct stack_key *wanted = key;

	return stack->cnt == wanted->cnt && stack->waiter == wanted->waiter &&
	       !memcmp(table->frames + stack->first, wanted->rows, wanted->cnt * sizeof(uint32_t));
}

/* TOP_NONE after an error. */
static uint32_t stack_of(struct top_table *table, const struct stack_key *key)
{
	uint64_t hash = hash_mix(hash_bytes(key->rows, key->cnt * sizeof(*key->rows)), key->waiter);
	uint32_t known = hmap_find(&table->stack_index, hash, stack_is, table, key);

	if (known != (uint32_t)HMAP_NONE)
		return known;
	if (array_reserve(&table->stacks, &table->stack_cap, table->stack_cnt + 1,
			  sizeof(*table->stacks)) ||
	    array_reserve(&table->frames, &table->frame_cap, table->frame_cnt + key->cnt,
			  sizeof(*table->frames)) ||
	    hmap_insert(&table->stack_index, hash, (uint32_t)table->stack_cnt))
		return fail(table);
	table->stacks[table->stack_cnt] = (struct top_stack){
		.first = (uint32_t)table->frame_cnt,
		.cnt = key->cnt,
		.waiter = key->waiter,
		.hash = hash,
	};
	memcpy(table->frames + table->frame_cnt, key->rows, key->cnt * sizeof(*key->rows));
	table->frame_cnt += key->cnt;
	return (uint32_t)table->stack_cnt++;
}

static void add_time(struct top_time *sum, const struct top_time *time)
{
	sum->cpu += time->cpu;
	sum->off += time->off;
}

void top_table_add(struct top_table *table, const uint32_t *rows, uint32_t cnt, uint32_t waiter,
		   const struct top_time *time)
{
	const struct stack_key key = {rows, cnt, waiter};
	uint32_t stack;

	if (table->err)
		return;
	add_time(&table->past_all, time);
	add_time(&table->last_all, time);
	stack = cnt ? stack_of(table, &key) : (uint32_t)TOP_NONE;
	if (stack == (uint32_t)TOP_NONE)
		return;
	add_time(&table->stacks[stack].past, time);
	add_time(&table->stacks[stack].last, time);
}

static double weight_of(const struct top_stack *stack)
{
	return stack->past.cpu + stack->past.off;
}

/* Keep the stacks of @least ns and more. 0 or -ENOMEM. */
static int keep_stacks(struct top_table *table, double least)
{
	size_t cnt = 0, frame_cnt = 0;

	hmap_clear(&table->stack_index);
	for (size_t i = 0; i < table->stack_cnt; i++) {
		struct top_stack stack = table->stacks[i];

		if (weight_of(&stack) < least)
			continue;
		/* Kept ones move to the left, in order: what is overwritten was looked at. */
		memmove(table->frames + frame_cnt, table->frames + stack.first,
			stack.cnt * sizeof(*table->frames));
		stack.first = (uint32_t)frame_cnt;
		frame_cnt += stack.cnt;
		if (hmap_insert(&table->stack_index, stack.hash, (uint32_t)cnt))
			return -ENOMEM;
		table->stacks[cnt++] = stack;
	}
	table->stack_cnt = cnt;
	table->frame_cnt = frame_cnt;
	return 0;
}

static size_t little_cnt(const struct top_table *table)
{
	size_t cnt = 0;

	for (size_t i = 0; i < table->stack_cnt; i++)
		cnt += weight_of(&table->stacks[i]) < little_ns;
	return cnt;
}

/* Moving the others is worth it when a quarter goes. */
void top_table_prune(struct top_table *table)
{
	double least = little_ns;

	if (!table->err && little_cnt(table) * 4 > table->stack_cnt)
		table->err = keep_stacks(table, least);
	while (!table->err &&
	       (table->stack_cnt > TOP_STACKS_MAX || table->frame_cnt > TOP_FRAMES_MAX)) {
		least *= 4;
		table->err = keep_stacks(table, least);
	}
}

bool top_table_is_full(const struct top_table *table)
{
	return table->row_cnt > TOP_ROWS_MAX || table->function_cnt > TOP_ROWS_MAX ||
	       table->strings.bytes_len > TOP_STRINGS_MAX_BYTES;
}

/* --- Sums --- */

static const struct top_time *time_of(const struct top_stack *stack, bool is_last)
{
	return is_last ? &stack->last : &stack->past;
}

static void sum_stack(struct top_table *table, uint32_t nr, const struct top_time *time)
{
	const struct top_stack *stack = &table->stacks[nr];
	const uint32_t *rows = table->frames + stack->first;

	table->sums[rows[0]].self.cpu += time->cpu;
	table->sums[rows[stack->waiter]].self.off += time->off;
	for (uint32_t i = 0; i < stack->cnt; i++) {
		if (table->counted_by[rows[i]] == nr + 1)
			continue;
		table->counted_by[rows[i]] = nr + 1;
		add_time(&table->sums[rows[i]].total, time);
	}
}

int top_table_sum(struct top_table *table, bool is_last)
{
	if (array_reserve(&table->sums, &table->sum_cap, table->row_cnt + 1,
			  sizeof(*table->sums)) ||
	    array_reserve(&table->counted_by, &table->counted_cap, table->row_cnt + 1,
			  sizeof(*table->counted_by)))
		return -ENOMEM;
	memset(table->sums, 0, table->row_cnt * sizeof(*table->sums));
	memset(table->counted_by, 0, table->row_cnt * sizeof(*table->counted_by));
	for (size_t i = 0; i < table->stack_cnt; i++) {
		const struct top_time *time = time_of(&table->stacks[i], is_last);

		if (time->cpu > 0 || time->off > 0)
			sum_stack(table, (uint32_t)i, time);
	}
	return 0;
}

/* --- Callers --- */

struct callers {
	struct top_caller *items; /* owned */
	size_t cnt, cap;
};

static int add_caller(struct callers *callers, uint32_t row, const struct top_time *time)
{
	size_t at = 0;

	while (at < callers->cnt && callers->items[at].row != row)
		at++;
	if (at == callers->cnt) {
		if (array_reserve(&callers->items, &callers->cap, at + 1, sizeof(*callers->items)))
			return -ENOMEM;
		callers->items[callers->cnt++] = (struct top_caller){.row = row};
	}
	add_time(&callers->items[at].time, time);
	return 0;
}

static int caller_cmp(const void *left, const void *right)
{
	const struct top_caller *one = left, *two = right;

	if (one->time.cpu != two->time.cpu)
		return one->time.cpu < two->time.cpu ? 1 : -1;
	if (one->time.off != two->time.off)
		return one->time.off < two->time.off ? 1 : -1;
	return (one->row > two->row) - (one->row < two->row);
}

/* Of the outermost of recursive calls: who called it from outside. */
static uint32_t caller_in(const struct top_table *table, const struct top_stack *stack,
			  uint32_t row, bool *is_there)
{
	const uint32_t *rows = table->frames + stack->first;

	*is_there = false;
	for (uint32_t i = stack->cnt; i > 0; i--) {
		if (rows[i - 1] != row)
			continue;
		*is_there = true;
		return i < stack->cnt ? rows[i] : (uint32_t)TOP_NONE;
	}
	return TOP_NONE;
}

struct top_caller *top_table_callers(struct top_table *table, uint32_t row, bool is_last,
				     size_t *cnt)
{
	struct callers callers = {0};

	*cnt = 0;
	for (size_t i = 0; i < table->stack_cnt; i++) {
		const struct top_stack *stack = &table->stacks[i];
		const struct top_time *time = time_of(stack, is_last);
		bool is_there;
		uint32_t caller = caller_in(table, stack, row, &is_there);

		if (!is_there || (time->cpu <= 0 && time->off <= 0))
			continue;
		if (add_caller(&callers, caller, time)) {
			free(callers.items);
			table->err = -ENOMEM;
			return NULL;
		}
	}
	if (callers.cnt)
		qsort(callers.items, callers.cnt, sizeof(*callers.items), caller_cmp);
	*cnt = callers.cnt;
	return callers.items;
}
