/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf maps. What many addresses are called together is what each is called alone, where a line
 * either contains all that is asked for or nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "fuzz_image.h"
#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint64_t addresses[] = {
	0,	0,	1,	0x10,	0x11,		0xff,		0x1000,	    0x1001,
	0x1010, 0x1fff, 0x2000, 0x3000, 0x7f0000000000, UINT64_MAX - 1, UINT64_MAX,
};

enum { CNT = sizeof(addresses) / sizeof(*addresses) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct perf_map_stats stats, stats_alone;
	struct strtab strings;
	uint32_t names[CNT], alone;
	int fd = image_fd(data, len);

	if (strtab_init(&strings))
		return 0;
	if (perf_map_read(fd, addresses, CNT, 0, &strings, names, &stats) || stats.is_cut ||
	    stats.bad_lines > stats.lines || stats.lines > len)
		abort();
	for (size_t i = 0; i < CNT; i++) {
		if (perf_map_read(fd, &addresses[i], 1, 0, &strings, &alone, &stats_alone) ||
		    alone != names[i] || stats_alone.lines != stats.lines ||
		    stats_alone.bad_lines != stats.bad_lines)
			abort();
		if (alone == STRTAB_NONE)
			continue;
		if (alone == STRTAB_EMPTY ||
		    strlen(strtab_get(&strings, alone)) > PERF_MAP_NAME_BYTES_MAX)
			abort();
	}
	strtab_deinit(&strings);
	return 0;
}
