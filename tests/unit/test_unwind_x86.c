/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder's x86-64 steps, one case per kind of rule, on stacks written out word by word. */
#include "x86.h"

#include "unwind_fixture.h"

enum {
	RSP = 7,
	RBP = 6,
	RBX = 3,
	RDI = 5,
	R9 = 9,
	R10 = 10,
	UC_WORDS = 5 + 17, /* of struct ucontext, up to and with rip */
};

/* Places in the text, by the rule that governs them. */
enum {
	AT_PUSHED = 0x100, /* call has pushed its return address, no more */
	AT_FRAME = 0x200, /* push %rbp; mov %rsp,%rbp */
	AT_SAVED = 0x300, /* rsp + 56, rbp saved at CFA - 32 */
	AT_END = 0x400,
	AT_GAP = 0x500,
	AT_UNSUPPORTED = 0x600,
	AT_R10 = 0x700,
	AT_DEREF = 0x800,
	AT_PLT11 = 0x900,
	AT_PLT10 = 0xa00,
	AT_SIGNAL = 0xb00,
	AT_RA_RDI = 0xc00,
	AT_BELOW = 0xd00, /* CFA = rsp - 64 */
	AT_FP_LOST = 0xe00,
	AT_FP_RDI = 0xf00,
	AT_BIG = 0x1000, /* rsp + 100,008 */
	AT_RA_DEEP = 0x1100, /* RA is not next to the CFA */
	AT_RA_REG = 0x1200, /* and 16 bytes on for each further register */
	AT_BX = 0x1300,
	AT_BX_SAVED = 0x1310, /* rsp + 24, rbx saved at CFA - 16 */
	AT_BX_LOST = 0x1320,
	AT_INDEXED = 0x1330, /* CFA = *(rsp + 8 + 8 * r9) + 16 */
	AT_ONE = 0x1400, /* rsp + 16, nothing saved; to the end */
	AT_PAGE = 0x10000 - FILE_OFF, /* where the file's second 64 KiB begin */
};

enum {
	RULE_GAP,
	RULE_UNSUPPORTED,
	RULE_END,
	RULE_R10,
	RULE_DEREF,
	RULE_PLT11,
	RULE_PLT10,
	RULE_SIGNAL,
	RULE_RA_RDI,
	RULE_BELOW,
	RULE_FP_LOST,
	RULE_FP_RDI,
	RULE_BIG,
	RULE_RA_DEEP,
	RULE_BX, /* CFA in rbx */
	RULE_BX_SAVED,
	RULE_BX_LOST,
	RULE_INDEXED,
	RULE_RA_REG, /* the return address in each register, by number */
	RULE_CNT = RULE_RA_REG + 16,
};

#define RA_IN(reg)     \
	[RULE_RA_REG + \
		(reg)] = {.cfa_reg = RSP, .cfa_off = 8, .ra_save = BP_SAVE_REG, .ra_off = (reg)}
#define RA_BELOW_CFA .ra_save = BP_SAVE_CFA, .ra_off = -8

