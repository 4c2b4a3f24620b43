/* SPDX-License-Identifier: Apache-2.0 */
/* Finding tracepoints. */
#include "event/tracepoint.h"

#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "event/event_parse.h"
#include "event/kernel_fs.h"

enum { FORMAT_MAX_BYTES = 1 << 20 };

/* Its entries are the tracer's own records, which perf events do not see. */
static const char unattachable_group[] = "ftrace";

/* Names become parts of paths. */
static bool is_file_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

static int match_group(int tracefs, const char *group, const char *name_glob, struct names *out)
{
	_cleanup_free_ char *path = NULL;
	struct names names = {0};
	int err;

	if (!is_file_name(group) || !strcmp(group, unattachable_group))
		return 0;
	if (asprintf(&path, "events/%s", group) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	err = names_of(tracefs, path, 1, &names);
	if (err)
		return err == -ENOENT || err == -ENOTDIR ? 0 : err;
	for (size_t i = 0; i < names.cnt && !err; i++) {
		_cleanup_free_ char *full = NULL;

		if (fnmatch(name_glob, names.items[i], 0))
			continue;
		if (asprintf(&full, "%s:%s", group, names.items[i]) < 0)
			full = NULL;
		err = full ? names_add(out, full) : -ENOMEM;
	}
	names_deinit(&names);
	return err;
}

int tracepoints_match(int tracefs, const char *group_glob, const char *name_glob, struct names *out)
{
	struct names groups = {0};
	int err;

	if (!event_is_glob(group_glob))
		return match_group(tracefs, group_glob, name_glob, out);
	err = names_of(tracefs, "events", 1, &groups);
	for (size_t i = 0; i < groups.cnt && !err; i++)
		if (!fnmatch(group_glob, groups.items[i], 0))
			err = match_group(tracefs, groups.items[i], name_glob, out);
	names_deinit(&groups);
	return err;
}

int tracepoint_load(int tracefs, const char *full_name, struct tracepoint_format *out)
{
	_cleanup_(buf_deinit) struct buf text;
	_cleanup_free_ char *path = NULL;
	const char *colon = strchr(full_name, ':');
	int err;

	buf_init(&text, FORMAT_MAX_BYTES);
	if (!colon || !is_file_name(full_name) || !is_file_name(colon + 1) ||
	    memchr(full_name, '/', (size_t)(colon - full_name)))
		return -ENOENT;
	if (asprintf(&path, "events/%.*s/%s/format", (int)(colon - full_name), full_name,
		     colon + 1) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	err = kernel_fs_read(tracefs, path, &text);
	if (err)
		return err == -ENOTDIR ? -ENOENT : err;
	return tracepoint_format_parse(text.data, text.len, out);
}

/* --- Nothing found --- */

static void offer_kinds(struct nearest *nearest)
{
	for (const struct event_prefix *prefix = event_prefixes; prefix->name; prefix++)
		if (prefix->is_long)
			nearest_offer(nearest, prefix->name);
}

/* Which category, or which name of a category, was meant? */
static int explain_missing(int tracefs, const struct event_spec *spec, struct buf *why)
{
	struct names groups = {0}, all = {0};
	struct nearest nearest;
	bool has_group;

	if (event_is_glob(spec->group) || event_is_glob(spec->name)) {
		event_bad(spec, why, "no tracepoint matches (see bpfprof list 'CATEGORY:*')");
		return -ENOENT;
	}
	tracepoints_match(tracefs, spec->group, "*", &all);
	has_group = all.cnt;
	nearest_init(&nearest, has_group ? spec->name : spec->group);
	for (size_t i = 0; i < all.cnt; i++)
		nearest_offer(&nearest, strchr(all.items[i], ':') + 1);
	if (!has_group && !names_of(tracefs, "events", 1, &groups))
		for (size_t i = 0; i < groups.cnt; i++)
			nearest_offer(&nearest, groups.items[i]);
	if (!has_group)
		offer_kinds(&nearest);
	if (nearest.best && has_group)
		event_bad(spec, why, "no such tracepoint (did you mean '%s:%s'?)", spec->group,
			  nearest.best);
	else if (nearest.best)
		event_bad(spec, why, "no tracepoint category '%s' (did you mean '%s:'?)",
			  spec->group, nearest.best);
	else if (has_group)
		event_bad(spec, why, "no such tracepoint (see bpfprof list '%s:*')", spec->group);
	else
		event_bad(spec, why, "no tracepoint category '%s' (see bpfprof list)", spec->group);
	names_deinit(&groups);
	names_deinit(&all);
	return -ENOENT;
}

static int explain_many(const struct event_spec *spec, size_t cnt, struct buf *why)
{
	bool is_enter = !strncmp(spec->name, "sys_enter_", 10);
	bool is_syscalls = !strcmp(spec->group, "syscalls");

	event_bad(spec, why,
		  "%zu tracepoints match, %d are the most for one event, as each is a further "
		  "attachment%s%s",
		  cnt, TRACEPOINTS_MAX, is_syscalls ? " (for all system calls: raw_syscalls:" : "",
		  !is_syscalls ? ""
		  : is_enter   ? "sys_enter)"
			       : "sys_exit)");
	return -E2BIG;
}

/* --- Resolving --- */

/* @name is one more of the event's; @format is what all before it share. */
static int add_match(struct event *event, int tracefs, const char *name,
		     struct tracepoint_format *shared)
{
	struct tracepoint_format format;
	int err = tracepoint_load(tracefs, name, &format);

	err = err ? err
		  : array_reserve(&event->tracepoint_ids, &event->tracepoint_cap,
				  event->tracepoint_cnt + 1, sizeof(*event->tracepoint_ids));
	if (err)
		return err;
	event->tracepoint_ids[event->tracepoint_cnt++] = format.id;
	if (event->tracepoint_cnt == 1) {
		*shared = format;
		return 0;
	}
	tracepoint_format_intersect(shared, &format);
	tracepoint_format_deinit(&format);
	return 0;
}

static int add_matches(struct event *event, int tracefs, const struct names *names, struct buf *why)
{
	struct tracepoint_format shared = {0};
	int err = 0;

	for (size_t i = 0; i < names->cnt && !err; i++) {
		err = add_match(event, tracefs, names->items[i], &shared);
		if (err == -ENOENT && names->cnt == 1)
			event_bad(&event->spec, why, "nothing can be attached to '%s'",
				  names->items[i]);
		else if (err)
			event_bad(&event->spec, why, "format of '%s': %s", names->items[i],
				  strerror(-err));
	}
	event->fields = shared.fields;
	event->field_cnt = shared.cnt;
	event->field_cap = shared.cap;
	return err;
}

int tracepoint_resolve(struct event *event, struct buf *why)
{
	const struct event_spec *spec = &event->spec;
	_cleanup_close_ int tracefs = -1;
	struct names names = {0};
	int err;

	tracefs = kernel_fs_tracefs(why);
	if (tracefs < 0)
		return tracefs;
	err = tracepoints_match(tracefs, spec->group, spec->name, &names);
	if (err)
		event_bad(spec, why, "tracefs: %s", strerror(-err));
	else if (!names.cnt)
		err = explain_missing(tracefs, spec, why);
	else if (names.cnt > TRACEPOINTS_MAX)
		err = explain_many(spec, names.cnt, why);
	else
		err = add_matches(event, tracefs, &names, why);
	names_deinit(&names);
	if (err)
		return err;
	event->type = PERF_TYPE_TRACEPOINT;
	event->config = event->tracepoint_ids[0];
	return 0;
}
