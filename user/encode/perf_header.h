/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line that a sample begins with in the text of perf script. Which fields it has, -F decides;
 * their order is fixed:
 *
 *	comm       pid/tid [cpu] misc time:      period event: what follows
 *	web server 17/18   [001] U    12.000300: 250000 cycles:P:
 *
 * The comm may have blanks and numbers in it, so the line is read from what cannot be mistaken: the
 * time, else the CPU, else the first number.
 */
#ifndef BPFPROF_ENCODE_PERF_HEADER_H
#define BPFPROF_ENCODE_PERF_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the file, without a NUL behind them. */
struct perf_text {
	const char *str; /* borrowed */
	size_t len;
};

struct perf_header {
	struct perf_text comm, event, rest; /* empty where there is none */
	int64_t pid, tid, cpu; /* -1: none */
	int64_t period; /* -1: none */
	uint64_t time_ns; /* where it has one; at most INT64_MAX */
	bool has_time; /* then it can be nothing else */
};

/* False when @line is no such line. */
bool perf_header_parse(struct perf_text line, struct perf_header *out);

/* Cut the next word, what is between blanks, off the start of @text; empty at the end. */
struct perf_text perf_text_word(struct perf_text *text);

struct perf_text perf_text_trim(struct perf_text text); /* blanks at both ends */

/* Is the whole text digits of @base (10 or 16), at least one? Their value, at most INT64_MAX, into
 * *@out (may be NULL). */
bool perf_text_number(struct perf_text text, int base, int64_t *out);

#endif
