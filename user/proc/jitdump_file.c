/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a process's jitdump among its mappings. */
#include "proc/jitdump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"
#include "elf/root_file.h"
#include "proc/jit_owner.h"

/* 65,530 mappings, the kernel's default limit, with paths of 200 characters. */
enum { MAPS_BYTES_MAX = 16 << 20 };

/* The mapping of a jitdump. */
struct marker {
	uint64_t start, end;
	uint64_t ino;
	uint64_t pid; /* in the file's name */
	char path[PATH_MAX];
};

static bool accept_text(struct reader *rd, const char *text)
{
	while (*text && reader_accept(rd, *text))
		text++;
	return !*text;
}

/* Is this the end of a path, if need be behind what maps adds to the paths of deleted files? */
static bool is_end(struct reader *rd)
{
	accept_text(rd, " (deleted)");
	return !rd->err && reader_left(rd) == 0;
}

/* The number in @path when it ends in /jit-NUMBER.dump, which *@len_out bytes of it do. */
static bool parse_path(const char *path, size_t len, uint64_t *pid_out, size_t *len_out)
{
	const char *slash = memrchr(path, '/', len);
	struct reader rd;
	uint64_t pid;

	if (!slash)
		return false;
	reader_init(&rd, path, len);
	reader_skip(&rd, (size_t)(slash + 1 - path));
	if (!accept_text(&rd, "jit-"))
		return false;
	pid = reader_number(&rd, 10);
	if (!accept_text(&rd, ".dump"))
		return false;
	*len_out = reader_offset(&rd);
	*pid_out = pid;
	return is_end(&rd);
}

/* "START-END r-xp OFFSET MAJOR:MINOR INODE   PATH" of a jitdump. */
static bool parse_line(const char *line, size_t len, struct marker *out)
{
	struct reader rd;
	const char *field;
	size_t field_len;

	reader_init(&rd, line, len);
	out->start = reader_number(&rd, 16);
	reader_accept(&rd, '-');
	out->end = reader_number(&rd, 16);
	reader_accept(&rd, ' ');
	field = reader_until(&rd, ' ', &field_len);
	if (rd.err || field_len < 3 || field[2] != 'x')
		return false;
	reader_until(&rd, ' ', &field_len); /* the offset */
	reader_until(&rd, ' ', &field_len); /* the device: overlayfs shows another elsewhere */
	out->ino = reader_number(&rd, 10);
	if (rd.err || !parse_path((const char *)rd.pos, reader_left(&rd), &out->pid, &field_len))
		return false;
	while (field_len && reader_accept(&rd, ' '))
		field_len--;
	if (field_len >= sizeof(out->path))
		return false;
	memcpy(out->path, rd.pos, field_len);
	out->path[field_len] = '\0';
	return true;
}

/* The marker of @owner's own jitdump, or else the last there is. 0, -ENOENT, or negative errno. */
static int find_marker(const struct jit_owner *owner, struct marker *out)
{
	_cleanup_close_ int fd = openat(owner->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	_cleanup_(buf_deinit) struct buf maps;
	struct marker marker;
	bool is_found = false;
	struct reader rd;
	int err;

	buf_init(&maps, MAPS_BYTES_MAX);
	if (fd < 0)
		return -errno;
	err = fs_read_fd(fd, &maps);
	if (err)
		return err;
	reader_init(&rd, maps.data, maps.len);
	while (!reader_done(&rd) && !(is_found && out->pid == owner->own_pid)) {
		size_t len;
		const char *line = reader_until(&rd, '\n', &len);

		if (!parse_line(line, len, &marker))
			continue;
		*out = marker;
		is_found = true;
	}
	return is_found ? 0 : -ENOENT;
}

/* By the mapping itself: needs CAP_CHECKPOINT_RESTORE or more. */
static int open_mapping(const struct jit_owner *owner, const struct marker *marker)
{
	_cleanup_close_ int path_fd = -1;
	char name[64];

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, marker->start, marker->end);
	path_fd = openat(owner->proc_fd, name, O_PATH | O_CLOEXEC);
	return path_fd < 0 ? -errno : root_file_reopen(path_fd);
}

static int open_path(const struct jit_owner *owner, const struct marker *marker)
{
	_cleanup_close_ int root_fd = jit_owner_root(owner);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (root_fd < 0)
		return root_fd;
	fd = root_file_open_nofollow(root_fd, marker->path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	return st.st_ino == marker->ino ? take_fd(&fd) : -ESTALE;
}

static int open_dump(const struct jit_owner *owner)
{
	struct marker marker = {0};
	int fd, err = find_marker(owner, &marker);

	if (err)
		return err;
	fd = open_mapping(owner, &marker);
	return fd < 0 ? open_path(owner, &marker) : fd;
}

int jitdump_file_open(pid_t tgid)
{
	return jit_owner_open_file(tgid, open_dump);
}
