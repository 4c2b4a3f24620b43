/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of .gopclntab to rules. */
#include "unwind/go_table.h"

#include <elf.h>
#include <string.h>

#include "base/reader.h"
#include "elf/gopclntab.h"

enum {
	FRAME_BYTES_MAX = 1 << 30,

	/* enum FuncFlag of internal/abi */
	FLAG_TOP_FRAME = 1,
	FLAG_SP_WRITE = 2,
	FLAG_ASM = 4,

	X86_FP = 6,
	X86_SP = 7,
};

struct unwind_func {
	struct go_func go;
	bool is_sigreturn; /* the signal trampoline */
	bool is_bottom;
};

bool go_table_init(struct go_table *table, const struct cfi_sections *sections)
{
	*table = (struct go_table){
		.text = sections->go_text,
		.entry_vaddr = sections->entry_vaddr,
	};
	/* A position-independent file has its text's address from a relocation. */
	return sections->machine == EM_X86_64 &&
	       go_pclntab_init(&table->pclntab, sections->go_pclntab.data,
			       sections->go_pclntab.len) &&
	       table->pclntab.version >= GO_1_18 && table->pclntab.quantum == 1 &&
	       table->pclntab.text_vaddr;
}

static bool name_starts(const char *name, const char *prefix)
{
	return name && !strncmp(name, prefix, strlen(prefix));
}

static bool func_read(const struct go_table *table, uint64_t index, struct unwind_func *out)
{
	const char *name;

	if (!go_pclntab_func(&table->pclntab, index, &out->go))
		return false;
	out->is_sigreturn = out->is_bottom = false;
	if (out->go.flags & FLAG_ASM) {
		name = go_pclntab_name(&table->pclntab, out->go.name);
		out->is_sigreturn = name_starts(name, "runtime.sigreturn");
		/* What a signal handler is called by is a top frame to Go, which switches to the
		 * interrupted stack by other means. What mcall() calls is the scheduler: the
		 * goroutine that called it may already run elsewhere. */
		out->is_bottom =
			name_starts(name, "_rt0_") || name_starts(name, "runtime.mcall") ||
			(out->go.flags & FLAG_TOP_FRAME && !name_starts(name, "runtime.sigtramp"));
	}
	out->is_bottom |=
		out->go.vaddr <= table->entry_vaddr && table->entry_vaddr < out->go.end_vaddr;
	return true;
}

/* The next range of code in which sp stays where it is, value bytes below the return address; false
 * at the function's end, or when the table makes no sense. */
static bool pcsp_next(struct go_pcvalue *pcsp)
{
	return go_pcvalue_next(pcsp) && pcsp->value >= 0 && pcsp->value <= FRAME_BYTES_MAX;
}

/*
 * Where rbp has been saved below the return address, in a function whose sp first moves at @vaddr,
 * by @frame_bytes: behind `push %rbp` (since Go 1.21) or `mov %rbp,frame-8(%rsp)`. UINT64_MAX: not.
 */
static uint64_t fp_saved_from(const struct go_table *table, uint64_t vaddr, int64_t frame_bytes)
{
	struct reader rd;
	uint8_t before;
	uint32_t store;

	reader_init(&rd, table->text.data, table->text.len);
	reader_seek(&rd, vaddr - 1 - table->text.vaddr);
	before = reader_u8(&rd);
	store = reader_u32(&rd);
	if (rd.err)
		return UINT64_MAX;
	if (before == 0x55 && frame_bytes == 8)
		return vaddr;
	if (store == 0x242c8948 && frame_bytes == 8)
		return vaddr + 4;
	if (store == 0x246c8948 && reader_u8(&rd) == frame_bytes - 8 && !rd.err)
		return vaddr + 5;
	if (store == 0x24ac8948 && reader_u32(&rd) == frame_bytes - 8 && !rd.err)
		return vaddr + 8;
	return UINT64_MAX;
}

