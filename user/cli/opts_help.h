/* SPDX-License-Identifier: Apache-2.0 */
/* What a person reads of an option table: --help, a man page's section. All append to a buf and
 * never fail otherwise than by buf->err. */
#ifndef BPFPROF_CLI_OPTS_HELP_H
#define BPFPROF_CLI_OPTS_HELP_H

#include "cli/opts.h"

/* The text of `bpfprof COMMAND --help`: usage, options by group, examples. */
void opts_help(const struct opts_spec *spec, struct buf *out);

/* A subsection of man(7) macros: usage, details, one .TP per option, examples. */
void opts_man(const struct opts_spec *spec, struct buf *out);

/* @text with what troff would take for a request or an escape made harmless. */
void opts_man_text(const char *text, struct buf *out);

#endif
