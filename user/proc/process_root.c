/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes' roots. */
#include "proc/process_root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int process_root_open(pid_t tgid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)tgid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool process_root_is_own(int root_fd)
{
	unsigned int want = STATX_INO | STATX_MNT_ID;
	struct statx own, other;

	/* The mount as well: another mount namespace may have other things below the same root. */
	return !statx(AT_FDCWD, "/", 0, want, &own) &&
	       !statx(root_fd, "", AT_EMPTY_PATH, want, &other) &&
	       (own.stx_mask & other.stx_mask & want) == want && own.stx_ino == other.stx_ino &&
	       own.stx_mnt_id == other.stx_mnt_id;
}

size_t process_root_folder(pid_t tgid, char out[static PATH_MAX])
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/root", (int)tgid);
	len = readlink(link, out, PATH_MAX);
	if (len <= 1 || len >= PATH_MAX)
		len = 0;
	out[len] = '\0';
	return (size_t)len;
}
