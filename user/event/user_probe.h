/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uprobe:PATH:SYM and uretprobe:PATH:SYM: the places in a file that they mean. PATH is explained in
 * target_file.h.
 *
 *	malloc, malloc+4	each function of that symbol, also several local ones
 *	net::Server::accept	a C++ function, where only one list of parameters exists
 *	0x1234			a virtual address in the file, as nm and objdump show it
 *	str*			each function symbol that fits, at most 256 places; no labels, and
 *				no parts of functions (f.cold)
 *	strlen			an indirect function (ifunc.h): the code that it stands for
 *
 * A return probe replaces the return address that is at the top of the stack when it is hit, and
 * puts the right one back later. So it is refused where there is none (in the midst of a function,
 * _start), and where somebody else looks at it: setjmp() keeps it, Go's runtime reads it when it
 * moves a stack, and both end in a crash.
 */
#ifndef BPFPROF_EVENT_USER_PROBE_H
#define BPFPROF_EVENT_USER_PROBE_H

#include "event/event.h"

/*
 * Fill the sites of @event (kind EVENT_UPROBE or EVENT_URETPROBE) from its spec. 0; -ENOENT,
 * -EINVAL, -E2BIG (more than 256 places), -EACCES, -ESRCH, -ENOMEM with one line in @why that
 * begins with the spec's text. What an indirect function stands for is logged. Reads the file's
 * symbols, 10 ms for 100,000.
 */
int user_probe_resolve(struct event *event, const struct event_scope *scope, struct buf *why);

/* Called for each name; a non-zero result ends the walk. */
typedef int probe_name_fn(void *arg, const char *name);

/* The functions of @path that fit @glob, in the order of their addresses. 0; what @fn returned; as
 * above. */
int user_probe_list(const char *path, const char *glob, pid_t tgid, probe_name_fn *fn, void *arg,
		    struct buf *why);

#endif
