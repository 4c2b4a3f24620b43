/* SPDX-License-Identifier: Apache-2.0 */
/* The list of formats that are written, and how a file's name chooses among them. */
#include "encode/encoder.h"

#include <errno.h>
#include <string.h>

static const struct encoder *const encoders[] = {
	&encoder_svg,
	&encoder_folded,
	&encoder_pprof,
	&encoder_massif,
	&encoder_speedscope,
	&encoder_json,
	&encoder_callgrind,
	&encoder_dot,
	&encoder_perf_script,
	&encoder_html,
	&encoder_pgo,
	&encoder_autofdo,
	NULL,
};

const struct encoder *const *encoder_list(void)
{
	return encoders;
}

static bool has_extension(const char *path, const char *extension)
{
	size_t path_len = strlen(path), len = strlen(extension);

	return path_len > len && !strcmp(path + path_len - len, extension);
}

const struct encoder *encoder_for_path(const char *path)
{
	const struct encoder *best = NULL;

	if (!strcmp(path, "-"))
		return &encoder_folded;
	for (const struct encoder *const *encoder = encoders; *encoder; encoder++) {
		if (has_extension(path, (*encoder)->extension) &&
		    (!best || strlen((*encoder)->extension) > strlen(best->extension)))
			best = *encoder;
	}
	return best;
}

int encoder_pick_value(const struct profile *prof, const struct encoder_opts *opts, uint32_t *out)
{
	uint32_t value = opts->value == PROFILE_NONE ? prof->default_value : opts->value;

	if (!prof->value_type_cnt && !prof->sample_cnt)
		value = PROFILE_NONE;
	else if (value >= prof->value_type_cnt)
		return -EINVAL;
	*out = value;
	return 0;
}
