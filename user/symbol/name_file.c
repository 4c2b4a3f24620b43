/* SPDX-License-Identifier: Apache-2.0 */
/* Writing tables of names, and believing none that could not have been written. */
#include "symbol/name_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const struct seal name_file_seal = {
	.magic = {'b', 'p', 'f', 'p', 'n', 'a', 'm', 'e'},
	.format = NAME_FORMAT_VERSION,
	.rules = NAME_RULES_VERSION,
};

static uint64_t file_bytes(const struct name_header *header)
{
	return sizeof(*header) + header->stretches_cnt * sizeof(struct name_stretch) +
	       header->functions_cnt * sizeof(struct name_function) +
	       header->sites_cnt * sizeof(struct name_site) + header->strings_bytes;
}

void *name_file_encode(const struct name_table *table, const struct name_source *source,
		       size_t *len)
{
	const struct name_header header = {
		.seal = name_file_seal,
		.source = *source,
		.stretches_cnt = table->stretches_cnt,
		.functions_cnt = table->functions_cnt,
		.sites_cnt = table->sites_cnt,
		.strings_bytes = table->strings_bytes,
	};
	const struct seal_part parts[] = {
		{&header, sizeof(header)},
		{table->stretches, header.stretches_cnt * sizeof(*table->stretches)},
		{table->functions, header.functions_cnt * sizeof(*table->functions)},
		{table->sites, header.sites_cnt * sizeof(*table->sites)},
		{table->strings, header.strings_bytes},
	};

	if (file_bytes(&header) > NAME_FILE_MAX_BYTES) {
		errno = EFBIG;
		return NULL;
	}
	return seal_join(parts, sizeof(parts) / sizeof(*parts), len);
}

/* Versions, source and checksum: is it whole, and of this file? */
static int header_check(const struct name_header *header, const void *file, size_t len,
			const struct name_source *source)
{
	int err = seal_check(&header->seal, &name_file_seal);

	if (err)
		return err;
	if (memcmp(&header->source, source, sizeof(*source)) != 0)
		return -ESTALE;
	if (header->stretches_cnt > NAME_STRETCHES_MAX || file_bytes(header) != len ||
	    header->seal.checksum != seal_checksum(file, len))
		return -EBADMSG;
	return 0;
}

static bool stretches_are_valid(const struct name_table *table)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < table->stretches_cnt; i++) {
		const struct name_stretch *stretch = &table->stretches[i];

		if (stretch->lo < end || !stretch->bytes ||
		    __builtin_add_overflow(stretch->lo, stretch->bytes, &end))
			return false;
		if (stretch->site != (uint32_t)NAME_NONE && stretch->site >= table->sites_cnt)
			return false;
	}
	return true;
}

static bool sites_are_valid(const struct name_table *table)
{
	for (uint32_t i = 0; i < table->sites_cnt; i++) {
		const struct name_site *site = &table->sites[i];

		if (site->function >= table->functions_cnt ||
		    (site->caller != (uint32_t)NAME_NONE && site->caller >= i))
			return false;
	}
	return true;
}

static bool functions_are_valid(const struct name_table *table)
{
	if (table->functions_cnt &&
	    (!table->strings_bytes || table->strings[table->strings_bytes - 1]))
		return false;
	for (uint32_t i = 0; i < table->functions_cnt; i++) {
		const struct name_function *function = &table->functions[i];

		if (function->name >= table->strings_bytes ||
		    function->file >= table->strings_bytes ||
		    function->shown >= table->strings_bytes)
			return false;
	}
	return true;
}

int name_file_decode(const void *data, size_t len, const struct name_source *source,
		     struct name_table *out)
{
	const uint8_t *pos = data;
	struct name_header header;
	struct name_table table;
	int err;

	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, data, sizeof(header));
	err = header_check(&header, data, len, source);
	if (err)
		return err;
	table = (struct name_table){
		.stretches_cnt = header.stretches_cnt,
		.functions_cnt = header.functions_cnt,
		.sites_cnt = header.sites_cnt,
		.strings_bytes = header.strings_bytes,
	};
	table.stretches = (const void *)(pos += sizeof(header));
	table.functions = (const void *)(pos += table.stretches_cnt * sizeof(*table.stretches));
	table.sites = (const void *)(pos += table.functions_cnt * sizeof(*table.functions));
	table.strings = (const char *)(pos + table.sites_cnt * sizeof(*table.sites));
	if (!stretches_are_valid(&table) || !sites_are_valid(&table) ||
	    !functions_are_valid(&table))
		return -EBADMSG;
	*out = table;
	return 0;
}
