/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a table of symbols that somebody has uploaded. Versions and checksum are put right
 * first. What is accepted names locations everywhere without leaving its bytes, and each of them
 * gets lines that can be read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_image.h"
#include "symbol/name_file.h"
#include "symbol/symbol_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LOCATIONS_MAX = 64 };

static void forge(uint8_t *file, size_t len)
{
	struct name_header header;

	if (len < sizeof(header))
		return;
	memcpy(&header, file, sizeof(header));
	header.seal = name_file_seal;
	memset(&header.source, 0, sizeof(header.source));
	memcpy(file, &header, sizeof(header));
	header.seal.checksum = seal_checksum(file, len);
	memcpy(file, &header, sizeof(header));
}

static void name_all(const struct name_table *table)
{
	struct demangler *demangler = demangler_new();
	struct profile prof;
	uint32_t mapping;

	if (!demangler || profile_init(&prof))
		abort();
	mapping = profile_mapping(&prof, "/bin/a", "abcd");
	for (uint32_t i = 0; i < table->stretches_cnt && i < LOCATIONS_MAX; i++)
		profile_location(&prof, mapping, table->stretches[i].lo, 0);
	for (uint32_t i = 0; i < prof.location_cnt; i++) {
		const bool is_named = symbol_table_name(&prof, i, table, demangler);

		if (is_named && (!prof.locations[i].line_cnt ||
				 strlen(profile_location_name(&prof, i, 0)) > SIZE_MAX / 2))
			abort();
	}
	profile_deinit(&prof);
	demangler_free(demangler);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file = image_copy(data, size);
	struct name_table table;

	forge(file, size);
	if (!symbol_table_read(file, size, &table)) {
		if (symbol_table_has_lines(&table) && !table.sites_cnt)
			abort();
		name_all(&table);
	}
	free(file);
	return 0;
}
