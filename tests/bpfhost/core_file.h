/* SPDX-License-Identifier: Apache-2.0 */
/* A core file: the threads' registers, and its memory as a space. */
#ifndef BPFPROF_TESTS_CORE_FILE_H
#define BPFPROF_TESTS_CORE_FILE_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include "space.h"

struct core_thread {
	pid_t tid;
	struct user_regs_struct regs;
};

struct core_file {
	int fd; /* owned */
	Elf *elf; /* owned */
	GElf_Phdr *loads; /* owned; PT_LOAD, ascending */
	size_t loads_cnt, loads_cap;
	struct core_thread *threads; /* owned */
	size_t threads_cnt, threads_cap;
	const char *files; /* NT_FILE, borrowed from elf; NULL: none */
	size_t files_bytes;
	uint64_t vdso_vaddr; /* 0: none */
	uint8_t vdso[2 * SPACE_PAGE_BYTES];
};

/* Open @path and describe its memory as @space, which borrows @core. 0, or -1 and a message. */
int core_file_open(struct core_file *core, const char *path, struct space *space);
void core_file_deinit(struct core_file *core);

#endif
