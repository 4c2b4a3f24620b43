/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a jitdump: the binary list that a JIT runtime writes of the code that it makes, with
 * times, lines and the code itself (tools/perf/Documentation/jitdump-specification.txt in the
 * kernel's sources). Of both byte orders; a last record that is not finished is left out.
 *
 * Which code an address belongs to changes with time: code is freed, moved, and written over. The
 * samples of a profile have a window in common, and no times of their own; so an address belongs to
 * the code that was there for most of the window. A moved function keeps its name and lines, and
 * leaves nothing at its old place. A writer whose clock is not CLOCK_MONOTONIC (the header says so)
 * gets what a perf map gets: the last code holds.
 */
#ifndef BPFPROF_SYMBOL_JITDUMP_H
#define BPFPROF_SYMBOL_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"

#define JITDUMP_MAX_BYTES (8ULL << 30) /* how far into a file is looked */

enum {
	JITDUMP_NAME_BYTES_MAX = 1024, /* longer names are cut, between two UTF-8 characters */
	JITDUMP_LINES_BYTES_MAX = 4 << 20, /* what is read of one function's lines */
};

struct jitdump_query {
	const uint64_t *addresses; /* ascending */
	size_t cnt;
	uint64_t start_ns, end_ns; /* the window, not empty, CLOCK_MONOTONIC */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
};

/* Of one address; bytes as in the file but for a NUL, which ends them. */
struct jitdump_name {
	uint32_t name; /* string; STRTAB_NONE: no code was here */
	uint32_t file; /* string; STRTAB_EMPTY: not known, and then line is 0 */
	uint32_t line;
};

struct jitdump_stats {
	uint64_t records; /* that were read */
	uint64_t end_off; /* how far */
	bool is_cut; /* there is more, but the time was up or the file is too long */
	bool is_broken; /* what follows is no record, and so nothing is known of what is behind */
};

/*
 * Who was at @query's addresses, into @names (as many), strings into @strings.
 *
 * Reads by pread(), up to the size that @fd has now, JITDUMP_MAX_BYTES, and the deadline. Lines are
 * those of the entry before the address; a function whose entries lie outside its code, or leave
 * some of their record over, gets none: V8 writes names that it has freed. Memory: 80 bytes an
 * address, one function's lines, and the names that are used, whatever the file. Time: a million
 * functions in a quarter of a second; the file is read twice when moved code has been hit. 0;
 * -EBADMSG: it is no jitdump; -ENOMEM, -EIO and the like, with *@out untouched and @names
 * undefined.
 */
int jitdump_read(int fd, const struct jitdump_query *query, struct strtab *strings,
		 struct jitdump_name *names, struct jitdump_stats *out);

#endif
