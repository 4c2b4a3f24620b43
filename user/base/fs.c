/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole reads and whole writes. Outputs are in fs_output.c. */
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { CHUNK_BYTES = 16384, LINE_MAX_BYTES = 65536 };

/* read() through EINTR: bytes, 0 at the end, or negative errno. */
static ssize_t read_some(int fd, void *out, size_t len)
{
	ssize_t got;

	do {
		got = read(fd, out, len);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* /proc files say that their size is 0: only the end of the reads tells where they end. */
int fs_read_fd(int fd, struct buf *out)
{
	char chunk[CHUNK_BYTES];
	ssize_t got = 0;

	while (!out->err) {
		got = read_some(fd, chunk, sizeof(chunk));
		if (got <= 0)
			break;
		buf_add(out, chunk, (size_t)got);
	}
	return out->err ? out->err : (int)got;
}

int fs_read_file(const char *path, struct buf *out)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fs_read_fd(fd, out);
}

ssize_t fs_read_at(int fd, void *out, size_t len, uint64_t off)
{
	size_t have = 0;

	if (off > INT64_MAX || len > INT64_MAX - off)
		return 0; /* no file is that long */
	while (have < len) {
		ssize_t got = pread(fd, (char *)out + have, len - have, (off_t)(off + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

/* The first line of @fd into @out; reads no more chunks than that takes. */
static int read_line(int fd, struct buf *out)
{
	char chunk[CHUNK_BYTES];

	while (!out->err) {
		ssize_t got = read_some(fd, chunk, sizeof(chunk));
		const char *newline;

		if (got <= 0)
			return (int)got;
		newline = memchr(chunk, '\n', (size_t)got);
		buf_add(out, chunk, newline ? (size_t)(newline - chunk) : (size_t)got);
		if (newline)
			break;
	}
	return out->err;
}

char *fs_read_line(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct buf line;
	char *taken;
	int err;

	if (fd < 0)
		return NULL;
	buf_init(&line, LINE_MAX_BYTES);
	err = read_line(fd, &line);
	taken = err ? NULL : buf_take(&line, NULL);
	if (!taken)
		errno = err ? -err : ENOMEM;
	buf_deinit(&line);
	return taken;
}

int fs_write_all(int fd, const void *data, size_t len)
{
	const char *pos = data;

	while (len) {
		ssize_t put = write(fd, pos, len);

		if (put > 0) {
			pos += put;
			len -= (size_t)put;
		} else if (put == 0) {
			return -EIO;
		} else if (errno == EAGAIN) {
			/* Whoever shares the pipe or terminal made it non-blocking. */
			struct pollfd writable = {.fd = fd, .events = POLLOUT};

			if (poll(&writable, 1, -1) < 0 && errno != EINTR)
				return -errno;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}
