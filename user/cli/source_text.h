/* SPDX-License-Identifier: Apache-2.0 */
/* Source files on this host. */
#ifndef BPFPROF_CLI_SOURCE_TEXT_H
#define BPFPROF_CLI_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A source file's lines. */
struct source_text {
	struct buf text; /* its newlines are NULs */
	size_t *lines; /* owned: where each begins; the first is line 1 */
	size_t cnt, cap;
};

/* Open @path if it is a regular file: an absolute one, or one from here and not out of it. The
 * descriptor (owned) or a negative errno. */
int source_text_open(const char *path);

/* The lines of @fd, at most 16 MiB. 0, or a negative errno (-EFBIG, -ENOENT: it is empty, -ENOMEM);
 * source_text_deinit() in either case. */
int source_text_load(int fd, struct source_text *out);

/* Both. 0; -ENOENT with the reason in @why; -ENOMEM; source_text_deinit() in either case. */
int source_text_read(const char *path, struct source_text *out, struct buf *why);
void source_text_deinit(struct source_text *source);

/* Line @nr, tabs expanded by 8, or "" beyond the end, appended to @out. */
void source_text_line(const struct source_text *source, uint64_t nr, struct buf *out);

#endif
