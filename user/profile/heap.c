/* SPDX-License-Identifier: Apache-2.0 */
/* Sites of the heap as samples, and their sums for people. */
#include "profile/heap.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"

/* In the order of struct heap_values. */
static const struct {
	const char *type, *unit;
} value_types[] = {
	{"alloc_objects", "count"}, {"alloc_space", "bytes"},  {"inuse_objects", "count"},
	{"inuse_space", "bytes"},   {"peak_objects", "count"}, {"peak_space", "bytes"},
	{"temporary", "count"},	    {"old_objects", "count"},  {"old_space", "bytes"},
	{"freed_objects", "count"}, {"freed_space", "bytes"},
};

enum {
	VALUE_CNT = sizeof(struct heap_values) / sizeof(uint64_t),
	ALLOC_SPACE = 1,
	OLD_OBJECTS = 7,
	FREED_OBJECTS = 9,
};

_Static_assert(sizeof(value_types) / sizeof(*value_types) == VALUE_CNT, "a type for each value");

void heap_declare(struct profile *prof, bool with_old, bool with_freed)
{
	for (uint32_t i = 0; i < VALUE_CNT; i++) {
		bool is_wanted = i < OLD_OBJECTS ? true : i < FREED_OBJECTS ? with_old : with_freed;
		uint32_t at = PROFILE_NONE;

		if (is_wanted)
			at = profile_add_value_type(prof, value_types[i].type, value_types[i].unit);
		if (i == ALLOC_SPACE || (i > OLD_OBJECTS && at != PROFILE_NONE))
			prof->default_value = at;
	}
}

void heap_add(struct profile *prof, struct heap_summary *summary, uint32_t stack, uint32_t labels,
	      const struct heap_values *values)
{
	const uint64_t *from = (const uint64_t *)values;
	uint64_t *sum = (uint64_t *)&summary->sum, any = 0;
	int64_t row[PROFILE_VALUES_MAX] = {0};

	for (size_t i = 0; i < VALUE_CNT; i++) {
		uint32_t at = profile_find_value(prof, value_types[i].type);

		any |= from[i];
		sum[i] += from[i];
		if (at != PROFILE_NONE)
			row[at] = (int64_t)from[i];
	}
	if (any)
		profile_sample(prof, stack, labels, row);
}

bool heap_is_lower_bound(const struct heap_summary *summary)
{
	return summary->overflows || summary->procs_full || summary->no_thread;
}

/* 1.23 GB, as the units of 1,000 go. */
static void add_bytes(struct buf *out, uint64_t bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t i = 0;

	while (value >= 1000 && i + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1000;
		i++;
	}
	buf_printf(out, i ? "%.2f %s" : "%.0f %s", value, units[i]);
}

static void add_row(struct buf *out, const char *what, uint64_t objects, uint64_t bytes)
{
	buf_printf(out, "heap: %-10s %12llu blocks  ", what, (unsigned long long)objects);
	add_bytes(out, bytes);
}

/* 95 % of estimates are as near. */
static double error_bytes(const struct heap_summary *summary)
{
	return 1.96 * sqrt(summary->variance);
}

static void add_lifetimes(const struct heap_summary *summary, struct buf *out)
{
	static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	uint64_t most = 0;

	for (size_t i = 0; i < HEAP_LIFETIMES; i++)
		most = summary->lifetimes[i] > most ? summary->lifetimes[i] : most;
	if (!most)
		return;
	buf_add_str(out, "heap: lifetimes  <4us ");
	for (size_t i = 0; i < HEAP_LIFETIMES; i++) {
		double share = (double)summary->lifetimes[i] / (double)most;

		buf_add_str(out, bars[summary->lifetimes[i] ? 1 + (int)(share * 7) : 0]);
	}
	buf_add_str(out, " >18min\n");
}

