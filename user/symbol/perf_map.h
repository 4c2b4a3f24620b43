/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a perf map: the names that a JIT runtime gives to the code that it makes, a line each,
 * "START SIZE NAME". Both numbers are hexadecimal, with or without 0x; NAME is the rest of the line
 * and may hold spaces. A runtime appends: code that has moved away leaves its line behind, and the
 * last line that contains an address is the one that holds.
 */
#ifndef BPFPROF_SYMBOL_PERF_MAP_H
#define BPFPROF_SYMBOL_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"

enum {
	PERF_MAP_MAX_BYTES = 512 << 20, /* what is read of a map */
	PERF_MAP_LINE_BYTES_MAX = 4096, /* what is looked at of a line */
	PERF_MAP_NAME_BYTES_MAX = 1024, /* longer names are cut, between two UTF-8 characters */
};

struct perf_map_stats {
	uint64_t lines; /* the bad ones included */
	uint64_t bad_lines; /* not START SIZE NAME, or a range that is empty or wraps */
	bool is_cut; /* there is more in the file than was read */
};

/*
 * What the map @fd calls the @cnt addresses (ascending): into names[i] the id in @strings that the
 * last line containing addresses[i] gives, or STRTAB_NONE. Names are as in the file, whatever their
 * bytes, but for a NUL, which ends them.
 *
 * At most PERF_MAP_MAX_BYTES are read, from the start of the file (by pread(), it may be growing)
 * and until CLOCK_MONOTONIC @deadline_ns (0: none); a last line that is not finished is left out.
 * Memory: 16 bytes an address and the names that are used, whatever the file. Time: O(lines * log
 * cnt), half a second for 10 million lines and 3,000 addresses. 0; -ENOMEM, -EIO and the like, with
 * *@out untouched and @names undefined.
 */
int perf_map_read(int fd, const uint64_t *addresses, size_t cnt, uint64_t deadline_ns,
		  struct strtab *strings, uint32_t *names, struct perf_map_stats *out);

#endif
