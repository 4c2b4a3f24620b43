/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --open: what was written, in the browser of who called us. The process that will be xdg-open is
 * made before the first foreign byte is read, because who reads those may start nothing any more
 * (base/confine.h); it waits for the name of the file.
 */
#ifndef BPFPROF_CLI_VIEWER_H
#define BPFPROF_CLI_VIEWER_H

#include <stdbool.h>

#include "capture/command.h"

struct viewer {
	bool is_wanted;
	int err; /* why it could not be made */
	struct command command; /* stopped */
};

/* Make it, if it @is_wanted. Release with viewer_deinit() in either case. */
void viewer_init(struct viewer *viewer, bool is_wanted);

/* Is a file called @path one that browsers show (.html, .svg)? */
bool viewer_can_show(const char *path);

/*
 * Hand @path to xdg-open, as $SUDO_UID where we are root through sudo, without waiting for it; once
 * at most. NULL: nothing was written that can be shown. What does not work is one log_warn(), for
 * the file is there. Nothing where it was not wanted.
 */
void viewer_show(struct viewer *viewer, const char *path);

/* What has not been shown is not. Fine on a zeroed struct. */
void viewer_deinit(struct viewer *viewer);

#endif
