/* SPDX-License-Identifier: Apache-2.0 */
/* Labels that name calls. */
#include "profile/call_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "profile/profile_priv.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_address(const struct profile *prof, const struct profile_location *location,
			struct buf *out)
{
	const char *path = "";

	if (location->mapping != PROFILE_NONE)
		path = profile_str(prof, prof->mappings[location->mapping].path);
	buf_printf(out, "[%s+0x%llx]", base_name(path), (unsigned long long)location->address);
}

/* The call at @nr, as it is written in the source: the innermost of inlined ones. */
static void add_site(const struct profile *prof, uint32_t nr, struct buf *out)
{
	const struct profile_location *location = &prof->locations[nr];
	const struct profile_function *function;
	const struct profile_line *line;

	if (!location->line_cnt) {
		add_address(prof, location, out);
		return;
	}
	line = &prof->lines[location->first_line];
	function = &prof->functions[line->function];
	buf_add_str(out, profile_str(prof, function->name));
	if (line->line)
		buf_printf(out, " (%s:%u)", base_name(profile_str(prof, function->file)),
			   line->line);
}

/* The labels of @set and the caller of @stack. */
static uint32_t labels_with_caller(struct profile *prof, uint32_t set, uint32_t stack,
				   struct profile_label **labels, size_t *cap)
{
	const struct profile_label_set *old = &prof->label_sets[set];
	_cleanup_(buf_deinit) struct buf site;
	size_t cnt = old->cnt;

	buf_init(&site, BUF_NO_MAX);
	if (prof->stacks[stack].cnt < 2)
		buf_add_str(&site, "[unknown caller]");
	else
		add_site(prof, prof->stack_locations[prof->stacks[stack].first + 1], &site);
	if (site.err || array_reserve(labels, cap, cnt + 1, sizeof(**labels))) {
		prof->err = -ENOMEM;
		return PROFILE_NONE;
	}
	memcpy(*labels, prof->labels + old->first, cnt * sizeof(**labels));
	(*labels)[cnt] = (struct profile_label){
		.key = profile_string(prof, "caller"),
		.str = profile_string(prof, buf_cstr(&site)),
		.num_unit = profile_string(prof, ""),
	};
	return profile_labels(prof, *labels, cnt + 1);
}

int call_sites_label(struct profile *prof)
{
	_cleanup_free_ struct profile_label *labels = NULL;
	struct profile_sample *samples;
	size_t cnt, cap = 0;
	int64_t *values;

	profile_take_samples(prof, &samples, &values, &cnt);
	for (size_t i = 0; i < cnt && !prof->err; i++)
		profile_sample(prof, samples[i].stack,
			       labels_with_caller(prof, samples[i].label_set, samples[i].stack,
						  &labels, &cap),
			       values + i * prof->value_type_cnt);
	free(samples);
	free(values);
	return prof->err;
}
