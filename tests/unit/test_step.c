/* SPDX-License-Identifier: Apache-2.0 */
/* One step by each kind of rule, over a stack written out word by word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <string.h>

#include "unwind/step.h"

enum { RDI = 5, RBP = 6, RSP = 7, R10 = 10, RBX = 3, X29 = 29, X30 = 30, SP = 31 };
enum { START = 0x7000, WORDS = 64, RIP = 0x401234, CALLER = 0x405678 };

static uint64_t words[WORDS];
static struct step_memory memory;
static struct step_frame frame;

static int setup(const struct cfi_arch *arch)
{
	memset(words, 0, sizeof(words));
	memory = (struct step_memory){
		.arch = arch,
		.stack = (const uint8_t *)words,
		.stack_start = START,
		.stack_bytes = sizeof(words),
		.pages = 1,
	};
	frame = (struct step_frame){
		.ip = RIP,
		.sp = START,
		.fp = START + 0x80,
		.is_leaf = true,
		.has_regs = true,
	};
	return 0;
}

static int setup_x86(void **state)
{
	return setup(cfi_arch_of(EM_X86_64));
}

static int setup_arm(void **state)
{
	return setup(cfi_arch_of(EM_AARCH64));
}

static void put(uint64_t address, uint64_t value)
{
	words[(address - START) / 8] = value;
}

static const struct bp_rule after_push = {
	.kind = BP_RULE_REG,
	.cfa_reg = RSP,
	.cfa_off = 16,
	.fp_save = BP_SAVE_CFA,
	.fp_off = -16,
	.ra_save = BP_SAVE_CFA,
	.ra_off = -8,
};

static int step(const struct bp_rule *rule)
{
	return step_by_rule(&memory, rule, false, &frame);
}

static void test_register(void **state)
{
	put(START, 0x7123);
	put(START + 8, CALLER);
	assert_int_equal(step(&after_push), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER);
	assert_int_equal(frame.sp, START + 16);
	assert_int_equal(frame.fp, 0x7123);
	assert_true(frame.is_call_site);
	assert_false(frame.is_leaf);
}

/* A frame that another one's registers have been copied into: the address that the return address
 * was copied from tells where that frame is. */
static void test_eh_return(void **state)
{
	struct bp_rule rule = {
		.kind = BP_RULE_REG,
		.cfa_reg = RSP,
		.cfa_off = 64,
		.ra_save = BP_SAVE_CFA,
		.ra_off = -8,
		.is_eh_return = 1,
	};

	put(START + 8, START + 0x100);
	put(START + 16, START + 0x1001);
	put(START + 24, START + 0x108);
	put(START + 56, CALLER);
	put(START + 0x100, CALLER + 1);
	put(START + 0x108, CALLER + 2);
	assert_int_equal(step(&rule), STEP_NEXT);
	assert_int_equal(frame.sp, START + 64);
	frame.sp = START;
	put(START + 0x108, CALLER);
	assert_int_equal(step(&rule), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER);
	assert_int_equal(frame.sp, START + 0x110);
	/* Another function's frame may hold such addresses. */
	frame.sp = START;
	rule.is_eh_return = 0;
	assert_int_equal(step(&rule), STEP_NEXT);
	assert_int_equal(frame.sp, START + 64);
}

static void test_other_register_only_in_the_leaf(void **state)
{
	struct bp_rule rule = after_push;

	rule.cfa_reg = RBX;
	frame.regs[RBX] = START + 32;
	put(START + 32 + 8, CALLER);
	assert_int_equal(step(&rule), STEP_NEXT);
	assert_int_equal(frame.sp, START + 48);
	assert_int_equal(step(&rule), BP_STACK_REGISTER_LOST);
}

static void test_outside_and_missing_page(void **state)
{
	put(START + 8, CALLER);
	memory.pages = 0;
	assert_int_equal(step(&after_push), BP_STACK_STACK_UNREADABLE);
	memory.pages = 1;
	frame.sp = START + sizeof(words) - 8;
	assert_int_equal(step(&after_push), BP_STACK_STACK_UNREADABLE);
	frame.sp = START - 16;
	assert_int_equal(step(&after_push), BP_STACK_STACK_UNREADABLE);
	frame.sp = UINT64_MAX - 15;
	assert_int_equal(step(&after_push), BP_STACK_STACK_UNREADABLE);
}

