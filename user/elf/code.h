/* SPDX-License-Identifier: Apache-2.0 */
/* The machine code of a range of an ELF file, for disassembly. */
#ifndef BPFPROF_ELF_CODE_H
#define BPFPROF_ELF_CODE_H

#include <stddef.h>
#include <stdint.h>

struct elf_code {
	uint16_t machine; /* EM_X86_64, EM_AARCH64, ... of elf.h */
	uint64_t vaddr;
	uint8_t *bytes; /* owned */
	size_t len;
};

enum { ELF_CODE_MAX_BYTES = 4 << 20 /* the largest functions have less */ };

/*
 * The bytes that @fd (a 64-bit little-endian ELF file) has for [@vaddr, @vaddr + @len), at most
 * ELF_CODE_MAX_BYTES of them, copied. 0 and *@out (elf_code_deinit()); -EBADMSG: not such a file;
 * -ENOENT: no executable segment has file bytes there; -ENOMEM; other negative errno. Machines
 * other than ours are fine.
 */
int elf_code_read(int fd, uint64_t vaddr, uint64_t len, struct elf_code *out);
void elf_code_deinit(struct elf_code *code);

#endif
