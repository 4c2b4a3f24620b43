/* SPDX-License-Identifier: Apache-2.0 */
/* USDT probes, which programs carry as notes. */
#ifndef BPFPROF_EVENT_USDT_H
#define BPFPROF_EVENT_USDT_H

#include "event/event.h"

/* event->spec to sites. 0; negative errno with one line in @why. */
int usdt_resolve(struct event *event, const struct event_scope *scope, struct buf *why);

#endif
