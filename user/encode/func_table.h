/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of a profile with their self and total: what the summary and `report` show.
 *
 * A row is a function in one image, so that the main()s of two programs stay apart; a location
 * without a name is a row of its own. A function counts once per stack in `total`, however often it
 * recurs there; synthetic frames ("[truncated: ...]") are no functions and have no row, nor have
 * a waker's frames: the time is not theirs. So what waits has its time under the state, as its own.
 */
#ifndef BPFPROF_ENCODE_FUNC_TABLE_H
#define BPFPROF_ENCODE_FUNC_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hmap.h"
#include "profile/profile.h"

struct func_row {
	uint32_t function; /* or PROFILE_NONE: a location without a name */
	uint32_t location; /* the first one seen of this function */
	uint32_t mapping; /* or PROFILE_NONE */
	int64_t self, total;
};

struct func_table {
	const struct profile *prof; /* borrowed */
	struct func_row *rows; /* owned */
	size_t row_cnt, row_cap;
	struct hmap index;
	uint32_t *frame_first; /* owned: location -> first of its entries in frames; one more than
				  there are locations */
	uint32_t *frames; /* owned: rows of each location's lines, innermost first */
	size_t frame_cnt, frame_cap;
	int64_t total; /* of the value counted */
};

/* Name the frames of @prof and count its value @value. 0 or -ENOMEM. Release with
 * func_table_deinit() in either case. Time: linear in the profile. */
int func_table_init(struct func_table *table, const struct profile *prof, uint32_t value);
void func_table_deinit(struct func_table *table);

/* The rows of sample @sample's stack, leaf first, into the array @out (u32, grown as needed): how
 * many, or -ENOMEM. Recursion shows as repetition. */
int64_t func_table_stack(const struct func_table *table, uint32_t sample, uint32_t **out,
			 size_t *cap);

/* The function's name, "[libfoo.so+0x1234]" without one; control bytes become '?'. */
void func_table_name(const struct func_table *table, uint32_t row, struct buf *out);

/* The name and, where known, the image's base name: "malloc  [libc.so.6]". */
void func_table_label(const struct func_table *table, uint32_t row, struct buf *out);

/* @text with '?' for control bytes: names must not steer the terminal. */
void func_table_printable(const char *text, struct buf *out);

enum func_sort {
	FUNC_BY_SELF,
	FUNC_BY_TOTAL,
	FUNC_BY_NAME,
};

/* Row numbers in order, owned; ties by name, so that the order is reproducible. NULL + ENOMEM. */
uint32_t *func_table_order(const struct func_table *table, enum func_sort sort);

/*
 * Append the first @limit rows in order of @sort as a table: shares, amounts and names. @unit is
 * the value's: nanoseconds show as seconds.
 */
int func_table_print(const struct func_table *table, enum func_sort sort, size_t limit,
		     const char *unit, struct buf *out);

/* "3.70 s" or "370": @amount of @unit. */
void amount_format(int64_t amount, const char *unit, struct buf *out);

/* @part of @whole in percent; 0 of nothing. */
double percent_of(int64_t part, int64_t whole);

#endif
