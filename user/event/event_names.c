/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of names. Cache events are made of three short ones, as the kernel numbers them
 * (perf_event_open(2)): config = cache | operation << 8 | result << 16. So "dTLB-store-misses" is
 * cache 3, operation 1, result 1: 0x10103.
 */
#include "event/event_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HW(suffix) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##suffix
#define SW(suffix) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##suffix

enum {
	SW_CGROUP_SWITCHES = 11, /* since 5.13; headers of older ones lack it */
	OPERATION_CNT = 3,
	RESULT_CNT = 2,
};

static const struct event_name plain_names[] = {
	{"cycles", HW(CPU_CYCLES)},
	{"cpu-cycles", HW(CPU_CYCLES), .is_alias = true},
	{"instructions", HW(INSTRUCTIONS)},
	{"branches", HW(BRANCH_INSTRUCTIONS)},
	{"branch-instructions", HW(BRANCH_INSTRUCTIONS), .is_alias = true},
	{"branch-misses", HW(BRANCH_MISSES)},
	{"cache-references", HW(CACHE_REFERENCES)},
	{"cache-misses", HW(CACHE_MISSES)},
	{"bus-cycles", HW(BUS_CYCLES)},
	{"ref-cycles", HW(REF_CPU_CYCLES)},
	{"stalled-cycles-frontend", HW(STALLED_CYCLES_FRONTEND)},
	{"idle-cycles-frontend", HW(STALLED_CYCLES_FRONTEND), .is_alias = true},
	{"stalled-cycles-backend", HW(STALLED_CYCLES_BACKEND)},
	{"idle-cycles-backend", HW(STALLED_CYCLES_BACKEND), .is_alias = true},
	{"cpu-clock", SW(CPU_CLOCK), .is_clock = true},
	{"task-clock", SW(TASK_CLOCK), .is_clock = true},
	{"page-faults", SW(PAGE_FAULTS)},
	{"faults", SW(PAGE_FAULTS), .is_alias = true},
	{"minor-faults", SW(PAGE_FAULTS_MIN)},
	{"major-faults", SW(PAGE_FAULTS_MAJ)},
	{"context-switches", SW(CONTEXT_SWITCHES)},
	{"cs", SW(CONTEXT_SWITCHES), .is_alias = true},
	{"cpu-migrations", SW(CPU_MIGRATIONS)},
	{"migrations", SW(CPU_MIGRATIONS), .is_alias = true},
	{"alignment-faults", SW(ALIGNMENT_FAULTS)},
	{"emulation-faults", SW(EMULATION_FAULTS)},
	{"cgroup-switches", PERF_TYPE_SOFTWARE, SW_CGROUP_SWITCHES},
};

enum { PLAIN_CNT = sizeof(plain_names) / sizeof(plain_names[0]) };

/* In the order of their numbers. */
static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
				     "iTLB",	  "branch",    "node"};
static const char *const operations[OPERATION_CNT] = {"load", "store", "prefetch"};
static const char *const plurals[OPERATION_CNT] = {"loads", "stores", "prefetches"};

enum { CACHE_CNT = sizeof(caches) / sizeof(caches[0]) };

static void make_cache(size_t cache, size_t operation, size_t result, struct event_name *out)
{
	memset(out, 0, sizeof(*out));
	out->type = PERF_TYPE_HW_CACHE;
	out->config = cache | operation << 8 | result << 16;
	if (result)
		snprintf(out->name, sizeof(out->name), "%s-%s-misses", caches[cache],
			 operations[operation]);
	else
		snprintf(out->name, sizeof(out->name), "%s-%s", caches[cache], plurals[operation]);
}

/* What stands behind the cache's name; of loads when no operation is named. */
static bool find_result(size_t cache, const char *rest, struct event_name *out)
{
	if (!*rest || !strcasecmp(rest, "-misses")) {
		make_cache(cache, 0, *rest != '\0', out);
		return true;
	}
	for (size_t operation = 0; operation < OPERATION_CNT; operation++)
		for (size_t result = 0; result < RESULT_CNT; result++) {
			make_cache(cache, operation, result, out);
			if (!strcasecmp(out->name + strlen(caches[cache]), rest))
				return true;
		}
	return false;
}

static bool find_cache(const char *name, struct event_name *out)
{
	for (size_t cache = 0; cache < CACHE_CNT; cache++) {
		struct event_name found;
		size_t len = strlen(caches[cache]);

		if (strncasecmp(name, caches[cache], len) ||
		    !find_result(cache, name + len, &found))
			continue;
		*out = found;
		return true;
	}
	return false;
}

bool event_name_find(const char *name, struct event_name *out)
{
	for (size_t i = 0; i < PLAIN_CNT; i++)
		if (!strcmp(plain_names[i].name, name)) {
			*out = plain_names[i];
			return true;
		}
	return find_cache(name, out);
}

bool event_name_at(size_t index, struct event_name *out)
{
	if (index < PLAIN_CNT) {
		*out = plain_names[index];
		return true;
	}
	index -= PLAIN_CNT;
	if (index >= CACHE_CNT * OPERATION_CNT * RESULT_CNT)
		return false;
	make_cache(index / (OPERATION_CNT * RESULT_CNT), index / RESULT_CNT % OPERATION_CNT,
		   index % RESULT_CNT, out);
	return true;
}

const char *event_name_class(uint32_t type)
{
	return type == PERF_TYPE_SOFTWARE ? "sw" : type == PERF_TYPE_HW_CACHE ? "cache" : "hw";
}

bool event_name_nearest(const char *typed, char out[static EVENT_NAME_MAX])
{
	struct event_name name;
	struct nearest nearest;

	nearest_init(&nearest, typed);
	for (size_t i = 0; event_name_at(i, &name); i++) {
		uint32_t before = nearest.distance;

		nearest_offer(&nearest, name.name);
		if (nearest.distance < before)
			memcpy(out, name.name, EVENT_NAME_MAX);
	}
	return nearest.best;
}
