/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a kept unwind table. What is accepted is encoded as the same bytes, and can be
 * searched everywhere. Versions, source and checksum are put right first, or nothing would ever
 * reach the rest.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_image.h"
#include "unwind/table_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct file_stamp source = {.size_bytes = 1};

/* As one who knows the format would have it. */
static void forge(uint8_t *file, size_t len)
{
	struct table_header header;

	if (len < sizeof(header))
		return;
	memcpy(&header, file, sizeof(header));
	header.seal = table_file_seal;
	header.source = source;
	memcpy(file, &header, sizeof(header));
	header.seal.checksum = seal_checksum(file, len);
	memcpy(file, &header, sizeof(header));
}

static void look_around(const struct unwind_table *table)
{
	const struct rows *rows = &table->rows;
	struct unwind_stats stats;
	struct bp_rule rule;

	for (int shift = 0; shift < 64; shift++) {
		unwind_table_find(table, rows->start_off + (1ULL << shift), &rule);
		unwind_table_find(table, rows->end_off - (1ULL << shift), &rule);
		if (rule.kind >= BP_RULE_KIND_CNT)
			abort();
	}
	unwind_table_stats(table, &stats);
	if (stats.rows_cnt != rows->cnt || stats.inline_cnt > rows->cnt)
		abort();
}

static void check(const struct unwind_table *table, const uint8_t *file, size_t len)
{
	size_t again_len;
	void *again = table_file_encode(table, &source, &again_len);

	if (!again || again_len != len || memcmp(again, file, len) != 0)
		abort();
	free(again);
	look_around(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file = image_copy(data, size);
	struct unwind_table *table;

	unwind_table_free(table_file_decode(image_copy(data, size), size, &source));
	forge(file, size);
	table = table_file_decode(image_copy(file, size), size, &source);
	if (table)
		check(table, file, size);
	unwind_table_free(table);
	free(file);
	return 0;
}
