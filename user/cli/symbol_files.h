/* SPDX-License-Identifier: Apache-2.0 */
/* Files for names of what was recorded elsewhere: folders, and servers that are waited for. */
#ifndef BPFPROF_CLI_SYMBOL_FILES_H
#define BPFPROF_CLI_SYMBOL_FILES_H

#include "cli/debug_dirs.h"
#include "symbol/symbolizer.h"

/* @dirs (borrowed for the life of @out), and the servers of $DEBUGINFOD_URLS where it is set:
 * out->debuginfod is *owned* (debuginfod_stop()). 0, or negative errno after log_error(). */
int symbol_files_open(const struct debug_dirs *dirs, struct symbol_sources *out);

/* Wait, visibly, until every file that was asked for has come or not; each server has its own limit
 * ($DEBUGINFOD_TIMEOUT). */
void symbol_files_wait(struct debuginfod *client);

#endif
