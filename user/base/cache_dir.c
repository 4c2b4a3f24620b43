/* SPDX-License-Identifier: Apache-2.0 */
/* Every access is relative to the folder that was checked when it was opened. */
#include "base/cache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"

enum {
	KIND_MAX = 16, /* bytes, the end of string included */
	FILE_NAME_BYTES = CACHE_NAME_MAX + KIND_MAX,
	DISK_BLOCK_BYTES = 4096,
	/* mtime says when a file was last used, to the day: a write per use would be too much. */
	USE_NOTED_S = 24 * 60 * 60,
	/* Evicting makes so much more room than is needed: the folder is not read for each file. */
	SPARE_SHIFT = 3, /* 1/8 */
	WRITABLE_BY_OTHERS = S_IWGRP | S_IWOTH,
};

struct cache_dir {
	int fd; /* owned */
	const char *kind; /* borrowed */
	uint64_t max_bytes;
	uint64_t used_bytes; /* an estimate once is_listed: other processes write as well */
	bool is_listed;
	bool is_full; /* nothing can be written (ENOSPC, EROFS, ...): reading goes on */
};

struct cache_entry {
	time_t mtime_s;
	uint64_t disk_bytes;
	char name[FILE_NAME_BYTES];
};

struct cache_list {
	struct cache_entry *items; /* owned */
	size_t cnt, cap;
};

static bool is_safe(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & WRITABLE_BY_OTHERS);
}

/* Folder @name in @at_fd, made if it is missing. A descriptor or negative errno; -EPERM: not safe.
 */
static int subdir_open(int at_fd, const char *name)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (mkdirat(at_fd, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return is_safe(&st) ? take_fd(&fd) : -EPERM;
}

/* Where the user keeps caches, into @out; secure_getenv: a program with capabilities of its own
 * must not be led by its caller's environment. False: nowhere. */
static bool user_base(struct buf *out)
{
	const char *dir = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");

	if (!geteuid()) {
		buf_add_str(out, "/var/cache");
	} else if (dir && dir[0] == '/') {
		buf_add_str(out, dir);
	} else if (home && home[0] == '/') {
		buf_add_str(out, home);
		buf_add_str(out, "/.cache");
	}
	return out->len && !out->err;
}

/* The descriptor of bpfprof/@kind in @base, or negative errno. */
static int kind_open(const char *base, const char *kind)
{
	_cleanup_close_ int base_fd = -1, ours_fd = -1;

	/* /var/cache is everybody's. */
	if (mkdir(base, geteuid() ? 0700 : 0755) && errno != EEXIST)
		return -errno;
	base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base_fd < 0)
		return -errno;
	ours_fd = subdir_open(base_fd, "bpfprof");
	return ours_fd < 0 ? ours_fd : subdir_open(ours_fd, kind);
}

struct cache_dir *cache_dir_open(const char *base, const char *kind, uint64_t max_bytes)
{
	_cleanup_(buf_deinit) struct buf path;
	struct cache_dir *dir;
	int fd;

	buf_init(&path, BUF_NO_MAX);
	if (base)
		buf_add_str(&path, base);
	else if (!user_base(&path))
		return NULL;
	fd = kind_open(buf_cstr(&path), kind);
	if (fd < 0) {
		log_debug("cache: nothing is kept in '%s/bpfprof/%s': %s", buf_cstr(&path), kind,
			  fd == -EPERM ? "not ours alone" : strerror(-fd));
		return NULL;
	}
	dir = malloc(sizeof(*dir));
	if (!dir) {
		close(fd);
		return NULL;
	}
	*dir = (struct cache_dir){.fd = fd, .kind = kind, .max_bytes = max_bytes};
	return dir;
}

void cache_dir_close(struct cache_dir *dir)
{
	if (!dir)
		return;
	close(dir->fd);
	free(dir);
}

static void file_name(const struct cache_dir *dir, const char *name,
		      char out[static FILE_NAME_BYTES])
{
	snprintf(out, FILE_NAME_BYTES, "%.*s.%.*s", CACHE_NAME_MAX - 1, name, KIND_MAX - 1,
		 dir->kind);
}

/* All @len bytes of @fd, *owned*; NULL + errno, EBADMSG when there are fewer. */
static void *read_whole(int fd, size_t len)
{
	_cleanup_free_ char *data = malloc(len);
	size_t have = 0;

	while (data && have < len) {
		ssize_t got = read(fd, data + have, len - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : EBADMSG;
			return NULL;
		}
		have += (size_t)got;
	}
	return take_ptr(data);
}

