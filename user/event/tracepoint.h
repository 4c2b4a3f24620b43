/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints by name or glob, from tracefs's folder events/CATEGORY/NAME. */
#ifndef BPFPROF_EVENT_TRACEPOINT_H
#define BPFPROF_EVENT_TRACEPOINT_H

#include <stddef.h>

#include "event/event.h"
#include "event/names_of.h"
#include "event/tracepoint_format.h"

/* One event is at most so many tracepoints: each is an attachment of its own. */
enum { TRACEPOINTS_MAX = 64 };

/*
 * "CATEGORY:NAME" of every tracepoint that the two globs match, sorted, added to @out. 0 (also when
 * there is none) or negative errno.
 */
int tracepoints_match(int tracefs, const char *group_glob, const char *name_glob,
		      struct names *out);

/* The format of "CATEGORY:NAME". -ENOENT: there is none, or it cannot be attached to. */
int tracepoint_load(int tracefs, const char *full_name, struct tracepoint_format *out);

/*
 * event->spec's group and name to type, config, tracepoint_ids and fields. 0; negative errno with
 * one line in @why.
 */
int tracepoint_resolve(struct event *event, struct buf *why);

/* Does @text hold what makes it a glob? */
static inline bool event_is_glob(const char *text)
{
	for (; *text; text++)
		if (*text == '*' || *text == '?' || *text == '[')
			return true;
	return false;
}

#endif
