/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: every instruction, the rows it makes, and programs that cannot be followed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "cfi_bytes.h"
#include "unwind/cfi_eval.h"

enum {
	ROWS_MAX_TEST = 64,
	RBP = 6,
	RSP = 7,
	RIP = 16,
};

struct seen {
	uint64_t vaddr[ROWS_MAX_TEST];
	struct cfi_state state[ROWS_MAX_TEST];
	bool is_lost[ROWS_MAX_TEST];
	size_t cnt;
};

static struct cfi_bytes bytes;
static struct seen seen;
static uint8_t *copy;

static int setup(void **state)
{
	bytes.len = 0;
	seen.cnt = 0;
	copy = NULL;
	return 0;
}

static int teardown(void **state)
{
	free(copy);
	return 0;
}

static void see(void *ctx, uint64_t vaddr, const struct cfi_state *state)
{
	struct seen *out = ctx;

	assert_true(out->cnt < ROWS_MAX_TEST);
	out->vaddr[out->cnt] = vaddr;
	out->is_lost[out->cnt] = !state;
	if (state)
		out->state[out->cnt] = *state;
	out->cnt++;
}

/* Evaluate the only FDE of `bytes` up to @end. Expressions stay valid until teardown. */
static void eval(const struct cfi_arch *arch, uint64_t end)
{
	struct cfi_section section = {.len = bytes.len, .vaddr = SECTION_VADDR};
	struct cfi_walk walk;
	struct cfi_fde fde;

	free(copy);
	section.data = copy = malloc(bytes.len);
	memcpy(copy, bytes.data, bytes.len);
	seen.cnt = 0;
	cfi_walk_init(&walk, &section);
	assert_true(cfi_walk_next(&walk, &fde));
	cfi_eval_cie(&walk, arch, &walk.cies[0]);
	if (walk.cies[0].is_bad)
		see(&seen, fde.start_vaddr, NULL);
	else
		cfi_eval_fde(&walk, arch, &fde, end, see, &seen);
	cfi_walk_deinit(&walk);
}

/* Evaluate the given program of an x86-64 function [0x1000, 0x1100). */
#define EVAL(...)                                        \
	do {                                             \
		bytes.len = 0;                           \
		cie_usual(&bytes);                       \
		FDE(&bytes, 0x1000, 0x100, __VA_ARGS__); \
		eval(&cfi_arch_x86_64, 0x1100);          \
	} while (0)

static void assert_cfa(size_t row, uint64_t vaddr, uint64_t reg, int64_t off)
{
	assert_true(row < seen.cnt);
	assert_int_equal(seen.vaddr[row], vaddr);
	assert_false(seen.is_lost[row]);
	assert_false(seen.state[row].cfa_is_expr);
	assert_int_equal(seen.state[row].cfa_reg, reg);
	assert_int_equal(seen.state[row].cfa_off, off);
}

static void assert_saved(const struct cfi_saved *saved, enum cfi_how how, int64_t off)
{
	assert_int_equal(saved->how, how);
	assert_int_equal(saved->off, off);
}

/* What cannot be followed makes one lost row, from where it stands. */
static void assert_lost(size_t row, uint64_t vaddr)
{
	assert_int_equal(seen.cnt, row + 1);
	assert_int_equal(seen.vaddr[row], vaddr);
	assert_true(seen.is_lost[row]);
}

/* push %rbp; mov %rsp,%rbp; ...; leave; ret */
static void test_frame_pointer_function(void **state)
{
	EVAL(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, RBP, 0x02, 0x80, 0x0c, RSP, 8, 0xc0 | RBP);
	assert_int_equal(seen.cnt, 4);
	assert_cfa(0, 0x1000, RSP, 8);
	assert_saved(&seen.state[0].fp, CFI_SAME, 0);
	assert_saved(&seen.state[0].ra, CFI_AT_CFA, -8);
	assert_cfa(1, 0x1001, RSP, 16);
	assert_saved(&seen.state[1].fp, CFI_AT_CFA, -16);
	assert_cfa(2, 0x1004, RBP, 16);
	assert_cfa(3, 0x1084, RSP, 8);
	assert_saved(&seen.state[3].fp, CFI_SAME, 0);
}

static void test_advances(void **state)
{
	EVAL(0x42, 0x0e, 16, 0x02, 0x03, 0x0e, 24, 0x03, 0x04, 0x00, 0x0e, 32, 0x04, 0x05, 0, 0, 0,
	     0x0e, 40);
	assert_int_equal(seen.cnt, 5);
	assert_cfa(0, 0x1000, RSP, 8);
	assert_cfa(1, 0x1002, RSP, 16);
	assert_cfa(2, 0x1005, RSP, 24);
	assert_cfa(3, 0x1009, RSP, 32);
	assert_cfa(4, 0x100e, RSP, 40);
}

/* Two advances in a row are one; rows at and behind the end are not given out. */
static void test_end_of_function(void **state)
{
	EVAL(0x41, 0x41, 0x0e, 16, 0x03, 0xfe, 0x00, 0x0e, 24);
	assert_int_equal(seen.vaddr[seen.cnt - 1], 0x1002);
	assert_cfa(seen.cnt - 1, 0x1002, RSP, 16);
}