/* The file of @name, if only we can have written it, its size into *@len; -1: there is none. */
static int open_safe(struct cache_dir *dir, const char *name, size_t max_bytes, size_t *len)
{
	_cleanup_close_ int fd = -1;
	char file[FILE_NAME_BYTES];
	struct stat st;

	file_name(dir, name, file);
	/* O_NONBLOCK: a FIFO does not hold us up. */
	fd = openat(dir->fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -1;
	if (!S_ISREG(st.st_mode) || !is_safe(&st) || st.st_size < 1 ||
	    (uint64_t)st.st_size > max_bytes) {
		cache_dir_remove(dir, name, "not ours alone, or no such file");
		return -1;
	}
	if (time(NULL) - st.st_mtime > USE_NOTED_S)
		futimens(fd, NULL);
	*len = (size_t)st.st_size;
	return take_fd(&fd);
}

void *cache_dir_read(struct cache_dir *dir, const char *name, size_t max_bytes, size_t *len)
{
	_cleanup_close_ int fd = dir ? open_safe(dir, name, max_bytes, len) : -1;

	return fd < 0 ? NULL : read_whole(fd, *len);
}

const void *cache_dir_map(struct cache_dir *dir, const char *name, size_t max_bytes, size_t *len)
{
	_cleanup_close_ int fd = dir ? open_safe(dir, name, max_bytes, len) : -1;
	void *map;

	if (fd < 0)
		return NULL;
	map = mmap(NULL, *len, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

void cache_dir_remove(struct cache_dir *dir, const char *name, const char *why)
{
	char file[FILE_NAME_BYTES];

	if (!dir)
		return;
	file_name(dir, name, file);
	log_debug("cache: %s: %s", file, why);
	unlinkat(dir->fd, file, 0);
}

static uint64_t disk_bytes(uint64_t len)
{
	return (len + DISK_BLOCK_BYTES - 1) / DISK_BLOCK_BYTES * DISK_BLOCK_BYTES;
}

static bool is_of_kind(const char *file, const char *kind)
{
	const char *dot = strrchr(file, '.');

	return dot && dot != file && strlen(file) < FILE_NAME_BYTES && !strcmp(dot + 1, kind);
}

static int list_add(struct cache_list *list, const struct cache_dir *dir, const char *file)
{
	struct cache_entry *entry;
	struct stat st;
	int err;

	if (!is_of_kind(file, dir->kind) || fstatat(dir->fd, file, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	err = array_reserve(&list->items, &list->cap, list->cnt + 1, sizeof(*list->items));
	if (err)
		return err;
	entry = &list->items[list->cnt++];
	*entry = (struct cache_entry){.mtime_s = st.st_mtime,
				      .disk_bytes = disk_bytes((uint64_t)st.st_size)};
	memcpy(entry->name, file, strlen(file) + 1);
	return 0;
}

static void list_deinit(struct cache_list *list)
{
	free(list->items);
}

static int list_read(struct cache_list *list, const struct cache_dir *dir)
{
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int err = 0;

	if (!stream) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(stream)))
		err = list_add(list, dir, entry->d_name);
	closedir(stream);
	return err;
}

static int compare_mtime(const void *left, const void *right)
{
	const struct cache_entry *a = left, *b = right;

	return (a->mtime_s > b->mtime_s) - (a->mtime_s < b->mtime_s);
}

/* Room for @need bytes, which are not more than all there may be; the least recently used files go
 * first. 0 or negative errno. */
static int make_room(struct cache_dir *dir, uint64_t need)
{
	_cleanup_(list_deinit) struct cache_list list = {0};
	uint64_t keep = dir->max_bytes - dir->max_bytes / (1 << SPARE_SHIFT);
	int err;

	if (dir->is_listed && dir->used_bytes + need <= dir->max_bytes)
		return 0;
	err = list_read(&list, dir);
	if (err)
		return err;
	dir->is_listed = true;
	dir->used_bytes = 0;
	for (size_t i = 0; i < list.cnt; i++)
		dir->used_bytes += list.items[i].disk_bytes;
	if (dir->used_bytes + need <= dir->max_bytes)
		return 0;
	qsort(list.items, list.cnt, sizeof(*list.items), compare_mtime);
	for (size_t i = 0; i < list.cnt && dir->used_bytes + need > keep; i++) {
		if (unlinkat(dir->fd, list.items[i].name, 0) && errno != ENOENT)
			return -errno;
		dir->used_bytes -= list.items[i].disk_bytes;
	}
	return 0;
}

static int write_whole(struct cache_dir *dir, const char *name, const void *data, size_t len)
{
	char file[FILE_NAME_BYTES], tmp[FILE_NAME_BYTES], tmp_name[CACHE_NAME_MAX];
	_cleanup_close_ int fd = -1;
	int err;

	snprintf(tmp_name, sizeof(tmp_name), "new-%d-%llx", (int)getpid(),
		 (unsigned long long)clock_monotonic_ns());
	file_name(dir, tmp_name, tmp);
	file_name(dir, name, file);
	fd = openat(dir->fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = fs_write_all(fd, data, len);
	if (!err && renameat(dir->fd, tmp, dir->fd, file))
		err = -errno;
	if (err)
		unlinkat(dir->fd, tmp, 0);
	return err;
}

void cache_dir_write(struct cache_dir *dir, const char *name, const void *data, size_t len)
{
	int err;

	if (!dir || dir->is_full || disk_bytes(len) > dir->max_bytes)
		return;
	err = make_room(dir, disk_bytes(len));
	if (!err)
		err = write_whole(dir, name, data, len);
	if (err) {
		log_debug("cache: nothing more is kept: %s: %s", name, strerror(-err));
		dir->is_full = true;
		return;
	}
	dir->used_bytes += disk_bytes(len);
}
