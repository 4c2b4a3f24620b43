/* SPDX-License-Identifier: Apache-2.0 */
/* Go's tables on hostile bytes: the input is .gopclntab. Rows ascend, within what was asked for. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>

#include "unwind/go_table.h"

enum { TEXT_VADDR = 0x401000, TEXT_BYTES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void see(void *ctx, uint64_t vaddr, const struct bp_rule *rule)
{
	uint64_t *last = ctx;

	if (vaddr < TEXT_VADDR || vaddr >= TEXT_VADDR + TEXT_BYTES || vaddr <= *last)
		abort();
	*last = vaddr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t text[TEXT_BYTES] = "\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x55\x48\x89";
	struct cfi_sections sections = {
		.machine = EM_X86_64,
		.go_pclntab = {.data = data, .len = size},
		.go_text = {.data = text, .len = sizeof(text), .vaddr = TEXT_VADDR},
	};
	struct go_table table;
	uint64_t last = 0;

	if (go_table_init(&table, &sections))
		go_table_rows(&table, TEXT_VADDR, TEXT_VADDR + TEXT_BYTES, see, &last);
	return 0;
}