static const struct bp_rule rules[RULE_CNT] = {
	[RULE_GAP] = {.kind = BP_RULE_GAP},
	[RULE_UNSUPPORTED] = {.kind = BP_RULE_UNSUPPORTED},
	[RULE_END] = {.kind = BP_RULE_END},
	[RULE_R10] = {.cfa_reg = R10, .fp_save = BP_SAVE_FP, .fp_off = 0, RA_BELOW_CFA},
	[RULE_DEREF] = {.kind = BP_RULE_DEREF,
			.cfa_reg = RBP,
			.cfa_off = -8,
			.cfa_add = 16,
			.fp_save = BP_SAVE_FP,
			RA_BELOW_CFA},
	[RULE_PLT11] = {.kind = BP_RULE_PLT, .cfa_reg = RSP, .cfa_add = 11, RA_BELOW_CFA},
	[RULE_PLT10] = {.kind = BP_RULE_PLT, .cfa_reg = RSP, .cfa_add = 10, RA_BELOW_CFA},
	[RULE_SIGNAL] = {.kind = BP_RULE_SIGNAL},
	[RULE_RA_RDI] = {.cfa_reg = RSP, .ra_save = BP_SAVE_REG, .ra_off = RDI},
	[RULE_BELOW] = {.cfa_reg = RSP, .cfa_off = -64, RA_BELOW_CFA},
	[RULE_FP_LOST] = {.cfa_reg = RSP, .cfa_off = 8, .fp_save = BP_SAVE_UNDEFINED, RA_BELOW_CFA},
	[RULE_FP_RDI] =
		{.cfa_reg = RSP, .cfa_off = 8, .fp_save = BP_SAVE_REG, .fp_off = RDI, RA_BELOW_CFA},
	[RULE_BIG] = {.cfa_reg = RSP, .cfa_off = 100008, RA_BELOW_CFA},
	[RULE_RA_DEEP] = {.cfa_reg = RSP, .cfa_off = 32, .ra_save = BP_SAVE_CFA, .ra_off = -24},
	[RULE_BX] = {.cfa_reg = RBX, .cfa_off = 16, RA_BELOW_CFA},
	[RULE_BX_SAVED] = {.cfa_reg = RSP, .cfa_off = 24, .bx_slot = 2, RA_BELOW_CFA},
	[RULE_BX_LOST] = {.cfa_reg = RSP, .cfa_off = 8, .bx_slot = -1, RA_BELOW_CFA},
	[RULE_INDEXED] = {.kind = BP_RULE_DEREF,
			  .cfa_reg = RSP,
			  .cfa_off = 8,
			  .cfa_index = 1 + R9,
			  .cfa_add = 16,
			  RA_BELOW_CFA},
	RA_IN(0),
	RA_IN(1),
	RA_IN(2),
	RA_IN(3),
	RA_IN(4),
	RA_IN(5),
	RA_IN(6),
	RA_IN(7),
	RA_IN(8),
	RA_IN(9),
	RA_IN(10),
	RA_IN(11),
	RA_IN(12),
	RA_IN(13),
	RA_IN(14),
	RA_IN(15),
};

static const struct test_row rows[] = {
	{AT_PUSHED, INLINE(0, 1, 0)},
	{AT_FRAME, INLINE(1, 2, 1)},
	{AT_SAVED, INLINE(0, 7, 3)},
	{AT_END, RULE(RULE_END)},
	{AT_GAP, RULE(RULE_GAP)},
	{AT_UNSUPPORTED, RULE(RULE_UNSUPPORTED)},
	{AT_R10, RULE(RULE_R10)},
	{AT_DEREF, RULE(RULE_DEREF)},
	{AT_PLT11, RULE(RULE_PLT11)},
	{AT_PLT10, RULE(RULE_PLT10)},
	/* A trampoline is returned to, though it made no call: its FDE begins a byte early. */
	{AT_SIGNAL - 1, RULE(RULE_SIGNAL)},
	{AT_RA_RDI, RULE(RULE_RA_RDI)},
	{AT_BELOW, RULE(RULE_BELOW)},
	{AT_FP_LOST, RULE(RULE_FP_LOST)},
	{AT_FP_RDI, RULE(RULE_FP_RDI)},
	{AT_BIG, RULE(RULE_BIG)},
	{AT_RA_DEEP, RULE(RULE_RA_DEEP)},
#define ROW_RA_IN(reg)                                            \
	{                                                         \
		AT_RA_REG + 16 * (reg), RULE(RULE_RA_REG + (reg)) \
	}
	ROW_RA_IN(0),
	ROW_RA_IN(1),
	ROW_RA_IN(2),
	ROW_RA_IN(3),
	ROW_RA_IN(4),
	ROW_RA_IN(5),
	ROW_RA_IN(6),
	ROW_RA_IN(7),
	ROW_RA_IN(8),
	ROW_RA_IN(9),
	ROW_RA_IN(10),
	ROW_RA_IN(11),
	ROW_RA_IN(12),
	ROW_RA_IN(13),
	ROW_RA_IN(14),
	ROW_RA_IN(15),
	{AT_BX, RULE(RULE_BX)},
	{AT_BX_SAVED, RULE(RULE_BX_SAVED)},
	{AT_BX_LOST, RULE(RULE_BX_LOST)},
	{AT_INDEXED, RULE(RULE_INDEXED)},
	{AT_ONE, INLINE(0, 2, 0)},
};

static int setup(void **state)
{
	int id = bpfhost_add_unbuilt();

	USE_ROWS(rows, rules);
	mappings[1].exe_id = (uint32_t)id;
	return id < 0;
}

static struct pt_regs at(uint64_t ip, uint64_t rbp)
{
	return (struct pt_regs){.ip = ip, .sp = STACK, .bp = rbp};
}

