/* SPDX-License-Identifier: Apache-2.0 */
/* The loadable segments of an ELF file, enough to turn file offsets into virtual addresses. Read by
 * pread, without libelf, while capturing. */
#ifndef BPFPROF_ELF_SEGMENTS_H
#define BPFPROF_ELF_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_segment {
	uint64_t file_off, file_bytes, vaddr;
	bool is_exec;
};

struct elf_segments {
	struct elf_segment *items; /* owned */
	size_t cnt, cap;
};

/* Parse the program headers of @fd or of an image in memory. 0; -EBADMSG: not a 64-bit ELF file of
 * ours, or cut short; -ENOMEM; what reading @fd answers. */
int elf_segments_read(int fd, struct elf_segments *out);
int elf_segments_parse(const void *image, size_t len, struct elf_segments *out);
void elf_segments_deinit(struct elf_segments *segments);

/*
 * The virtual address of the byte at @file_off: executable segments first, by filesz, never memsz
 * (the bytes beyond filesz are not in the file). 0 and *@out, or -ENOENT.
 */
int elf_segments_vaddr(const struct elf_segments *segments, uint64_t file_off, uint64_t *out);

/* The inverse: where the byte that is loaded to @vaddr lies in the file. 0 and *@out; -ENOENT when
 * no segment has it there, as what is zeroed at run time. */
int elf_segments_file_off(const struct elf_segments *segments, uint64_t vaddr, uint64_t *out);

/* Does an executable segment load file bytes to @vaddr? */
bool elf_segments_is_code(const struct elf_segments *segments, uint64_t vaddr);

#endif
