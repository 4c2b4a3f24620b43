/* SPDX-License-Identifier: Apache-2.0 */
/* --open: what was written, in the browser of who called us. */
#ifndef BPFPROF_CLI_VIEWER_H
#define BPFPROF_CLI_VIEWER_H

#include <stdbool.h>

/* Is a file called @path one that browsers show (.html, .svg)? */
bool viewer_can_show(const char *path);

/*
 * Hand @path to xdg-open, as $SUDO_UID where we are root through sudo, without waiting for it.
 * NULL: nothing was written that can be shown. What does not work is one log_warn(), for the file
 * is there.
 */
void viewer_show(const char *path);

#endif
