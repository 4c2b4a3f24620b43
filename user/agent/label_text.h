/* SPDX-License-Identifier: Apache-2.0 */
/* Words of others (names of cgroups, a process' environment) as values of labels. */
#ifndef BPFPROF_AGENT_LABEL_TEXT_H
#define BPFPROF_AGENT_LABEL_TEXT_H

#include <stddef.h>

/* KEY=VALUE that every sample gets; borrowed. */
struct fixed_label {
	const char *key, *value;
};

/*
 * @len bytes of @src into @dst of @size: cut between two UTF-8 characters where they do not fit,
 * control bytes and what is no UTF-8 as '?', always NUL-terminated.
 */
void label_copy(char *dst, size_t size, const char *src, size_t len);

#endif
