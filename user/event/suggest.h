/* SPDX-License-Identifier: Apache-2.0 */
/* The up to three names nearest to a mistyped one. */
#ifndef BPFPROF_EVENT_SUGGEST_H
#define BPFPROF_EVENT_SUGGEST_H

#include "base/buf.h"
#include "base/nearest.h"

enum { SUGGEST_CNT = 3 };

struct suggest {
	struct nearest places[SUGGEST_CNT]; /* nearest first; each best is *owned* */
};

/* @typed is borrowed. */
void suggest_init(struct suggest *suggest, const char *typed);
void suggest_deinit(struct suggest *suggest);

/* @name is copied if it is one of the nearest so far. */
void suggest_offer(struct suggest *suggest, const char *name);

/* Append "; near it: a, b, c", or nothing when no name is near. */
void suggest_print(const struct suggest *suggest, struct buf *out);

#endif