static void test_inline_sp(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PUSHED, 0);

	USE_STACK(TEXT + AT_END + 5);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PUSHED, TEXT + AT_END + 4);
}

/* The caller's frame pointer is what its own rule needs. */
static void test_inline_fp(void **state)
{
	struct pt_regs regs = at(TEXT + AT_FRAME + 9, STACK + 16);

	USE_STACK(1, 2, /* locals */ STACK + 40, TEXT + AT_FRAME + 7, /* locals */ 3, 0,
		  TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_FRAME + 9, TEXT + AT_FRAME + 6, TEXT + AT_END);
}

static void test_inline_saved_fp(void **state)
{
	struct pt_regs regs = at(TEXT + AT_SAVED, 0x1234);

	USE_STACK(1, 2, 3, /* CFA - 32 */ STACK + 64, 4, 5, TEXT + AT_FRAME + 1, 6, /* rbp */ 0,
		  TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_SAVED, TEXT + AT_FRAME, TEXT + AT_END);
}

/* A function whose call is its last instruction: the return address belongs to the next one. */
static void test_return_to_next_function(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PUSHED, 0);

	USE_STACK(TEXT + AT_END);
	regs.bp = STACK + 8;
	stacks[0].cnt = 1;
	EXPECT(regs, BP_STACK_STACK_UNREADABLE, TEXT + AT_PUSHED, TEXT + AT_END - 1);
}

static void test_call_site_leaf(void **state)
{
	static const uint64_t ips[] = {TEXT + AT_END - 1, TEXT + AT_END};
	struct pt_regs regs = at(TEXT + AT_END, 0);
	struct bpfhost_walk walk;

	USE_STACK(1, 2, 3, 4, 5, 6, TEXT + AT_END + 1);
	bpfhost_walk(&task, &regs, true, &walk);
	expect_frames(&walk, BP_STACK_COMPLETE, ips, COUNT(ips));
}

static void test_big_frame(void **state)
{
	static uint64_t words[100008 / 8];
	struct pt_regs regs = at(TEXT + AT_BIG, 0);

	words[COUNT(words) - 1] = TEXT + AT_END + 1;
	use_stack(0, STACK, words, COUNT(words));
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_BIG, TEXT + AT_END);
}

static void test_ra_away_from_cfa(void **state)
{
	struct pt_regs regs = at(TEXT + AT_RA_DEEP, 0);

	USE_STACK(1, TEXT + AT_PUSHED + 1, 3, 4, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_RA_DEEP, TEXT + AT_PUSHED, TEXT + AT_END);
}

/* A realigned frame: its CFA is in r10 while the frame is made, and in memory afterwards. */
static void test_drap(void **state)
{
	struct pt_regs regs = at(TEXT + AT_R10, STACK);

	regs.r10 = STACK + 32;
	USE_STACK(/* saved rbp */ STACK + 56, 1, 2, TEXT + AT_FRAME + 1, 3, 4, 5, 0,
		  TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_R10, TEXT + AT_FRAME, TEXT + AT_END);
}

static void test_deref(void **state)
{
	struct pt_regs regs = at(TEXT + AT_DEREF, STACK + 8);

	USE_STACK(/* CFA - 16 */ STACK + 24, /* saved rbp */ STACK + 48, 1, 2, TEXT + AT_DEREF + 1,
		  /* CFA - 16 */ STACK + 56, /* saved rbp */ 0, 3, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_DEREF, TEXT + AT_DEREF, TEXT + AT_END);
}

static void test_deref_unreadable(void **state)
{
	struct pt_regs regs = at(TEXT + AT_DEREF, STACK + 0x1000);

	USE_STACK(1);
	EXPECT(regs, BP_STACK_STACK_UNREADABLE, TEXT + AT_DEREF);
}

/* What a call may clobber is taken from the leaf: r10 points to where nothing can be read. */
static void test_clobbered_register_of_caller(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PUSHED, 0);

	regs.r10 = STACK + 0x100000;
	USE_STACK(TEXT + AT_R10 + 1, 1, 2, 3);
	EXPECT(regs, BP_STACK_STACK_UNREADABLE, TEXT + AT_PUSHED, TEXT + AT_R10);
}

/* push of the relocation's index is the instruction at 6 or 4, and its end at 11 or 9 (10: with
 * room for bnd). */
