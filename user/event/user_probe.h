/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of programs and libraries, by name or address: where a uprobe goes. */
#ifndef BPFPROF_EVENT_USER_PROBE_H
#define BPFPROF_EVENT_USER_PROBE_H

#include "event/event.h"

/* event->spec to sites. 0; negative errno with one line in @why. */
int user_probe_resolve(struct event *event, const struct event_scope *scope, struct buf *why);

#endif
