/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a kept table of names. What is accepted can be searched everywhere, every chain of
 * sites ends, every string can be read, and it is encoded as the same bytes. Versions, source and
 * checksum are put right first, or nothing would ever reach the rest.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_image.h"
#include "symbol/name_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct name_source source = {.places = 1};

/* As one who knows the format would have it. */
static void forge(uint8_t *file, size_t len)
{
	struct name_header header;

	if (len < sizeof(header))
		return;
	memcpy(&header, file, sizeof(header));
	header.seal = name_file_seal;
	header.source = source;
	memcpy(file, &header, sizeof(header));
	header.seal.checksum = seal_checksum(file, len);
	memcpy(file, &header, sizeof(header));
}

static size_t read_chain(const struct name_table *table, uint32_t site)
{
	size_t bytes = 0;

	while (site != (uint32_t)NAME_NONE) {
		const struct name_function *function =
			&table->functions[table->sites[site].function];

		bytes += strlen(table->strings + function->name) +
			 strlen(table->strings + function->file);
		if (table->sites[site].caller != (uint32_t)NAME_NONE &&
		    table->sites[site].caller >= site)
			abort();
		site = table->sites[site].caller;
	}
	return bytes;
}

static void look_around(const struct name_table *table)
{
	uint64_t end = 0, lo = 0, hi = UINT64_MAX;

	for (uint32_t i = 0; i < table->stretches_cnt; i++) {
		const struct name_stretch *stretch = &table->stretches[i];

		if (stretch->lo < end || name_table_find(table, stretch->lo) != stretch)
			abort();
		end = stretch->lo + stretch->bytes;
		if (read_chain(table, stretch->site) > SIZE_MAX / 2)
			abort();
	}
	if (!name_table_find(table, end))
		name_table_gap(table, end, &lo, &hi);
	if (lo > hi)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file = image_copy(data, size);
	struct name_table table;

	forge(file, size);
	if (!name_file_decode(file, size, &source, &table)) {
		size_t len;
		void *again = name_file_encode(&table, &source, &len);

		look_around(&table);
		if (!again || len != size || memcmp(again, file, len) != 0)
			abort();
		free(again);
	}
	free(file);
	return 0;
}