static void test_plt(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PLT11 + 0x30 + 10, 0);

	USE_STACK(TEXT + AT_END + 1, TEXT + AT_FRAME + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PLT11 + 0x3a, TEXT + AT_END);
	regs.ip = TEXT + AT_PLT10 + 0x20 + 9;
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PLT10 + 0x29, TEXT + AT_END);

	USE_STACK(/* index */ 1, TEXT + AT_END + 1);
	regs.ip = TEXT + AT_PLT11 + 0x30 + 11;
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PLT11 + 0x3b, TEXT + AT_END);
	regs.ip = TEXT + AT_PLT10 + 0x20 + 10;
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PLT10 + 0x2a, TEXT + AT_END);
}

/* vfork() takes its return address off the stack, because its child will return over it. */
static void test_ra_in_register(void **state)
{
	struct pt_regs regs = at(TEXT + AT_RA_RDI, STACK + 8);

	regs.di = TEXT + AT_FRAME + 1;
	USE_STACK(1, 0, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_RA_RDI, TEXT + AT_FRAME, TEXT + AT_END);
}

/* DWARF's numbers of all registers, against the layout that the kernel saves them in. */
static void test_each_register(void **state)
{
	for (uint32_t reg = 0; reg < 16; reg++) {
		struct pt_regs regs = at(TEXT + AT_RA_REG + 16 * reg, STACK);
		unsigned long *const by_number[16] = {
			&regs.ax,  &regs.dx,  &regs.cx,	 &regs.bx,  &regs.si,  &regs.di,
			&regs.bp,  &regs.sp,  &regs.r8,	 &regs.r9,  &regs.r10, &regs.r11,
			&regs.r12, &regs.r13, &regs.r14, &regs.r15,
		};
		struct bpfhost_walk walk;

		*by_number[reg] = TEXT + AT_END + 1 + reg;
		bpfhost_walk(&task, &regs, false, &walk);
		assert_int_equal(walk.total, 2);
		assert_int_equal(bpfhost_frame_ip(&task, bpfhost_frame(&walk, 1)),
				 TEXT + AT_END + reg);
	}
}

/* _dl_runtime_resolve keeps its CFA in rbx across calls: as the leaf has it, saved, or lost. */
static void test_cfa_in_rbx(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PUSHED, 0);

	regs.bx = STACK + 16;
	USE_STACK(TEXT + AT_BX + 1, 1, 2, TEXT + AT_END + 1, TEXT + AT_PUSHED + 1,
		  TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PUSHED, TEXT + AT_BX, TEXT + AT_END);
	regs.ip = TEXT + AT_BX_SAVED;
	regs.bx = 1;
	USE_STACK(1, /* rbx */ STACK + 24, TEXT + AT_BX + 1, 2, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_BX_SAVED, TEXT + AT_BX, TEXT + AT_END);
	regs.ip = TEXT + AT_BX_LOST;
	regs.bx = STACK + 16;
	USE_STACK(TEXT + AT_BX + 1, 1, 2, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_REGISTER_LOST, TEXT + AT_BX_LOST, TEXT + AT_BX);
}

static void test_indexed(void **state)
{
	struct pt_regs regs = at(TEXT + AT_INDEXED, 0);

	regs.r9 = 2;
	USE_STACK(1, 2, 3, /* CFA - 16 */ STACK + 40, 4, 5, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_INDEXED, TEXT + AT_END);
}

/* Start-up code without CFI: its return address is one of the first words, behind a call. */
static void test_gap_leaf(void **state)
{
	/* call rel32, call *%rax, no call */
	static const uint64_t code[] = {0x00000000e8000000, 0xd0ff000000000000, 0x9090909090909090};
	uint64_t words[4] = {TEXT + AT_PUSHED + 1, 2, 3, 4};
	uint64_t code_start = TEXT + AT_END;
	struct pt_regs regs = at(TEXT + AT_GAP, 0);

	use_stack(1, code_start, code, COUNT(code));
	for (uint32_t i = 0; i < COUNT(words); i++) {
		use_stack(0, STACK, words, COUNT(words));
		words[i] = code_start + 8;
		if (i < 3)
			EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_GAP, TEXT + AT_END + 7);
		else
			EXPECT(regs, BP_STACK_GAP, TEXT + AT_GAP);
		words[i] = code_start + 16;
		if (i < 3)
			EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_GAP, TEXT + AT_END + 15);
		words[i] = code_start + 23; /* no call before it */
		EXPECT(regs, BP_STACK_GAP, TEXT + AT_GAP);
		words[i] = i;
	}
}

