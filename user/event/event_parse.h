/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of event_parse() (event.h): the prefixes that name a kind, one event without the list
 * around it, and what stands behind an event in slashes and after a colon.
 */
#ifndef BPFPROF_EVENT_EVENT_PARSE_H
#define BPFPROF_EVENT_EVENT_PARSE_H

#include "event/event.h"

struct event_prefix {
	const char *name; /* "uprobe"; NULL ends the table */
	enum event_kind kind;
	bool is_long; /* the form that messages use; the others are bpftrace's and perf's letters */
};

extern const struct event_prefix event_prefixes[];

/* The kind's own word: "kprobe"; "counter" for those without a prefix. */
const char *event_kind_name(enum event_kind kind);

/* The prefix that @text of @len bytes begins with, its colon included in *@prefix_len; NULL: none.
 */
const struct event_prefix *event_prefix_find(const char *text, size_t len, size_t *prefix_len);

/* Parse @text, an event without a list around it. As event_parse(); @out is *owned*. */
int event_parse_one(const char *text, size_t len, struct event_spec *out, struct buf *why);

/* "event 'TEXT': ..." into @why. -EINVAL. */
int event_bad(const struct event_spec *spec, struct buf *why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The terms between the slashes: freq=N and period=N go to @spec, all others to spec->name where
 * @is_pmu, and are refused elsewhere. 0, -EINVAL with @why, -ENOMEM.
 */
int event_parse_terms(struct event_spec *spec, const char *terms, bool is_pmu, struct buf *why);

/* The letters behind an event. 0, or -EINVAL with @why. */
int event_parse_modifiers(struct event_spec *spec, const char *letters, struct buf *why);

/* Only letters that perf has as modifiers, and at least one? */
bool event_is_modifiers(const char *text);

#endif
