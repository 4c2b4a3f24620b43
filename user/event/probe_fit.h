/* SPDX-License-Identifier: Apache-2.0 */
/* From where a probe is asked for to where it is put: safe, and as cheap as may be. */
#ifndef BPFPROF_EVENT_PROBE_FIT_H
#define BPFPROF_EVENT_PROBE_FIT_H

#include "event/event.h"
#include "event/probe_image.h"

/*
 * Check @site, which is at @vaddr of @image, and move it, where it is a function's entry, to the
 * first cheap instruction that every call passes with its stack pointer and its arguments as they
 * were (x86-64); sets its cost. What was done is logged at debug level. 0; -EINVAL, -EOPNOTSUPP:
 * no probe may be there, with one line in @why; -ENOMEM. The first call reads all symbols.
 */
int probe_fit(struct probe_image *image, struct event_site *site, uint64_t vaddr, struct buf *why);

#endif
