/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jitdumps. What many addresses are called together is what each is called alone, and the names and
 * lines are within their bounds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "fuzz_image.h"
#include "symbol/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint64_t addresses[] = {
	0,	0,	1,	0x10,	0x11,		0xff,		0x1000,	    0x1001,
	0x1010, 0x1fff, 0x2000, 0x3000, 0x7f0000000000, UINT64_MAX - 1, UINT64_MAX,
};

enum { CNT = sizeof(addresses) / sizeof(*addresses) };

static int read_some(int fd, size_t first, size_t cnt, struct strtab *strings,
		     struct jitdump_name *names, struct jitdump_stats *stats)
{
	const struct jitdump_query query = {
		.addresses = addresses + first,
		.cnt = cnt,
		.start_ns = 1000,
		.end_ns = 2000,
	};

	return jitdump_read(fd, &query, strings, names, stats);
}

static void check_name(const struct strtab *strings, const struct jitdump_name *name)
{
	if (name->name == STRTAB_NONE && (name->file != STRTAB_EMPTY || name->line))
		abort();
	if (name->file == STRTAB_EMPTY && name->line)
		abort();
	if (strlen(strtab_get(strings, name->file)) > JITDUMP_NAME_BYTES_MAX)
		abort();
	if (name->name == STRTAB_NONE)
		return;
	if (name->name == STRTAB_EMPTY ||
	    strlen(strtab_get(strings, name->name)) > JITDUMP_NAME_BYTES_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct jitdump_stats stats, stats_alone;
	struct jitdump_name names[CNT], alone;
	struct strtab strings;
	int fd = image_fd(data, len), err;

	if (strtab_init(&strings))
		return 0;
	err = read_some(fd, 0, CNT, &strings, names, &stats);
	for (size_t i = 0; i < CNT; i++) {
		if (read_some(fd, i, 1, &strings, &alone, &stats_alone) != err)
			abort();
		if (err)
			continue;
		if (alone.name != names[i].name || alone.file != names[i].file ||
		    alone.line != names[i].line)
			abort();
		check_name(&strings, &alone);
	}
	if (!err && (stats.is_cut || stats.end_off > len || stats.records > len / 16 ||
		     stats.records != stats_alone.records))
		abort();
	strtab_deinit(&strings);
	return 0;
}