/* What a child allocates before it has probes is not in it. */
static void add_children(const struct heap_summary *summary, struct buf *out)
{
	if (!summary->children)
		return;
	buf_printf(out, "heap: %llu child process%s probed within %.1f ms of %s start",
		   (unsigned long long)summary->children, summary->children == 1 ? "" : "es",
		   (double)summary->children_lag_ns / 1e6,
		   summary->children == 1 ? "its" : "their");
	if (summary->children_missed)
		buf_printf(out, "; %llu ended before",
			   (unsigned long long)summary->children_missed);
	buf_add_char(out, '\n');
}

static void add_bounds(const struct heap_summary *summary, struct buf *out)
{
	if (summary->overflows)
		buf_printf(out,
			   "heap: live and peak are lower bounds: %llu blocks found no room in the "
			   "table of live ones (--max-memory)\n",
			   (unsigned long long)summary->overflows);
	if (summary->sites_full)
		buf_printf(out,
			   "heap: %llu blocks are under [other sites]: too many stacks "
			   "(--max-memory)\n",
			   (unsigned long long)summary->sites_full);
	if (summary->no_thread)
		buf_printf(out,
			   "heap: %llu allocations are not in it: the kernel had no memory to "
			   "follow their threads\n",
			   (unsigned long long)summary->no_thread);
	if (summary->procs_full)
		buf_printf(out, "heap: %llu processes are not in it: too many\n",
			   (unsigned long long)summary->procs_full);
	add_children(summary, out);
	if (summary->unseen_frees)
		buf_printf(out, "heap: %llu blocks were freed where no probe is\n",
			   (unsigned long long)summary->unseen_frees);
}

void heap_format(const struct heap_summary *summary, struct buf *out)
{
	const struct heap_values *sum = &summary->sum;

	add_row(out, "allocated", sum->alloc_objects, sum->alloc_bytes);
	if (summary->rate_bytes) {
		buf_add_str(out, " ±");
		add_bytes(out, (uint64_t)error_bytes(summary));
		buf_printf(out, " (one byte in %llu; counted: %llu blocks, ",
			   (unsigned long long)summary->rate_bytes,
			   (unsigned long long)summary->calls);
		add_bytes(out, summary->asked_bytes);
		buf_add_str(out, ")");
	}
	buf_add_str(out, "\n");
	add_row(out, "at peak", sum->peak_objects, sum->peak_bytes);
	buf_add_str(out, "\n");
	add_row(out, "live", sum->inuse_objects, sum->inuse_bytes);
	buf_printf(out, "\nheap: %-10s %12llu blocks\n", "temporary",
		   (unsigned long long)sum->temporary);
	if (summary->old_ns) {
		add_row(out, "old", sum->old_objects, sum->old_bytes);
		buf_printf(out, " live for %.1f s and more\n", (double)summary->old_ns / 1e9);
	}
	add_lifetimes(summary, out);
	add_bounds(summary, out);
}

void heap_add_comments(struct profile *prof, const struct heap_summary *summary)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	if (summary->rate_bytes)
		buf_printf(
			&text,
			"heap: sampled, one byte in %llu; alloc_space is an estimate, +-%.0f "
			"bytes in 95 of 100 cases; counted at every call: %llu blocks, %llu bytes",
			(unsigned long long)summary->rate_bytes, error_bytes(summary),
			(unsigned long long)summary->calls,
			(unsigned long long)summary->asked_bytes);
	else
		buf_printf(&text, "heap: exact, %llu calls, %llu bytes",
			   (unsigned long long)summary->calls,
			   (unsigned long long)summary->asked_bytes);
	profile_add_comment(prof, buf_cstr(&text));
	if (!heap_is_lower_bound(summary))
		return;
	buf_reset(&text);
	buf_printf(&text, "heap: LOWER BOUND: %llu blocks found no room in the table of live ones",
		   (unsigned long long)summary->overflows);
	profile_add_comment(prof, buf_cstr(&text));
}