static void test_bottoms(void **state)
{
	static const struct bp_rule end = {.kind = BP_RULE_END};

	assert_int_equal(step(&end), BP_STACK_COMPLETE);
	/* A return address of 0. */
	assert_int_equal(step(&after_push), BP_STACK_COMPLETE);
	/* A chain of frame pointers that ends in 0, but not a 0 alone. */
	frame.fp = 0;
	assert_int_equal(step_by_fp(&memory, BP_STACK_GAP, &frame), BP_STACK_GAP);
	frame.guess = BP_STACK_GAP;
	assert_int_equal(step_by_fp(&memory, BP_STACK_GAP, &frame), BP_STACK_COMPLETE);
	frame.guess = BP_STACK_NO_ROWS;
	assert_int_equal(step_by_fp(&memory, BP_STACK_GAP, &frame), BP_STACK_GAP);
	/* Next to where the kernel put sp at exec. */
	memory.start_stack = START + 64;
	assert_int_equal(step_by_fp(&memory, BP_STACK_GAP, &frame), BP_STACK_COMPLETE);
	memory.start_stack = START + 72;
	assert_int_equal(step_by_fp(&memory, BP_STACK_GAP, &frame), BP_STACK_GAP);
}

static void test_cfa_below_sp(void **state)
{
	struct bp_rule rule = after_push;

	put(START, CALLER);
	put(START + 8, CALLER);
	frame.sp = START + 16;
	rule.cfa_off = 0;
	assert_int_equal(step(&rule), BP_STACK_BAD_CFA);
}

static void test_deref_with_index(void **state)
{
	struct bp_rule rule = after_push;

	rule.kind = BP_RULE_DEREF;
	rule.cfa_off = 8;
	rule.cfa_add = 24;
	rule.cfa_index = 1 + R10;
	frame.regs[R10] = 3;
	put(START + 8 + 3 * 8, START + 64);
	put(START + 64 + 24 - 8, CALLER);
	assert_int_equal(step(&rule), STEP_NEXT);
	assert_int_equal(frame.sp, START + 64 + 24);
	assert_int_equal(frame.ip, CALLER);
}

static void test_plt(void **state)
{
	static const struct bp_rule plt = {
		.kind = BP_RULE_PLT, .cfa_add = 11, .ra_save = BP_SAVE_CFA, .ra_off = -8};

	put(START, CALLER);
	put(START + 8, CALLER + 1);
	frame.ip = 0x40100a;
	assert_int_equal(step(&plt), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER);
	setup_x86(state);
	put(START, CALLER);
	put(START + 8, CALLER + 1);
	frame.ip = 0x40100b;
	assert_int_equal(step(&plt), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER + 1);
	assert_int_equal(frame.sp, START + 16);
}

static void test_return_address_in_register(void **state)
{
	static const struct bp_rule vfork = {
		.kind = BP_RULE_REG, .cfa_reg = RSP, .ra_save = BP_SAVE_REG, .ra_off = RDI};

	frame.regs[RDI] = CALLER;
	assert_int_equal(step(&vfork), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER);
	assert_int_equal(frame.sp, START);
}

static void test_frame_pointer(void **state)
{
	put(START + 0x80, START + 0x100);
	put(START + 0x88, CALLER);
	assert_int_equal(step_by_fp(&memory, BP_STACK_NO_ROWS, &frame), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER);
	assert_int_equal(frame.sp, START + 0x90);
	assert_int_equal(frame.fp, START + 0x100);
	assert_int_equal(frame.guess, BP_STACK_NO_ROWS);
	frame.fp = frame.sp - 8;
	assert_int_equal(step_by_fp(&memory, BP_STACK_GAP, &frame), BP_STACK_GAP);
	frame.fp = frame.sp + 4;
	assert_int_equal(step_by_fp(&memory, BP_STACK_GAP, &frame), BP_STACK_GAP);
}

static void test_gap_and_unsupported(void **state)
{
	static const struct bp_rule gap = {.kind = BP_RULE_GAP}, go = {.kind = BP_RULE_FP},
				    bad = {.kind = BP_RULE_UNSUPPORTED};

	put(START + 0x80, START + 0x100);
	put(START + 0x88, CALLER);
	assert_int_equal(step(&gap), STEP_NEXT);
	assert_int_equal(frame.guess, BP_STACK_GAP);
	frame.fp = 3;
	assert_int_equal(step(&go), BP_STACK_GAP);
	assert_int_equal(step(&bad), BP_STACK_UNSUPPORTED_CFI);
}

static void test_lost_frame_pointer(void **state)
{
	struct bp_rule rule = after_push;

	rule.fp_save = BP_SAVE_UNDEFINED;
	put(START + 8, CALLER);
	assert_int_equal(step(&rule), STEP_NEXT);
	assert_int_equal(step_by_fp(&memory, BP_STACK_GAP, &frame), BP_STACK_GAP);
}

/* What a call may clobber is as in the leaf where a rule above it asks; others are not. */
static void test_clobbered_register_above_the_leaf(void **state)
{
	enum { RAX = 0, R12 = 12 };
	struct bp_rule rule = after_push;

	put(START + 8, CALLER);
	frame.regs[RAX] = START + 64;
	frame.regs[R12] = START + 64;
	put(START + 64 + 8, CALLER + 1);
	assert_int_equal(step(&after_push), STEP_NEXT);
	rule.cfa_reg = R12;
	assert_int_equal(step(&rule), BP_STACK_REGISTER_LOST);
	rule.cfa_reg = RAX;
	assert_int_equal(step(&rule), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER + 1);
}