static struct bp_rule rule_frame(int64_t frame_bytes, uint8_t fp_save)
{
	return (struct bp_rule){
		.kind = BP_RULE_REG,
		.cfa_reg = X86_SP,
		.cfa_off = (int32_t)frame_bytes + 8,
		.ra_save = BP_SAVE_CFA,
		.ra_off = -8,
		.fp_save = fp_save,
		.fp_off = fp_save == BP_SAVE_CFA ? -16 : 0,
	};
}

/* Where a function moves sp on the stack that it is called on. */
static uint64_t frame_starts(const struct go_table *table, const struct go_func *func,
			     int64_t *frame_bytes)
{
	struct go_pcvalue pcsp;

	go_pcvalue_init(&pcsp, &table->pclntab, func, func->pcsp);
	while (pcsp_next(&pcsp)) {
		if (pcsp.value) {
			*frame_bytes = pcsp.value;
			return pcsp.vaddr;
		}
	}
	return UINT64_MAX;
}

/*
 * The rows of @func. A function that writes sp is on two stacks (systemstack, mcall, asmcgocall,
 * calls of the vdso): where it has a frame, or when it never has one, only the frame pointer tells.
 */
static void func_rows(const struct go_table *table, const struct go_func *func, go_row_fn *row,
		      void *ctx)
{
	static const struct bp_rule by_fp = {.kind = BP_RULE_FP};
	int64_t frame_bytes = 0;
	uint64_t starts = frame_starts(table, func, &frame_bytes), saved;
	bool is_switch = func->flags & FLAG_SP_WRITE;
	struct bp_rule rule;
	struct go_pcvalue pcsp;

	if (is_switch && starts == UINT64_MAX) {
		row(ctx, func->vaddr, &by_fp);
		return;
	}
	saved = starts == UINT64_MAX ? starts : fp_saved_from(table, starts, frame_bytes);
	go_pcvalue_init(&pcsp, &table->pclntab, func, func->pcsp);
	while (pcsp_next(&pcsp)) {
		if (!pcsp.value)
			rule = rule_frame(0, BP_SAVE_SAME);
		else if (saved == UINT64_MAX)
			rule = rule_frame(pcsp.value, BP_SAVE_UNDEFINED);
		else
			rule = rule_frame(pcsp.value,
					  pcsp.vaddr < saved ? BP_SAVE_SAME : BP_SAVE_CFA);
		row(ctx, pcsp.vaddr, is_switch && pcsp.value ? &by_fp : &rule);
		if (!is_switch && pcsp.vaddr < saved && saved < pcsp.end_vaddr) {
			rule = rule_frame(pcsp.value, BP_SAVE_CFA);
			row(ctx, saved, &rule);
		}
	}
}

uint64_t go_table_rows(const struct go_table *table, uint64_t from_vaddr, uint64_t to_vaddr,
		       go_row_fn *row, void *ctx)
{
	static const struct bp_rule bottom = {.kind = BP_RULE_END};
	static const struct bp_rule signal = {.kind = BP_RULE_SIGNAL};
	uint64_t done_vaddr = from_vaddr;

	for (uint64_t i = go_pclntab_search(&table->pclntab, from_vaddr);
	     i < table->pclntab.func_cnt; i++) {
		struct unwind_func func;

		/* Out of order: not a table that a linker has written. */
		if (!func_read(table, i, &func) || func.go.vaddr < done_vaddr ||
		    func.go.vaddr >= to_vaddr)
			break;
		if (func.go.end_vaddr > to_vaddr)
			func.go.end_vaddr = to_vaddr;
		if (func.is_sigreturn || func.is_bottom)
			row(ctx, func.go.vaddr, func.is_bottom ? &bottom : &signal);
		else
			func_rows(table, &func.go, row, ctx);
		done_vaddr = func.go.end_vaddr;
	}
	return done_vaddr;
}
