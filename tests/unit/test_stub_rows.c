/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of aarch64 code that nobody describes, from its instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unwind/stub_rows.h"

enum { VADDR = 0x1000, ROWS_MAX_CNT = 16 };

struct put_row {
	uint64_t vaddr;
	struct bp_rule rule;
};

static struct put_row rows[ROWS_MAX_CNT];
static size_t rows_cnt;

static void put(void *ctx, uint64_t vaddr, const struct bp_rule *rule)
{
	assert_true(rows_cnt < ROWS_MAX_CNT);
	assert_true(!rows_cnt || vaddr > rows[rows_cnt - 1].vaddr);
	rows[rows_cnt++] = (struct put_row){vaddr, *rule};
}

#define SCAN(...)                                                                             \
	do {                                                                                  \
		static const uint32_t insns[] = {__VA_ARGS__};                                \
		const struct elf_bytes code = {(const uint8_t *)insns, sizeof(insns), VADDR}; \
                                                                                              \
		rows_cnt = 0;                                                                 \
		assert_int_equal(stub_rows(&code, put, NULL), 0);                             \
	} while (0)

/* Row @i begins at instruction @insn; the return address is @ra from the CFA at sp + @cfa. */
static void pushed(size_t i, uint64_t insn, int cfa, int ra, int fp)
{
	const struct bp_rule *rule = &rows[i].rule;

	assert_true(i < rows_cnt);
	assert_int_equal(rows[i].vaddr, VADDR + 4 * insn);
	assert_int_equal(rule->kind, BP_RULE_REG);
	assert_int_equal(rule->cfa_reg, 31);
	assert_int_equal(rule->cfa_off, cfa);
	assert_int_equal(rule->ra_save, ra ? BP_SAVE_CFA : BP_SAVE_SAME);
	assert_int_equal(rule->ra_off, ra);
	assert_int_equal(rule->fp_save, fp ? BP_SAVE_CFA : BP_SAVE_SAME);
	assert_int_equal(rule->fp_off, fp);
}

static void in_lr(size_t i, uint64_t insn, int cfa)
{
	pushed(i, insn, cfa, 0, 0);
}

enum {
	NOP = (int)0xd503201f,
	RET = (int)0xd65f03c0,
	BR_X17 = (int)0xd61f0220,
	ADRP_X16 = (int)0x90000110,
};

/* The header pushes x16, x30; the entries push nothing. */
static void test_plt(void **state)
{
	SCAN(0xa9bf7bf0, 0xf00000f0, 0xf947fe11, 0x913fe210, BR_X17, NOP, NOP, NOP, ADRP_X16,
	     0xf9400211, 0x91000210, BR_X17);
	assert_int_equal(rows_cnt, 3);
	in_lr(0, 0, 0);
	pushed(1, 1, 16, -8, 0);
	in_lr(2, 5, 0);
}

/* paciasp; stp x29, x30, [sp, #-16]!; mov x29, sp; bl; ldp x29, x30, [sp], #16; autiasp; ret */
static void test_init(void **state)
{
	SCAN(0xd503233f, 0xa9bf7bfd, 0x910003fd, 0x9400006a, 0xa8c17bfd, 0xd50323bf, RET);
	assert_int_equal(rows_cnt, 3);
	in_lr(0, 0, 0);
	pushed(1, 2, 16, -8, -16);
	in_lr(2, 5, 0);
}

/* A frame of 128 bytes, one of 32 more below it; an early return, and what jumps behind it. */
static void test_branches(void **state)
{
	SCAN(0xa9b87bfd, /* stp x29, x30, [sp, #-128]! */
	     0xb4000080, /* cbz x0, 5 */
	     0xa8c87bfd, /* ldp x29, x30, [sp], #128 */
	     RET, NOP, /* nothing jumps there: another function's */
	     0xd10083ff, /* 5: sub sp, sp, #32 */
	     0x54000060, /* b.eq 9 */
	     0x910083ff, /* add sp, sp, #32 */
	     0x14000002, /* b 10 */
	     NOP, /* 9 */
	     RET); /* 10 */
	assert_int_equal(rows_cnt, 8);
	in_lr(0, 0, 0);
	pushed(1, 1, 128, -120, -128);
	in_lr(2, 3, 0);
	pushed(3, 5, 128, -120, -128);
	pushed(4, 6, 160, -120, -128);
	pushed(5, 8, 128, -120, -128);
	pushed(6, 9, 160, -120, -128);
	pushed(7, 10, 128, -120, -128);
}

/* Known by its instructions alone, from the byte before them on. */
static void test_sigreturn(void **state)
{
	SCAN(0xa9b87bfd, RET, NOP, 0xd2801168, 0xd4000001, NOP);
	assert_int_equal(rows_cnt, 5);
	pushed(1, 1, 128, -120, -128);
	in_lr(2, 2, 0);
	assert_int_equal(rows[3].vaddr, VADDR + 4 * 3 - 1);
	assert_int_equal(rows[3].rule.kind, BP_RULE_SIGNAL);
	in_lr(4, 5, 0);
	SCAN(0xd2801168, 0xd4000001);
	assert_int_equal(rows_cnt, 1);
	assert_int_equal(rows[0].vaddr, VADDR);
	assert_int_equal(rows[0].rule.kind, BP_RULE_SIGNAL);
	/* Another system call, and half a trampoline. */
	SCAN(0xd2801188, 0xd4000001, 0xd2801168);
	assert_int_equal(rows_cnt, 1);
	in_lr(0, 0, 0);
}

/* More is given back than was taken: nothing is known until the next function. */
static void test_nonsense(void **state)
{
	const struct elf_bytes few = {(const uint8_t *)"\x1f\x20\x03", 3, VADDR};

	SCAN(0x910083ff, NOP, RET, NOP);
	assert_int_equal(rows_cnt, 3);
	assert_int_equal(rows[1].vaddr, VADDR + 4);
	assert_int_equal(rows[1].rule.kind, BP_RULE_GAP);
	in_lr(2, 3, 0);
	rows_cnt = 0;
	assert_int_equal(stub_rows(&few, put, NULL), 0);
	assert_int_equal(rows_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plt),	 cmocka_unit_test(test_init),
		cmocka_unit_test(test_branches), cmocka_unit_test(test_sigreturn),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
