/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of --debug-dir. */
#ifndef BPFPROF_CLI_DEBUG_DIRS_H
#define BPFPROF_CLI_DEBUG_DIRS_H

#include "cli/opts.h"

struct debug_dirs {
	const char **items; /* owned, and so are the strings: absolute paths; NULL-terminated */
};

#define DEBUG_DIR_HELP                                                                           \
	"repeatable: a folder with debug files, as DIR/.build-id/12/ab34....debug, or by name; " \
	"each is checked by its build-id"

/* Make @args absolute. 0, or negative errno after log_error(): one of them is no folder. */
int debug_dirs_init(struct debug_dirs *dirs, const struct opts_list *args);
void debug_dirs_deinit(struct debug_dirs *dirs);

#endif
