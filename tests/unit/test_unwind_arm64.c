/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder's aarch64 steps on stacks written out word by word; they run on any machine. */
#include <linux/types.h>

#include "arm64.h"

#include "unwind_fixture.h"

enum {
	FP = 29,
	LR = 30,
	SIGFRAME_REGS_WORD = (128 + 176 + 8) / 8, /* siginfo, ucontext before x0 */
};

enum {
	AT_LEAF = 0x100, /* nothing on the stack yet */
	AT_LEAF_FRAME = 0x200, /* sub sp, sp, #32, x30 not saved */
	AT_PAIR = 0x300, /* stp x29, x30, [sp, #-48]!, by sp */
	AT_FRAME = 0x400, /* the same, by x29 */
	AT_END = 0x500,
	AT_SIGNAL = 0x600,
	AT_SPLIT = 0x700, /* x29 and x30 apart */
	AT_GAP = 0x800,
};

enum {
	RULE_GAP,
	RULE_END,
	RULE_SIGNAL,
	RULE_SPLIT,
	RULE_CNT,
};

static const struct bp_rule rules[RULE_CNT] = {
	[RULE_GAP] = {.kind = BP_RULE_GAP},
	[RULE_END] = {.kind = BP_RULE_END},
	[RULE_SIGNAL] = {.kind = BP_RULE_SIGNAL},
	[RULE_SPLIT] = {.cfa_reg = 31,
			.cfa_off = 32,
			.fp_save = BP_SAVE_CFA,
			.fp_off = -32,
			.ra_save = BP_SAVE_CFA,
			.ra_off = -8},
};

static const struct test_row rows[] = {
	{AT_LEAF, INLINE(0, 0, 0)},   {AT_LEAF_FRAME, INLINE(0, 2, 0)},
	{AT_PAIR, INLINE(0, 3, 3)},   {AT_FRAME, INLINE(1, 3, 3)},
	{AT_END, RULE(RULE_END)},     {AT_SIGNAL - 4, RULE(RULE_SIGNAL)},
	{AT_SPLIT, RULE(RULE_SPLIT)}, {AT_GAP, RULE(RULE_GAP)},
};

static int setup(void **state)
{
	USE_ROWS(rows, rules);
	return 0;
}

static struct pt_regs at(uint64_t pc, uint64_t fp, uint64_t lr)
{
	struct pt_regs regs = {.user_regs = {.sp = STACK, .pc = pc}};

	regs.user_regs.regs[FP] = fp;
	regs.user_regs.regs[LR] = lr;
	return regs;
}

static void test_leaf(void **state)
{
	struct pt_regs regs = at(TEXT + AT_LEAF, 0, TEXT + AT_END + 4);

	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_LEAF, TEXT + AT_END + 3);
	regs.user_regs.pc = TEXT + AT_LEAF_FRAME;
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_LEAF_FRAME, TEXT + AT_END + 3);
}

/* Only a leaf has its return address in x30. */
static void test_leaf_is_first(void **state)
{
	struct pt_regs regs = at(TEXT + AT_LEAF, 0, TEXT + AT_LEAF_FRAME + 4);

	EXPECT(regs, BP_STACK_REGISTER_LOST, TEXT + AT_LEAF, TEXT + AT_LEAF_FRAME + 3);
}

static void test_pairs(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PAIR, 1, 2);

	USE_STACK(/* x29 */ STACK + 48, TEXT + AT_FRAME + 4, 1, 2, 3, 4, /* x29 */ 0,
		  TEXT + AT_END + 4);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PAIR, TEXT + AT_FRAME + 3, TEXT + AT_END + 3);
}

static void test_split(void **state)
{
	struct pt_regs regs = at(TEXT + AT_SPLIT, 1, 2);

	USE_STACK(/* x29 */ STACK + 32, 1, 2, TEXT + AT_FRAME + 4, 0, TEXT + AT_END + 4);
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_SPLIT, TEXT + AT_FRAME + 3, TEXT + AT_END + 3);
}

/* A signed return address carries its code above the address bits. */
static void test_pac(void **state)
{
	struct pt_regs regs = at(TEXT + AT_PAIR, 1, 2);

	USE_STACK(/* x29 */ STACK + 48, 0x002f000000000000 | (TEXT + AT_END + 4));
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_PAIR, TEXT + AT_END + 3);
	regs = at(TEXT + AT_GAP, STACK, 0);
	USE_STACK(/* x29 */ 0, 0x7f1f000000000000 | (TEXT + AT_END + 4));
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_GAP, TEXT + AT_END + 3);
}

static void test_bad_cfa(void **state)
{
	struct pt_regs regs = at(TEXT + AT_FRAME, STACK - 64, 2);
	uint64_t words[8] = {0, TEXT + AT_END + 4};

	use_stack(0, STACK - 64, words, COUNT(words));
	EXPECT(regs, BP_STACK_BAD_CFA, TEXT + AT_FRAME);
}

/* The handler's stack lies above; what was interrupted is a leaf with its return address in x30. */
static void test_signal(void **state)
{
	uint64_t words[SIGFRAME_REGS_WORD + 34] = {0};
	uint64_t *saved = words + SIGFRAME_REGS_WORD;
	struct pt_regs regs = at(TEXT + AT_LEAF, 0, TEXT + AT_SIGNAL);

	saved[LR] = TEXT + AT_END + 4;
	saved[31] = ALT_STACK;
	saved[32] = TEXT + AT_LEAF_FRAME;
	use_stack(0, STACK, words, COUNT(words));
	EXPECT(regs, BP_STACK_COMPLETE, TEXT + AT_LEAF, TEXT + AT_SIGNAL - 1, TEXT + AT_LEAF_FRAME,
	       TEXT + AT_END + 3);
	stacks[0].cnt = SIGFRAME_REGS_WORD;
	EXPECT(regs, BP_STACK_STACK_UNREADABLE, TEXT + AT_LEAF, TEXT + AT_SIGNAL - 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaf),   cmocka_unit_test(test_leaf_is_first),
		cmocka_unit_test(test_pairs),  cmocka_unit_test(test_split),
		cmocka_unit_test(test_pac),    cmocka_unit_test(test_bad_cfa),
		cmocka_unit_test(test_signal),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
