/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address space of a stopped process or of a core file, as the unwinder's task: mappings with
 * unwind rows built from the files they map, and memory.
 */
#ifndef BPFPROF_TESTS_SPACE_H
#define BPFPROF_TESTS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpfhost.h"

enum {
	SPACE_PAGE_BYTES = 4096,
	SPACE_CACHE_PAGES = 256,
};

struct page_cache {
	uint64_t vaddr[SPACE_CACHE_PAGES];
	uint32_t epoch[SPACE_CACHE_PAGES];
	uint8_t data[SPACE_CACHE_PAGES][SPACE_PAGE_BYTES];
	uint32_t now; /* pages of another epoch are stale */
};

struct space;

typedef int space_read_page_fn(const struct space *space, uint64_t vaddr, uint8_t *out);

struct space {
	struct bpfhost_task task;
	struct bpfhost_mapping *mappings; /* owned; of task */
	char **paths; /* owned; of each mapping, "" where there is none */
	size_t cnt, cap, paths_cap;
	struct page_cache cache;
	space_read_page_fn *read_page; /* one page. 0, or negative */
	pid_t pid;
	struct core_file *core;
};

/* Without mappings. */
void space_init(struct space *space, space_read_page_fn *read_page);

/* Of process @pid, which must be stopped while the space is used. 0 or negative errno. */
int space_init_process(struct space *space, pid_t pid);
void space_deinit(struct space *space);

/* Read the process' mappings again. 0 or negative errno. */
int space_reload(struct space *space);

/* The process has run: what was read of its memory is stale. */
void space_forget_memory(struct space *space);

/* Copy memory. 0, or negative when it is not readable in full. */
int space_read(struct space *space, uint64_t vaddr, void *out, size_t bytes);

/* The mapping that contains @vaddr, or NULL. */
const struct bpfhost_mapping *space_mapping(const struct space *space, uint64_t vaddr);

/* "libc.so.6+0x1234": file offset @vaddr stands for. */
const char *space_describe(const struct space *space, uint64_t vaddr, char *out, size_t room);

/*
 * Add a mapping, above all others or before space_sort(); @path NULL or not a file: without rows.
 * For "[vdso]", the image is
 * @vdso (borrowed), NULL: of this kernel. 0 or negative errno.
 */
int space_add(struct space *space, const struct bpfhost_mapping *mapping, const char *path,
	      void *vdso);
void space_sort(struct space *space);

#endif
