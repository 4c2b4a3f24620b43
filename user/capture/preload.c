/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps of every process, each executable mapping's file once. */
#include "capture/preload.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hmap.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/reader.h"
#include "proc/maps_line.h"

enum { PRELOAD_FILES_MAX = 8192, PRELOAD_MAPS_MAX_BYTES = 64 << 20, PRELOAD_MAP_BYTES = 4096 };
enum { MEET_TRIES = 10, MEET_AGAIN_US = 1000 };

/* A file that we have mapped. */
struct met {
	void *map; /* owned */
	pid_t tgid; /* the process in which it was found */
};

struct preload {
	pthread_t thread;
	int prog_fd; /* borrowed */
	atomic_bool stop, is_done;
	atomic_bool has_missed; /* a file was missed in all tries: there may be no room for more */
	struct hmap seen; /* by the device and inode text of maps */
	pthread_mutex_t lock; /* of what follows */
	struct met *items; /* owned */
	size_t cnt, cap;
};

static bool never_equal_twice(const void *owner, uint32_t index, const void *key)
{
	/* 64 bits of a good hash decide: a collision costs one file its preloading, nothing more.
	 */
	return true;
}

/* Remember @map (taken) until the end. False when there is no memory for that. */
static bool keep(struct preload *preload, void *map, pid_t tgid)
{
	int err;

	pthread_mutex_lock(&preload->lock);
	err = array_reserve(&preload->items, &preload->cap, preload->cnt + 1,
			    sizeof(*preload->items));
	if (!err)
		preload->items[preload->cnt++] = (struct met){map, tgid};
	pthread_mutex_unlock(&preload->lock);
	if (err)
		munmap(map, PRELOAD_MAP_BYTES);
	return !err;
}

/* Who drains adds some meanwhile, too. */
static bool is_full(struct preload *preload)
{
	bool is_full;

	pthread_mutex_lock(&preload->lock);
	is_full = preload->cnt >= PRELOAD_FILES_MAX;
	pthread_mutex_unlock(&preload->lock);
	return is_full;
}

pid_t preload_tgid(struct preload *preload, uint64_t start)
{
	pid_t tgid = 0;

	pthread_mutex_lock(&preload->lock);
	/* It is asked for soon after. */
	for (size_t i = preload->cnt; i && !tgid; i--)
		if ((uint64_t)(uintptr_t)preload->items[i - 1].map == start)
			tgid = preload->items[i - 1].tgid;
	pthread_mutex_unlock(&preload->lock);
	return tgid;
}

/*
 * Show the kernel side what is mapped at @map. It looks without a lock, and may miss what is there
 * while another thread of ours changes our memory map, or find its slots taken: then again. Where
 * that was of no use once, it is not paid for with each file of a host that has too many of them.
 */
static uint32_t show(struct preload *preload, void *map)
{
	uint64_t args[1] = {(uint64_t)(uintptr_t)map};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	for (int i = 0; i < MEET_TRIES; i++) {
		if (bpf_prog_test_run_opts(preload->prog_fd, &opts))
			return BP_EXE_NONE;
		if (opts.retval != BP_EXE_NONE || preload->has_missed)
			return opts.retval;
		usleep(MEET_AGAIN_US);
	}
	preload->has_missed = true;
	return BP_EXE_NONE;
}

static uint32_t meet(struct preload *preload, pid_t tgid, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint32_t exe_id;
	void *map;

	map = fd < 0 ? MAP_FAILED : mmap(NULL, PRELOAD_MAP_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED || !keep(preload, map, tgid))
		return BP_EXE_NONE;
	exe_id = show(preload, map);
	if (exe_id == BP_EXE_NONE)
		log_debug("preload: %s: not met", path);
	return exe_id;
}

uint32_t preload_meet(struct preload *preload, pid_t tgid, uint64_t start, uint64_t end)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)tgid, start, end);
	return meet(preload, tgid, path);
}

uint32_t preload_meet_path(struct preload *preload, const char *path)
{
	return meet(preload, getpid(), path);
}

bool preload_is_done(const struct preload *preload)
{
	return preload->is_done;
}

static void scan_process(struct preload *preload, pid_t tgid, struct buf *text)
{
	struct reader rd;
	const char *line;
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)tgid);
	buf_reset(text);
	if (fs_read_file(path, text))
		return;
	reader_init(&rd, text->data, text->len);
	while (!preload->stop && (line = reader_until(&rd, '\n', &len))) {
		struct maps_line parsed;
		uint64_t hash;

		if (!maps_line_parse(line, len, &parsed) || !parsed.is_exec || !parsed.is_file)
			continue;
		hash = hash_bytes(parsed.file, parsed.file_len);
		if (is_full(preload) ||
		    hmap_find(&preload->seen, hash, never_equal_twice, NULL, NULL) != HMAP_NONE)
			continue;
		if (!hmap_insert(&preload->seen, hash, 0))
			preload_meet(preload, tgid, parsed.start, parsed.end);
	}
}

static void *preload_main(void *arg)
{
	struct preload *preload = arg;
	struct dirent *entry;
	struct buf text;
	DIR *proc = opendir("/proc");

	privilege_keep(PRIVILEGES_RUN);
	buf_init(&text, PRELOAD_MAPS_MAX_BYTES);
	while (proc && !preload->stop && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			scan_process(preload, (pid_t)strtol(entry->d_name, NULL, 10), &text);
	if (proc)
		closedir(proc);
	buf_deinit(&text);
	preload->is_done = true;
	return NULL;
}

struct preload *preload_start(int prog_fd)
{
	struct preload *preload = calloc(1, sizeof(*preload));
	int err;

	if (!preload)
		return NULL;
	preload->prog_fd = prog_fd;
	hmap_init(&preload->seen);
	pthread_mutex_init(&preload->lock, NULL);
	err = pthread_create(&preload->thread, NULL, preload_main, preload);
	if (err) {
		pthread_mutex_destroy(&preload->lock);
		free(preload);
		errno = err;
		return NULL;
	}
	return preload;
}

void preload_stop(struct preload *preload)
{
	if (!preload)
		return;
	preload->stop = true;
	pthread_join(preload->thread, NULL);
	for (size_t i = 0; i < preload->cnt; i++)
		munmap(preload->items[i].map, PRELOAD_MAP_BYTES);
	free(preload->items);
	hmap_deinit(&preload->seen);
	pthread_mutex_destroy(&preload->lock);
	free(preload);
}