static void test_fp_in_register(void **state)
{
	struct pt_regs regs = at(TEXT + AT_FP_RDI, 0x1234);

	regs.di = STACK + 8;
	USE_STACK(TEXT + AT_FRAME + 1, 0, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_FP_RDI, TEXT + AT_FRAME, TEXT + AT_END);
}

/* A handler on an alternate stack below or above interrupted a leaf whose CFA is in r10. */
static void test_signal(void **state)
{
	uint64_t handler_stack[1 + UC_WORDS] = {TEXT + AT_SIGNAL};
	uint64_t *gregs = handler_stack + 6; /* r8 .. r15 rdi rsi rbp rbx rdx rax rcx rsp rip */
	struct pt_regs regs = {.ip = TEXT + AT_PUSHED, .sp = ALT_STACK};

	gregs[2] = STACK + 32;
	gregs[10] = STACK;
	gregs[15] = STACK - 8;
	gregs[16] = TEXT + AT_R10;
	use_stack(1, ALT_STACK, handler_stack, COUNT(handler_stack));
	USE_STACK(STACK + 56, 1, 2, TEXT + AT_FRAME + 1, 3, 4, 5, 0, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PUSHED, TEXT + AT_SIGNAL - 1, TEXT + AT_R10,
	       TEXT + AT_FRAME, TEXT + AT_END);
	stacks[1].cnt--;
	EXPECT(regs, BP_STACK_STACK_UNREADABLE, TEXT + AT_PUSHED, TEXT + AT_SIGNAL - 1);
}

static void test_zero_return_address(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PUSHED, 0x1234);

	USE_STACK(0);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PUSHED);
}

static void test_gap_with_frame_pointer(void **state)
{
	struct pt_regs regs = at(TEXT + AT_GAP, STACK + 8);

	USE_STACK(1, /* fp */ STACK + 24, TEXT + AT_GAP + 1, /* fp */ STACK + 40,
		  TEXT + AT_PUSHED + 1, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_GAP, TEXT + AT_GAP, TEXT + AT_PUSHED,
	       TEXT + AT_END);
	/* The chain's end. */
	USE_STACK(1, /* fp */ 0, TEXT + AT_GAP + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_GAP, TEXT + AT_GAP);
	USE_STACK(1, /* fp */ STACK + 24, TEXT + AT_GAP + 1, /* fp */ 0, 0);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_GAP, TEXT + AT_GAP);
	/* In a leaf, zeros prove nothing. */
	USE_STACK(1, /* fp */ 0, 0);
	EXPECT(regs, BP_STACK_GAP, TEXT + AT_GAP);
}

static void test_gap_without_frame_pointer(void **state)
{
	static const uint64_t bad_fps[] = {
		0,
		1,
		STACK + 12, /* not a multiple of 8 */
		STACK - 8, /* below rsp */
		STACK + BP_FP_FRAME_BYTES_MAX + 8,
		STACK + 8, /* not readable in full */
	};

	USE_STACK(1, 2);
	for (size_t i = 0; i < COUNT(bad_fps); i++) {
		struct pt_regs regs = at(TEXT + AT_GAP, bad_fps[i]);

		EXPECT(regs, BP_STACK_GAP, TEXT + AT_GAP);
	}
	/* A chain does not end where a return address is 0 but the frame pointer is not. */
	struct pt_regs regs = at(TEXT + AT_GAP, STACK);

	USE_STACK(STACK + 64, 0);
	EXPECT(regs, BP_STACK_GAP, TEXT + AT_GAP);
}

/* Behind the last row and before the first there is a gap too. */
static void test_outside_of_rows(void **state)
{
	struct pt_regs regs = at(TEXT + 0x10, STACK);

	USE_STACK(STACK, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + 0x10, TEXT + AT_END);
}

static void test_no_rows(void **state)
{
	struct pt_regs regs = at(UNBUILT + 4, STACK);

	USE_STACK(STACK, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, UNBUILT + 4, TEXT + AT_END);
	regs.bp = 0x1234;
	EXPECT(regs, BP_STACK_NO_ROWS, UNBUILT + 4);
}

static void test_jit(void **state)
{
	struct pt_regs regs = at(JIT + 4, STACK);

	USE_STACK(STACK + 16, JIT + 8, 0, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, JIT + 4, JIT + 7, TEXT + AT_END);
	regs.bp = 3;
	EXPECT(regs, BP_STACK_JIT, JIT + 4);
}

