/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/viewer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "capture/command.h"

bool viewer_can_show(const char *path)
{
	const char *extension = strrchr(path, '.');

	return extension && (!strcmp(extension, ".html") || !strcmp(extension, ".svg"));
}

void viewer_show(const char *path)
{
	/* Absolute, so that no name looks like an option. */
	_cleanup_free_ char *full = path ? realpath(path, NULL) : NULL;
	char *argv[] = {"xdg-open", full, NULL};
	int err = full ? command_launch(argv) : -errno;

	if (!path)
		log_warn("--open: neither .html nor .svg was written");
	else if (full && err == -ENOENT)
		log_warn("--open: there is no xdg-open (package xdg-utils): open '%s' yourself",
			 path);
	else if (err)
		log_warn("--open: xdg-open cannot be run (%s): open '%s' yourself", strerror(-err),
			 path);
}
