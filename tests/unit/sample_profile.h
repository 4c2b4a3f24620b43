/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile with everything in it that is hard on formats, for tests and for the check with other
 * readers: two value types, all kinds of frames and labels, names that try to break out.
 */
#ifndef BPFPROF_TESTS_SAMPLE_PROFILE_H
#define BPFPROF_TESTS_SAMPLE_PROFILE_H

#include <stdint.h>
#include <string.h>

#include "profile/ledger.h"
#include "profile/profile.h"

/* A ledger whose books balance: 5,936 of 5,940 ticks on two CPUs. */
static inline void sample_ledger(struct ledger *ledger)
{
	struct ledger_event *event = &ledger->events[0];

	ledger_init(ledger);
	ledger->event_cnt = 1;
	strncpy(ledger->kernel, "6.18.44", sizeof(ledger->kernel) - 1);
	strncpy(ledger->arch, "x86_64", sizeof(ledger->arch) - 1);
	strncpy(event->name, "cpu-clock", sizeof(event->name) - 1);
	strncpy(event->unit, "samples", sizeof(event->unit) - 1);
	ledger->duration_s = 30.5;
	event->period = 10101010;
	event->sum.cpu = -1;
	event->sum.kernel_runs = 5936;
	for (int32_t cpu = 0; cpu < 2; cpu++) {
		struct ledger_row *row = ledger_row(event, cpu);

		row->ticks = 2970;
		row->ran = cpu ? 2967 : 2969;
		row->never_ran_busy = cpu ? 0 : 1;
		row->never_ran_idle = cpu ? 3 : 0;
		row->filtered = cpu ? 800 : 12;
		row->recorded = row->ran - row->filtered;
		ledger_reason_add(&row->lost, "map_full", 0);
	}
	ledger_sum(ledger);
	ledger->stacks =
		(struct ledger_stacks){.complete = 5101,
				       .no_user_stack = 20,
				       .distinct = 640,
				       .deepest = 212,
				       .snapshots = {.taken = 9, .completed = 8, .refused = 2}};
	ledger_reason_add(&ledger->stacks.truncated, "no_rows", 3);
	ledger->frames = (struct ledger_frames){
		.distinct = 2210,
		.named = 2204,
		.lines_cut = 3,
	};
	ledger_reason_add(&ledger->frames.unnamed, "no_symbol", 6);
	ledger->cost = (struct ledger_cost){.bpf_run_ns = 12000000, .bpf_runs = 5936};
}

static inline uint32_t sample_labels(struct profile *prof, const char *comm, int64_t tid,
				     int64_t cpu)
{
	const struct profile_label labels[] = {
		{.key = profile_string(prof, "comm"), .str = profile_string(prof, comm)},
		{.key = profile_string(prof, "tid"), .str = PROFILE_NONE, .num = tid},
		{.key = profile_string(prof, "cpu"),
		 .str = PROFILE_NONE,
		 .num = cpu,
		 .num_unit = profile_string(prof, "index")},
	};

	return profile_labels(prof, labels, 3);
}

/* work() with parse() and next_char() inlined, in a mapping with a build-id. */
static inline uint32_t sample_inlined(struct profile *prof, uint32_t mapping)
{
	const struct profile_line lines[] = {
		{.function = profile_function(prof, "next_char", "next_char", "/src/parse.c", 10),
		 .line = 12},
		{.function = profile_function(prof, "parse<char; 4>(const char*)",
					      "_Z5parseIcLi4EEvPKc", "/src/parse.c", 20),
		 .line = 31},
		{.function = profile_function(prof, "work", "work", "/src/work.c", 100),
		 .line = 123},
	};
	uint32_t location = profile_location(prof, mapping, 0x1234, 0);

	profile_set_lines(prof, location, lines, 3);
	return location;
}

