/* SPDX-License-Identifier: Apache-2.0 */
/* Context switches, of /proc/stat. */
#include "proc/switches.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/reader.h"

/* Of thousands of CPUs and interrupts. */
#define STAT_BYTES_MAX (16 << 20)

static const char name[] = "ctxt ";

uint64_t switches_parse(const char *stat, size_t len)
{
	struct reader rd, rest;
	const char *line;
	uint64_t cnt;
	size_t line_len;

	reader_init(&rd, stat, len);
	while ((line = reader_until(&rd, '\n', &line_len))) {
		if (line_len < sizeof(name) - 1 || memcmp(line, name, sizeof(name) - 1))
			continue;
		reader_init(&rest, line + sizeof(name) - 1, line_len - (sizeof(name) - 1));
		cnt = reader_number(&rest, 10);
		return rest.err ? 0 : cnt;
	}
	return 0;
}

uint64_t switches_read(void)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, STAT_BYTES_MAX);
	return fs_read_file("/proc/stat", &text) ? 0 : switches_parse(text.data, text.len);
}

double switches_rate(uint64_t before, uint64_t now, uint64_t span_ns)
{
	if (!before || now < before || !span_ns)
		return 0;
	return (double)(now - before) * NSEC_PER_SEC / (double)span_ns;
}
