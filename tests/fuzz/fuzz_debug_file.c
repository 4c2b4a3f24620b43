/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a stripped image says of its separate symbols. The first byte of the input says
 * what the others are: a whole image, the .gnu_debuglink or .gnu_debugdata of an otherwise sound
 * one, or the image that is packed in .gnu_debugdata.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lzma.h>

static void check(bool holds)
{
	if (!holds)
		abort();
}

#define assert_true(holds) check(holds)
#define assert_non_null(ptr) check((ptr) != NULL)
#define assert_int_equal(left, right) check((left) == (right))
#include "../unit/elf_image.h"

#include "elf/debug_file.h"
#include "elf/debug_link.h"
#include "elf/elf_file.h"
#include "elf/symtab.h"
#include "fuzz_image.h"

enum input_kind { AS_IMAGE, AS_LINK, AS_DATA, AS_PACKED_IMAGE, KIND_CNT };

enum { TEXT = 0x1000, TEXT_BYTES = 256, INPUT_MAX = 32 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_link(const struct elf_file *elf)
{
	struct debug_link link;

	if (!debug_link_read(elf, &link))
		check(link.name[0] && !strchr(link.name, '/') && strlen(link.name) <= NAME_MAX);
}

static void check_symbols(const struct elf_file *elf, const struct debug_file *debug)
{
	struct symtab *symtab;

	if (symtab_from_elf(elf, debug, &symtab))
		return;
	check(debug->kind != DEBUG_MINI || symtab_source(symtab) != SYMTAB_FULL);
	for (uint64_t vaddr = TEXT - 1; vaddr <= TEXT + TEXT_BYTES; vaddr++) {
		struct symtab_name name;

		if (symtab_find(symtab, vaddr, &name))
			continue;
		check(name.len && !memchr(name.str, '\0', name.len));
		check(vaddr >= name.start && vaddr < name.end);
	}
	symtab_free(symtab);
}

/* Without a path and a build-id no file is looked for: all of it happens in memory. */
static void check_image(void *image, size_t len)
{
	struct elf_file *elf = elf_file_from_memory(image, len);
	const struct debug_query query = {.elf = elf, .path = "", .root_fd = -1};
	struct debug_file debug = {0};

	if (!elf)
		return;
	check_link(elf);
	if (!debug_file_find(&query, DEBUG_WANT_SYMBOLS, &debug))
		check(debug.kind == DEBUG_MINI && !symtab_is_full(elf));
	check_symbols(elf, &debug);
	debug_file_deinit(&debug);
	elf_file_free(elf);
}

static void check_section(const char *name, const void *data, size_t len)
{
	static const struct image_symbol exported = {
		"exported", TEXT + 16, 32, STT_FUNC, STB_GLOBAL, 1,
	};
	struct elf_image image;

	image_init(&image, EM_X86_64);
	image_text(&image, ".text", TEXT, NULL, TEXT_BYTES);
	image_symbols(&image, SHT_DYNSYM, &exported, 1);
	image_section(&image, name, (Elf64_Shdr){.sh_type = SHT_PROGBITS}, data, len);
	image_finish(&image);
	check_image(image.bytes, image.len);
	image_deinit(&image);
}

static void check_packed(const uint8_t *data, size_t len)
{
	static uint8_t packed[INPUT_MAX + 1024];
	size_t packed_len = 0;

	check(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, len, packed, &packed_len,
				      sizeof(packed)) == LZMA_OK);
	check_section(".gnu_debugdata", packed, packed_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (!size || size > INPUT_MAX)
		return 0;
	copy = image_copy(data + 1, size - 1);
	switch ((enum input_kind)(data[0] % KIND_CNT)) {
	case AS_LINK:
		check_section(".gnu_debuglink", copy, size - 1);
		break;
	case AS_DATA:
		check_section(".gnu_debugdata", copy, size - 1);
		break;
	case AS_PACKED_IMAGE:
		check_packed(copy, size - 1);
		break;
	default:
		check_image(copy, size - 1);
	}
	free(copy);
	return 0;
}
