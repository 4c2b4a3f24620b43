/* SPDX-License-Identifier: Apache-2.0 */
/* From states to rules and back: inline forms at their bounds, escapes, recognised expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <limits.h>
#include <string.h>

#include "unwind/rule.h"

enum {
	RBP = 6,
	RSP = 7,
	RIP = 16,
	R9 = 9,
	R10 = 10,
	X29 = 29,
	X30 = 30,
	SP = 31,
};

static const struct cfi_cie cie_x86 = {.ra_reg = RIP};
static const struct cfi_cie cie_arm = {.ra_reg = X30};
static struct rule_set set;

static int setup_x86(void **state)
{
	return rule_set_init(&set, cfi_arch_of(EM_X86_64));
}

static int setup_arm(void **state)
{
	return rule_set_init(&set, cfi_arch_of(EM_AARCH64));
}

static int teardown(void **state)
{
	rule_set_deinit(&set);
	return 0;
}

/* A state of x86-64 with its return address in the usual place. */
static struct cfi_state state_x86(uint64_t reg, int64_t off, int64_t fp_off)
{
	struct cfi_state st = {.has_cfa = true, .cfa_reg = reg, .cfa_off = off};

	st.ra = (struct cfi_saved){.how = CFI_AT_CFA, .off = -8};
	if (fp_off)
		st.fp = (struct cfi_saved){.how = CFI_AT_CFA, .off = fp_off};
	return st;
}

static struct cfi_state state_arm(uint64_t reg, int64_t off, int64_t fp_off, int64_t ra_off)
{
	struct cfi_state st = {.has_cfa = true, .cfa_reg = reg, .cfa_off = off};

	if (fp_off)
		st.fp = (struct cfi_saved){.how = CFI_AT_CFA, .off = fp_off};
	if (ra_off)
		st.ra = (struct cfi_saved){.how = CFI_AT_CFA, .off = ra_off};
	return st;
}

static struct bp_rule encode(const struct cfi_cie *cie, const struct cfi_state *st, bool *inlined)
{
	uint16_t rule16 = rule16_of_state(&set, cie, st);
	struct bp_rule rule;

	*inlined = rule16_is_inline(rule16);
	rule16_decode(&set, rule16, &rule);
	return rule;
}

/* The rule says what @st says, in the expected form. */
static void assert_regular(const struct cfi_cie *cie, struct cfi_state st, bool want_inline)
{
	bool inlined;
	struct bp_rule rule = encode(cie, &st, &inlined);

	assert_int_equal(inlined, want_inline);
	assert_int_equal(rule.kind, BP_RULE_REG);
	assert_int_equal(rule.cfa_reg, st.cfa_reg);
	assert_int_equal(rule.cfa_off, st.cfa_off);
	assert_int_equal(rule.fp_save, st.fp.how == CFI_AT_CFA ? BP_SAVE_CFA : BP_SAVE_SAME);
	assert_int_equal(rule.fp_off, st.fp.off);
	assert_int_equal(rule.ra_save, st.ra.how == CFI_AT_CFA ? BP_SAVE_CFA : BP_SAVE_SAME);
	assert_int_equal(rule.ra_off, st.ra.off);
}

static void test_x86_inline(void **state)
{
	assert_regular(&cie_x86, state_x86(RSP, 8, 0), true);
	assert_regular(&cie_x86, state_x86(RSP, 0, 0), true);
	assert_regular(&cie_x86, state_x86(RSP, 255 * 8, -16), true);
	assert_regular(&cie_x86, state_x86(RBP, 16, -16), true);
	assert_regular(&cie_x86, state_x86(RBP, 16, -64 * 8), true);
	for (int64_t off = 8; off <= 255 * 8; off += 8)
		for (int64_t fp = -16; fp >= -64 * 8; fp -= 8)
			assert_regular(&cie_x86, state_x86(RSP, off, fp), true);
}

static void test_x86_escape(void **state)
{
	assert_regular(&cie_x86, state_x86(RSP, 256 * 8, 0), false);
	assert_regular(&cie_x86, state_x86(RSP, -8, 0), false);
	assert_regular(&cie_x86, state_x86(RSP, 12, 0), false);
	assert_regular(&cie_x86, state_x86(RSP, 80000, -16), false);
	assert_regular(&cie_x86, state_x86(RSP, INT32_MAX, 0), false);
	assert_regular(&cie_x86, state_x86(RSP, INT32_MIN, 0), false);
	assert_regular(&cie_x86, state_x86(RSP, 8, -8), false);
	assert_regular(&cie_x86, state_x86(RSP, 8, 8), false);
	assert_regular(&cie_x86, state_x86(RSP, 8, -65 * 8), false);
	assert_regular(&cie_x86, state_x86(RSP, 8, -20), false);
	assert_regular(&cie_x86, state_x86(R10, 0, 0), false);
	assert_regular(&cie_x86, state_x86(0, 16, -16), false);
}

