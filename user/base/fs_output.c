/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs that appear whole or not at all.
 *
 *   open      an inode without a name (O_TMPFILE), or with a hidden one, in the target's folder
 *   commit    write, then one step that gives it the name: linkat(), which never replaces, or with
 *             force rename() over the old file. linkat() cannot replace, so that an inode without a
 *             name gets a hidden one first.
 *   abandon   close: the inode goes with its last reference
 *
 * A symbolic link under the target's name is itself what is replaced, never what it points to: we
 * run as root, and in /tmp anybody can make a link to /etc/passwd.
 */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/privilege.h"

enum {
	OUTPUT_MODE = 0666, /* less the umask */
	NAME_TRIES = 16,
	FD_PATH_BYTES = 32
};

/* The folder of @path as an owned string ending in '/', or "./"; NULL + errno. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

/* A fresh hidden name in @path's folder, owned; it does not take over @path's own name, which may
 * be as long as names can be. NULL + errno. */
static char *hidden_name(const char *path)
{
	_cleanup_free_ char *folder = folder_of(path);
	uint64_t random;
	char *name;

	if (!folder)
		return NULL;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return NULL;
	if (asprintf(&name, "%s.bpfprof-%016" PRIx64 ".tmp", folder, random) < 0)
		return NULL;
	return name;
}

bool fs_output_is_stdout(const char *path)
{
	return path[0] == '-' && (!path[1] || path[1] == '.') && !strchr(path, '/');
}

bool fs_output_is_same(const char *one, const char *two)
{
	return !strcmp(one, two) || (fs_output_is_stdout(one) && fs_output_is_stdout(two));
}

/*
 * The descriptor that @path stands for ("-", /dev/stdout, /dev/fd/N ...), or -1. Opening such a
 * name anew would lose the position of `>> file`, and behind a redirection it looks like a regular
 * file that is in the way.
 */
static int standard_fd(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	uint64_t fd;

	if (fs_output_is_stdout(path) || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		size_t len = strlen(folders[i]);

		if (!strncmp(path, folders[i], len) && !parse_u64(path + len, &fd) &&
		    fd <= INT32_MAX)
			return (int)fd;
	}
	return -1;
}

/* Whose entries in a folder that all may write to are as good as ours. */
static bool is_trusted(uid_t uid)
{
	const char *sudo_uid = getenv("SUDO_UID");
	uint64_t value;

	return !uid || uid == geteuid() ||
	       (!geteuid() && sudo_uid && !parse_u64(sudo_uid, &value) && uid == value);
}

/* Has somebody else put @path, a link or what it is itself, where everybody may? A FIFO there would
 * hold us up or give the profile away, a link lead to a device. */
static bool is_planted(const char *path)
{
	_cleanup_free_ char *folder = folder_of(path);
	struct stat folder_st, st;

	if (!folder || stat(folder, &folder_st) || lstat(path, &st))
		return true;
	return (folder_st.st_mode & S_IWOTH) && !is_trusted(st.st_uid);
}

/*
 * What is there under @path: 0 and *@is_direct, or why it cannot be our output. A block device
 * counts as a file whose content is precious.
 */
static int check_target(const char *path, bool force, bool *is_direct)
{
	size_t len = strlen(path);
	struct stat st;

	*is_direct = false;
	if (!len)
		return -ENOENT;
	if (stat(path, &st)) {
		if (errno != ENOENT)
			return -errno;
		if (path[len - 1] == '/')
			return -EISDIR;
		/* A link that points nowhere occupies the name as well. */
		return !lstat(path, &st) && !force ? -EEXIST : 0;
	}
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if ((S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) && !force)
		return -EEXIST;
	*is_direct = !S_ISREG(st.st_mode);
	return *is_direct && is_planted(path) ? -EREMCHG : 0;
}

/* Under sudo the file belongs to the person who typed it; where it cannot (vfat), to root. */
static void give_to_sudo_user(int fd)
{
	const char *uid_str = getenv("SUDO_UID"), *gid_str = getenv("SUDO_GID");
	uint64_t uid, gid;

	if (geteuid() != 0 || !uid_str || !gid_str || parse_u64(uid_str, &uid) ||
	    parse_u64(gid_str, &gid) || uid >= UINT32_MAX || gid >= UINT32_MAX)
		return;
	if (fchown(fd, (uid_t)uid, (gid_t)gid))
		errno = 0;
}