static void test_set_loc(void **state)
{
	uint32_t delta;

	cie_usual(&bytes);
	fde_open(&bytes, 0x1000, 0x100);
	PUT(&bytes, 0x01);
	delta = (uint32_t)(0x1010 - (SECTION_VADDR + bytes.len));
	put_u32(&bytes, delta);
	PUT(&bytes, 0x0e, 16);
	record_close(&bytes);
	eval(&cfi_arch_x86_64, 0x1100);
	assert_int_equal(seen.cnt, 2);
	assert_cfa(1, 0x1010, RSP, 16);

	bytes.len = 0;
	cie_usual(&bytes);
	fde_open(&bytes, 0x1000, 0x100);
	PUT(&bytes, 0x01);
	put_u32(&bytes, delta - 0x20);
	record_close(&bytes);
	eval(&cfi_arch_x86_64, 0x1100);
	assert_lost(0, 0x1000);
}

static void test_code_alignment(void **state)
{
	record_open(&bytes);
	put_u32(&bytes, 0);
	PUT(&bytes, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0);
	record_close(&bytes);
	FDE(&bytes, 0x1000, 0x100, 0x43, 0x0e, 16, 0x9d, 2, 0x9e, 1);
	eval(&cfi_arch_aarch64, 0x1100);
	assert_int_equal(seen.cnt, 2);
	assert_cfa(1, 0x100c, 31, 16);
	assert_saved(&seen.state[1].fp, CFI_AT_CFA, -16);
	assert_saved(&seen.state[1].ra, CFI_AT_CFA, -8);
}

static void test_cfa_forms(void **state)
{
	EVAL(0x12, RBP, 0x7e);
	assert_cfa(0, 0x1000, RBP, 16);
	EVAL(0x13, 0x7c);
	assert_cfa(0, 0x1000, RSP, 32);
	EVAL(0x0d, 10);
	assert_cfa(0, 0x1000, 10, 8);
	EVAL(0x0f, 3, 0x76, 0x78, 0x06);
	assert_true(seen.state[0].cfa_is_expr);
	assert_int_equal(seen.state[0].cfa_expr.len, 3);
	assert_int_equal(seen.state[0].cfa_expr.ops[0], 0x76);
	/* And back from the expression to register and offset. */
	EVAL(0x0f, 3, 0x76, 0x78, 0x06, 0x41, 0x0c, RSP, 8);
	assert_cfa(1, 0x1001, RSP, 8);
}

static void test_register_forms(void **state)
{
	EVAL(0x05, RBP, 3);
	assert_saved(&seen.state[0].fp, CFI_AT_CFA, -24);
	EVAL(0x11, RBP, 0x7d);
	assert_saved(&seen.state[0].fp, CFI_AT_CFA, 24);
	EVAL(0x2f, RBP, 3);
	assert_saved(&seen.state[0].fp, CFI_AT_CFA, 24);
	EVAL(0x14, RBP, 3);
	assert_saved(&seen.state[0].fp, CFI_VAL_CFA, -24);
	EVAL(0x15, RBP, 0x7d);
	assert_saved(&seen.state[0].fp, CFI_VAL_CFA, 24);
	EVAL(0x09, RIP, 5);
	assert_saved(&seen.state[0].ra, CFI_IN_REG, 5);
	EVAL(0x07, RIP);
	assert_saved(&seen.state[0].ra, CFI_UNDEFINED, 0);
	EVAL(0x07, RBP, 0x41, 0x08, RBP);
	assert_saved(&seen.state[0].fp, CFI_UNDEFINED, 0);
	assert_saved(&seen.state[1].fp, CFI_SAME, 0);
	EVAL(0x10, RBP, 2, 0x76, 0x00);
	assert_int_equal(seen.state[0].fp.how, CFI_AT_EXPR);
	assert_int_equal(seen.state[0].fp.expr.len, 2);
	EVAL(0x16, RBP, 2, 0x76, 0x00);
	assert_int_equal(seen.state[0].fp.how, CFI_VAL_EXPR);
	EVAL(0x86, 2, 0x41, 0x06, RBP);
	assert_saved(&seen.state[1].fp, CFI_SAME, 0);
	/* rip's rule of the CIE comes back. */
	EVAL(0x07, RIP, 0x41, 0xc0 | RIP);
	assert_saved(&seen.state[1].ra, CFI_AT_CFA, -8);
}

/* Columns of other registers change nothing, but their operands are read. */
static void test_other_registers(void **state)
{
	EVAL(0x83, 2, 0x05, 12, 4, 0x10, 3, 1, 0x31, 0x16, 3, 1, 0x31, 0x07, 3, 0x08, 3, 0xc3, 0x06,
	     3, 0x09, 3, 4, 0x2e, 0x10, 0x00, 0x41, 0x0e, 16);
	assert_int_equal(seen.cnt, 2);
	assert_cfa(0, 0x1000, RSP, 8);
	assert_saved(&seen.state[0].fp, CFI_SAME, 0);
	assert_cfa(1, 0x1001, RSP, 16);
}

