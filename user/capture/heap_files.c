/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/heap_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "capture/capture.h"
#include "capture/heap_family.h"

void heap_files_deinit(struct heap_files *files)
{
	for (size_t i = 0; i < files->cnt; i++) {
		if (files->items[i].fd >= 0)
			close(files->items[i].fd);
		free(files->items[i].places);
	}
	free(files->items);
	*files = (struct heap_files){0};
}

/* Its places and, if it has any, a descriptor of its own: by that it is probed, in whatever mount
 * namespace it is. */
static int look(struct heap_file *file, int fd, const struct capture_heap_opts *opts)
{
	_cleanup_free_ struct heap_places *places = calloc(1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	if (heap_places_find(fd, opts->prefix, opts->maps, places) || !places->cnt)
		return 0;
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (file->fd < 0)
		return -errno;
	file->places = places;
	places = NULL;
	return 0;
}

ssize_t heap_files_find(struct heap_files *files, int fd, const char *name,
			const struct capture_heap_opts *opts)
{
	struct heap_file file = {.fd = -1};
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	for (size_t i = 0; i < files->cnt; i++)
		if (files->items[i].dev == st.st_dev && files->items[i].ino == st.st_ino)
			return (ssize_t)i;
	if (array_reserve(&files->items, &files->cap, files->cnt + 1, sizeof(*files->items)))
		return -ENOMEM;
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	snprintf(file.name, sizeof(file.name), "%s", name);
	err = look(&file, fd, opts);
	if (err)
		return err;
	files->items[files->cnt] = file;
	return (ssize_t)files->cnt++;
}