static void test_fp_relative_to_sp(void **state)
{
	struct bp_rule rule = after_push;

	rule.fp_save = BP_SAVE_SP;
	rule.fp_off = 24;
	put(START + 8, CALLER);
	put(START + 24, 0x7456);
	assert_int_equal(step(&rule), STEP_NEXT);
	assert_int_equal(frame.fp, 0x7456);
}

static void test_rbx(void **state)
{
	struct bp_rule saves = after_push, needs = after_push;

	saves.bx_slot = 2;
	saves.fp_save = BP_SAVE_SAME;
	put(START, START + 64);
	put(START + 8, CALLER);
	assert_int_equal(step_by_rule(&memory, &saves, true, &frame), STEP_NEXT);
	needs.cfa_reg = RBX;
	put(START + 64 + 8, CALLER + 1);
	assert_int_equal(step_by_rule(&memory, &needs, true, &frame), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER + 1);
	assert_int_equal(frame.sp, START + 80);
	/* A file that does not say where rbx is has lost it. */
	put(START + 80 + 8, CALLER + 2);
	assert_int_equal(step(&after_push), STEP_NEXT);
	assert_int_equal(step(&needs), BP_STACK_REGISTER_LOST);
}

static void test_signal(void **state)
{
	static const struct bp_rule signal = {.kind = BP_RULE_SIGNAL};
	uint64_t regs = START + 40;

	put(regs + 2 * 8, 0x1010); /* r10 */
	put(regs + 10 * 8, 0x7b0); /* rbp */
	put(regs + 11 * 8, 0x33); /* rbx */
	put(regs + 15 * 8, 0x9000); /* rsp */
	put(regs + 16 * 8, CALLER);
	assert_int_equal(step(&signal), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER);
	assert_int_equal(frame.sp, 0x9000);
	assert_int_equal(frame.fp, 0x7b0);
	assert_int_equal(frame.regs[R10], 0x1010);
	assert_int_equal(frame.regs[RBX], 0x33);
	assert_false(frame.is_call_site);
	assert_true(frame.is_leaf && frame.has_regs);
}

static void test_arm_pair_and_leaf(void **state)
{
	static const struct bp_rule leaf = {.kind = BP_RULE_REG, .cfa_reg = SP};
	static const struct bp_rule pair = {.kind = BP_RULE_REG,
					    .cfa_reg = SP,
					    .cfa_off = 32,
					    .fp_save = BP_SAVE_CFA,
					    .fp_off = -32,
					    .ra_save = BP_SAVE_CFA,
					    .ra_off = -24};

	frame.regs[X30] = CALLER | 0x7f00000000000000; /* signed */
	assert_int_equal(step(&leaf), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER);
	assert_int_equal(frame.sp, START);
	put(START, START + 0x100);
	put(START + 8, CALLER + 4);
	assert_int_equal(step(&pair), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER + 4);
	assert_int_equal(frame.fp, START + 0x100);
	assert_int_equal(frame.sp, START + 32);
	/* Only in a leaf the return address is in a register. */
	assert_int_equal(step(&leaf), BP_STACK_REGISTER_LOST);
}

static void test_arm_signal(void **state)
{
	static const struct bp_rule signal = {.kind = BP_RULE_SIGNAL};
	uint64_t regs = START + 16; /* the signal frame begins before what is copied */

	frame.sp = regs - (128 + 176 + 8);
	put(regs + X29 * 8, 0x7b0);
	put(regs + X30 * 8, 0x30);
	put(regs + SP * 8, 0x9000);
	put(regs + 32 * 8, CALLER);
	assert_int_equal(step(&signal), STEP_NEXT);
	assert_int_equal(frame.ip, CALLER);
	assert_int_equal(frame.sp, 0x9000);
	assert_int_equal(frame.fp, 0x7b0);
	assert_int_equal(frame.regs[X30], 0x30);
}

#define X86(test) cmocka_unit_test_setup(test, setup_x86)
#define ARM(test) cmocka_unit_test_setup(test, setup_arm)

int main(void)
{
	const struct CMUnitTest tests[] = {
		X86(test_register),
		X86(test_eh_return),
		X86(test_other_register_only_in_the_leaf),
		X86(test_outside_and_missing_page),
		X86(test_bottoms),
		X86(test_cfa_below_sp),
		X86(test_deref_with_index),
		X86(test_plt),
		X86(test_return_address_in_register),
		X86(test_frame_pointer),
		X86(test_gap_and_unsupported),
		X86(test_lost_frame_pointer),
		X86(test_clobbered_register_above_the_leaf),
		X86(test_fp_relative_to_sp),
		X86(test_rbx),
		X86(test_signal),
		ARM(test_arm_pair_and_leaf),
		ARM(test_arm_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
