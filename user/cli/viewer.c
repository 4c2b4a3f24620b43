/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/viewer.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

bool viewer_can_show(const char *path)
{
	const char *extension = strrchr(path, '.');

	return extension && (!strcmp(extension, ".html") || !strcmp(extension, ".svg"));
}

void viewer_init(struct viewer *viewer, bool is_wanted)
{
	char path[PATH_MAX] = "";
	char *argv[] = {"xdg-open", path, NULL};

	*viewer = (struct viewer){.is_wanted = is_wanted, .command = {.go_fd = -1, .exec_fd = -1}};
	if (is_wanted)
		viewer->err = command_prepare(&viewer->command, argv, path);
}

void viewer_show(struct viewer *viewer, const char *path)
{
	/* Absolute, so that no name looks like an option. */
	_cleanup_free_ char *full = viewer->is_wanted && path ? realpath(path, NULL) : NULL;
	int err = viewer->err;

	if (!viewer->is_wanted)
		return;
	if (!path) {
		log_warn("--open: neither .html nor .svg was written");
		return;
	}
	if (!err)
		err = full ? command_launch(&viewer->command, full) : -errno;
	if (full && err == -ENOENT)
		log_warn("--open: there is no xdg-open (package xdg-utils): open '%s' yourself",
			 path);
	else if (err)
		log_warn("--open: xdg-open cannot be run (%s): open '%s' yourself", strerror(-err),
			 path);
}

void viewer_deinit(struct viewer *viewer)
{
	if (viewer->is_wanted)
		command_abandon(&viewer->command);
	viewer->is_wanted = false;
}
