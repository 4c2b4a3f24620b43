/* SPDX-License-Identifier: Apache-2.0 */
/* From a profile that was read to the files that were asked for. */
#include "cli/rendering.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/source_embed.h"

uint32_t profile_pick_value(const struct profile *prof, const char *name)
{
	_cleanup_(buf_deinit) struct buf known;
	uint32_t value = name ? profile_find_value(prof, name) : prof->default_value;

	buf_init(&known, BUF_NO_MAX);
	if (value < prof->value_type_cnt)
		return value;
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		buf_printf(&known, "%s%s", i ? ", " : "",
			   profile_str(prof, prof->value_types[i].type));
	if (prof->value_type_cnt)
		log_error("no value '%s' (--value); there are: %s", name ? name : "",
			  buf_cstr(&known));
	else
		log_error("the profile has no values");
	return PROFILE_NONE;
}

int rendering_name(const struct rendering *render, size_t inputs_cnt, const char *verb,
		   struct output_set *set, struct buf *why)
{
	int err = 0;

	if (!inputs_cnt) {
		buf_printf(why, "no FILE to %s", verb);
		return -EINVAL;
	}
	if (!render->outputs.cnt) {
		buf_add_str(why, "no output named (-o OUT)");
		return -EINVAL;
	}
	set->force = render->force;
	for (size_t i = 0; i < render->outputs.cnt && !err; i++)
		err = output_set_add(set, render->outputs.items[i], why);
	return err;
}

int rendering_open(const struct rendering *render, struct output_set *set,
		   const struct profile *prof, uint32_t *value)
{
	struct output_naming naming = {.window = 1};
	int err;

	*value = profile_pick_value(prof, render->value);
	if (*value == (uint32_t)PROFILE_NONE)
		return -EINVAL;
	naming.utc_ns = prof->time_ns ? prof->time_ns : clock_realtime_ns();
	err = output_set_open(set, &naming);
	if (!err)
		err = output_set_resolve(set, &naming, prof,
					 render->value ? *value : (uint32_t)PROFILE_NONE);
	return err;
}

int rendering_write(const struct rendering *render, struct output_set *set,
		    const struct profile *prof, uint32_t value, struct viewer *viewer)
{
	_cleanup_(buf_deinit) struct buf ledger_line, sources;
	struct encoder_opts how = {
		.value = value,
		.by = render->by,
		.annotate = render->annotate,
		.title = render->title,
		.subtitle = render->subtitle,
		.calls = render->calls,
	};
	int err;

	buf_init(&ledger_line, BUF_NO_MAX);
	if (profile_format_ledger(prof, &ledger_line))
		how.ledger_line = buf_cstr(&ledger_line);
	if (render->ledger_line)
		how.ledger_line = render->ledger_line;
	buf_init(&sources, BUF_NO_MAX);
	if (render->embed_source && !source_embed(prof, &sources))
		how.sources = buf_cstr(&sources);
	err = output_set_write(set, prof, &how);
	if (!err)
		viewer_show(viewer, set->first_page);
	return err;
}
