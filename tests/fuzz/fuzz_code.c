/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: code that is read from an ELF file and disassembled, or from no file at all. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/disasm.h"
#include "elf/segments.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Instructions follow each other from the first byte on, and each has a text. */
static void fuzz_disasm(const struct elf_code *code)
{
	uint64_t vaddr = code->vaddr;
	struct disasm disasm;

	if (!disasm_init(&disasm, code)) {
		for (size_t i = 0; i < disasm.cnt; i++) {
			if (disasm.insns[i].vaddr != vaddr || !disasm.insns[i].len ||
			    !*disasm_text(&disasm, i))
				abort();
			vaddr += disasm.insns[i].len;
		}
		if (vaddr - code->vaddr > code->len)
			abort();
	}
	disasm_deinit(&disasm);
}

static void fuzz_bytes(const uint8_t *data, size_t len, uint16_t machine)
{
	struct elf_code code = {
		.machine = machine,
		.vaddr = UINT64_MAX - len / 2, /* addresses may wrap */
		.bytes = image_copy(data, len),
		.len = len,
	};

	fuzz_disasm(&code);
	elf_code_deinit(&code);
}

/* Code is only ever what lies in an executable segment. */
static void fuzz_file(int fd)
{
	struct elf_segments segments = {0};
	struct elf_code code;

	if (elf_segments_read(fd, &segments))
		return;
	for (size_t i = 0; i < segments.cnt && i < 8; i++) {
		if (elf_code_read(fd, segments.items[i].vaddr, 1 << 12, &code))
			continue;
		if (code.len > 1 << 12 || !elf_segments_is_code(&segments, code.vaddr))
			abort();
		fuzz_disasm(&code);
		elf_code_deinit(&code);
	}
	elf_segments_deinit(&segments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	fuzz_bytes(data, len, EM_X86_64);
	fuzz_bytes(data, len, EM_AARCH64);
	fuzz_file(image_fd(data, len));
	return 0;
}
