/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture of a profile is headed with. */
#include "encode/caption.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "encode/svg.h"

uint32_t caption_value(const struct profile *prof, const struct encoder_opts *opts)
{
	if (!prof->value_type_cnt)
		return PROFILE_NONE;
	return opts->value == PROFILE_NONE ? prof->default_value : opts->value;
}

/* What was sampled: "cpu-clock". */
static const char *event_name(const struct profile *prof, uint32_t value)
{
	static const char *const words[][2] = {
		{"wall", "wall time"},
		{"off_cpu", "off-CPU time"},
	};
	const char *type = "";

	if (value != PROFILE_NONE)
		type = profile_str(prof, prof->value_types[value].type);
	if ((!*type || !strcmp(type, "samples")) && *profile_str(prof, prof->period_type.type))
		type = profile_str(prof, prof->period_type.type);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(type, words[i][0]))
			return words[i][1];
	return *type ? type : "samples";
}

static void add_rate(const struct profile *prof, struct buf *out)
{
	struct svg_unit unit = svg_unit_of(profile_str(prof, prof->period_type.type),
					   profile_str(prof, prof->period_type.unit));
	uint64_t period = (uint64_t)prof->period;

	if (prof->period <= 0)
		return;
	buf_add_str(out, " \xc2\xb7 one sample per ");
	if (unit.scale == SVG_COUNT) {
		svg_add_grouped(out, period);
		buf_printf(out, " %s", unit.noun);
	} else {
		svg_add_value(out, &unit, prof->period);
	}
	if (unit.scale == SVG_TIME && period <= NSEC_PER_SEC)
		buf_printf(out, " (%" PRIu64 " Hz)",
			   (uint64_t)(NSEC_PER_SEC + period / 2) / period);
}

static void add_span(const struct profile *prof, struct buf *out)
{
	static const struct svg_unit nanoseconds = {SVG_TIME, "nanoseconds"};
	time_t start = (time_t)(prof->time_ns / NSEC_PER_SEC);
	char text[64];
	struct tm utc;

	if (prof->duration_ns && prof->duration_ns <= INT64_MAX) {
		buf_add_str(out, " \xc2\xb7 ");
		svg_add_value(out, &nanoseconds, (int64_t)prof->duration_ns);
	}
	if (start && gmtime_r(&start, &utc) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &utc))
		buf_printf(out, " \xc2\xb7 %s", text);
}

void caption_add_title(struct buf *out, const struct profile *prof, const struct encoder_opts *opts)
{
	if (opts->title)
		buf_add_str(out, opts->title);
	else
		buf_printf(out, "%s flame graph", event_name(prof, caption_value(prof, opts)));
}

void caption_add_subtitle(struct buf *out, const struct profile *prof,
			  const struct encoder_opts *opts)
{
	uint32_t value = caption_value(prof, opts);
	const char *event = event_name(prof, value);
	struct svg_unit unit = svg_unit_of("", "");

	if (opts->subtitle) {
		buf_add_str(out, opts->subtitle);
		return;
	}
	if (value != PROFILE_NONE)
		unit = svg_unit_of(profile_str(prof, prof->value_types[value].type),
				   profile_str(prof, prof->value_types[value].unit));
	buf_add_str(out, event);
	if (strcmp(unit.noun, event))
		buf_printf(out, " in %s", unit.noun);
	add_rate(prof, out);
	add_span(prof, out);
}
