/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `bpfprof top` knows of the past: stacks with the time that was spent in them, of the last
 * window and of all windows, the older the less.
 *
 *	profile of a window -> top_names gives each location its functions
 *	-> top_table_add(): a stack of rows, and its time on and off the CPU
 *	-> top_table_sum(): the rows' self and total
 *
 * A time of the past counts half after every TOP_HALF_LIFE_S, and so does the length of the window
 * it is from: their quotient is a rate that needs no correction. Stacks of which little is left are
 * forgotten, and where there are too many, the smallest ones: so the table is bounded.
 *
 * Of time on the CPU, self is the innermost function's. Who waits is always in the scheduler: of
 * time off the CPU, self is the innermost user function's, where there is one.
 */
#ifndef BPFPROF_CLI_TOP_TABLE_H
#define BPFPROF_CLI_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hmap.h"
#include "base/strtab.h"

enum {
	TOP_HALF_LIFE_S = 10, /* perf top's: 7/8 every 2 s */
	TOP_STACKS_MAX = 1 << 15,
	TOP_FRAMES_MAX = 1 << 20,
	TOP_ROWS_MAX = 1 << 16,
	TOP_STRINGS_MAX_BYTES = 16 << 20,
	TOP_NONE = UINT32_MAX,
};

/* What a row is told apart by: bits. */
enum top_sort {
	TOP_SORT_WHO = 1 << 0, /* the thread, or as --by has it */
	TOP_SORT_MODULE = 1 << 1,
	TOP_SORT_FUNCTION = 1 << 2,
};

/* ns, decayed or of the last window. */
struct top_time {
	double cpu, off;
};

/* A function in a module; strings of the table. */
struct top_function {
	uint32_t name, module;
	uint32_t is_kernel; /* a bool: compared as bytes */
};

struct top_row {
	uint32_t who, module, name; /* strings; TOP_NONE: rows are not told apart by it */
	uint32_t is_kernel; /* a bool: compared as bytes */
};

/* By row, after top_table_sum(). */
struct top_sums {
	struct top_time self, total;
};

struct top_stack {
	uint32_t first, cnt; /* in frames; leaf first */
	uint32_t waiter; /* the frame that waiting belongs to, counted from first */
	struct top_time past, last;
	uint64_t hash;
};

struct top_table {
	uint32_t sort; /* enum top_sort */
	struct strtab strings;
	struct top_function *functions; /* owned */
	size_t function_cnt, function_cap;
	struct hmap function_index;
	struct top_row *rows; /* owned */
	size_t row_cnt, row_cap;
	struct hmap row_index;
	struct top_sums *sums; /* owned */
	size_t sum_cap;
	uint32_t *counted_by; /* owned; 1 + the stack that counted in the row last */
	size_t counted_cap;
	struct top_stack *stacks; /* owned */
	size_t stack_cnt, stack_cap;
	uint32_t *frames; /* owned; rows */
	size_t frame_cnt, frame_cap;
	struct hmap stack_index;
	double past_ns, last_ns; /* length of what the times are of */
	struct top_time past_all, last_all; /* of all stacks, forgotten ones included */
	int err; /* sticky: -ENOMEM */
};

/* 0 or -ENOMEM; release with top_table_deinit() in either case. @sort: enum top_sort. */
int top_table_init(struct top_table *table, uint32_t sort);
void top_table_deinit(struct top_table *table);

/* The id of a string or a function, new or known. TOP_NONE sets err. */
uint32_t top_table_string(struct top_table *table, const char *str);
uint32_t top_table_function(struct top_table *table, const char *name, const char *module,
			    bool is_kernel);

/* The row of @function of @who (string). */
uint32_t top_table_row(struct top_table *table, uint32_t who, uint32_t function);

/* A window of @ns begins: what there is ages. With @forget it is forgotten (perf top's 'z'). */
void top_table_begin(struct top_table *table, double ns, bool forget);

/* Add @time to the stack of @cnt @rows, leaf first; @waiter as in struct top_stack. */
void top_table_add(struct top_table *table, const uint32_t *rows, uint32_t cnt, uint32_t waiter,
		   const struct top_time *time);

/* Forget stacks of which less is left than would show, and as many as the bounds ask for. */
void top_table_prune(struct top_table *table);

/* Are there so many names and rows that the table had better start anew? */
bool top_table_is_full(const struct top_table *table);

/* Sum up all stacks by row, of the last window or of the past: table->sums. 0 or -ENOMEM. O(frames
 * of all stacks). */
int top_table_sum(struct top_table *table, bool is_last);

/* @name for people: a string of the table, "" for TOP_NONE; borrowed until one is added. */
const char *top_table_str(const struct top_table *table, uint32_t name);

/* Who calls a row, and in how much of its time. */
struct top_caller {
	uint32_t row; /* TOP_NONE: nobody, it is a stack's root */
	struct top_time time;
};

/* The callers of @row by CPU time, then by time off it, most first: owned; NULL with *@cnt 0: there
 * are none, or no memory (err). */
struct top_caller *top_table_callers(struct top_table *table, uint32_t row, bool is_last,
				     size_t *cnt);

#endif
