/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code as text, by capstone, which is known in disasm.c alone. */
#ifndef BPFPROF_CLI_DISASM_H
#define BPFPROF_CLI_DISASM_H

#include "base/buf.h"
#include "elf/code.h"

struct disasm_insn {
	uint64_t vaddr;
	size_t text; /* offset into texts, NUL-terminated */
	uint32_t len; /* bytes */
};

struct disasm {
	struct disasm_insn *insns; /* owned; ascending, without gaps */
	size_t cnt, cap;
	struct buf texts;
};

/*
 * The instructions of @code, in the syntax of objdump (AT&T on x86). Bytes that are none are shown
 * as ".byte". 0; -ENOTSUP: code of a machine that is not known here; -ENOMEM. disasm_deinit() in
 * either case.
 */
int disasm_init(struct disasm *disasm, const struct elf_code *code);
void disasm_deinit(struct disasm *disasm);

static inline const char *disasm_text(const struct disasm *disasm, size_t insn)
{
	return disasm->texts.data + disasm->insns[insn].text;
}

#endif
