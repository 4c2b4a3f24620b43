/* SPDX-License-Identifier: Apache-2.0 */
/* A process as the owner of files. */
#include "proc/jit_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"

enum { STATUS_BYTES_MAX = 64 * 1024 };

/* Field @nth, from 0, of "Key:\t1\t2\t3", or its last one where it has fewer. False when @line does
 * not begin with @key, or not so. */
static bool status_number(const char *line, size_t len, const char *key, unsigned int nth,
			  uint64_t *out)
{
	size_t key_len = strlen(key);
	struct reader rd;
	uint64_t value = 0;

	if (len <= key_len || memcmp(line, key, key_len) != 0)
		return false;
	reader_init(&rd, line + key_len, len - key_len);
	for (unsigned int i = 0; i <= nth && !reader_done(&rd); i++) {
		reader_accept(&rd, '\t');
		value = reader_number(&rd, 10);
	}
	if (rd.err)
		return false;
	*out = value;
	return true;
}

/* What the "status" of @owner has to say into *@owner. 0 or negative errno. */
static int read_status(struct jit_owner *owner)
{
	_cleanup_close_ int fd = openat(owner->proc_fd, "status", O_RDONLY | O_CLOEXEC);
	_cleanup_(buf_deinit) struct buf text = {0};
	bool has_euid = false;
	struct reader rd;
	int err;

	if (fd < 0)
		return -errno;
	buf_init(&text, STATUS_BYTES_MAX);
	err = fs_read_fd(fd, &text);
	if (err)
		return err;
	reader_init(&rd, text.data, text.len);
	while (!reader_done(&rd)) {
		size_t len;
		const char *line = reader_until(&rd, '\n', &len);

		/* The PID in each PID namespace, the innermost last; if the kernel has any. */
		status_number(line, len, "NStgid:", UINT8_MAX, &owner->own_pid);
		/* Real, effective, saved, file system. The owner of the folder would not do: that
		 * is root once a process has changed its user without an exec. */
		has_euid |= status_number(line, len, "Uid:", 1, &owner->euid);
	}
	return has_euid ? 0 : -EBADMSG;
}

int jit_owner_root(const struct jit_owner *owner)
{
	int fd = openat(owner->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* 0, -EPERM, or another negative errno. */
static int check_file(const struct jit_owner *owner, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return (st.st_uid && st.st_uid != owner->euid) || (st.st_mode & S_IWOTH) ? -EPERM : 0;
}

int jit_owner_open_file(pid_t tgid, int (*open_file)(const struct jit_owner *owner))
{
	_cleanup_close_ int proc_fd = -1, fd = -1;
	struct jit_owner owner = {.own_pid = (uint64_t)tgid};
	char path[64];
	int err;

	if (tgid <= 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d", (int)tgid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return -errno;
	owner.proc_fd = proc_fd;
	err = read_status(&owner);
	if (err)
		return err;
	fd = open_file(&owner);
	if (fd < 0)
		return fd;
	err = check_file(&owner, fd);
	return err ? err : take_fd(&fd);
}
