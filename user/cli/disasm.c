/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code as text: see disasm.h. */
#include "cli/disasm.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "base/array.h"

static int open_machine(uint16_t machine, csh *out)
{
	cs_err err = machine == EM_X86_64    ? cs_open(CS_ARCH_X86, CS_MODE_64, out)
		     : machine == EM_AARCH64 ? cs_open(CS_ARCH_ARM64, CS_MODE_ARM, out)
					     : CS_ERR_ARCH;

	if (err)
		return err == CS_ERR_MEM ? -ENOMEM : -ENOTSUP;
	if (machine == EM_X86_64)
		cs_option(*out, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	cs_option(*out, CS_OPT_SKIPDATA, CS_OPT_ON);
	return 0;
}

static int add_insn(struct disasm *disasm, const cs_insn *insn)
{
	if (array_reserve(&disasm->insns, &disasm->cap, disasm->cnt + 1, sizeof(*disasm->insns)))
		return -ENOMEM;
	disasm->insns[disasm->cnt++] = (struct disasm_insn){
		.vaddr = insn->address,
		.text = disasm->texts.len,
		.len = insn->size,
	};
	buf_printf(&disasm->texts, *insn->op_str ? "%-8s %s" : "%s", insn->mnemonic, insn->op_str);
	buf_add_char(&disasm->texts, '\0');
	return disasm->texts.err;
}

int disasm_init(struct disasm *disasm, const struct elf_code *code)
{
	const uint8_t *bytes = code->bytes;
	uint64_t vaddr = code->vaddr;
	size_t left = code->len;
	cs_insn *insn;
	csh handle;
	int err;

	*disasm = (struct disasm){0};
	buf_init(&disasm->texts, BUF_NO_MAX);
	err = open_machine(code->machine, &handle);
	if (err)
		return err;
	insn = cs_malloc(handle);
	err = insn ? 0 : -ENOMEM;
	while (!err && cs_disasm_iter(handle, &bytes, &left, &vaddr, insn))
		err = add_insn(disasm, insn);
	if (insn)
		cs_free(insn, 1);
	cs_close(&handle);
	return err;
}

void disasm_deinit(struct disasm *disasm)
{
	free(disasm->insns);
	buf_deinit(&disasm->texts);
	*disasm = (struct disasm){0};
}