/* Who saves rax and rdx passes them to a landing pad. */
static void test_eh_registers(void **state)
{
	EVAL(0x80, 4, 0x41, 0x81, 5, 0x41, 0x83, 6);
	assert_int_equal(seen.cnt, 3);
	assert_int_equal(seen.state[0].eh_saved, 1);
	assert_int_equal(seen.state[1].eh_saved, 3);
	assert_int_equal(seen.state[2].eh_saved, 3);
}

/* The remembered state holds the CFA as well. */
static void test_remember(void **state)
{
	EVAL(0x0e, 16, 0x86, 2, 0x41, 0x0a, 0x0e, 8, 0xc0 | RBP, 0x41, 0x0b);
	assert_int_equal(seen.cnt, 3);
	assert_cfa(1, 0x1001, RSP, 8);
	assert_cfa(2, 0x1002, RSP, 16);
	assert_saved(&seen.state[2].fp, CFI_AT_CFA, -16);
}

static void test_remember_is_bounded(void **state)
{
	for (int nested = CFI_REMEMBER_MAX; nested <= CFI_REMEMBER_MAX + 1; nested++) {
		bytes.len = 0;
		cie_usual(&bytes);
		fde_open(&bytes, 0x1000, 0x100);
		for (int i = 0; i < nested; i++)
			PUT(&bytes, 0x0a);
		record_close(&bytes);
		eval(&cfi_arch_x86_64, 0x1100);
		assert_int_equal(seen.cnt, 1);
		assert_int_equal(seen.is_lost[0], nested > CFI_REMEMBER_MAX);
	}
	EVAL(0x0b);
	assert_lost(0, 0x1000);
}

static void test_lost(void **state)
{
	/* Unknown instruction, from its location on only. */
	EVAL(0x41, 0x0e, 16, 0x41, 0x3f, 0x41, 0x0e, 24);
	assert_cfa(1, 0x1001, RSP, 16);
	assert_lost(2, 0x1002);
	/* Cut operands. */
	EVAL(0x0c, RSP);
	assert_lost(0, 0x1000);
	EVAL(0x0e, 0x80);
	assert_lost(0, 0x1000);
	EVAL(0x0f, 100, 0x76);
	assert_lost(0, 0x1000);
	EVAL(0x04, 1, 0, 0);
	assert_lost(0, 0x1000);
	/* An offset for a CFA that is an expression. */
	EVAL(0x0f, 3, 0x76, 0x78, 0x06, 0x0e, 16);
	assert_lost(0, 0x1000);
	/* Arm's instruction on x86-64. */
	EVAL(0x2d);
	assert_lost(0, 0x1000);
}

static void test_signed_return_address(void **state)
{
	cie_open(&bytes, 1, "zR", 30);
	PUT(&bytes, 1, 0x1b, 0x0c, 31, 0);
	record_close(&bytes);
	FDE(&bytes, 0x1000, 0x100, 0x2d, 0x41, 0x2c, 0x0e, 16);
	eval(&cfi_arch_aarch64, 0x1100);
	assert_int_equal(seen.cnt, 2);
	assert_cfa(1, 0x1001, 31, 16);
}

/* Initial instructions that advance, or that cannot be followed, spoil the CIE. */
static void test_bad_cie(void **state)
{
	cie_open(&bytes, 1, "zR", 16);
	PUT(&bytes, 1, 0x1b, 0x0c, RSP, 8, 0x41);
	record_close(&bytes);
	FDE(&bytes, 0x1000, 0x100, 0x00);
	eval(&cfi_arch_x86_64, 0x1100);
	assert_lost(0, 0x1000);
	bytes.len = 0;
	cie_open(&bytes, 1, "zR", 16);
	PUT(&bytes, 1, 0x1b, 0x3f);
	record_close(&bytes);
	FDE(&bytes, 0x1000, 0x100, 0x00);
	eval(&cfi_arch_x86_64, 0x1100);
	assert_lost(0, 0x1000);
}

/* Half a CFA rule before there is a whole one. */
static void test_no_cfa(void **state)
{
	cie_open(&bytes, 1, "zR", 16);
	PUT(&bytes, 1, 0x1b);
	record_close(&bytes);
	FDE(&bytes, 0x1000, 0x100, 0x0e, 16);
	eval(&cfi_arch_x86_64, 0x1100);
	assert_lost(0, 0x1000);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_frame_pointer_function),
		TEST(test_advances),
		TEST(test_end_of_function),
		TEST(test_set_loc),
		TEST(test_code_alignment),
		TEST(test_cfa_forms),
		TEST(test_register_forms),
		TEST(test_other_registers),
		TEST(test_eh_registers),
		TEST(test_remember),
		TEST(test_remember_is_bounded),
		TEST(test_lost),
		TEST(test_signed_return_address),
		TEST(test_bad_cie),
		TEST(test_no_cfa),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
