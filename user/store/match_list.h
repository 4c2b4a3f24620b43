/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on labels as text: "service=web*,host=a". */
#ifndef BPFPROF_STORE_MATCH_LIST_H
#define BPFPROF_STORE_MATCH_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "store/store.h"

enum { MATCHES_MAX = 64 /* in one list */ };

struct match_list {
	struct store_match *items; /* owned, with the texts in it */
	size_t cnt, cap;
};

/* The value of label @key, NULL: there is none. */
typedef const char *match_value_fn(void *arg, const char *key);

/* Are the @cnt conditions @where true of the labels that @value tells? */
bool match_labels(const struct store_match *where, size_t cnt, match_value_fn *value, void *arg);

/*
 * Add the conditions of @text to @list: KEY=GLOB, more of them behind commas. A comma that belongs
 * to a pattern has a backslash before it; "KEY=" is what has no such label. 0; -EINVAL (not of this
 * form) or -E2BIG (more than MATCHES_MAX) with what is wrong in @why; -ENOMEM.
 */
int match_list_parse(struct match_list *list, const char *text, struct buf *why);
void match_list_deinit(struct match_list *list);

#endif
