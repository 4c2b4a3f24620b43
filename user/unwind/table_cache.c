/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of compiled tables. Every access is relative to the folder that was checked when it
 * was opened. Files are not synced: one that a crash cut short fails its checksum.
 */
#include "unwind/table_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "proc/module.h"
#include "unwind/table_file.h"

#define FILE_SUFFIX ".rows"

enum {
	NAME_BYTES = 2 * BUILD_ID_MAX + sizeof(FILE_SUFFIX),
	DISK_BLOCK_BYTES = 4096,
	/* mtime says when a file was last used, to the day: a write per use would be too much. */
	USE_NOTED_S = 24 * 60 * 60,
	/* Evicting makes so much more room than is needed: the folder is not read for each file. */
	SPARE_SHIFT = 3, /* 1/8 */
	WRITABLE_BY_OTHERS = S_IWGRP | S_IWOTH,
};

struct table_cache {
	int dir_fd; /* owned */
	uint64_t max_bytes;
	uint64_t used_bytes; /* an estimate once is_listed: other processes write as well */
	bool is_listed;
	bool is_full; /* nothing can be written (ENOSPC, EROFS, ...): reading goes on */
};

struct cache_entry {
	time_t mtime_s;
	uint64_t disk_bytes;
	char name[NAME_BYTES];
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
static int dir_open(int at_fd, const char *name)
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

/* The descriptor of bpfprof/rows in @base, or negative errno. */
static int rows_dir_open(const char *base)
{
	_cleanup_close_ int base_fd = -1, ours_fd = -1;

	/* /var/cache is everybody's. */
	if (mkdir(base, geteuid() ? 0700 : 0755) && errno != EEXIST)
		return -errno;
	base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base_fd < 0)
		return -errno;
	ours_fd = dir_open(base_fd, "bpfprof");
	return ours_fd < 0 ? ours_fd : dir_open(ours_fd, "rows");
}

struct table_cache *table_cache_open(const char *base, uint64_t max_bytes)
{
	_cleanup_(buf_deinit) struct buf path;
	struct table_cache *cache;
	int fd;

	buf_init(&path, BUF_NO_MAX);
	if (base)
		buf_add_str(&path, base);
	else if (!user_base(&path))
		return NULL;
	fd = rows_dir_open(buf_cstr(&path));
	if (fd < 0) {
		log_debug("rows: nothing is kept in '%s/bpfprof/rows': %s", buf_cstr(&path),
			  fd == -EPERM ? "not ours alone" : strerror(-fd));
		return NULL;
	}
	cache = malloc(sizeof(*cache));
	if (!cache) {
		close(fd);
		return NULL;
	}
	*cache = (struct table_cache){.dir_fd = fd, .max_bytes = max_bytes};
	return cache;
}

void table_cache_close(struct table_cache *cache)
{
	if (!cache)
		return;
	close(cache->dir_fd);
	free(cache);
}

