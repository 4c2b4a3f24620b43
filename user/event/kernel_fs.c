/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the kernel's own file systems, or mounting them for ourselves. */
#include "event/kernel_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"

/* Numbers from libcs that know the calls; both came with Linux 5.2, as everywhere the same. */
#ifndef SYS_fsopen
enum { SYS_fsopen = 430, SYS_fsconfig = 431, SYS_fsmount = 432 };
#endif

/* @path, when a file system of type @magic is there. */
static int open_mounted(const char *path, long magic)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs info;

	if (fd < 0 || fstatfs(fd, &info))
		return -errno;
	if (info.f_type != magic)
		return -ENOENT;
	return take_fd(&fd);
}

static int mount_privately(const char *type)
{
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* Lockdown closes the files of tracefs, not the folders. */
static int check_readable(int fd)
{
	_cleanup_close_ int events = openat(fd, "events/header_page", O_RDONLY | O_CLOEXEC);

	return events < 0 ? -errno : 0;
}

static int explain(int err, struct buf *why)
{
	if (err == -ENODEV)
		buf_add_str(why, "this kernel has no tracepoints (CONFIG_FTRACE is not set): "
				 "counters such as cpu-clock and page-faults remain");
	else if (err == -ENOSYS)
		buf_add_str(why, "tracefs is not mounted: mount -t tracefs tracefs "
				 "/sys/kernel/tracing");
	else if (err == -EACCES || err == -EPERM)
		buf_printf(why,
			   "tracefs: %s: run as root; in a container it needs CAP_SYS_ADMIN, and "
			   "kernel lockdown must not be 'confidentiality'",
			   strerror(-err));
	else
		buf_printf(why, "tracefs: %s: mount -t tracefs tracefs /sys/kernel/tracing",
			   strerror(-err));
	return err;
}

int kernel_fs_tracefs(struct buf *why)
{
	_cleanup_close_ int fd = open_mounted("/sys/kernel/tracing", TRACEFS_MAGIC);
	int err;

	if (fd < 0 && fd != -EACCES)
		fd = open_mounted("/sys/kernel/debug/tracing", TRACEFS_MAGIC);
	if (fd < 0 && fd != -EACCES)
		fd = mount_privately("tracefs");
	err = fd < 0 ? fd : check_readable(fd);
	if (err == -ENOENT)
		err = -ENODEV; /* without its event files */
	return err ? explain(err, why) : take_fd(&fd);
}

int kernel_fs_debugfs(void)
{
	int fd = open_mounted("/sys/kernel/debug", DEBUGFS_MAGIC);

	return fd < 0 ? mount_privately("debugfs") : fd;
}

int kernel_fs_read(int dir, const char *path, struct buf *out)
{
	_cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);

	return fd < 0 ? -errno : fs_read_fd(fd, out);
}
