/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of label sets, and rows' shares of them. */
#include "store/batch_share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_sets(const void *left_ptr, const void *right_ptr)
{
	const uint32_t left = *(const uint32_t *)left_ptr, right = *(const uint32_t *)right_ptr;

	return (left > right) - (left < right);
}

static uint32_t place_of(const struct batch_share *share, uint32_t set)
{
	const uint32_t *found =
		bsearch(&set, share->sets, share->set_cnt, sizeof(set), compare_sets);

	return (uint32_t)(found - share->sets);
}

int batch_share_init_empty(struct batch_share *share, size_t set_cnt, size_t row_cnt)
{
	*share = (struct batch_share){
		.sets = calloc(set_cnt + 1, sizeof(*share->sets)),
		.set_cnt = set_cnt,
		.set_of = calloc(row_cnt + 1, sizeof(*share->set_of)),
		.sums = calloc(set_cnt + 1, sizeof(*share->sums)),
		.weights = calloc(set_cnt + 1, sizeof(*share->weights)),
		.left = calloc(set_cnt + 1, sizeof(*share->left)),
		.weights_left = calloc(set_cnt + 1, sizeof(*share->weights_left)),
	};
	if (share->sets && share->set_of && share->sums && share->weights && share->left &&
	    share->weights_left)
		return 0;
	batch_share_deinit(share);
	return -ENOMEM;
}

int batch_share_init(struct batch_share *share, const struct batch *batch)
{
	int err = batch_share_init_empty(share, batch->cnt, batch->cnt);

	if (err)
		return err;
	for (size_t i = 0; i < batch->cnt; i++)
		share->sets[i] = batch->rows[i].label_set;
	qsort(share->sets, batch->cnt, sizeof(*share->sets), compare_sets);
	share->set_cnt = 0;
	for (size_t i = 0; i < batch->cnt; i++)
		if (!i || share->sets[i] != share->sets[share->set_cnt - 1])
			share->sets[share->set_cnt++] = share->sets[i];
	for (size_t i = 0; i < batch->cnt; i++)
		share->set_of[i] = place_of(share, batch->rows[i].label_set);
	return 0;
}

void batch_share_deinit(struct batch_share *share)
{
	free(share->sets);
	free(share->set_of);
	free(share->sums);
	free(share->weights);
	free(share->left);
	free(share->weights_left);
	*share = (struct batch_share){.sets = NULL};
}

bool batch_share_sum(struct batch_share *share, const struct batch *batch, uint32_t column,
		     uint32_t by)
{
	const int64_t *row = batch->values;

	memset(share->sums, 0, share->set_cnt * sizeof(*share->sums));
	memset(share->weights, 0, share->set_cnt * sizeof(*share->weights));
	for (size_t i = 0; i < batch->cnt; i++, row += batch->column_cnt) {
		int64_t *sum = &share->sums[share->set_of[i]];
		int64_t *weight = &share->weights[share->set_of[i]];

		if (row[column] < 0 || row[by] < 0 ||
		    __builtin_add_overflow(*sum, row[column], sum) ||
		    __builtin_add_overflow(*weight, row[by], weight))
			return false;
	}
	return true;
}

/* @weight's part of @sum, of which all that is left weighs @weight_sum. */
static int64_t part_of(int64_t sum, int64_t weight, int64_t weight_sum)
{
	uint64_t product;

	if (!__builtin_mul_overflow((uint64_t)sum, (uint64_t)weight, &product))
		return (int64_t)(product / (uint64_t)weight_sum);
	return (int64_t)((unsigned __int128)(uint64_t)sum * (uint64_t)weight /
			 (uint64_t)weight_sum);
}

void batch_share_split(struct batch_share *share, const struct batch *batch, uint32_t by,
		       int64_t *parts)
{
	const int64_t *weight;

	if (!batch->cnt)
		return;
	weight = batch->values + by;
	memcpy(share->left, share->sums, share->set_cnt * sizeof(*share->left));
	memcpy(share->weights_left, share->weights, share->set_cnt * sizeof(*share->weights_left));
	for (size_t i = 0; i < batch->cnt; i++, weight += batch->column_cnt) {
		const uint32_t set = share->set_of[i];
		int64_t *left = &share->left[set], *weight_left = &share->weights_left[set];

		parts[i] = *weight_left ? part_of(*left, *weight, *weight_left) : *left;
		*left -= parts[i];
		*weight_left -= *weight;
	}
}
