/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the debugging information of a whole ELF image, which serves as its own alternate
 * file too, looked up all over its code. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/dwarf_chain.h"
#include "fuzz_image.h"

enum {
	FRAMES_MAX = 8,
	/* The seeds are linked to the start of a page; so far their code reaches. */
	CODE_AT = 0x401000,
	CODE_STEP = 5,
	LOOKUPS_CNT = 96,
	BUDGET_BYTES = 4096, /* so that units are forgotten all the time */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void look_up(struct dwarf_index *index, uint64_t vaddr)
{
	struct dwarf_frame frames[FRAMES_MAX];
	int cnt = chain_find(index, vaddr, frames, FRAMES_MAX);

	if (!cnt || cnt > DWARF_SITES_DEEP)
		abort();
	for (int i = 0; i < cnt && i < FRAMES_MAX; i++) {
		/* Every byte that is lent must be readable. */
		if (frames[i].name && strlen(frames[i].name) > SIZE_MAX / 2)
			abort();
		if (frames[i].file && !*frames[i].file)
			abort();
		if (frames[i].is_inlined == (i == cnt - 1))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct dwarf_index_opts opts = {.alt_fd = -1, .root_fd = -1, .budget_bytes = BUDGET_BYTES};
	struct dwarf_index *index = NULL;
	struct elf_file *elf;
	void *copy = image_copy(data, len);

	elf = elf_file_from_memory(copy, len);
	if (elf) {
		opts.alt_fd = image_fd(data, len);
		if (!dwarf_index_new(elf, &opts, &index))
			for (uint64_t i = 0; i < LOOKUPS_CNT; i++)
				look_up(index, CODE_AT + i * CODE_STEP);
	}
	dwarf_index_free(index);
	elf_file_free(elf);
	free(copy);
	return 0;
}
