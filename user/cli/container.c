/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a container's id to its control group. Runtimes disagree on everything but this: the folder
 * is named after the id, alone (docker and containerd on cgroupfs) or between a prefix and ".scope"
 * (docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, crio-ID.scope). Asking each runtime
 * would take its socket; reading the tree takes nothing.
 */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/record.h"

enum {
	ID_MIN = 4 /* shorter beginnings match by accident */
};

/* Does the folder @name belong to the container whose id begins with @id? A helper's scope
 * (libpod-conmon-ID.scope) does not count: its folder holds none of the container's processes. */
static bool is_container(const char *name, const char *id)
{
	size_t id_len = strlen(id);
	const char *dash;

	if (!strncmp(name, id, id_len))
		return true;
	if (strstr(name, "-conmon-"))
		return false;
	dash = strrchr(name, '-');
	return dash && !strncmp(dash + 1, id, id_len);
}

static void close_fts(FTS **fts)
{
	if (*fts)
		fts_close(*fts);
}

/* The one folder that matches: 0 and *@out (owned), -ENOENT, -ENOTUNIQ and *@out one of them, or
 * another negative errno. */
static int find_folder(const char *root, const char *id, char **out)
{
	char *const roots[] = {(char *)root, NULL};
	_cleanup_(close_fts) FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	char *found = NULL;
	FTSENT *entry;

	if (!fts)
		return -errno;
	while ((entry = fts_read(fts))) {
		if (entry->fts_info != FTS_D || !is_container(entry->fts_name, id))
			continue;
		/* What a container makes inside its own group is part of it. */
		fts_set(fts, entry, FTS_SKIP);
		if (found) {
			*out = found;
			return -ENOTUNIQ;
		}
		found = strdup(entry->fts_path);
		if (!found)
			return -ENOMEM;
	}
	*out = found;
	return found ? 0 : -ENOENT;
}

char *container_cgroup(const char *id)
{
	const char *root = cgroup_root();
	_cleanup_free_ char *path = NULL;
	int err = -EINVAL;

	if (strlen(id) >= ID_MIN && strspn(id, "0123456789abcdef") == strlen(id))
		err = find_folder(root, id, &path);
	if (!err)
		return take_ptr(path);
	if (err == -EINVAL)
		log_error("container '%s' (--container): give %d or more hexadecimal digits of "
			  "its id",
			  id, ID_MIN);
	else if (err == -ENOENT)
		log_error("no container '%s' (--container): no control group of that name under "
			  "%s",
			  id, root);
	else if (err == -ENOTUNIQ)
		log_error("several containers begin with '%s' (--container): give more of the id",
			  id);
	else
		log_error("container '%s' (--container): %s", id, strerror(-err));
	errno = -err;
	return NULL;
}