/* Who saves what a landing pad is given is escaped and marked; half of it means nothing. */
static void test_eh_return(void **state)
{
	struct cfi_state st = state_x86(RBP, 16, -16);
	struct bp_rule rule;
	bool inlined;

	st.eh_saved = 1;
	rule = encode(&cie_x86, &st, &inlined);
	assert_true(inlined);
	st.eh_saved = 3;
	rule = encode(&cie_x86, &st, &inlined);
	assert_false(inlined);
	assert_true(rule.is_eh_return);
	assert_int_equal(rule.cfa_reg, RBP);
}

static void test_arm_inline(void **state)
{
	assert_regular(&cie_arm, state_arm(SP, 0, 0, 0), true);
	assert_regular(&cie_arm, state_arm(SP, 255 * 16, 0, 0), true);
	for (int64_t fp = -16; fp >= -30 * 16; fp -= 16) {
		assert_regular(&cie_arm, state_arm(SP, 4080, fp, fp + 8), true);
		assert_regular(&cie_arm, state_arm(X29, 16, fp, fp + 8), true);
	}
	for (int64_t off = 31 * 16; off <= 255 * 16; off += 16)
		assert_regular(&cie_arm, state_arm(SP, off, -off, -off + 8), true);
	for (int64_t ra = -8; ra >= -32 * 8; ra -= 8)
		assert_regular(&cie_arm, state_arm(SP, 512, 0, ra), true);
}

static void test_arm_escape(void **state)
{
	assert_regular(&cie_arm, state_arm(SP, 256 * 16, 0, 0), false);
	assert_regular(&cie_arm, state_arm(SP, 8, 0, 0), false);
	assert_regular(&cie_arm, state_arm(SP, 4080, -31 * 16, -31 * 16 + 8), false);
	assert_regular(&cie_arm, state_arm(SP, 64, -16, 0), false);
	assert_regular(&cie_arm, state_arm(SP, 64, -32, -16), false);
	assert_regular(&cie_arm, state_arm(SP, 64, -24, -16), false);
	assert_regular(&cie_arm, state_arm(SP, 512, 0, -33 * 8), false);
	assert_regular(&cie_arm, state_arm(SP, 512, 0, 8), false);
	assert_regular(&cie_arm, state_arm(SP, 512, 0, -12), false);
	assert_regular(&cie_arm, state_arm(10, 16, 0, 0), false);
}

/* The same rule is one entry, however often. */
static void test_escapes_are_shared(void **state)
{
	struct cfi_state st = state_x86(R10, 0, 0), other = state_x86(R10, 8, 0);
	uint16_t rule16 = rule16_of_state(&set, &cie_x86, &st);
	size_t cnt = set.cnt;

	assert_int_equal(rule16_of_state(&set, &cie_x86, &st), rule16);
	assert_int_equal(set.cnt, cnt);
	assert_int_not_equal(rule16_of_state(&set, &cie_x86, &other), rule16);
	assert_int_equal(set.cnt, cnt + 1);
}

static void test_list_is_bounded(void **state)
{
	struct cfi_state st = state_x86(R10, 0, 0), inlined = state_x86(RSP, 8, 0);
	struct bp_rule rule;

	for (int i = 0; i < BP_RULES_MAX + 10; i++) {
		st.cfa_off = i;
		rule16_of_state(&set, &cie_x86, &st);
	}
	assert_int_equal(set.cnt, BP_RULES_MAX);
	assert_int_equal(set.refused_cnt, 12); /* ten, and the two that are always there */
	assert_int_equal(rule16_of_state(&set, &cie_x86, &st), RULE16_UNSUPPORTED);
	assert_true(rule16_is_inline(rule16_of_state(&set, &cie_x86, &inlined)));
	rule16_decode(&set, 0xffff, &rule);
	assert_int_equal(rule.cfa_off, BP_RULES_MAX - 3);
}

static void assert_kind(const struct cfi_cie *cie, const struct cfi_state *st,
			enum bp_rule_kind kind)
{
	bool inlined;

	assert_int_equal(encode(cie, st, &inlined).kind, kind);
}

static void test_fixed_rules(void **state)
{
	struct bp_rule rule;

	rule16_decode(&set, RULE16_GAP, &rule);
	assert_int_equal(rule.kind, BP_RULE_GAP);
	rule16_decode(&set, RULE16_UNSUPPORTED, &rule);
	assert_int_equal(rule.kind, BP_RULE_UNSUPPORTED);
	/* An index that the list does not have: nobody wrote it, but nothing is read. */
	rule16_decode(&set, 0xffff, &rule);
	assert_int_equal(rule.kind, BP_RULE_UNSUPPORTED);
}

