/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a whole ELF image, opened from memory: build-id, segments, symbols, PLT, functions,
 * libraries. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/functions.h"
#include "elf/needed.h"
#include "elf/segments.h"
#include "elf/symtab.h"
#include "fuzz_image.h"

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

static void fuzz_build_id_fd(int fd)
{
	uint8_t build_id[20];

	if (elf_build_id_fd(fd, build_id, sizeof(build_id)) > sizeof(build_id))
		abort();
}

/* From memory and from the file they are the same, and the first byte of each is found. */
static void fuzz_segments(const void *image, size_t len, int fd)
{
	struct elf_segments segments = {0}, from_file = {0};
	uint64_t vaddr;

	if (elf_segments_parse(image, len, &segments) != elf_segments_read(fd, &from_file) ||
	    segments.cnt != from_file.cnt)
		abort();
	for (size_t i = 0; i < segments.cnt; i++) {
		const struct elf_segment *segment = &segments.items[i];

		if (segment->file_bytes && elf_segments_vaddr(&segments, segment->file_off, &vaddr))
			abort();
	}
	elf_segments_deinit(&segments);
	elf_segments_deinit(&from_file);
}

static void check_needed(void *arg, const char *name, const char *folders)
{
	size_t *bytes = arg;

	*bytes += strlen(name) + (folders ? strlen(folders) : 0);
}

/* Each function is found where it begins, and ends no sooner. */
static void fuzz_functions(const struct elf_file *elf)
{
	struct functions functions = {0};
	uint64_t start;

	if (functions_from_elf(elf, NULL, &functions))
		return;
	for (size_t i = 0; i < functions.cnt && i < 64; i++) {
		const struct function *function = &functions.items[i];

		if (!*function->name || (i && function[-1].vaddr > function->vaddr) ||
		    !functions_at(&functions, function->vaddr))
			abort();
		functions_extent(&functions, function);
		if (!unwind_table_start(elf, function->vaddr, &start) && start > function->vaddr)
			abort();
	}
	functions_deinit(&functions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	void *copy = image_copy(data, len);
	struct symtab *symtab = NULL;
	struct elf_file *elf;
	uint8_t build_id[20];
	size_t needed_bytes = 0;

	fuzz_build_id_fd(image_fd(data, len));
	fuzz_segments(copy, len, image_fd(data, len));
	elf = elf_file_from_memory(copy, len);
	if (elf) {
		elf_build_id(elf, build_id, sizeof(build_id));
		if (!symtab_from_elf(elf, NULL, &symtab))
			look_around(symtab);
		elf_each_needed(elf, check_needed, &needed_bytes);
		fuzz_functions(elf);
	}
	symtab_free(symtab);
	elf_file_free(elf);
	free(copy);
	return 0;
}
