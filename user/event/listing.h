/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every event that opens on this machine. Each counter is really tried; tracepoints are those that
 * the kernel names, when the first of them opens. Functions are listed only when a glob asks for
 * them, as there are tens of thousands.
 */
#ifndef BPFPROF_EVENT_LISTING_H
#define BPFPROF_EVENT_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "event/event.h"

struct listed_event {
	char *name; /* *owned*: as -e takes it */
	const char *kind; /* "hw", "sw", "cache", "pmu", "tracepoint", "kprobe", ... */
};

struct listing {
	struct listed_event *items; /* *owned* */
	size_t cnt, cap;
};

/*
 * What @glob (NULL: all) matches: a name as it is listed, its kind ("sw"), or a function behind a
 * probe's prefix ("kprobe:vfs_*"); plain text matches as a part of names. 0; -ENOENT: nothing does;
 * other negative errno; each with one line in @why.
 */
int listing_make(const char *glob, struct listing *out, struct buf *why);
void listing_deinit(struct listing *listing);

/* Append a row to @listing; @name is copied, @kind borrowed for ever. 0 or -ENOMEM. */
int listing_add(struct listing *listing, const char *name, const char *kind);

/* One line for each field of tracepoint @name: "    char[16] comm". 0 or negative errno. */
int listing_fields(int tracefs, const char *name, struct buf *out);

#endif
