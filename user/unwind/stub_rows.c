/* SPDX-License-Identifier: Apache-2.0 */
/* Following what instructions do to sp and to the link register. */
#include "unwind/stub_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/reader.h"
#include "unwind/cfi_state.h"

enum {
	INSN_BYTES = 4,
	REG_FP = 29,
	REG_LR = 30,
	REG_SP = 31,
	FRAME_BYTES_MAX = 4096,
};

/* stp Xt, Xt2, [Xn, #imm]! and ldp Xt, Xt2, [Xn], #imm: opcode, imm7 / 8, Xt2, Xn, Xt. */
#define PAIR_MASK 0xffc00000U
#define PAIR_PUSH 0xa9800000U
#define PAIR_POP 0xa8c00000U
/* sub sp, sp, #imm12 and add sp, sp, #imm12 */
#define ADJUST_MASK 0xffc003ffU
#define ADJUST_SUB 0xd10003ffU
#define ADJUST_ADD 0x910003ffU
/* The kernel's trampoline, by which unwinders are to know it: mov x8, #__NR_rt_sigreturn; svc #0 */
#define SIGRETURN_MOV 0xd2801168U
#define SIGRETURN_SVC 0xd4000001U

/* Where a function stands with its frame. */
struct frame {
	uint16_t bytes; /* from sp to the CFA */
	uint16_t lr_at; /* from the CFA down to { fp, lr }; 0: lr is still in its register */
	bool has_fp; /* of that pair, fp is the frame pointer's */
	bool is_known;
};

struct scan {
	struct reader rd;
	const struct elf_bytes *code;
	struct frame *ahead; /* owned; of each instruction, what a branch before it said */
	size_t insns_cnt;
	stub_row_fn *row;
	void *ctx;
	struct frame last; /* that a row was given for */
};

/* Bits @lo to @lo + @cnt - 1 of @insn, a signed number. */
static int64_t field(uint32_t insn, unsigned int lo, unsigned int cnt)
{
	return (int32_t)(insn << (32 - lo - cnt)) >> (32 - cnt);
}

/* b; br; ret: what follows is reached from elsewhere. */
static bool is_jump(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x14000000 || (insn & 0xfffffc1f) == 0xd61f0000 ||
	       (insn & 0xfffffc1f) == 0xd65f0000;
}

/* Where @insn may branch to, in instructions from itself; 0: nowhere. */
static int64_t branch_of(uint32_t insn)
{
	if ((insn & 0xfc000000) == 0x14000000) /* b */
		return field(insn, 0, 26);
	if ((insn & 0xff000010) == 0x54000000 || /* b.cond */
	    (insn & 0x7e000000) == 0x34000000) /* cbz, cbnz */
		return field(insn, 5, 19);
	if ((insn & 0x7e000000) == 0x36000000) /* tbz, tbnz */
		return field(insn, 5, 14);
	return 0;
}

static bool moves_lr(uint32_t insn, uint32_t opcode)
{
	return (insn & PAIR_MASK) == opcode && (insn >> 10 & 31) == REG_LR &&
	       (insn >> 5 & 31) == REG_SP;
}

/* The frame behind @insn. */
static struct frame frame_after(struct frame frame, uint32_t insn)
{
	int64_t bytes = frame.bytes;

	if (moves_lr(insn, PAIR_PUSH)) {
		bytes -= 8 * field(insn, 15, 7);
		frame.lr_at = (uint16_t)bytes;
		frame.has_fp = (insn & 31) == REG_FP;
	} else if (moves_lr(insn, PAIR_POP)) {
		bytes -= 8 * field(insn, 15, 7);
		frame.lr_at = 0;
		frame.has_fp = false;
	} else if ((insn & ADJUST_MASK) == ADJUST_SUB) {
		bytes += insn >> 10 & 0xfff;
	} else if ((insn & ADJUST_MASK) == ADJUST_ADD) {
		bytes -= insn >> 10 & 0xfff;
	}
	frame.is_known = bytes >= 0 && bytes <= FRAME_BYTES_MAX;
	frame.bytes = (uint16_t)bytes;
	return frame;
}

static struct bp_rule rule_of(const struct frame *frame)
{
	struct bp_rule rule = {.kind = BP_RULE_REG, .cfa_reg = REG_SP, .cfa_off = frame->bytes};

	if (!frame->is_known)
		return (struct bp_rule){.kind = BP_RULE_GAP};
	if (frame->lr_at) {
		rule.ra_save = BP_SAVE_CFA;
		rule.ra_off = 8 - frame->lr_at;
	}
	if (frame->has_fp) {
		rule.fp_save = BP_SAVE_CFA;
		rule.fp_off = -(int32_t)frame->lr_at;
	}
	return rule;
}

static bool frame_equal(const struct frame *a, const struct frame *b)
{
	return a->bytes == b->bytes && a->lr_at == b->lr_at && a->has_fp == b->has_fp &&
	       a->is_known == b->is_known;
}

static void put_frame(struct scan *scan, size_t i, const struct frame *frame)
{
	struct bp_rule rule = rule_of(frame);

	if (i && frame_equal(frame, &scan->last))
		return;
	scan->last = *frame;
	scan->row(scan->ctx, scan->code->vaddr + i * INSN_BYTES, &rule);
}

static bool is_sigreturn(struct scan *scan, uint32_t insn)
{
	struct reader next = scan->rd;

	return insn == SIGRETURN_MOV && reader_u32(&next) == SIGRETURN_SVC;
}

/* The trampoline whose first instruction, @i, has been read. The one behind it. */
static size_t put_sigreturn(struct scan *scan, size_t i)
{
	static const struct bp_rule rule = {.kind = BP_RULE_SIGNAL};

	scan->row(scan->ctx, scan->code->vaddr + i * INSN_BYTES - !!i, &rule);
	scan->last = (struct frame){.bytes = FRAME_BYTES_MAX + 1};
	reader_u32(&scan->rd);
	return i + 2;
}

static void note_branch(struct scan *scan, size_t i, uint32_t insn, const struct frame *frame)
{
	int64_t target = (int64_t)i + branch_of(insn);

	if (target > (int64_t)i && target < (int64_t)scan->insns_cnt)
		scan->ahead[target] = *frame;
}

static void scan_all(struct scan *scan)
{
	const struct frame at_entry = {.is_known = true};
	struct frame frame = at_entry;
	bool is_behind_jump = false;

	for (size_t i = 0; i < scan->insns_cnt;) {
		uint32_t insn = reader_u32(&scan->rd);

		if (is_sigreturn(scan, insn)) {
			i = put_sigreturn(scan, i);
			is_behind_jump = true;
			continue;
		}
		if (scan->ahead[i].is_known)
			frame = scan->ahead[i];
		else if (is_behind_jump)
			frame = at_entry;
		put_frame(scan, i, &frame);
		note_branch(scan, i, insn, &frame);
		frame = frame_after(frame, insn);
		is_behind_jump = is_jump(insn);
		i++;
	}
}

int stub_rows(const struct elf_bytes *code, stub_row_fn *row, void *ctx)
{
	struct scan scan = {
		.code = code, .insns_cnt = code->len / INSN_BYTES, .row = row, .ctx = ctx};

	scan.ahead = calloc(scan.insns_cnt + 1, sizeof(*scan.ahead));
	if (!scan.ahead)
		return -ENOMEM;
	reader_init(&scan.rd, code->data, code->len);
	scan_all(&scan);
	free(scan.ahead);
	return 0;
}
