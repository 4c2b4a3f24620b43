/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever owns a container owns what lies in it: its symbolic links may point anywhere and its
 * names may be FIFOs or devices. A path is therefore resolved inside its root, looked at, and only
 * then opened.
 */
#include "elf/root_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/reader.h"

/* A rename anywhere in the system makes the kernel give up on a path with ".." in it (-EAGAIN). */
enum { RESOLVE_TRIES = 16 };

/* Component by component, following nothing. A symbolic link is opened itself by O_PATH: as a
 * folder it fails with -ENOTDIR, and as a file it is no regular one. */
static int resolve_without_links(int root_fd, const char *path)
{
	_cleanup_close_ int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	struct reader rd;

	if (fd < 0)
		return -errno;
	reader_init(&rd, path, strlen(path));
	while (!reader_done(&rd)) {
		char name[NAME_MAX + 1];
		size_t len;
		const char *part = reader_until(&rd, '/', &len);
		int next;

		if (!len)
			continue;
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, part, len);
		name[len] = '\0';
		if (!strcmp(name, ".."))
			return -EXDEV;
		next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(fd);
		fd = next;
	}
	return take_fd(&fd);
}

/* @path as an O_PATH descriptor, or negative errno. @flags: O_NOFOLLOW or 0. */
static int resolve(int root_fd, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (__u64)(O_PATH | O_CLOEXEC | flags),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	for (int i = 0; i < RESOLVE_TRIES; i++) {
		long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		/* -EPERM: what older seccomp filters answer to calls that they do not know. */
		if (errno == ENOSYS || errno == EPERM)
			return resolve_without_links(root_fd, path);
		if (errno != EAGAIN)
			return -errno;
	}
	return -EAGAIN;
}

int root_file_reopen(int path_fd)
{
	char proc_path[64];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(proc_path, sizeof(proc_path), "/proc/self/fd/%d", path_fd);
	fd = open(proc_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_resolved(int root_fd, const char *path, int flags)
{
	_cleanup_close_ int path_fd = resolve(root_fd, path, flags);

	return path_fd < 0 ? path_fd : root_file_reopen(path_fd);
}

int root_file_open(int root_fd, const char *path)
{
	return open_resolved(root_fd, path, 0);
}

int root_file_open_nofollow(int root_fd, const char *path)
{
	return open_resolved(root_fd, path, O_NOFOLLOW);
}

int root_folder_open(int root_fd, const char *path)
{
	_cleanup_close_ int path_fd = resolve(root_fd, path, O_DIRECTORY);
	int fd;

	if (path_fd < 0)
		return path_fd;
	fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int root_file_stat(int root_fd, const char *path, struct stat *out)
{
	_cleanup_close_ int fd = resolve(root_fd, path, 0);

	if (fd < 0)
		return fd;
	return fstat(fd, out) ? -errno : 0;
}