static void test_return_address(void **state)
{
	const struct cfi_cie in_rdi = {.ra_reg = 5};
	struct cfi_state st = state_x86(RSP, 8, 0);
	struct bp_rule rule;
	bool inlined;

	st.ra = (struct cfi_saved){.how = CFI_UNDEFINED};
	assert_kind(&cie_x86, &st, BP_RULE_END);
	st.ra = (struct cfi_saved){.how = CFI_IN_REG, .off = 5};
	rule = encode(&cie_x86, &st, &inlined);
	assert_int_equal(rule.ra_save, BP_SAVE_REG);
	assert_int_equal(rule.ra_off, 5);
	st.ra.off = 77;
	assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
	st.ra = (struct cfi_saved){.how = CFI_AT_CFA, .off = INT64_C(1) << 40};
	assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
	/* rip unchanged would stay where it is for ever. */
	st.ra = (struct cfi_saved){.how = CFI_SAME};
	assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
	/* A column of its own for the return address: it is that register. */
	rule = encode(&in_rdi, &st, &inlined);
	assert_int_equal(rule.ra_save, BP_SAVE_REG);
	assert_int_equal(rule.ra_off, 5);
	st.ra.how = CFI_VAL_CFA;
	assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
}

#define EXPR(...)                                                 \
	((struct cfi_expr){.ops = (const uint8_t[]){__VA_ARGS__}, \
			   .len = sizeof((const uint8_t[]){__VA_ARGS__})})

static struct cfi_state state_expr(struct cfi_expr expr)
{
	struct cfi_state st = state_x86(RSP, 8, 0);

	st.cfa_is_expr = true;
	st.cfa_expr = expr;
	return st;
}

static void test_frame_pointer(void **state)
{
	struct cfi_state st = state_x86(RSP, 8, 0);
	struct bp_rule rule;
	bool inlined;

	/* Realigned frame: *(rbp - 16). */
	st.fp = (struct cfi_saved){.how = CFI_AT_EXPR, .expr = EXPR(0x76, 0x70)};
	rule = encode(&cie_x86, &st, &inlined);
	assert_int_equal(rule.fp_save, BP_SAVE_FP);
	assert_int_equal(rule.fp_off, -16);
	st.fp = (struct cfi_saved){.how = CFI_AT_EXPR, .expr = EXPR(0x77, 0xa0, 0x01)};
	rule = encode(&cie_x86, &st, &inlined);
	assert_int_equal(rule.fp_save, BP_SAVE_SP);
	assert_int_equal(rule.fp_off, 160);
	st.fp = (struct cfi_saved){.how = CFI_IN_REG, .off = R10};
	rule = encode(&cie_x86, &st, &inlined);
	assert_int_equal(rule.fp_save, BP_SAVE_REG);
	assert_int_equal(rule.fp_off, R10);
	/* What cannot be said loses rbp and nothing else. */
	st.fp = (struct cfi_saved){.how = CFI_AT_EXPR, .expr = EXPR(0x77, 0x70, 0x06)};
	rule = encode(&cie_x86, &st, &inlined);
	assert_int_equal(rule.kind, BP_RULE_REG);
	assert_int_equal(rule.fp_save, BP_SAVE_UNDEFINED);
	assert_int_equal(rule.fp_off, 0);
	st.fp = (struct cfi_saved){.how = CFI_UNDEFINED};
	assert_int_equal(encode(&cie_x86, &st, &inlined).fp_save, BP_SAVE_UNDEFINED);
	st.fp = (struct cfi_saved){.how = CFI_AT_CFA, .off = INT64_C(1) << 40};
	assert_int_equal(encode(&cie_x86, &st, &inlined).fp_save, BP_SAVE_UNDEFINED);
	st.fp = (struct cfi_saved){.how = CFI_AT_EXPR, .expr = EXPR(0x78, 0x00)};
	assert_int_equal(encode(&cie_x86, &st, &inlined).fp_save, BP_SAVE_UNDEFINED);
}

static void test_plt(void **state)
{
	struct cfi_state st;
	struct bp_rule rule;
	bool inlined;

	for (uint8_t limit = 10; limit <= 11; limit++) {
		st = state_expr(
			EXPR(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30 + limit, 0x2a, 0x33, 0x24, 0x22));
		rule = encode(&cie_x86, &st, &inlined);
		assert_int_equal(rule.kind, BP_RULE_PLT);
		assert_int_equal(rule.cfa_add, limit);
		assert_int_equal(rule.ra_off, -8);
	}
	/* One byte off: another expression. */
	for (int i = 0; i < 11; i++) {
		uint8_t ops[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};

		ops[i] ^= 0x80;
		st = state_expr((struct cfi_expr){.ops = ops, .len = sizeof(ops)});
		assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
	}
}

