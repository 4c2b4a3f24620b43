/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings from /proc/PID/maps, memory by process_vm_readv(), rows by the unwind tables of files.
 */
#include "space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "unwind/table.h"

enum { VDSO_BYTES = 2 * SPACE_PAGE_BYTES };

/* Files that have rows already, over all spaces of the program. */
struct known_file {
	dev_t dev;
	ino_t ino;
	uint32_t exe_id;
};

static struct known_file *known;
static size_t known_cnt, known_cap;

static int process_read_page(const struct space *space, uint64_t vaddr, uint8_t *out)
{
	struct iovec local = {.iov_base = out, .iov_len = SPACE_PAGE_BYTES};
	struct iovec remote = {.iov_base = (void *)vaddr, .iov_len = SPACE_PAGE_BYTES};

	return process_vm_readv(space->pid, &local, 1, &remote, 1, 0) == SPACE_PAGE_BYTES ? 0 : -1;
}

static const uint8_t *page_at(struct space *space, uint64_t vaddr)
{
	struct page_cache *cache = &space->cache;
	size_t at = vaddr / SPACE_PAGE_BYTES % SPACE_CACHE_PAGES;

	if (cache->vaddr[at] != vaddr || cache->epoch[at] != cache->now) {
		if (space->read_page(space, vaddr, cache->data[at]))
			return NULL;
		cache->vaddr[at] = vaddr;
		cache->epoch[at] = cache->now;
	}
	return cache->data[at];
}

int space_read(struct space *space, uint64_t vaddr, void *out, size_t bytes)
{
	while (bytes) {
		size_t off = vaddr % SPACE_PAGE_BYTES;
		size_t part = SPACE_PAGE_BYTES - off < bytes ? SPACE_PAGE_BYTES - off : bytes;
		const uint8_t *page = page_at(space, vaddr - off);

		if (!page)
			return -1;
		memcpy(out, page + off, part);
		out = (char *)out + part;
		vaddr += part;
		bytes -= part;
	}
	return 0;
}

static int task_read(void *ctx, uint64_t vaddr, void *out, size_t bytes)
{
	return space_read(ctx, vaddr, out, bytes);
}

void space_forget_memory(struct space *space)
{
	space->cache.now++;
}

/* The executable id of @table (taken), remembered for the file @st unless that is NULL. */
static int exe_of_table(struct unwind_table *table, const struct stat *st)
{
	int id = table ? bpfhost_add_rows(&table->rows, table->rules.items, table->rules.cnt,
					  table->rules.tracks_bx)
		       : bpfhost_add_unbuilt();

	unwind_table_free(table);
	if (id < 0 || array_reserve(&known, &known_cap, known_cnt + 1, sizeof(*known)))
		return -ENOMEM;
	known[known_cnt++] = (struct known_file){
		.dev = st ? st->st_dev : 0, .ino = st ? st->st_ino : 0, .exe_id = (uint32_t)id};
	return id;
}

static int exe_of_path(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return BP_EXE_NONE;
	for (size_t i = 0; i < known_cnt; i++)
		if (known[i].ino == st.st_ino && known[i].dev == st.st_dev)
			return (int)known[i].exe_id;
	return exe_of_table(unwind_table_open(fd), &st);
}

static int exe_of_vdso(void *image)
{
	static const struct stat ours;

	if (image)
		return exe_of_table(unwind_table_from_memory(image, VDSO_BYTES), NULL);
	for (size_t i = 0; i < known_cnt; i++)
		if (!known[i].ino)
			return (int)known[i].exe_id;
	return exe_of_table(
		unwind_table_from_memory((void *)getauxval(AT_SYSINFO_EHDR), VDSO_BYTES), &ours);
}

