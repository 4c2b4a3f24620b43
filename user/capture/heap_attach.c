/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a process allocates by: what it has mapped, or what a command is going to map. */
#include "capture/heap.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
#include "capture/heap_probe.h"
#include "capture/loader.h"
#include "elf/elf_file.h"
#include "elf/needed.h"
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
	size_t seen_cnt;
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
	search->seen_cnt++;
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
	if (!search->err)
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

/* Call @fn for each of the names in @list between characters of @seps, until it says true. */
static bool each_name(const char *list, const char *seps,
		      bool (*fn)(void *arg, const char *name, size_t len), void *arg)
{
	while (list && *list) {
		size_t len = strcspn(list, seps);

		if (len && fn(arg, list, len))
			return true;
		list += len + strspn(list + len, seps);
	}
	return false;
}

/* A file that is looked for in folders. */
struct wanted {
	struct search *search;
	const char *name;
};

static void search_path(struct search *search, const char *path);

static bool try_folder(void *arg, const char *folder, size_t len)
{
	struct wanted *wanted = arg;
	char path[4096];

	snprintf(path, sizeof(path), "%.*s/%s", (int)len, folder, wanted->name);
	if (access(path, R_OK))
		return false;
	search_path(wanted->search, path);
	return true;
}

/* Where the dynamic linker looks, but for its cache's further folders and what a file says itself.
 */
static void on_needed(void *arg, const char *name)
{
	static const char folders[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
				      "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
				      "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
	struct wanted wanted = {arg, name};

	if (strchr(name, '/'))
		search_path(arg, name);
	else if (!each_name(getenv("LD_LIBRARY_PATH"), ":", try_folder, &wanted))
		each_name(folders, ":", try_folder, &wanted);
}

/* A script's interpreter, NUL-terminated in @out, which has @max bytes. */
static bool read_interpreter(int fd, char *out, size_t max)
{
	ssize_t len = pread(fd, out, max - 1, 0);
	char *start;

	if (len < 3 || out[0] != '#' || out[1] != '!')
		return false;
	out[len] = '\0';
	start = out + 2 + strspn(out + 2, " \t");
	start[strcspn(start, " \t\n")] = '\0';
	memmove(out, start, strlen(start) + 1);
	return *out == '/';
}

static void search_path(struct search *search, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char interpreter[256];
	struct elf_file *elf;

	if (fd < 0 || !is_new(search, fd))
		return;
	if (read_interpreter(fd, interpreter, sizeof(interpreter))) {
		search_path(search, interpreter);
		return;
	}
	probe_file(search, fd, path, path);
	elf = elf_file_open_unmapped(fd);
	if (!elf)
		return;
	elf_each_needed(elf, on_needed, search);
	elf_file_free(elf);
}

static bool on_preloaded(void *arg, const char *name, size_t len)
{
	char path[4096];

	snprintf(path, sizeof(path), "%.*s", (int)len, name);
	on_needed(arg, path);
	return false;
}

int heap_attach_command(struct heap *heap, pid_t tgid, const char *program)
{
	struct search search = {.heap = heap, .tgid = tgid};
	struct wanted wanted = {&search, program};
	int err = add_process(heap, tgid, 0, true);
	char what[128];

	if (err)
		return err;
	each_name(getenv("LD_PRELOAD"), ": ", on_preloaded, &search);
	if (strchr(program, '/'))
		search_path(&search, program);
	else
		each_name(getenv("PATH"), ":", try_folder, &wanted);
	/* Where exec fails, that is the message. */
	if (!search.seen_cnt)
		return 0;
	snprintf(what, sizeof(what), "'%.100s'", program);
	return search_result(&search, what);
}
