/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a process's perf map, and whether it is one that the process may have written. */
#include "proc/perf_map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"
#include "elf/root_file.h"

enum { STATUS_BYTES_MAX = 64 * 1024 };

/* What /proc/PID/status tells about a process. */
struct owner {
	uint64_t own_pid; /* in its own PID namespace */
	uint64_t euid; /* in our user namespace, as stat shows file owners */
};

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

/* What the "status" in folder @proc_fd has of it into *@out. 0 or negative errno. */
static int read_owner(int proc_fd, struct owner *out)
{
	_cleanup_close_ int fd = openat(proc_fd, "status", O_RDONLY | O_CLOEXEC);
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
		status_number(line, len, "NStgid:", UINT8_MAX, &out->own_pid);
		/* Real, effective, saved, file system. The owner of the folder would not do: that
		 * is root once a process has changed its user without an exec. */
		has_euid |= status_number(line, len, "Uid:", 1, &out->euid);
	}
	return has_euid ? 0 : -EBADMSG;
}

static int check_file(int fd, const struct owner *owner)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return (st.st_uid && st.st_uid != owner->euid) || (st.st_mode & S_IWOTH) ? -EPERM : 0;
}

int perf_map_file_open(pid_t tgid)
{
	_cleanup_close_ int proc_fd = -1;
	_cleanup_close_ int root_fd = -1;
	_cleanup_close_ int fd = -1;
	struct owner owner = {.own_pid = (uint64_t)tgid};
	char path[64];
	int err;

	/* One folder for all: a PID that is given to another process cannot come between. */
	snprintf(path, sizeof(path), "/proc/%d", (int)tgid);
	proc_fd = tgid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (proc_fd < 0)
		return tgid > 0 ? -errno : -ESRCH;
	err = read_owner(proc_fd, &owner);
	if (err)
		return err;
	root_fd = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu64 ".map", owner.own_pid);
	fd = root_file_open_nofollow(root_fd, path);
	if (fd < 0)
		return fd;
	err = check_file(fd, &owner);
	return err ? err : take_fd(&fd);
}
