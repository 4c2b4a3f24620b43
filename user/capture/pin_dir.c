/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of pins. */
#include "capture/pin_dir.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

static const char usual_mount[] = "/sys/fs/bpf";

/* As openat(2) a folder, but no component of @path may be a symbolic link. */
static int open_plain(int from_fd, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	int fd = (int)syscall(SYS_openat2, from_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static bool is_bpffs(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (uint32_t)fs.f_type == (uint32_t)BPF_FS_MAGIC;
}

/* The folder that @path is to be in, on a bpf file system. */
static int open_parent(const char *path, size_t len, bool may_mount)
{
	char parent[256];
	int fd;

	if (len >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, path, len);
	parent[len] = 0;
	fd = open_plain(AT_FDCWD, len ? parent : "/");
	if (fd < 0 || is_bpffs(fd))
		return fd;
	close(fd);
	if (!may_mount || strcmp(parent, usual_mount))
		return -EMEDIUMTYPE;
	if (mount("bpf", usual_mount, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return -errno;
	return open_plain(AT_FDCWD, parent);
}

/* Root's alone, and nobody else's now? */
static int check_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != 0 || (st.st_mode & 077))
		return -EPERM;
	if (!is_bpffs(fd))
		return -EMEDIUMTYPE;
	return flock(fd, LOCK_EX | LOCK_NB) ? -EBUSY : 0;
}

static int open_checked(const char *path, bool may_make)
{
	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;
	_cleanup_close_ int parent_fd = -1, fd = -1;
	int err;

	if (!slash || !slash[1])
		return -EINVAL;
	parent_fd = open_parent(path, slash - path, may_make);
	if (parent_fd < 0)
		return parent_fd;
	if (may_make && mkdirat(parent_fd, slash + 1, 0700) && errno != EEXIST)
		return -errno;
	fd = open_plain(parent_fd, slash + 1);
	err = fd < 0 ? fd : check_owner(fd);
	return err ? err : take_fd(&fd);
}

/* Of a path with a symbolic link ENOTDIR tells as well: O_NOFOLLOW with O_DIRECTORY. */
static const char *open_reason(int err)
{
	switch (err) {
	case -EINVAL:
		return "it must be an absolute path";
	case -ELOOP:
	case -ENOTDIR:
		return "it, or a folder above it, is a symbolic link or no folder: name a real one";
	case -EPERM:
		return "it must be root's and of mode 0700";
	case -EMEDIUMTYPE:
		return "it is not on a bpf file system: mount -t bpf bpf DIR";
	case -EBUSY:
		return "another process records with it: end that one first";
	default:
		return strerror(-err);
	}
}

int pin_dir_open(const char *path, bool may_make)
{
	int fd = open_checked(path, may_make);

	if (fd < 0 && (may_make || fd != -ENOENT))
		log_error("pins in '%s': %s", path, open_reason(fd));
	return fd;
}

int pin_dir_sub(int base_fd, const char *name)
{
	if (mkdirat(base_fd, name, 0700) && errno != EEXIST)
		return -errno;
	return open_plain(base_fd, name);
}

int pin_dir_find(int base_fd, const char *name)
{
	return open_plain(base_fd, name);
}

int pin_dir_rename(int base_fd, const char *from, const char *to)
{
	return renameat(base_fd, from, base_fd, to) ? -errno : 0;
}

/* The entries of the folder @fd (borrowed) one after another. */
static DIR *open_list(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);

	if (!dir && again >= 0)
		close(again);
	return dir;
}

static const char *next_name(DIR *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			return entry->d_name;
	return NULL;
}

int pin_dir_each(int base_fd, pin_dir_fn *each, void *arg)
{
	DIR *dir = open_list(base_fd);
	const char *name;
	int ret = 0;

	if (!dir)
		return -errno;
	while (!ret && (name = next_name(dir)))
		ret = each(arg, name);
	closedir(dir);
	return ret;
}

/* Links first: what samples ends before what it writes to goes. */
static int remove_pins(int fd, bool links)
{
	DIR *dir = open_list(fd);
	const char *name;
	int err = 0;

	if (!dir)
		return -errno;
	while ((name = next_name(dir)))
		if (!links || !strncmp(name, "link_", 5))
			err = unlinkat(fd, name, 0) ? -errno : err;
	closedir(dir);
	return err;
}

int pin_dir_remove(int base_fd, const char *name)
{
	_cleanup_close_ int fd = open_plain(base_fd, name);
	int err;

	if (fd < 0)
		return fd;
	err = remove_pins(fd, true);
	if (!err)
		err = remove_pins(fd, false);
	if (!err && unlinkat(base_fd, name, AT_REMOVEDIR))
		err = -errno;
	return err;
}

/* bpf(2) takes descriptors of folders since 6.5 only, but follows the kernel's own link to one. */
static void pin_path(int dir_fd, const char *name, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "/proc/self/fd/%d/%s", dir_fd, name);
}

int pin_put(int dir_fd, const char *name, int obj_fd)
{
	char path[128];

	pin_path(dir_fd, name, path, sizeof(path));
	return bpf_obj_pin(obj_fd, path) ? -errno : 0;
}

int pin_get(int dir_fd, const char *name)
{
	char path[128];
	int fd;

	pin_path(dir_fd, name, path, sizeof(path));
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

bool pin_is_there(int dir_fd, const char *name)
{
	return !faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

int pin_drop(int dir_fd, const char *name)
{
	return unlinkat(dir_fd, name, 0) ? -errno : 0;
}