/* Code behind a call that gives its frame back and returns, and code that only looks like it. */
static void test_jit_epilogue(void **state)
{
	static const uint64_t words[] = {3, JIT + 0x20, 0, TEXT + AT_END + 1};
	static const uint64_t other[] = {
		0xcccccccc08c48348, /* no ret */
		0xccccccc308c48148, /* another instruction */
		0xccccccc300c48348, /* no frame */
		0xccccccc304c48348, /* not aligned */
		0xccccccc388c48348, /* downwards */
	};
	uint64_t code = 0xccccccc308c48348; /* add $8, %rsp; ret */
	struct pt_regs regs = at(JIT + 4, STACK);

	use_stack(0, STACK, words, COUNT(words));
	use_stack(1, JIT + 0x20, &code, 1);
	EXPECT(regs, BP_STACK_COMPLETE, JIT + 4, JIT + 0x1f, TEXT + AT_END);
	/* In a leaf it has yet to be seen how it gets there. */
	regs.ip = JIT + 0x20;
	regs.bp = 3;
	EXPECT(regs, BP_STACK_JIT, JIT + 0x20);
	regs = at(JIT + 4, STACK);
	for (size_t i = 0; i < COUNT(other); i++) {
		code = other[i];
		EXPECT(regs, BP_STACK_JIT, JIT + 4, JIT + 0x1f);
	}
	use_stack(1, 0, NULL, 0);
	EXPECT(regs, BP_STACK_JIT, JIT + 4, JIT + 0x1f);
}

static void test_bad_cfa(void **state)
{
	static const uint64_t words[] = {1, 2, 3, 4, 5, 6, 7, TEXT + AT_END + 1};
	struct pt_regs regs = at(TEXT + AT_BELOW, 0);

	use_stack(0, STACK - 72, words, COUNT(words));
	stacks[0].words = (const uint64_t[]){TEXT + AT_END + 1};
	stacks[0].cnt = 1;
	EXPECT(regs, BP_STACK_BAD_CFA, TEXT + AT_BELOW);
}

static void test_bad_return(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PUSHED, 0);

	USE_STACK(STACK + 1);
	EXPECT(regs, BP_STACK_BAD_RETURN, TEXT + AT_PUSHED);
	USE_STACK(0x1234);
	EXPECT(regs, BP_STACK_BAD_RETURN, TEXT + AT_PUSHED);
}

static void expect_nothing(uint64_t ip, uint32_t outcome)
{
	struct pt_regs regs = at(ip, 0);
	struct bpfhost_walk walk;

	bpfhost_walk(&task, &regs, false, &walk);
	expect_frames(&walk, outcome, NULL, 0);
}

static void test_no_mapping(void **state)
{
	expect_nothing(0x1234, BP_STACK_NO_VMA);
}

static void test_unreadable(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PUSHED, 0);

	regs.sp = 0x1000;
	EXPECT(regs, BP_STACK_STACK_UNREADABLE, TEXT + AT_PUSHED);
	regs.ip = TEXT + AT_FRAME;
	EXPECT(regs, BP_STACK_STACK_UNREADABLE, TEXT + AT_FRAME);
}

static void test_unsupported(void **state)
{
	struct pt_regs regs = at(TEXT + AT_UNSUPPORTED, STACK);

	USE_STACK(STACK, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_UNSUPPORTED_CFI, TEXT + AT_UNSUPPORTED);
}

/* A lost frame pointer is no bottom and no frame pointer. */
static void test_fp_lost(void **state)
{
	struct pt_regs regs = at(TEXT + AT_FP_LOST, STACK + 8);

	USE_STACK(TEXT + AT_PUSHED + 1, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_FP_LOST, TEXT + AT_PUSHED, TEXT + AT_END);
	USE_STACK(TEXT + AT_FRAME + 1, 0, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_REGISTER_LOST, TEXT + AT_FP_LOST, TEXT + AT_FRAME);
	USE_STACK(TEXT + AT_GAP + 1, 0, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_GAP, TEXT + AT_FP_LOST, TEXT + AT_GAP);
}