static bool name_of(const uint8_t *build_id, size_t len, char out[static NAME_BYTES])
{
	if (len < TABLE_CACHE_ID_MIN || len > BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		snprintf(out + 2 * i, 3, "%02x", build_id[i]);
	memcpy(out + 2 * len, FILE_SUFFIX, sizeof(FILE_SUFFIX));
	return true;
}

/* False: the file may be changed by anybody, and its mtime set back. */
static bool source_of(int fd, struct table_source *out)
{
	struct stat st;

	if (fstat(fd, &st) || (st.st_mode & S_IWOTH))
		return false;
	*out = (struct table_source){
		.uid = st.st_uid,
		.gid = st.st_gid,
		.size_bytes = (uint64_t)st.st_size,
		.mtime_s = st.st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
	};
	return true;
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

static struct unwind_table *table_from_fd(int fd, const struct table_source *source)
{
	struct unwind_table *table;
	struct stat st;
	void *data;

	if (fstat(fd, &st))
		return NULL;
	if (!S_ISREG(st.st_mode) || !is_safe(&st) || st.st_size > TABLE_FILE_MAX_BYTES ||
	    st.st_size < (off_t)sizeof(struct table_header)) {
		errno = EBADMSG;
		return NULL;
	}
	data = read_whole(fd, (size_t)st.st_size);
	if (!data)
		return NULL;
	table = table_file_decode(data, (size_t)st.st_size, source);
	if (table && time(NULL) - st.st_mtime > USE_NOTED_S)
		futimens(fd, NULL);
	return table;
}

/* The table under @name; NULL: none that is good. */
static struct unwind_table *cache_load(struct table_cache *cache, const char *name,
				       const struct table_source *source)
{
	/* O_NONBLOCK: a FIFO does not hold us up. */
	_cleanup_close_ int fd = openat(cache->dir_fd, name,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct unwind_table *table;

	if (fd < 0)
		return NULL;
	table = table_from_fd(fd, source);
	if (!table && (errno == EBADMSG || errno == ESTALE)) {
		log_debug("rows: %s: %s", name, errno == ESTALE ? "out of date" : "not valid");
		unlinkat(cache->dir_fd, name, 0);
	}
	return table;
}

static uint64_t disk_bytes(uint64_t len)
{
	return (len + DISK_BLOCK_BYTES - 1) / DISK_BLOCK_BYTES * DISK_BLOCK_BYTES;
}

static bool is_our_name(const char *name)
{
	size_t len = strlen(name), suffix_len = strlen(FILE_SUFFIX);

	return len < NAME_BYTES && len > suffix_len &&
	       !strcmp(name + len - suffix_len, FILE_SUFFIX);
}

static int list_add(struct cache_list *list, int dir_fd, const char *name)
{
	struct cache_entry *entry;
	struct stat st;
	int err;

	if (!is_our_name(name) || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	err = array_reserve(&list->items, &list->cap, list->cnt + 1, sizeof(*list->items));
	if (err)
		return err;
	entry = &list->items[list->cnt++];
	*entry = (struct cache_entry){.mtime_s = st.st_mtime,
				      .disk_bytes = disk_bytes((uint64_t)st.st_size)};
	memcpy(entry->name, name, strlen(name) + 1);
	return 0;
}

static void list_deinit(struct cache_list *list)
{
	free(list->items);
}

static int list_read(struct cache_list *list, int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int err = 0;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir)))
		err = list_add(list, dir_fd, entry->d_name);
	closedir(dir);
	return err;
}

static int compare_mtime(const void *left, const void *right)
{
	const struct cache_entry *a = left, *b = right;

	return (a->mtime_s > b->mtime_s) - (a->mtime_s < b->mtime_s);
}

/* Room for @need bytes, which are not more than all there may be; the least recently used files go
 * first. 0 or negative errno. */
static int cache_make_room(struct table_cache *cache, uint64_t need)
{
	_cleanup_(list_deinit) struct cache_list list = {0};
	uint64_t keep = cache->max_bytes - cache->max_bytes / (1 << SPARE_SHIFT);
	int err;

	if (cache->is_listed && cache->used_bytes + need <= cache->max_bytes)
		return 0;
	err = list_read(&list, cache->dir_fd);
	if (err)
		return err;
	cache->is_listed = true;
	cache->used_bytes = 0;
	for (size_t i = 0; i < list.cnt; i++)
		cache->used_bytes += list.items[i].disk_bytes;
	if (cache->used_bytes + need <= cache->max_bytes)
		return 0;
	qsort(list.items, list.cnt, sizeof(*list.items), compare_mtime);
	for (size_t i = 0; i < list.cnt && cache->used_bytes + need > keep; i++) {
		if (unlinkat(cache->dir_fd, list.items[i].name, 0) && errno != ENOENT)
			return -errno;
		cache->used_bytes -= list.items[i].disk_bytes;
	}
	return 0;
}

/* @data under @name, all of it or nothing. 0 or negative errno. */
static int cache_write(struct table_cache *cache, const char *name, const void *data, size_t len)
{
	_cleanup_close_ int fd = -1;
	char tmp_name[NAME_BYTES];
	int err;

	snprintf(tmp_name, sizeof(tmp_name), "new-%d-%llx" FILE_SUFFIX, (int)getpid(),
		 (unsigned long long)clock_monotonic_ns());
	fd = openat(cache->dir_fd, tmp_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	err = fs_write_all(fd, data, len);
	if (!err && renameat(cache->dir_fd, tmp_name, cache->dir_fd, name))
		err = -errno;
	if (err)
		unlinkat(cache->dir_fd, tmp_name, 0);
	return err;
}

static void cache_store(struct table_cache *cache, const char *name,
			const struct table_source *source, const struct unwind_table *table)
{
	_cleanup_free_ void *data = NULL;
	size_t len;
	int err;

	if (cache->is_full)
		return;
	data = table_file_encode(table, source, &len);
	if (!data || disk_bytes(len) > cache->max_bytes)
		return;
	err = cache_make_room(cache, disk_bytes(len));
	if (!err)
		err = cache_write(cache, name, data, len);
	if (err) {
		log_debug("rows: nothing more is kept: %s: %s", name, strerror(-err));
		cache->is_full = true;
		return;
	}
	cache->used_bytes += disk_bytes(len);
}

struct unwind_table *table_cache_get(struct table_cache *cache, int fd, const uint8_t *build_id,
				     size_t len)
{
	struct unwind_table *table;
	struct table_source source;
	char name[NAME_BYTES];

	if (!cache || !name_of(build_id, len, name) || !source_of(fd, &source))
		return unwind_table_open(fd);
	table = cache_load(cache, name, &source);
	if (table)
		return table;
	table = unwind_table_open(fd);
	if (table && table->rows.cnt >= TABLE_CACHE_ROWS_MIN)
		cache_store(cache, name, &source, table);
	return table;
}
