/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `go build -pgo` reads (go.dev/doc/pgo, "Alternative sources"): pprof with the value
 * samples/count or cpu/nanoseconds, symbols with inlined calls, and the lines where functions
 * start, as lines of calls are told from there. Go's own profiles have neither kernel frames nor
 * labels: without them equal stacks are one sample, and what a thread did in the kernel is its
 * system call's.
 */
#include "encode/encoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/profile_import.h"

enum { NO_CODE = LOCATION_KERNEL | LOCATION_SYNTHETIC | LOCATION_WAKER };

/* The values that it takes, the one that is written where none is asked for first. */
static const struct {
	const char *type, *unit;
} pgo_values[] = {{"cpu", "nanoseconds"}, {"samples", "count"}};

enum { PGO_VALUE_CNT = sizeof(pgo_values) / sizeof(pgo_values[0]) };

struct pgo {
	struct profile prof; /* what is written */
	struct profile_import import;
	uint32_t value; /* of the source */
	uint32_t empty_labels;
	uint32_t *stack; /* owned: scratch */
	size_t stack_cap;
};

static void pgo_deinit(struct pgo *pgo)
{
	profile_import_deinit(&pgo->import);
	profile_deinit(&pgo->prof);
	free(pgo->stack);
}

/* The value that is written. -ENODATA: there are samples, and it is none that Go takes. */
static int take_value(struct pgo *pgo, const struct profile *src, uint32_t asked)
{
	for (size_t i = 0; i < PGO_VALUE_CNT; i++) {
		uint32_t value = profile_find_value(src, pgo_values[i].type);

		if (value == PROFILE_NONE || (asked != PROFILE_NONE && asked != value) ||
		    strcmp(profile_str(src, src->value_types[value].unit), pgo_values[i].unit) != 0)
			continue;
		pgo->value = value;
		profile_add_value_type(&pgo->prof, pgo_values[i].type, pgo_values[i].unit);
		return pgo->prof.err;
	}
	return src->sample_cnt ? -ENODATA : 0;
}

static int take_sample(struct pgo *pgo, uint32_t sample)
{
	const struct profile *src = pgo->import.src;
	const struct profile_stack *stack = &src->stacks[src->samples[sample].stack];
	int64_t value = src->values[(size_t)sample * src->value_type_cnt + pgo->value];
	size_t cnt = 0;
	int err = array_reserve(&pgo->stack, &pgo->stack_cap, stack->cnt, sizeof(*pgo->stack));

	if (err)
		return err;
	for (uint32_t i = 0; i < stack->cnt; i++) {
		uint32_t location = src->stack_locations[stack->first + i];

		if (!(src->locations[location].flags & NO_CODE))
			pgo->stack[cnt++] = profile_import_location(&pgo->import, location);
	}
	if (cnt && value > 0)
		profile_sample(&pgo->prof, profile_stack(&pgo->prof, pgo->stack, cnt),
			       pgo->empty_labels, &value);
	return pgo->prof.err;
}

static int fill(struct pgo *pgo, const struct profile *src, uint32_t asked)
{
	int err = take_value(pgo, src, asked);

	pgo->empty_labels = profile_labels(&pgo->prof, NULL, 0);
	pgo->prof.period_type.type = profile_import_string(&pgo->import, src->period_type.type);
	pgo->prof.period_type.unit = profile_import_string(&pgo->import, src->period_type.unit);
	pgo->prof.period = src->period;
	pgo->prof.time_ns = src->time_ns;
	pgo->prof.duration_ns = src->duration_ns;
	for (uint32_t i = 0; i < src->sample_cnt && !err; i++)
		err = take_sample(pgo, i);
	return err ? err : pgo->prof.err;
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	_cleanup_(pgo_deinit) struct pgo pgo = {.stack = NULL};
	int err = prof->err ? prof->err : profile_init(&pgo.prof);

	if (!err)
		err = profile_import_init(&pgo.import, &pgo.prof, prof);
	if (!err)
		err = fill(&pgo, prof, opts->value);
	return err ? err : encoder_pprof.encode(&pgo.prof, opts, out);
}

const struct encoder encoder_pgo = {
	.name = "pgo",
	.extension = ".pgo",
	.help = "for go build -pgo (default.pgo): pprof of the program's own code, without labels",
	.is_one_value = true,
	.encode = encode,
};
