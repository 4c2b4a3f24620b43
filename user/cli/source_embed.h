/* SPDX-License-Identifier: Apache-2.0 */
/* --embed-source: the source lines that a report shows beside what they cost. */
#ifndef BPFPROF_CLI_SOURCE_EMBED_H
#define BPFPROF_CLI_SOURCE_EMBED_H

#include "base/buf.h"
#include "profile/profile.h"

/*
 * Append the lines that @prof has something of, with some around them, as JSON (encoder_opts):
 *
 *	{ "files": [{ "file": "/src/parse.c", "first": [12, 40], "lines": [["...", ...], [...]] }] }
 *
 * `lines` are runs of lines, from the line in `first` on. Read from regular files of this host;
 * what comes from elsewhere is left out, and as root what not everybody may read, for a program
 * says itself which its source is. Bounded: 4 MiB in all, lines of 400 bytes. What was left out is
 * told by log_warn(). 0 or -ENOMEM.
 */
int source_embed(const struct profile *prof, struct buf *out);

#endif
