/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a window's profile to stacks of named rows. A location is named once, however many windows
 * it is met in, and a function's other addresses are named without its file: a refresh costs what
 * is new in it. JIT code is asked for again after a while, as it moves.
 */
#ifndef BPFPROF_CLI_TOP_NAMES_H
#define BPFPROF_CLI_TOP_NAMES_H

#include "base/hmap.h"
#include "base/strtab.h"
#include "cli/top_table.h"
#include "profile/profile.h"
#include "symbol/symbolizer.h"

enum {
	/* Beyond them all are forgotten; their functions' names are still remembered. */
	TOP_LOCATIONS_MAX = 1 << 16,
	TOP_JIT_WINDOWS = 8, /* how long a name of JIT code is believed */
};

/* A location of earlier windows. */
struct top_location {
	uint64_t address;
	uint32_t mapping; /* string of mappings */
	uint32_t flags; /* enum profile_location_flags */
	uint32_t function; /* of the table */
	uint32_t window; /* in which it was named */
};

struct top_names {
	struct strtab mappings; /* path and build-id of each */
	struct top_location *locations; /* owned */
	size_t cnt, cap;
	struct hmap index;
	struct name_memory *memory; /* owned */
	struct demangler *demangler; /* owned: keeps the C++ runtime loaded between windows */
	uint32_t window;
	uint64_t named_cnt; /* locations that were looked up in files so far */
};

/* 0 or -ENOMEM; release with top_names_deinit() in either case. */
int top_names_init(struct top_names *names);
void top_names_deinit(struct top_names *names);

/* The table starts anew: forget which functions of it locations had. */
void top_names_forget(struct top_names *names);

/* What of a window's profile is told apart, and how it is named. */
struct top_window {
	struct profile *prof; /* borrowed; locations without lines get some */
	struct module *const *modules; /* borrowed, as for symbolizer_run() */
	size_t module_cnt;
	const char *by; /* a comma list; NULL: comm */
	const struct symbolizer_opts *naming; /* keeper and memory are set here */
};

/* Add the samples of @window to @table, which top_table_begin() has prepared. 0 or negative errno.
 */
int top_names_add(struct top_names *names, struct top_table *table,
		  const struct top_window *window);

#endif
