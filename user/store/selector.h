/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions on labels as Prometheus and Pyroscope write them: {service="web", host=~"db-.*"}, with
 * =, !=, =~ and !~, and texts in double quotes, single quotes or backquotes. Regular expressions
 * match whole values. They are written as for RE2 and run by regcomp(3), so that they cannot have
 * all of it: what has another meaning there, or what would take memory or time without bound
 * (counted repetition, back references, deep nesting), is refused by name.
 */
#ifndef BPFPROF_STORE_SELECTOR_H
#define BPFPROF_STORE_SELECTOR_H

#include <stddef.h>

#include "base/buf.h"
#include "store/store.h"

enum { SELECTOR_MATCHES_MAX = 32, SELECTOR_REGEX_BYTES_MAX = 256, SELECTOR_GROUPS_DEEP_MAX = 4 };

struct selector {
	struct store_match *items; /* owned, with the texts and expressions in it */
	size_t cnt, cap;
};

/*
 * Add the conditions of @text, "" or "{}" for none, to @selector (zeroed, or with some in it). 0;
 * -EINVAL with what is wrong in @why; -ENOMEM. Release with selector_deinit() in either case.
 */
int selector_parse(const char *text, struct selector *selector, struct buf *why);
void selector_deinit(struct selector *selector);

#endif
