/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as input of a command: read, decoded, merged. */
#ifndef BPFPROF_CLI_INPUTS_H
#define BPFPROF_CLI_INPUTS_H

#include "cli/opts.h"
#include "profile/profile.h"

/*
 * Read all @paths ("-": standard input) and merge them into @out, which the call initialises. 0, or
 * negative errno after log_error() that names the file; @out must be deinitialised in either case.
 */
int inputs_load(const struct opts_list *paths, struct profile *out);

#endif
