/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store's blobs hold: the first byte chooses. A dictionary that is accepted can be made one
 * that grows (or has an entry twice), and then encodes to what decodes to the same counts; a batch
 * that is accepted encodes to what decodes to the same rows; sealed bytes with a wrong seal are
 * refused.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/batch.h"
#include "store/blob.h"
#include "store/dict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every reference of @dict may be followed. */
static uint64_t walk(const struct dict *dict)
{
	const struct profile *prof = &dict->prof;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < dict->saved.stacks; i++)
		for (uint32_t j = 0; j < prof->stacks[i].cnt; j++) {
			uint32_t location = prof->stack_locations[prof->stacks[i].first + j];

			sum += strlen(profile_location_name(prof, location, 0));
			if (prof->locations[location].mapping != PROFILE_NONE)
				sum += prof->mappings[prof->locations[location].mapping].path;
		}
	for (uint64_t i = 0; i < dict->saved.label_sets; i++)
		for (uint32_t j = 0; j < prof->label_sets[i].cnt; j++)
			sum += strlen(
				profile_str(prof, prof->labels[prof->label_sets[i].first + j].key));
	return sum;
}

static void check_growing(const struct dict *grown)
{
	struct dict again, fresh;
	struct dict_mark mark;
	struct reader rd;
	struct buf out;

	/* All of it as one payload. */
	fresh = *grown;
	fresh.saved = (struct dict_mark){.strings = 1};
	fresh.named_saved = 0;
	buf_init(&out, BUF_NO_MAX);
	dict_encode(&fresh, &out);
	if (dict_init(&again))
		abort();
	reader_init(&rd, out.data, out.len);
	if (dict_decode(&again, &rd))
		abort();
	mark = dict_mark_of(grown);
	if (memcmp(&mark, &again.saved, sizeof(mark)) != 0)
		abort();
	dict_deinit(&again);
	buf_deinit(&out);
}

static void check_dict(const uint8_t *data, size_t size)
{
	struct dict dict, grown;
	struct reader rd;
	int err;

	if (dict_init(&dict) || dict_init(&grown))
		abort();
	reader_init(&rd, data, size);
	err = dict_decode(&dict, &rd);
	walk(&dict);
	if (!err && !dict_intern(&dict, &grown))
		check_growing(&grown);
	dict_deinit(&dict);
	dict_deinit(&grown);
}

static void must_come_back(const struct batch *batch)
{
	struct batch again;
	struct reader rd;
	struct buf out;

	batch_init(&again, batch->column_cnt);
	buf_init(&out, BUF_NO_MAX);
	batch_encode(batch, &out);
	reader_init(&rd, out.data, out.len);
	if (batch_decode(&rd, 1000, 1000, &again) || again.cnt != batch->cnt)
		abort();
	if (batch->cnt &&
	    (memcmp(again.rows, batch->rows, batch->cnt * sizeof(*batch->rows)) != 0 ||
	     (batch->column_cnt &&
	      memcmp(again.values, batch->values,
		     batch->cnt * batch->column_cnt * sizeof(*batch->values)) != 0)))
		abort();
	batch_deinit(&again);
	buf_deinit(&out);
}

/* Its first number is that of columns, or, before it, 0 where the label sets have a table. */
static void check_batch(const uint8_t *data, size_t size)
{
	const size_t at = size > 1 && !data[0];
	struct batch batch;
	struct reader rd;
	int64_t sum;

	batch_init(&batch, size ? data[at] % PROFILE_VALUES_MAX : 0);
	reader_init(&rd, data, size);
	if (!batch_decode(&rd, 1000, 1000, &batch)) {
		must_come_back(&batch);
		if (batch.column_cnt > 1) {
			sum = batch_sum(&batch, 1);
			if (batch_spread(&batch, 1, 0) || batch_sum(&batch, 1) != sum)
				abort();
			must_come_back(&batch);
		}
	}
	batch_deinit(&batch);
}

/* As they are; and sealed again, so that what is behind the seal is reached. */
static void check_blob(const uint8_t *data, size_t size)
{
	struct buf raw, packed, out;

	buf_init(&raw, BUF_NO_MAX);
	buf_init(&packed, BUF_NO_MAX);
	buf_init(&out, BUF_NO_MAX);
	blob_unpack(data, size, blob_place(BLOB_BATCH, 1, 2), &out);
	buf_reset(&out);
	buf_add(&raw, data, size);
	if (blob_pack(&raw, blob_place(BLOB_BATCH, 1, 2), BLOB_LEVEL_NOW, &packed) ||
	    !blob_unpack(packed.data, packed.len, blob_place(BLOB_BATCH, 2, 1), &out) ||
	    blob_unpack(packed.data, packed.len, blob_place(BLOB_BATCH, 1, 2), &out) ||
	    out.len != size || (size && memcmp(out.data, data, size) != 0))
		abort();
	buf_deinit(&raw);
	buf_deinit(&packed);
	buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0:
		check_dict(data + 1, size - 1);
		break;
	case 1:
		check_batch(data + 1, size - 1);
		break;
	default:
		check_blob(data + 1, size - 1);
	}
	return 0;
}
