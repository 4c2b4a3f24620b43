/* SPDX-License-Identifier: Apache-2.0 */
/* What is made from an option table beside parsing: --help, a man page's section, the words of the
 * shell completion. All append to a buf and never fail otherwise than by buf->err. */
#ifndef BPFPROF_CLI_OPTS_HELP_H
#define BPFPROF_CLI_OPTS_HELP_H

#include "cli/opts.h"

/* The text of `bpfprof COMMAND --help`: usage, options by group, examples. */
void opts_help(const struct opts_spec *spec, struct buf *out);

/* A subsection of man(7) macros: usage, details, one .TP per option, examples. */
void opts_man(const struct opts_spec *spec, struct buf *out);

/* @text with what troff would take for a request or an escape made harmless. */
void opts_man_text(const char *text, struct buf *out);

/* Every spelling of every option, separated by spaces: what completes a word that begins with '-'.
 */
void opts_bash_words(const struct opts_spec *spec, struct buf *out);

/* Branches of `case "$command:$previous"` that fill COMPREPLY with the values of options. */
void opts_bash_values(const struct opts_spec *spec, struct buf *out);

#endif
