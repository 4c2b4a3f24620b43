/* SPDX-License-Identifier: Apache-2.0 */
/* What frames are called, in every format: bytes as recorded, to be cleaned by who writes them. */
#ifndef BPFPROF_ENCODE_FRAME_NAME_H
#define BPFPROF_ENCODE_FRAME_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"

/* The part of a mapping's path that tells a reader which module it is: "libc.so.6", without
 * " (deleted)" and without brackets around it. Borrowed from @path, *@len_out bytes. */
const char *frame_module(const char *path, size_t *len_out);

/* Append the name of line @line (0 = innermost) of @location: its function's, or
 * "[libc.so.6+0x1234]" where there is none. */
void frame_add_name(const struct profile *prof, uint32_t location, uint32_t line, struct buf *out);

/*
 * Append the frame under the root for @label_set: the values of its labels in the comma list @by
 * (NULL: comm), joined by '-', "?" where all are empty. False where it has none of them: there is
 * no such frame then.
 */
bool frame_add_process(const struct profile *prof, uint32_t label_set, const char *by,
		       struct buf *out);

#endif
