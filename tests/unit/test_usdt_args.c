/* SPDX-License-Identifier: Apache-2.0 */
/* Location strings of USDT notes, as compilers have written them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/usdt_args.h"

static int parse(const char *args, uint32_t index, enum event_arch arch, struct usdt_arg *out)
{
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = usdt_arg_parse(args, index, arch, out, &why);
	if (!err != !why.len)
		fail_msg("'%s': %d, '%s'", args, err, buf_cstr(&why));
	buf_deinit(&why);
	return err;
}

static void check(const char *args, uint32_t index, enum event_arch arch, struct usdt_arg wanted)
{
	struct usdt_arg got = {0};
	int err = parse(args, index, arch, &got);

	if (err)
		fail_msg("'%s' %u: %d", args, index, err);
	if (got.kind != wanted.kind || got.size != wanted.size ||
	    got.is_signed != wanted.is_signed || got.value != wanted.value ||
	    got.reg_off != wanted.reg_off || got.index_off != wanted.index_off ||
	    got.index_shift != wanted.index_shift)
		fail_msg("'%s' %u: kind %d size %d value %lld register %d index %d << %d", args,
			 index, got.kind, got.size, (long long)got.value, got.reg_off,
			 got.index_off, got.index_shift);
}

/* Offsets in struct pt_regs of x86-64. */
enum { R15 = 0, RBP = 32, RBX = 40, R8 = 72, RAX = 80, RCX = 88, RSI = 104, RDI = 112, RSP = 152 };

static void test_x86(void **state)
{
	static const char args[] =
		"-4@%edi 8@-8(%rbp)  4@$5 -1@%ah 8@(%rax,%rbx,8) 2@0x10(,%rcx,4) "
		"-8@$-1 1@%r8b 4@16(%rsp) %rsi 1@$255 -1@$255 8@(%r15,%rax)";
	static const struct usdt_arg wanted[] = {
		{.kind = USDT_REG, .size = 4, .is_signed = true, .reg_off = RDI},
		{.kind = USDT_DEREF, .size = 8, .reg_off = RBP, .value = -8},
		{.kind = USDT_CONST, .size = 4, .value = 5},
		{.kind = USDT_REG, .size = 1, .is_signed = true, .reg_off = RAX + 1},
		{.kind = USDT_DEREF_INDEX,
		 .size = 8,
		 .reg_off = RAX,
		 .index_off = RBX,
		 .index_shift = 3},
		{.kind = USDT_DEREF_INDEX,
		 .size = 2,
		 .index_off = RCX,
		 .index_shift = 2,
		 .value = 16},
		{.kind = USDT_CONST, .size = 8, .is_signed = true, .value = -1},
		{.kind = USDT_REG, .size = 1, .reg_off = R8},
		{.kind = USDT_DEREF, .size = 4, .reg_off = RSP, .value = 16},
		{.kind = USDT_REG, .size = 8, .reg_off = RSI},
		{.kind = USDT_CONST, .size = 1, .value = 255},
		{.kind = USDT_CONST, .size = 1, .is_signed = true, .value = -1},
		{.kind = USDT_DEREF_INDEX, .size = 8, .reg_off = R15, .index_off = RAX},
	};
	enum { CNT = sizeof(wanted) / sizeof(*wanted) };
	struct usdt_arg arg;

	assert_int_equal(usdt_arg_cnt(args), CNT);
	for (uint32_t i = 0; i < CNT; i++)
		check(args, i, EVENT_ARCH_X86_64, wanted[i]);
	assert_int_equal(parse(args, CNT, EVENT_ARCH_X86_64, &arg), -ENOENT);
}

static void test_arm64(void **state)
{
	static const char args[] = "8@x0 -4@[sp, 60] 4@5 -4@w19 8@[x1] 8@[x1, x2, lsl 3] -8@-1 "
				   "8@[x29, #-16] 4@wzr 1@[x3, x30]";
	static const struct usdt_arg wanted[] = {
		{.kind = USDT_REG, .size = 8},
		{.kind = USDT_DEREF, .size = 4, .is_signed = true, .reg_off = 31 * 8, .value = 60},
		{.kind = USDT_CONST, .size = 4, .value = 5},
		{.kind = USDT_REG, .size = 4, .is_signed = true, .reg_off = 19 * 8},
		{.kind = USDT_DEREF, .size = 8, .reg_off = 8},
		{.kind = USDT_DEREF_INDEX,
		 .size = 8,
		 .reg_off = 8,
		 .index_off = 16,
		 .index_shift = 3},
		{.kind = USDT_CONST, .size = 8, .is_signed = true, .value = -1},
		{.kind = USDT_DEREF, .size = 8, .reg_off = 29 * 8, .value = -16},
		{.kind = USDT_CONST, .size = 4},
		{.kind = USDT_DEREF_INDEX, .size = 1, .reg_off = 24, .index_off = 240},
	};
	enum { CNT = sizeof(wanted) / sizeof(*wanted) };

	assert_int_equal(usdt_arg_cnt(args), CNT);
	for (uint32_t i = 0; i < CNT; i++)
		check(args, i, EVENT_ARCH_ARM64, wanted[i]);
}

static void test_refused(void **state)
{
	static const struct {
		const char *args;
		enum event_arch arch;
		int err;
	} cases[] = {
		{"", EVENT_ARCH_X86_64, -ENOENT},
		{"  ", EVENT_ARCH_X86_64, -ENOENT},
		{"8@counter(%rip)", EVENT_ARCH_X86_64, -ENOTSUP},
		{"8@8(%rip)", EVENT_ARCH_X86_64, -ENOTSUP},
		{"8f@%xmm0", EVENT_ARCH_X86_64, -ENOTSUP},
		{"8@%xmm0", EVENT_ARCH_X86_64, -ENOTSUP},
		{"16@%rax", EVENT_ARCH_X86_64, -ENOTSUP},
		{"3@%rax", EVENT_ARCH_X86_64, -ENOTSUP},
		{"8@$name", EVENT_ARCH_X86_64, -ENOTSUP},
		{"8@%fs:16", EVENT_ARCH_X86_64, -ENOTSUP},
		{"8@", EVENT_ARCH_X86_64, -ENOTSUP},
		{"8@%", EVENT_ARCH_X86_64, -EINVAL},
		{"x@%rax", EVENT_ARCH_X86_64, -EINVAL},
		{"8@(%rax", EVENT_ARCH_X86_64, -EINVAL},
		{"8@(%rax)x", EVENT_ARCH_X86_64, -EINVAL},
		{"8@()", EVENT_ARCH_X86_64, -EINVAL},
		{"8@(%rax,%rbx,3)", EVENT_ARCH_X86_64, -EINVAL},
		{"-9223372036854775808@%rax", EVENT_ARCH_X86_64, -ENOTSUP},
		{"8@d0", EVENT_ARCH_ARM64, -ENOTSUP},
		{"8@x31", EVENT_ARCH_ARM64, -ENOTSUP},
		{"8@[x1, w2, sxtw 3]", EVENT_ARCH_ARM64, -ENOTSUP},
		{"8@[x1", EVENT_ARCH_ARM64, -EINVAL},
		{"8@[]", EVENT_ARCH_ARM64, -EINVAL},
		{"8@[x1, x2, lsl 9]", EVENT_ARCH_ARM64, -EINVAL},
	};
	struct usdt_arg arg;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int err = parse(cases[i].args, 0, cases[i].arch, &arg);

		if (err != cases[i].err)
			fail_msg("'%s': %d, not %d", cases[i].args, err, cases[i].err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("usdt_args", tests, NULL, NULL);
}
