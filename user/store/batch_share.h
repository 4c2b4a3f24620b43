/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each label set of a batch has in sum, and how its rows share it: in proportion to another
 * column. The time that a thread was on the CPU is such a value: the sum is measured, the samples
 * say only which stacks it belongs to.
 */
#ifndef BPFPROF_STORE_BATCH_SHARE_H
#define BPFPROF_STORE_BATCH_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/batch.h"

struct batch_share {
	uint32_t *sets; /* owned: the label sets of a batch, each once, upwards */
	size_t set_cnt;
	uint32_t *set_of; /* owned: of each row its place in sets */
	int64_t *sums,
		*weights; /* owned: of each set, of the column shared and of that shared by */
	int64_t *left, *weights_left; /* owned: of them, while they are split */
};

/* The label sets of @batch; sums and weights are 0. 0 or -ENOMEM, when there is nothing to
 * deinitialise. */
int batch_share_init(struct batch_share *share, const struct batch *batch);

/* As batch_share_init(), of @set_cnt label sets that are not known yet. */
int batch_share_init_empty(struct batch_share *share, size_t set_cnt, size_t row_cnt);
void batch_share_deinit(struct batch_share *share);

/* The sums of @column and @by. False: a value is negative, or a sum too large: nothing is shared.
 */
bool batch_share_sum(struct batch_share *share, const struct batch *batch, uint32_t column,
		     uint32_t by);

/*
 * Each row's part of its label set's sum into @parts, one a row, in proportion to column @by, which
 * has none below 0 and what share->weights says in sum. Rounding is carried on to the next row of
 * the set, so that the parts add up to the sum; where the weights are 0 its first row has it all.
 */
void batch_share_split(struct batch_share *share, const struct batch *batch, uint32_t by,
		       int64_t *parts);

#endif
