/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of one window and kind: rows, sorted by stack, then label set. They are stored as
 * columns (batch_encode.c): of a value nothing where all are 0, a factor where all are the same
 * multiple of an earlier column ("cpu" of "samples"), the sums of label sets where the rows share
 * those in proportion to an earlier column, else one number a row.
 */
#ifndef BPFPROF_STORE_BATCH_H
#define BPFPROF_STORE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/reader.h"
#include "profile/profile.h"

struct batch_row {
	uint32_t stack, label_set;
};

struct batch {
	uint32_t column_cnt;
	struct batch_row *rows; /* owned */
	int64_t *values; /* owned: column_cnt of each row */
	size_t cnt, cap, value_cap;
};

void batch_init(struct batch *batch, uint32_t column_cnt);
void batch_deinit(struct batch *batch);

/* Room for @more rows. 0; -ENOMEM; -E2BIG. */
int batch_reserve(struct batch *batch, size_t more);

/* Append a row; values[columns[i]], NULL columns: values[i]. 0; -ENOMEM; -E2BIG. */
int batch_add(struct batch *batch, struct batch_row row, const int64_t *values,
	      const uint32_t *columns);

/* Sort the rows and add up equal ones. 0 or -ENOMEM. */
int batch_sort(struct batch *batch);

/* Let the rows of each label set share its sum of @column in proportion to column @by; a row that
 * then has nothing goes. @batch, sorted, is as it was where a value of them is negative. 0 or
 * -ENOMEM. */
int batch_spread(struct batch *batch, uint32_t column, uint32_t by);

/* Sum of @column; it stops at the ends of int64_t. */
int64_t batch_sum(const struct batch *batch, uint32_t column);

/* Append @batch, sorted, to @out, whose error is sticky. */
void batch_encode(const struct batch *batch, struct buf *out);

/* Append the rows that batch_encode(), of this version or before, wrote to @batch, which has as
 * many columns. 0; -EBADMSG: not such, or stacks and label sets are not below the limits; -ENOMEM.
 * The bytes are hostile. */
int batch_decode(struct reader *rd, uint64_t stack_limit, uint64_t label_set_limit,
		 struct batch *batch);

#endif
