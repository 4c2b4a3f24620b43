/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a process allocates by: what it has mapped, or what a command is going to map. */
#include "capture/heap.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/reader.h"
#include "bpfprof.skel.h"
#include "capture/command_files.h"
#include "capture/heap_probe.h"
#include "capture/loader.h"
#include "proc/maps_line.h"

enum { MAPS_MAX_BYTES = 64 << 20 };

/* A file of a process. */
struct heap_probed {
	pid_t tgid;
	dev_t dev;
	ino_t ino;
};

/* The files of one process, each once. */
struct search {
	struct heap *heap;
	pid_t tgid;
	size_t found; /* files that have an allocator */
	int err; /* of the last that could not be probed */
};

/* Twice probed, all would be counted twice. */
static bool is_new(struct search *search, int fd)
{
	struct heap *heap = search->heap;
	struct stat st;

	if (fstat(fd, &st) || array_reserve(&heap->probed, &heap->probed_cap, heap->probed_cnt + 1,
					    sizeof(*heap->probed)))
		return false;
	for (size_t i = 0; i < heap->probed_cnt; i++)
		if (heap->probed[i].tgid == search->tgid && heap->probed[i].dev == st.st_dev &&
		    heap->probed[i].ino == st.st_ino)
			return false;
	heap->probed[heap->probed_cnt++] = (struct heap_probed){search->tgid, st.st_dev, st.st_ino};
	return true;
}

/* @path is what the kernel is told; @name is for people. */
static void probe_file(struct search *search, int fd, const char *path, const char *name)
{
	const struct capture_heap_opts *opts = &search->heap->opts;
	struct heap_places places;
	int err;

	if (heap_places_find(fd, opts->prefix, opts->maps, &places) || !places.cnt)
		return;
	err = heap_probe(search->heap, search->tgid, path, &places);
	if (err) {
		search->err = err;
		log_warn("heap: probe the allocator of '%s' in process %d: %s", name,
			 (int)search->tgid, strerror(-err));
		return;
	}
	search->found++;
	log_debug("heap: %zu functions of '%s' (%smalloc) in process %d", places.cnt, name,
		  places.prefix, (int)search->tgid);
}

/* Its number in the tables; 0: none yet, exec makes it. */
static int add_process(struct heap *heap, pid_t tgid, uint64_t start_ns, bool is_pending)
{
	uint32_t key = (uint32_t)tgid, nr = 0;

	if (!is_pending) {
		nr = __atomic_fetch_add(&heap->mem.ctl->proc_cnt, 1, __ATOMIC_SEQ_CST);
		if (nr >= BP_HEAP_PROCS)
			return -E2BIG;
		heap->mem.procs[nr].tgid = key;
		heap->mem.procs[nr].start_ns = start_ns;
	}
	return bpf_map_update_elem(bpf_map__fd(heap->loader->skel->maps.heap_proc_of), &key, &nr,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

/* None was found, or none could be probed. */
static int search_result(const struct search *search, const char *what)
{
	if (search->found)
		return 0;
	if (!search->err && search->heap->opts.maps)
		log_error("heap: no mmap() and munmap() in %s: it calls the kernel by itself",
			  what);
	else if (!search->err)
		log_error("heap: no allocator known in %s; --alloc-prefix PREFIX names one whose "
			  "functions are PREFIXmalloc and PREFIXfree",
			  what);
	return search->err ? search->err : -ENOENT;
}

static void search_mapping(struct search *search, const struct maps_line *line)
{
	_cleanup_close_ int fd = -1;
	char path[96], name[256];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)search->tgid,
		 (unsigned long)line->start, (unsigned long)line->end);
	snprintf(name, sizeof(name), "%.*s", (int)line->path_len, line->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && is_new(search, fd))
		probe_file(search, fd, path, name);
}

/* All that @search's process has mapped. 0 or negative errno. */
static int search_process(struct search *search)
{
	_cleanup_(buf_deinit) struct buf text;
	struct maps_line parsed;
	struct reader rd;
	const char *line;
	char path[64];
	size_t len;
	int err;

	buf_init(&text, MAPS_MAX_BYTES);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)search->tgid);
	err = fs_read_file(path, &text);
	if (err)
		return err;
	reader_init(&rd, text.data, text.len);
	while ((line = reader_until(&rd, '\n', &len)))
		if (maps_line_parse(line, len, &parsed) && parsed.is_exec && parsed.is_file)
			search_mapping(search, &parsed);
	return 0;
}

int heap_attach_process(struct heap *heap, pid_t tgid)
{
	struct search search = {.heap = heap, .tgid = tgid};
	int err = add_process(heap, tgid, 0, false);
	char what[32];

	if (!err)
		err = search_process(&search);
	if (err) {
		log_error("heap: process %d: %s", (int)tgid, strerror(-err));
		return err;
	}
	snprintf(what, sizeof(what), "process %d", (int)tgid);
	return search_result(&search, what);
}

/* It may be gone already. */
void heap_attach_again(struct heap *heap, pid_t tgid)
{
	struct search search = {.heap = heap, .tgid = tgid};
	int err = search_process(&search);

	if (err)
		log_debug("heap: process %d: %s", (int)tgid, strerror(-err));
}

static void on_command_file(void *arg, int fd, const char *path)
{
	if (is_new(arg, fd))
		probe_file(arg, fd, path, path);
}

int heap_attach_command(struct heap *heap, pid_t tgid, const char *program)
{
	struct search search = {.heap = heap, .tgid = tgid};
	int err = add_process(heap, tgid, 0, true);
	char what[128];

	if (err)
		return err;
	/* Where exec fails, that is the message. */
	if (!command_files_each(program, on_command_file, &search))
		return 0;
	snprintf(what, sizeof(what), "'%.100s'", program);
	return search_result(&search, what);
}
