/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a whole ELF image, opened from memory: build-id, offsets, symbols, PLT. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Lookups all over the place, and at both ends of what is found. */
static void look_around(const struct symtab *symtab)
{
	uint64_t vaddr = 0;

	for (int i = 0; i < 64; i++) {
		struct symtab_name name = {0};
		uint64_t next = vaddr + (1ULL << i);

		if (!symtab_find(symtab, vaddr, &name)) {
			if (!name.len || vaddr < name.start || vaddr >= name.end ||
			    memchr(name.str, '\0', name.len) ||
			    symtab_find(symtab, name.start, &name) ||
			    symtab_find(symtab, name.end - 1, &name))
				abort();
			next = name.end;
		}
		vaddr = next;
	}
}

static void fuzz_build_id_fd(const uint8_t *data, size_t len)
{
	static int fd = -1;
	uint8_t build_id[20];

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
	if (elf_build_id_fd(fd, build_id, sizeof(build_id)) > sizeof(build_id))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct symtab *symtab = NULL;
	struct elf_file *elf;
	uint8_t build_id[20];
	uint64_t vaddr;
	void *copy;

	fuzz_build_id_fd(data, len);
	copy = malloc(len ? len : 1);
	if (!copy)
		return 0;
	if (len)
		memcpy(copy, data, len);
	elf = elf_file_from_memory(copy, len);
	if (elf) {
		elf_build_id(elf, build_id, sizeof(build_id));
		elf_vaddr_of_offset(elf, len / 2, &vaddr);
		if (!symtab_from_elf(elf, NULL, &symtab))
			look_around(symtab);
	}
	symtab_free(symtab);
	elf_file_free(elf);
	free(copy);
	return 0;
}
