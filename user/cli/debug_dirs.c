/* SPDX-License-Identifier: Apache-2.0 */
/* What --debug-dir names must be there: a mistyped one would look like missing symbols. */
#include "cli/debug_dirs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"

static int resolve(const char *arg, const char **out)
{
	char *path = realpath(arg, NULL);
	struct stat st;
	int err = 0;

	if (!path || stat(path, &st))
		err = -errno;
	else if (!S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (err) {
		log_error("option '--debug-dir': '%s': %s", arg, strerror(-err));
		free(path);
		return err;
	}
	*out = path;
	return 0;
}

int debug_dirs_init(struct debug_dirs *dirs, const struct opts_list *args)
{
	int err = 0;

	dirs->items = calloc(args->cnt + 1, sizeof(*dirs->items));
	if (!dirs->items) {
		log_error("debug folders: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (size_t i = 0; i < args->cnt && !err; i++)
		err = resolve(args->items[i], &dirs->items[i]);
	return err;
}

void debug_dirs_deinit(struct debug_dirs *dirs)
{
	for (const char **item = dirs->items; item && *item; item++)
		free((void *)*item);
	free(dirs->items);
	dirs->items = NULL;
}