static void test_deref(void **state)
{
	struct cfi_state st = state_expr(EXPR(0x76, 0x78, 0x06));
	struct bp_rule rule;
	bool inlined;

	rule = encode(&cie_x86, &st, &inlined);
	assert_int_equal(rule.kind, BP_RULE_DEREF);
	assert_int_equal(rule.cfa_reg, RBP);
	assert_int_equal(rule.cfa_off, -8);
	assert_int_equal(rule.cfa_add, 0);
	assert_int_equal(rule.cfa_index, 0);
	st = state_expr(EXPR(0x77, 0x98, 0x01, 0x06, 0x23, 8));
	rule = encode(&cie_x86, &st, &inlined);
	assert_int_equal(rule.kind, BP_RULE_DEREF);
	assert_int_equal(rule.cfa_reg, RSP);
	assert_int_equal(rule.cfa_off, 152);
	assert_int_equal(rule.cfa_add, 8);
	/* *(rsp + 8 + 8 * r9) + 8 */
	st = state_expr(EXPR(0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8));
	rule = encode(&cie_x86, &st, &inlined);
	assert_int_equal(rule.kind, BP_RULE_DEREF);
	assert_int_equal(rule.cfa_off, 8);
	assert_int_equal(rule.cfa_add, 8);
	assert_int_equal(rule.cfa_index, 1 + R9);
	/* bregx, and a register that is none. */
	st = state_expr(EXPR(0x92, R10, 0, 0x06));
	assert_int_equal(encode(&cie_x86, &st, &inlined).cfa_reg, R10);
	st = state_expr(EXPR(0x92, 0x7f, 0, 0x06));
	assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
}

/* reg + off written as an expression is the ordinary rule. */
static void test_plain_expression(void **state)
{
	struct cfi_state st = state_expr(EXPR(0x77, 16)), plain = state_x86(RSP, 16, 0);

	assert_int_equal(rule16_of_state(&set, &cie_x86, &st),
			 rule16_of_state(&set, &cie_x86, &plain));
}

static void test_expressions_refused(void **state)
{
	const struct cfi_expr refused[] = {
		EXPR(0x77),
		EXPR(0x77, 0x80),
		EXPR(0x06),
		EXPR(0x77, 8, 0x06, 0x06),
		EXPR(0x77, 8, 0x06, 0x23),
		EXPR(0x77, 8, 0x06, 0x23, 8, 0x06),
		EXPR(0x77, 8, 0x79, 0, 0x34, 0x1e, 0x22, 0x06),
		EXPR(0x77, 8, 0x79, 1, 0x38, 0x1e, 0x22, 0x06),
		EXPR(0x77, 8, 0x79, 0, 0x38, 0x1e),
		{.ops = (const uint8_t *)"", .len = 0},
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct cfi_state st = state_expr(refused[i]);

		assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
	}
}

static void test_signal(void **state)
{
	const struct cfi_cie trampoline = {.ra_reg = RIP, .is_signal = true};
	struct cfi_state st = state_expr(EXPR(0x77, 0xa0, 0x01, 0x06)),
			 plain = state_x86(RSP, 8, 0);

	assert_kind(&trampoline, &st, BP_RULE_SIGNAL);
	/* The same expression without the mark, and the mark on an ordinary function. */
	assert_kind(&cie_x86, &st, BP_RULE_DEREF);
	assert_kind(&trampoline, &plain, BP_RULE_REG);
}

static void test_arm_signal(void **state)
{
	const struct cfi_cie trampoline = {.ra_reg = X30, .is_signal = true};
	struct cfi_state st = state_arm(X29, 0, 0, 8);

	assert_kind(&trampoline, &st, BP_RULE_SIGNAL);
}

static void test_no_cfa(void **state)
{
	struct cfi_state st = state_x86(RSP, 8, 0);

	st.has_cfa = false;
	assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
	st = state_x86(40, 8, 0);
	assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
	st = state_x86(RSP, INT64_C(1) << 31, 0);
	assert_kind(&cie_x86, &st, BP_RULE_UNSUPPORTED);
}

#define X86(fn) cmocka_unit_test_setup_teardown(fn, setup_x86, teardown)
#define ARM(fn) cmocka_unit_test_setup_teardown(fn, setup_arm, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		X86(test_x86_inline),
		X86(test_x86_escape),
		X86(test_eh_return),
		ARM(test_arm_inline),
		ARM(test_arm_escape),
		X86(test_escapes_are_shared),
		X86(test_list_is_bounded),
		X86(test_fixed_rules),
		X86(test_return_address),
		X86(test_frame_pointer),
		X86(test_plt),
		X86(test_deref),
		X86(test_plain_expression),
		X86(test_expressions_refused),
		X86(test_signal),
		ARM(test_arm_signal),
		X86(test_no_cfa),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
