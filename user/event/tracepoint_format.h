/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tracepoint's format file: its number and the fields of its record. The kernel writes one line a
 * field,
 *
 *	field:char comm[16];	offset:8;	size:16;	signed:0;
 *	field:__data_loc char[] filename;	offset:8;	size:4;	signed:0;
 *
 * in the words of the source that defined the tracepoint.
 */
#ifndef BPFPROF_EVENT_TRACEPOINT_FORMAT_H
#define BPFPROF_EVENT_TRACEPOINT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct tracepoint_format {
	uint64_t id;
	struct event_field *fields; /* *owned*; without those that all tracepoints have (common_*):
				       programs cannot read them */
	size_t cnt, cap;
};

/* 0; -EBADMSG: @text is no format file; -ENOMEM. Lines that are not understood are left out. */
int tracepoint_format_parse(const char *text, size_t len, struct tracepoint_format *out);
void tracepoint_format_deinit(struct tracepoint_format *format);

/* Remove the fields that @other does not have, alike and at the same place. */
void tracepoint_format_intersect(struct tracepoint_format *format,
				 const struct tracepoint_format *other);

#endif
