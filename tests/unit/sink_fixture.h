/* SPDX-License-Identifier: Apache-2.0 */
/* A window of two services on one host, for sinks. Include it after cmocka. */
#ifndef BPFPROF_TESTS_SINK_FIXTURE_H
#define BPFPROF_TESTS_SINK_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "profile/profile.h"
#include "sink/sink.h"

/* 2026-11-25 01:02:00 UTC */
#define SINK_START_NS (UINT64_C(1795568520) * NSEC_PER_SEC)

enum { SINK_PERIOD_NS = 10000000, SINK_THREADS = 3 };

struct sink_fixture {
	struct profile dict, cpu, off_cpu; /* the latter are batches' types */
	/* Each service's thread has one stack of its own. */
	struct sink_row rows[2 * SINK_THREADS];
	int64_t cpu_values[2 * SINK_THREADS * 2], off_values[2 * SINK_THREADS];
	struct sink_batch batches[2];
	struct sink_window window;
};

static inline struct profile_label fixture_label(struct profile *prof, const char *key,
						 const char *text)
{
	return (struct profile_label){.key = profile_string(prof, key),
				      .str = profile_string(prof, text)};
}

static inline void fixture_row(struct sink_fixture *fix, const char *const *services, uint32_t nr)
{
	struct profile *dict = &fix->dict;
	char thread[16], name[16];
	uint32_t locations[2], function, mapping;
	struct profile_label labels[5];

	snprintf(thread, sizeof(thread), "thread-%u", nr % SINK_THREADS);
	snprintf(name, sizeof(name), "work_%u", nr);
	labels[0] = fixture_label(dict, "service", services[nr / SINK_THREADS]);
	labels[1] = fixture_label(dict, "comm", thread);
	labels[2] = fixture_label(dict, "host", "alpha");
	labels[3] = fixture_label(dict, "app.kubernetes.io/tier", "front");
	labels[4] = (struct profile_label){
		.key = profile_string(dict, "tid"), .str = PROFILE_NONE, .num = 100 + nr};
	function = profile_function(dict, name, name, "work.c", 7);
	mapping =
		profile_mapping(dict, "/usr/bin/work", "00112233445566778899aabbccddeeff00112233");
	locations[0] = profile_location_lines(dict, mapping, 0x1000 + nr, 0,
					      &(const struct profile_line){function, 9}, 1);
	locations[1] = profile_named_location(dict, "main", 0);
	fix->rows[nr] = (struct sink_row){profile_stack(dict, locations, 2),
					  profile_labels(dict, labels, 5)};
	fix->cpu_values[2 * nr] = nr + 1;
	fix->cpu_values[2 * nr + 1] = (int64_t)(nr + 1) * SINK_PERIOD_NS;
	fix->off_values[nr] = nr ? 1000 * (int64_t)nr : 0;
}

static inline void fixture_init(struct sink_fixture *fix, const char *first, const char *second)
{
	const char *const services[] = {first, second};

	*fix = (struct sink_fixture){.window = {.seq = 17, .last_seq = 17, .window_cnt = 1}};
	profile_init(&fix->dict);
	profile_init(&fix->cpu);
	profile_init(&fix->off_cpu);
	for (uint32_t i = 0; i < 2 * SINK_THREADS; i++)
		fixture_row(fix, services, i);
	profile_add_value_type(&fix->cpu, "samples", "count");
	fix->cpu.default_value = profile_add_value_type(&fix->cpu, "cpu", "nanoseconds");
	fix->cpu.period_type = fix->cpu.value_types[1];
	fix->cpu.period = SINK_PERIOD_NS;
	profile_add_value_type(&fix->off_cpu, "off_cpu", "nanoseconds");
	/* As a store has it: the recording's, of which it has no value. */
	fix->off_cpu.period_type = (struct profile_value_type){profile_string(&fix->off_cpu, "cpu"),
							       fix->off_cpu.value_types[0].unit};
	fix->off_cpu.period = SINK_PERIOD_NS;
	fix->batches[0] = (struct sink_batch){.kind = "cpu",
					      .event = "cpu-clock",
					      .types = &fix->cpu,
					      .rows = fix->rows,
					      .values = fix->cpu_values,
					      .row_cnt = 2 * SINK_THREADS};
	fix->batches[1] = (struct sink_batch){.kind = "off-cpu",
					      .event = "",
					      .types = &fix->off_cpu,
					      .rows = fix->rows,
					      .values = fix->off_values,
					      .row_cnt = 2 * SINK_THREADS};
	fix->window.start_ns = SINK_START_NS;
	fix->window.end_ns = SINK_START_NS + 60 * NSEC_PER_SEC;
	fix->window.covered_ns = 60 * NSEC_PER_SEC;
	fix->window.generation = 1;
	fix->window.boot_id = "0f0f0f0f-0000-4000-8000-000000000001";
	fix->window.dict = &fix->dict;
	fix->window.batches = fix->batches;
	fix->window.batch_cnt = 2;
}

static inline void fixture_deinit(struct sink_fixture *fix)
{
	profile_deinit(&fix->dict);
	profile_deinit(&fix->cpu);
	profile_deinit(&fix->off_cpu);
}

/* The sink of @url, *owned*; the test fails when it cannot be opened. */
static inline struct sink *fixture_open(const char *url, const char *host_id)
{
	const struct sink_opts opts = {.host_id = host_id};
	struct sink *sink = NULL;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (sink_open(url, &opts, &sink, &why))
		fail_msg("%s: %s", url, buf_cstr(&why));
	buf_deinit(&why);
	return sink;
}

/* The window number @seq, of which nothing is left but what it says. */
static inline struct sink_window fixture_lost(uint64_t seq)
{
	return (struct sink_window){.seq = seq,
				    .last_seq = seq + 2,
				    .start_ns = SINK_START_NS,
				    .end_ns = SINK_START_NS + 60 * NSEC_PER_SEC,
				    .window_cnt = 3,
				    .lost_samples = 99,
				    .boot_id = "",
				    .lost = "bytes"};
}

#endif
