/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a Go program's ELF image. Chains end in a function, and their strings are strings.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/go_symbols.h"
#include "fuzz_image.h"

enum { LOOKUPS = 64, TEXT_VADDR = 0x401000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void look_up(const struct go_symbols *syms, uint64_t vaddr, size_t len)
{
	struct go_chain chain;

	if (go_symbols_find(syms, vaddr, &chain))
		return;
	if (!chain.cnt || chain.cnt > GO_FRAMES_MAX)
		abort();
	for (size_t i = 0; i < chain.cnt; i++) {
		const struct go_frame *frame = &chain.frames[i];

		if (!frame->name[0] || strlen(frame->name) >= len || strlen(frame->file) >= len ||
		    frame->is_inlined != (i + 1 < chain.cnt))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct go_symbols *syms;
	struct elf_file *elf;
	void *copy = image_copy(data, len);

	elf = elf_file_from_memory(copy, len);
	if (elf && !go_symbols_from_elf(elf, &syms)) {
		for (int i = 0; i < LOOKUPS; i++) {
			look_up(syms, TEXT_VADDR + (uint64_t)i * 2, len);
			look_up(syms, 1ULL << i, len);
		}
		go_symbols_free(syms);
	}
	elf_file_free(elf);
	free(copy);
	return 0;
}