/* The file that becomes the output: fd, and *@tmp_path (owned) where it had to have a name. */
static int open_temporary(const char *path, char **tmp_path)
{
	_cleanup_free_ char *folder = folder_of(path);
	int fd;

	if (!folder)
		return -ENOMEM;
	fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, OUTPUT_MODE);
	/* EISDIR: before 3.11, where O_TMPFILE is but O_DIRECTORY for writing. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd < 0 ? -errno : fd;

	for (int i = 0; i < NAME_TRIES; i++) {
		_cleanup_free_ char *name = hidden_name(path);

		if (!name)
			return -errno;
		/* Not mkostemp(): its mode is 0600, and asking for the umask races. */
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, OUTPUT_MODE);
		if (fd >= 0) {
			*tmp_path = take_ptr(name);
			return fd;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int open_direct(const char *path, int std_fd)
{
	struct stat st;
	int fd;

	if (std_fd >= 0)
		fd = fcntl(std_fd, F_DUPFD_CLOEXEC, 0);
	else
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	/* A file that has taken its place since: it must not be written over. */
	if (std_fd < 0 && (fstat(fd, &st) || S_ISREG(st.st_mode))) {
		close(fd);
		return -EEXIST;
	}
	return fd;
}

static int open_output(const char *path, bool force, struct fs_output *out)
{
	int std_fd = standard_fd(path);
	struct fs_output opened = {.fd = -1, .is_direct = std_fd >= 0, .force = force};
	int err;

	if (std_fd < 0) {
		err = check_target(path, force, &opened.is_direct);
		if (err)
			return err;
	}
	opened.path = strdup(path);
	if (!opened.path)
		return -ENOMEM;

	if (opened.is_direct)
		opened.fd = open_direct(path, std_fd);
	else
		opened.fd = open_temporary(path, &opened.tmp_path);
	if (opened.fd < 0) {
		free(opened.path);
		return opened.fd;
	}
	if (!opened.is_direct)
		give_to_sudo_user(opened.fd);
	*out = opened;
	return 0;
}

int fs_output_open(const char *path, bool force, struct fs_output *out)
{
	int err;

	privilege_pause();
	err = open_output(path, force, out);
	privilege_resume();
	return err;
}

bool fs_output_is_ours(const char *path)
{
	_cleanup_free_ char *folder = folder_of(path);
	struct stat st;

	if (standard_fd(path) >= 0)
		return true;
	if (!geteuid() && getenv("SUDO_UID"))
		return false;
	return folder && !stat(folder, &st) && st.st_uid == geteuid();
}

/* Give the unnamed inode behind @fd the name @path, which must be free. */
static int link_unnamed(int fd, const char *path)
{
	char fd_path[FD_PATH_BYTES];

	/* Without CAP_DAC_READ_SEARCH (before 6.10 in any case) this is ENOENT ... */
	if (!linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH))
		return 0;
	if (errno != ENOENT)
		return -errno;
	/* ... and this works wherever /proc is mounted. */
	snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fd);
	if (!linkat(AT_FDCWD, fd_path, AT_FDCWD, path, AT_SYMLINK_FOLLOW))
		return 0;
	return -errno;
}

/* rename() that replaces only with @force. */
static int rename_to(const char *from, const char *path, bool force)
{
	struct stat st;

	if (!force) {
		if (!renameat2(AT_FDCWD, from, AT_FDCWD, path, RENAME_NOREPLACE))
			return 0;
		if (errno != EINVAL && errno != ENOSYS)
			return -errno;
		/* The file system does not know the flag: looking first is all that is left. */
		if (!lstat(path, &st))
			return -EEXIST;
	}
	return rename(from, path) ? -errno : 0;
}

static int name_output(struct fs_output *output)
{
	int err;

	if (!output->tmp_path) {
		err = link_unnamed(output->fd, output->path);
		if (err != -EEXIST || !output->force)
			return err;
		output->tmp_path = hidden_name(output->path);
		if (!output->tmp_path)
			return -errno;
		err = link_unnamed(output->fd, output->tmp_path);
		if (err)
			return err;
	}
	err = rename_to(output->tmp_path, output->path, output->force);
	if (!err) {
		free(output->tmp_path);
		output->tmp_path = NULL;
	}
	return err;
}

int fs_output_commit(struct fs_output *output, const void *data, size_t len)
{
	int err = fs_write_all(output->fd, data, len);

	/* NFS and FUSE tell of a full disk only on close: ask for it while there is no name yet. */
	if (!err && !output->is_direct) {
		int copy = fcntl(output->fd, F_DUPFD_CLOEXEC, 0);

		if (copy < 0 || close(copy))
			err = -errno;
	}
	privilege_pause();
	if (!err && !output->is_direct)
		err = name_output(output);
	privilege_resume();
	fs_output_abandon(output);
	return err;
}

void fs_output_abandon(struct fs_output *output)
{
	if (!output->path)
		return;
	if (output->tmp_path)
		unlink(output->tmp_path);
	if (output->fd >= 0)
		close(output->fd);
	free(output->tmp_path);
	free(output->path);
	*output = (struct fs_output){.fd = -1};
}