/* What is kept of a stack of @depth calls before the one at the bottom, each from another place. */
static void check_depth(uint32_t depth)
{
	enum { DEPTH_MAX = 4000 };
	static uint64_t words[2 * DEPTH_MAX];
	uint32_t total = depth + 1 < BP_WALK_MAX ? depth + 1 : BP_WALK_MAX;
	struct pt_regs regs = at(TEXT + AT_ONE, 0);
	struct bpfhost_walk walk;

	for (uint32_t i = 0; i < depth; i++)
		words[2 * i + 1] = TEXT + AT_ONE + i + 2;
	words[2 * depth - 1] = TEXT + AT_END + 1;
	use_stack(0, STACK, words, 2 * depth);
	bpfhost_walk(&task, &regs, false, &walk);
	assert_int_equal(walk.total, total);
	assert_int_equal(walk.outcome, depth < BP_WALK_MAX ? BP_STACK_COMPLETE : BP_STACK_TOO_DEEP);
	for (uint32_t i = 0; i < total; i++) {
		uint64_t expected = i == depth ? TEXT + AT_END : TEXT + AT_ONE + i;

		if (i < BP_FRAMES_LEAF || i >= total - BP_FRAMES_ROOT)
			assert_int_equal(bpfhost_frame_ip(&task, bpfhost_frame(&walk, i)),
					 expected);
	}
}

static void test_deep(void **state)
{
	static const uint32_t depths[] = {
		1, 100, 255, 256, 300, 511, 512, 513, 600, BP_WALK_MAX - 1, BP_WALK_MAX, 3000};

	for (size_t i = 0; i < COUNT(depths); i++)
		check_depth(depths[i]);
}

/* A page of as many rows as there may be: each is found from its first byte to its last. */
static void test_full_page(void **state)
{
	static struct test_row many[BP_ROWS_PER_BLOCK - 1]; /* the last says where they are full */
	struct pt_regs regs = at(0, 0);

	for (uint32_t i = 0; i < COUNT(many); i++)
		many[i] = (struct test_row){AT_PAGE + 4 * i, INLINE(0, 1 + i % 7, 0)};
	USE_ROWS(many, rules);
	for (uint32_t off = 0; off < 1 << BP_ROW_PAGE_BITS; off++) {
		uint64_t words[8] = {0}, ip = TEXT + AT_PAGE + off;
		uint32_t slot = (off / 4 < COUNT(many) ? off / 4 : COUNT(many) - 1) % 7;
		struct bpfhost_walk walk;

		words[slot] = JIT + slot + 1;
		use_stack(0, STACK, words, 8);
		regs.ip = ip;
		bpfhost_walk(&task, &regs, false, &walk);
		assert_int_equal(walk.total, 2);
		assert_int_equal(bpfhost_frame(&walk, 1), BP_FRAME_RAW | (JIT + slot));
	}
	USE_ROWS(rows, rules);
}

/* The rule in force where a 64 KiB page of the file begins is carried into it. */
static void test_page_boundary(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PAGE, 0);

	USE_STACK(1, TEXT + AT_END + 1);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PAGE, TEXT + AT_END);
	regs.ip--;
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PAGE - 1, TEXT + AT_END);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline_sp),
		cmocka_unit_test(test_inline_fp),
		cmocka_unit_test(test_inline_saved_fp),
		cmocka_unit_test(test_return_to_next_function),
		cmocka_unit_test(test_call_site_leaf),
		cmocka_unit_test(test_big_frame),
		cmocka_unit_test(test_ra_away_from_cfa),
		cmocka_unit_test(test_drap),
		cmocka_unit_test(test_deref),
		cmocka_unit_test(test_deref_unreadable),
		cmocka_unit_test(test_clobbered_register_of_caller),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_ra_in_register),
		cmocka_unit_test(test_each_register),
		cmocka_unit_test(test_cfa_in_rbx),
		cmocka_unit_test(test_indexed),
		cmocka_unit_test(test_gap_leaf),
		cmocka_unit_test(test_fp_in_register),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_zero_return_address),
		cmocka_unit_test(test_gap_with_frame_pointer),
		cmocka_unit_test(test_gap_without_frame_pointer),
		cmocka_unit_test(test_outside_of_rows),
		cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_jit),
		cmocka_unit_test(test_jit_epilogue),
		cmocka_unit_test(test_bad_cfa),
		cmocka_unit_test(test_bad_return),
		cmocka_unit_test(test_no_mapping),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_unsupported),
		cmocka_unit_test(test_fp_lost),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_full_page),
		cmocka_unit_test(test_page_boundary),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
