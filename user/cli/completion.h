/* SPDX-License-Identifier: Apache-2.0 */
/* The completion of the command line in shells, from the option tables. */
#ifndef BPFPROF_CLI_COMPLETION_H
#define BPFPROF_CLI_COMPLETION_H

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/opts.h"

enum completion_shell { COMPLETION_BASH, COMPLETION_ZSH, COMPLETION_FISH };

extern const struct opt_choice completion_shells[];

/* Append the script for @shell: @commands, of which the first is the default, and @help, whose
 * operands are commands. */
void completion_add(enum completion_shell shell, const struct cli_command *commands,
		    const struct opts_spec *help, struct buf *out);

#endif
