/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/heap_search.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/reader.h"
#include "capture/command_files.h"
#include "capture/heap.h"
#include "capture/heap_family.h"
#include "capture/heap_probe.h"
#include "proc/maps_line.h"

enum { MAPS_MAX_BYTES = 64 << 20 };

static bool is_gone(pid_t tgid)
{
	return kill(tgid, 0) && errno == ESRCH;
}

/* Twice probed, all would be counted twice. */
static bool is_probed(const struct heap_search *search, size_t file)
{
	const struct heap *heap = search->heap;

	for (size_t i = 0; i < heap->probed_cnt; i++)
		if (heap->probed[i].tgid == search->tgid && heap->probed[i].file == file)
			return true;
	return false;
}

static void probe_file(struct heap_search *search, size_t nr)
{
	struct heap *heap = search->heap;
	const struct heap_file *file = &heap->files.items[nr];
	char path[64];
	int err;

	if (!file->places || is_probed(search, nr))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	err = array_reserve(&heap->probed, &heap->probed_cap, heap->probed_cnt + 1,
			    sizeof(*heap->probed));
	if (!err)
		err = heap_probe(heap, search->tgid, path, file->places);
	if (err && is_gone(search->tgid))
		return;
	if (err) {
		search->err = err;
		log_warn("heap: probe the allocator of '%s' in process %d: %s", file->name,
			 (int)search->tgid, strerror(-err));
		return;
	}
	heap->probed[heap->probed_cnt++] = (struct heap_probed){search->tgid, nr};
	search->found++;
	log_debug("heap: %zu functions of '%s' (%smalloc) in process %d", file->places->cnt,
		  file->name, file->places->prefix, (int)search->tgid);
}

static void on_file(void *arg, int fd, const char *name)
{
	struct heap_search *search = arg;
	ssize_t file = heap_files_find(&search->heap->files, fd, name, &search->heap->opts);

	if (file >= 0)
		probe_file(search, (size_t)file);
}

static void search_mapping(struct heap_search *search, const struct maps_line *line)
{
	_cleanup_close_ int fd = -1;
	char path[96], name[256];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)search->tgid,
		 (unsigned long)line->start, (unsigned long)line->end);
	snprintf(name, sizeof(name), "%.*s", (int)line->path_len, line->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		on_file(search, fd, name);
}

int heap_search_mapped(struct heap_search *search)
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

size_t heap_search_program(struct heap_search *search, const char *program)
{
	return command_files_each(program, on_file, search);
}

void heap_search_exec(struct heap_search *search)
{
	command_files_of_process(search->tgid, on_file, search);
}

void heap_search_child(struct heap_search *search, pid_t parent)
{
	struct heap *heap = search->heap;
	size_t cnt = heap->probed_cnt;

	for (size_t i = 0; i < cnt; i++)
		if (heap->probed[i].tgid == parent)
			probe_file(search, heap->probed[i].file);
}

void heap_search_forget(struct heap *heap, pid_t tgid)
{
	size_t cnt = 0;

	for (size_t i = 0; i < heap->probed_cnt; i++)
		if (heap->probed[i].tgid != tgid)
			heap->probed[cnt++] = heap->probed[i];
	heap->probed_cnt = cnt;
}
