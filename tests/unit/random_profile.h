/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles made by chance, which share much with each other. Include it after cmocka. */
#ifndef BPFPROF_TESTS_RANDOM_PROFILE_H
#define BPFPROF_TESTS_RANDOM_PROFILE_H

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"
#include "sample_profile.h"

static inline uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (uint32_t)(*seed >> 33) % limit;
}

/* A few entities of each kind, so that different profiles share many; @seed also moves the load
 * bias of the images, as another process would. */
static inline uint32_t random_location(struct profile *prof, uint64_t *seed, uint64_t bias)
{
	const uint32_t image = random_below(seed, 3), offset = random_below(seed, 8);
	struct profile_mapping mapping = {
		.path = profile_string(prof, image ? "/lib/a.so" : "/bin/b"),
		.build_id = profile_string(prof, image == 2 ? "aa" : "bb"),
		.start = bias + 0x1000,
		.limit = bias + 0x2000,
		.file_off = 0x1000,
	};
	char name[16];
	uint64_t shift;
	uint32_t map;
	struct profile_line line = {.line = 3};

	if (!random_below(seed, 5)) {
		snprintf(name, sizeof(name), "name%u", offset);
		return profile_named_location(prof, name, LOCATION_KERNEL);
	}
	map = profile_mapping_add(prof, &mapping, &shift);
	if (offset < 4)
		return profile_location(prof, map, bias + 0x1000 + offset, 0);
	snprintf(name, sizeof(name), "func%u", offset);
	line.function = profile_function(prof, name, name, "x.c", 1);
	return profile_location_lines(prof, map, bias + 0x1000 + offset, 0, &line, 1);
}

static inline void random_profile(struct profile *prof, uint64_t seed)
{
	const uint64_t bias = (uint64_t)random_below(&seed, 1000) << 12;
	uint32_t stack[4];

	assert_int_equal(profile_init(prof), 0);
	sample_header(prof);
	sample_set_ledger(prof);
	prof->time_ns = 1000 + random_below(&seed, 1000);
	prof->period = random_below(&seed, 3);
	profile_add_comment(prof, seed % 2 ? "odd" : "even");
	for (int i = 0; i < 200; i++) {
		uint32_t cnt = random_below(&seed, 4);

		for (uint32_t j = 0; j < cnt; j++)
			stack[j] = random_location(prof, &seed, bias);
		profile_sample(prof, profile_stack(prof, stack, cnt),
			       sample_labels(prof, random_below(&seed, 2) ? "x" : "y",
					     random_below(&seed, 2), 0),
			       (int64_t[]){1, 1 + random_below(&seed, 9)});
	}
	assert_int_equal(prof->err, 0);
}

#endif
