/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the kernel that a kprobe can be put on. /proc/kallsyms has them all; tracefs's
 * available_filter_functions has those that the compiler made traceable, debugfs's
 * kprobes/blacklist those that must not be probed. The kernel decides in the end: this list is for
 * globs, for names that are mistyped, and for an error that says why.
 */
#ifndef BPFPROF_EVENT_KERNEL_FUNCTIONS_H
#define BPFPROF_EVENT_KERNEL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "event/event.h"

enum { KERNEL_PROBES_MAX = 100 }; /* of one event */

struct kernel_function {
	const char *name; /* borrowed from the text that it was read from */
	uint64_t ip; /* 0 where kernel.kptr_restrict hides it */
	uint32_t same_cnt; /* functions of this name */
	bool is_untraceable; /* not in available_filter_functions */
	bool is_blacklisted;
};

struct kernel_functions {
	struct kernel_function *items; /* *owned*, sorted by name */
	size_t cnt, cap;
	struct buf symbols; /* *owned*: kallsyms, its names ended with NUL */
};

/*
 * From the three files' texts; @symbols is *taken*, @traceable and @blacklist may be empty: then
 * nothing is known of that. 0, -ENOMEM.
 */
int kernel_functions_parse(struct buf *symbols, const struct buf *traceable,
			   const struct buf *blacklist, struct kernel_functions *out);

/* The same of this machine. 0 or negative errno of /proc/kallsyms. */
int kernel_functions_load(struct kernel_functions *out);
void kernel_functions_deinit(struct kernel_functions *functions);

/* NULL: none. */
const struct kernel_function *kernel_functions_find(const struct kernel_functions *functions,
						    const char *name);

/* The one most like @typed, borrowed; NULL: none is near. */
const char *kernel_functions_nearest(const struct kernel_functions *functions, const char *typed);

/* Does @glob match, and can a probe be put there by name? */
bool kernel_function_matches(const struct kernel_function *function, const char *glob);

/* event->spec to sites, by @functions. 0; negative errno with one line in @why. */
int kernel_functions_resolve(const struct kernel_functions *functions, struct event *event,
			     struct buf *why);

/* Has this kernel kprobes at all? 0; -EOPNOTSUPP with one line in @why. */
int kernel_probes_check(const struct event_spec *spec, struct buf *why);

#endif
