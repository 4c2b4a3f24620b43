/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) OR Apache-2.0 */
/*
 * Unwind rows: call frame information (DWARF 5, section 6.4) reduced to what a step needs, 4 bytes
 * a row. The lineage is the kernel's ORC and framehop's rule enums.
 *
 *	row = key16 | rule16 << 16	sorted by key; a row governs from its key to the next row's
 *
 * The key is the low bits of the *file offset* of the instruction, the address that a sampled VMA
 * gives without any table. Rows are grouped by 2 KiB page of file offsets; each page begins with a
 * row of key 0 (the rule carried in), so a look-up never leaves its page. A page has some 50 rows,
 * three cache lines, and the lines that a look-up touches are what it costs.
 *
 * rule16, the inline form (99 % of rows), with fp = rbp or x29:
 *
 *	15: 0	14: base	13..6: cfa_off	5..0: slot
 *
 *	x86-64:  CFA = (base ? rbp : rsp) + 8 * cfa_off;  RA = *(CFA - 8)
 *		 slot 0: rbp unchanged;  k: rbp = *(CFA - 8 * (k + 1))
 *	aarch64: CFA = (base ? x29 : sp) + 16 * cfa_off
 *		 slot 0: x29 unchanged, RA = x30
 *		 slot k, 1..30: x29 = *(CFA - 16 * k), RA = *(CFA - 16 * k + 8)
 *		 slot 31: x29 = *base, RA = *(base + 8) (GCC's large frames)
 *		 slot k, 32..63: x29 unchanged, RA = *(CFA - 8 * (k - 31)) (Rust, and clang without
 *		 frame pointers)
 *
 * The escape form: 15: 1, 14..0: index into the executable's own list of struct bp_rule.
 */
#ifndef BPFPROF_ABI_UNWIND_H
#define BPFPROF_ABI_UNWIND_H

#include <linux/types.h>

enum bp_unwind_limits {
	BP_ROW_PAGE_BITS = 11,
	BP_ROW_KEY_MASK = (1 << BP_ROW_PAGE_BITS) - 1,
	/* A page has at most a row for every byte, which a binary search finds in so many steps. */
	BP_ROW_SEARCH_STEPS = BP_ROW_PAGE_BITS,
	/* Rows are stored in blocks of 64 KiB; the rows of one page never cross a block. */
	BP_ROWS_PER_BLOCK = 16384,
	BP_RULES_PER_BLOCK = 1024,
	BP_RULES_MAX = 32768,
	/* is_eh_return: libgcc's frames take 71 words; how far up a frame may lie that an exception
	 * goes to. */
	BP_EH_FRAME_WORDS = 128,
	BP_EH_TURN = 4, /* of them at a time: a verifier follows a loop to its bound */
	BP_EH_DISTANCE_MAX = 1 << 23,
};

enum bp_rule16 {
	BP_RULE16_ESCAPE = 0x8000,
	BP_RULE16_BASE_FP = 0x4000,
	BP_RULE16_CFA_SHIFT = 6,
	BP_RULE16_CFA_MASK = 0xff,
	BP_RULE16_SLOT_MASK = 0x3f,
	/* aarch64 */
	BP_RULE16_SLOT_AT_BASE = 31,
	BP_RULE16_SLOT_RA = 32,
};

/* How the CFA (the value of sp in the caller, before its push or sub undone) is found. */
enum bp_rule_kind {
	BP_RULE_REG = 0, /* CFA = reg[cfa_reg] + cfa_off */
	BP_RULE_DEREF, /* CFA = *(reg[cfa_reg] + cfa_off + index) + cfa_add, see cfa_index */
	BP_RULE_PLT, /* CFA = rsp + 8 + ((rip & 15) >= cfa_add ? 8 : 0) */
	BP_RULE_SIGNAL, /* a signal trampoline: registers are in the kernel's rt_sigframe at sp */
	BP_RULE_END, /* RA undefined: the stack's bottom */
	BP_RULE_GAP, /* no FDE covers this: try the frame pointer, validated */
	BP_RULE_FP, /* a frame-pointer frame by convention, on whatever stack (Go) */
	BP_RULE_UNSUPPORTED, /* the table says something this format cannot: stop with a reason */
	BP_RULE_KIND_CNT,
};

/* Where the caller's fp and the return address are. */
enum bp_save_kind {
	BP_SAVE_SAME = 0, /* fp: unchanged. RA: x30 (aarch64 leaf) */
	BP_SAVE_CFA, /* *(CFA + off) */
	BP_SAVE_FP, /* *(rbp + off), rbp of the callee (fp only: DRAP frames) */
	BP_SAVE_REG, /* in register number `off` (vfork keeps the return address in rdi) */
	BP_SAVE_UNDEFINED, /* fp: lost */
	BP_SAVE_SP, /* *(sp + off), sp of the callee (fp only: libgcrypt's assembly) */
};

/* DWARF register numbers of the architecture. */
struct bp_rule {
	__u8 kind; /* enum bp_rule_kind */
	__u8 cfa_reg;
	__u8 fp_save; /* enum bp_save_kind */
	__u8 ra_save; /* enum bp_save_kind */
	__s32 cfa_off;
	__s32 cfa_add;
	__s32 fp_off;
	__s32 ra_off;
	/* BP_RULE_DEREF: 1 + the register of which 8 times the value is the index; 0: no index.
	 * OpenSSL's bn_mul_mont() keeps the CFA behind a vector on the stack. */
	__u8 cfa_index;
	/* x86-64, where struct bp_rows tracks rbx: 0 unchanged; k > 0: rbx = *(CFA - 8 * k); -1:
	 * lost. */
	__s8 bx_slot;
	/* x86-64: a function that ends in GCC's __builtin_eh_return(). When the slots that it saves
	 * registers in already hold those of the frame it goes to, the CFA is that frame's too. */
	__u8 is_eh_return;
	__u8 pad;
};

/* One page of file offsets: where its rows are. cnt 0: no rows, a gap. */
struct bp_row_page {
	__u32 block;
	__u16 first; /* index in the block */
	__u16 cnt;
};

/* What no page means. */
enum bp_rows_state {
	BP_ROWS_AWAITED = 0, /* userspace has not come to it yet */
	BP_ROWS_BUILT, /* the file has no unwind information */
	BP_ROWS_REFUSED, /* there will be none: the file is gone or broken, or there is no room */
	BP_ROWS_JIT, /* it is memory that code is written into (a memfd): its frames are raw */
};

/*
 * An executable's rows: page p of its file offsets, first_page <= p < first_page + page_cnt, is
 * row_pages[page_base + p - first_page]; its escaped rules stand at row_rules[rule_base ..].
 */
struct bp_rows {
	__u32 page_base;
	__u32 page_cnt; /* 0: none; written last when published, first when withdrawn */
	__u32 first_page;
	__u32 rule_base;
	__u32 state; /* enum bp_rows_state */
	/*
	 * Some frames keep their CFA in rbx across calls (_dl_runtime_resolve). Where an executable
	 * has such frames its rows say where rbx is saved; only then is it followed.
	 */
	__u32 tracks_bx;
};

_Static_assert(sizeof(struct bp_rule) == 24, "no padding");
_Static_assert(sizeof(struct bp_row_page) == 8, "no padding");
_Static_assert(1 << BP_ROW_PAGE_BITS <= BP_ROWS_PER_BLOCK, "every page fits a block");

#endif