int space_add(struct space *space, const struct bpfhost_mapping *mapping, const char *path,
	      void *vdso)
{
	int err = array_reserve(&space->mappings, &space->cap, space->cnt + 1,
				sizeof(*space->mappings));
	int exe = BP_EXE_NONE;

	if (!err)
		err = array_reserve(&space->paths, &space->paths_cap, space->cnt + 1,
				    sizeof(*space->paths));
	if (!err && mapping->is_exec && path)
		exe = strcmp(path, "[vdso]") ? exe_of_path(path) : exe_of_vdso(vdso);
	if (err || exe < 0)
		return -ENOMEM;
	space->mappings[space->cnt] = *mapping;
	space->mappings[space->cnt].exe_id = (uint32_t)exe;
	space->paths[space->cnt] = strdup(path ? path : "");
	if (!space->paths[space->cnt])
		return -ENOMEM;
	space->cnt++;
	space->task.mappings = space->mappings;
	space->task.mappings_cnt = space->cnt;
	return 0;
}

void space_sort(struct space *space)
{
	for (size_t i = 1; i < space->cnt; i++) {
		struct bpfhost_mapping mapping = space->mappings[i];
		char *path = space->paths[i];
		size_t k = i;

		for (; k && space->mappings[k - 1].start > mapping.start; k--) {
			space->mappings[k] = space->mappings[k - 1];
			space->paths[k] = space->paths[k - 1];
		}
		space->mappings[k] = mapping;
		space->paths[k] = path;
	}
}

static void space_clear(struct space *space)
{
	for (size_t i = 0; i < space->cnt; i++)
		free(space->paths[i]);
	space->cnt = 0;
	space->task.mappings_cnt = 0;
}

int space_reload(struct space *space)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char name[32], line[4096];
	int err = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", space->pid);
	maps = fopen(name, "re");
	if (!maps)
		return -errno;
	space_clear(space);
	while (!err && fgets(line, sizeof(line), maps)) {
		struct bpfhost_mapping mapping = {0};
		int path_at = 0;
		char perms[5];

		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &mapping.start, &mapping.end, perms,
			   &mapping.file_off, &path_at) < 4)
			return -EBADMSG;
		line[strcspn(line, "\n")] = 0;
		mapping.is_exec = perms[2] == 'x';
		err = space_add(space, &mapping, line[path_at] ? line + path_at : NULL, NULL);
	}
	return err;
}

/* mm->start_stack: field 28 of /proc/PID/stat; 0 when it cannot be read. */
static uint64_t start_stack_of(pid_t pid)
{
	_cleanup_fclose_ FILE *stat = NULL;
	char name[32], line[1024] = "";
	uint64_t value = 0;
	const char *at;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	stat = fopen(name, "re");
	if (!stat || !fgets(line, sizeof(line), stat))
		return 0;
	/* Behind the name, which may hold anything. */
	at = strrchr(line, ')');
	for (int field = 2; at && field < 28; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%lu", &value) == 1 ? value : 0;
}

void space_init(struct space *space, space_read_page_fn *read_page)
{
	*space = (struct space){.read_page = read_page};
	space->cache.now = 1;
	space->task.read = task_read;
	space->task.ctx = space;
}

int space_init_process(struct space *space, pid_t pid)
{
	space_init(space, process_read_page);
	space->pid = pid;
	space->task.start_stack = start_stack_of(pid);
	return space_reload(space);
}

void space_deinit(struct space *space)
{
	space_clear(space);
	free(space->mappings);
	free(space->paths);
}

const struct bpfhost_mapping *space_mapping(const struct space *space, uint64_t vaddr)
{
	for (size_t i = 0; i < space->cnt; i++)
		if (vaddr >= space->mappings[i].start && vaddr < space->mappings[i].end)
			return &space->mappings[i];
	return NULL;
}

const char *space_describe(const struct space *space, uint64_t vaddr, char *out, size_t room)
{
	const struct bpfhost_mapping *mapping = space_mapping(space, vaddr);
	const char *path, *base;

	if (!mapping) {
		snprintf(out, room, "0x%lx", vaddr);
		return out;
	}
	path = space->paths[mapping - space->mappings];
	base = strrchr(path, '/');
	snprintf(out, room, "%s+0x%lx", base ? base + 1 : path,
		 vaddr - mapping->start + mapping->file_off);
	return out;
}
