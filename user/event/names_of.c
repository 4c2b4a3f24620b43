/* SPDX-License-Identifier: Apache-2.0 */
/* Reading folders of sysfs and tracefs. */
#include "event/names_of.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

enum { NAMES_MAX = 100000 };

int names_add(struct names *names, const char *name)
{
	char *copy;

	if (array_reserve(&names->items, &names->cap, names->cnt + 1, sizeof(*names->items)))
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	names->items[names->cnt++] = copy;
	return 0;
}

void names_deinit(struct names *names)
{
	for (size_t i = 0; i < names->cnt; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct names){0};
}

static int compare(const void *one, const void *two)
{
	return strcmp(*(char *const *)one, *(char *const *)two);
}

static int read_names(DIR *folder, int folders, struct names *out)
{
	const struct dirent *entry;
	int err = 0;

	while (!err && (entry = readdir(folder))) {
		/* sysfs has links to folders. */
		if (entry->d_name[0] == '.' || (folders && entry->d_type == DT_REG))
			continue;
		err = out->cnt < NAMES_MAX ? names_add(out, entry->d_name) : -E2BIG;
	}
	return err;
}

int names_of(int dir, const char *path, int folders, struct names *out)
{
	struct names names = {0};
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	err = read_names(folder, folders, &names);
	closedir(folder);
	if (err) {
		names_deinit(&names);
		return err;
	}
	if (names.cnt)
		qsort(names.items, names.cnt, sizeof(*names.items), compare);
	*out = names;
	return 0;
}
