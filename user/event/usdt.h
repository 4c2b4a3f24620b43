/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usdt:PATH:PROVIDER:NAME: the nops that sys/sdt.h has left in a program (elf/usdt_notes.h). A
 * probe may be in several places, each with its arguments somewhere else. Provider and name may be
 * globs.
 */
#ifndef BPFPROF_EVENT_USDT_H
#define BPFPROF_EVENT_USDT_H

#include "event/event.h"

/*
 * Fill the sites of @event (kind EVENT_USDT) from its spec, usdt_args and semaphore_off included.
 * 0; -ENOENT, -EINVAL, -E2BIG (more than 256 places), -EACCES, -ESRCH, -ENOMEM with one line in
 * @why that begins with the spec's text.
 */
int usdt_resolve(struct event *event, const struct event_scope *scope, struct buf *why);

/* Called for each place of a probe; a non-zero result ends the walk. */
typedef int usdt_name_fn(void *arg, const char *provider, const char *name);

/* The probes of @path that fit, in the order of its notes: one that is in several places as many
 * times. 0; what @fn returned; as above. */
int usdt_list(const char *path, const char *provider, const char *name, pid_t tgid,
	      usdt_name_fn *fn, void *arg, struct buf *why);

#endif
