/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as input of a command: read, decoded, merged. */
#ifndef BPFPROF_CLI_INPUTS_H
#define BPFPROF_CLI_INPUTS_H

#include "cli/opts.h"
#include "profile/profile.h"

/* What a FILE may be, for the help of the commands that read some. */
#define INPUTS_HELP                                                                       \
	"A FILE is pprof, folded text (one or two columns of counts), the text of perf\n" \
	"script, or our .json; gzipped or not. '-' is standard input."

/*
 * Read all @paths ("-": standard input) and merge them into @out, which the call initialises. 0, or
 * negative errno after log_error() that names the file; @out must be deinitialised in either case.
 */
int inputs_load(const struct opts_list *paths, struct profile *out);

#endif
