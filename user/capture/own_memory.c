/* SPDX-License-Identifier: Apache-2.0 */
/* RssAnon from /proc/self/status; what malloc() keeps. */
#include "capture/own_memory.h"

#include <malloc.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"

enum { MMAP_THRESHOLD_BYTES = 256 << 10, TRIM_THRESHOLD_BYTES = 1 << 20 };

void own_memory_keep_little(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
	mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
}

void own_memory_give_back(void)
{
	malloc_trim(0);
}

uint64_t own_rss_anon_bytes(void)
{
	static const char key[] = "RssAnon:";
	_cleanup_(buf_deinit) struct buf text;
	struct reader rd;
	const char *line;
	size_t len;

	buf_init(&text, 1 << 16);
	if (fs_read_file("/proc/self/status", &text))
		return 0;
	reader_init(&rd, text.data, text.len);
	while ((line = reader_until(&rd, '\n', &len))) {
		struct reader value;

		if (len < sizeof(key) || strncmp(line, key, sizeof(key) - 1))
			continue;
		reader_init(&value, line + sizeof(key) - 1, len - sizeof(key) + 1);
		while (reader_accept(&value, '\t') || reader_accept(&value, ' '))
			;
		return reader_number(&value, 10) * 1024;
	}
	return 0;
}