static inline uint32_t sample_kernel(struct profile *prof)
{
	uint32_t mapping = profile_mapping(prof, "[kernel.kallsyms]", "");
	uint32_t location = profile_location(prof, mapping, 0xffffffff81000010, LOCATION_KERNEL);
	const struct profile_line line = {
		.function = profile_function(prof, "vfs_read", "vfs_read", "", 0)};

	profile_set_lines(prof, location, &line, 1);
	return location;
}

static inline void sample_set_ledger(struct profile *prof)
{
	struct ledger ledger;

	sample_ledger(&ledger);
	profile_set_ledger(prof, &ledger);
	ledger_deinit(&ledger);
}

static inline void sample_header(struct profile *prof)
{
	profile_add_value_type(prof, "samples", "count");
	profile_add_value_type(prof, "cpu", "nanoseconds");
	prof->default_value = 0;
	prof->period_type.type = profile_string(prof, "cpu");
	prof->period_type.unit = profile_string(prof, "nanoseconds");
	prof->period = 10101010;
	prof->time_ns = 1795201812000000000;
	prof->duration_ns = 30500000000;
	profile_add_comment(prof, "made by a test");
}

/* An ELF file's mapping, by its own addresses. */
static inline uint32_t sample_mapping(struct profile *prof)
{
	uint32_t mapping = profile_mapping(prof, "/usr/lib/libwork.so.1 (deleted)",
					   "0123456789abcdef0123456789abcdef01234567");

	prof->mappings[mapping].start = 0x1000;
	prof->mappings[mapping].limit = 0x9000;
	prof->mappings[mapping].file_off = 0x1000;
	prof->mappings[mapping].flags = MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES |
					MAPPING_HAS_LINES | MAPPING_HAS_INLINES;
	return mapping;
}

static inline void sample_hostile_stacks(struct profile *prof)
{
	const uint32_t odd = sample_labels(prof, "bad\xff;comm\n", 7, -1);
	const uint32_t names[] = {
		profile_named_location(prof, "line\nbreak\t\x7f", 0),
		profile_named_location(prof, "semi;colon 12", 0),
		profile_named_location(prof, "caf\xc3\xa9 \xc3\x28 \xed\xa0\x80", 0),
	};
	const uint32_t waker = profile_named_location(prof, "wake_up", LOCATION_WAKER);

	profile_sample(prof, profile_stack(prof, names, 3), odd, (int64_t[]){5, 50000});
	profile_sample(prof, profile_stack(prof, &waker, 1), odd, (int64_t[]){1, INT64_MAX / 4});
	profile_sample(prof, profile_stack(prof, NULL, 0), profile_labels(prof, NULL, 0),
		       (int64_t[]){2, 20000});
}

/* @prof: initialised, empty. */
static inline void sample_profile(struct profile *prof)
{
	uint32_t mapping, web, stack[4];

	sample_header(prof);
	mapping = sample_mapping(prof);
	web = sample_labels(prof, "web", 1234, 0);
	stack[0] = sample_kernel(prof);
	stack[1] = sample_inlined(prof, mapping);
	stack[2] = profile_location(prof, mapping, 0x2345, 0); /* no symbol */
	stack[3] = profile_named_location(prof, "[truncated: no_rows]", LOCATION_SYNTHETIC);
	profile_sample(prof, profile_stack(prof, stack, 4), web, (int64_t[]){10, 101010100});
	profile_sample(prof, profile_stack(prof, stack + 1, 2), web, (int64_t[]){3, 30303030});
	stack[0] = profile_location(prof, profile_mapping(prof, "//anon", ""), 0x7f0000001000,
				    LOCATION_JIT);
	stack[1] = profile_location(prof, PROFILE_NONE, 0xdead, 0);
	stack[2] = profile_named_location(prof, "[12 frames elided]", LOCATION_SYNTHETIC);
	profile_sample(prof, profile_stack(prof, stack, 3), sample_labels(prof, "web", 1235, 1),
		       (int64_t[]){4, 40404040});
	sample_hostile_stacks(prof);
}

#endif
