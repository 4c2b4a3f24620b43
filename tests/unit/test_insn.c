/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions one by one, and where entries are probed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/insn.h"
#include "event/probe_slide.h"

#define VADDR 0x401000

struct known {
	const char *text;
	const char *bytes; /* hexadecimal */
	enum probe_class probe;
	enum insn_flow flow;
	uint32_t written;
};

enum { RAX = 1 << 0, RCX = 1 << 1, RDX = 1 << 2, RSP = 1 << 4, RSI = 1 << 6, RDI = 1 << 7 };

/* Bytes and their meaning as binutils' assembler has them. */
static const struct known known[] = {
	{"nop", "90", PROBE_EMULATED, INSN_NEXT, 0},
	{"pause", "f390", PROBE_EMULATED, INSN_NEXT, 0},
	{"xchg %rax,%r8", "4990", PROBE_MISHANDLED, INSN_NEXT, RAX | 1 << 8},
	{"push %rbp", "55", PROBE_EMULATED, INSN_NEXT, RSP},
	{"push %r12", "4154", PROBE_EMULATED, INSN_NEXT, RSP},
	{"pushw %ax", "6650", PROBE_STEPPED, INSN_NEXT, RSP},
	{"jmp rel8", "eb05", PROBE_EMULATED, INSN_JUMP, 0},
	{"jmp rel32", "e900010000", PROBE_EMULATED, INSN_JUMP, 0},
	{"je rel8", "7405", PROBE_EMULATED, INSN_COND, 0},
	{"je rel32", "0f84c5000000", PROBE_EMULATED, INSN_COND, 0},
	{"bnd je", "f27405", PROBE_EMULATED, INSN_COND, 0},
	{"cs je", "2e7405", PROBE_REFUSED, INSN_COND, 0},
	{"call", "e800010000", PROBE_EMULATED, INSN_CALL, 0xffff},
	{"call *%rax", "ffd0", PROBE_STEPPED, INSN_CALL, 0xffff},
	{"jmp *%rax", "ffe0", PROBE_STEPPED, INSN_END, 0xffff},
	{"ret", "c3", PROBE_STEPPED, INSN_END, 0xffff},
	{"int3", "cc", PROBE_REFUSED, INSN_END, 0xffff},
	{"syscall", "0f05", PROBE_REFUSED, INSN_NEXT, 0xffff},
	{"hlt", "f4", PROBE_REFUSED, INSN_END, 0xffff},
	{"lock incl (%rdi)", "f0ff07", PROBE_REFUSED, INSN_NEXT, 0},
	{"rep stosb", "f3aa", PROBE_REFUSED, INSN_NEXT, RAX | RCX | RSI | RDI},
	{"endbr64", "f30f1efa", PROBE_STEPPED, INSN_NEXT, 0},
	{"nopl 0(%rax,%rax,1)", "0f1f440000", PROBE_STEPPED, INSN_NEXT, 0},
	{"test %rdi,%rdi", "4885ff", PROBE_STEPPED, INSN_NEXT, 0},
	/* As long as an instruction can be: the immediate of test, f7 /0, would not fit. */
	{"rep (13 times) div %ebx", "f3f3f3f3f3f3f3f3f3f3f3f3f3f7f3", PROBE_STEPPED, INSN_NEXT,
	 RAX | RDX},
	{"mov %rsi,%rdx", "4889f2", PROBE_STEPPED, INSN_NEXT, RDX},
	{"movabs $1,%rax", "48b80100000000000000", PROBE_STEPPED, INSN_NEXT, RAX},
	{"cmpb $0,0x100(%rip)", "803d0001000000", PROBE_STEPPED, INSN_NEXT, 0},
	{"mov %fs:0x28,%rax", "64488b042528000000", PROBE_STEPPED, INSN_NEXT, RAX},
	{"sub $0x18,%rsp", "4883ec18", PROBE_STEPPED, INSN_NEXT, RSP},
	{"pshufd $3,%xmm1,%xmm0", "660f70c103", PROBE_STEPPED, INSN_NEXT, 0},
	{"pcmpistri $2,%xmm0,%xmm1", "660f3a63c802", PROBE_STEPPED, INSN_NEXT, RCX},
	/* Of VEX and EVEX, the kernel takes the byte behind the prefix for an opcode. */
	{"vpbroadcastb %esi,%ymm17", "62e27d287ace", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vpbroadcastd %esi,%ymm17", "62e27d287cce", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vpbroadcastb %esi,%zmm16", "62e27d487ac6", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vzeroupper", "c5f877", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vpshufd $3,%xmm1,%xmm0", "c5f970c103", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vpcmpeqb %ymm1,%ymm0,%ymm0", "c5fd74c1", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vpor %xmm1,%xmm2,%xmm0", "c5e9ebc1", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vpsubsb %xmm1,%xmm2,%xmm0", "c5e9e8c1", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vcmpeqps %xmm1,%xmm2,%xmm0", "c5e8c2c100", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vfnmadd132sd %xmm1,%xmm2,%xmm0", "c4e2e99dc1", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"kmovw %k1,%k2", "c5f890d1", PROBE_MISHANDLED, INSN_NEXT, 0},
	{"vmovd %esi,%xmm0", "c5f96ec6", PROBE_REFUSED, INSN_NEXT, 0},
	{"vmovups %xmm1,%xmm0", "c5f810c1", PROBE_STEPPED, INSN_NEXT, 0},
	{"vpternlogd $255,%ymm16,%ymm16,%ymm16", "62a37d2025c0ff", PROBE_STEPPED, INSN_NEXT, 0},
};

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t cnt = 0;
	unsigned int byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[cnt++] = (uint8_t)byte;
	return cnt;
}

static void test_known(void **state)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uint8_t code[32] = {0};
		size_t len = from_hex(known[i].bytes, code);
		struct insn insn;

		if (insn_x86_decode(code, len, VADDR, &insn) || insn.len != len ||
		    insn.probe != known[i].probe || insn.flow != known[i].flow ||
		    insn.written != known[i].written)
			fail_msg("%s: length %u of %zu, class %u, flow %u, writes %x",
				 known[i].text, insn.len, len, insn.probe, insn.flow, insn.written);
		assert_true((insn.probe == PROBE_REFUSED || insn.probe == PROBE_MISHANDLED) ==
			    (insn.why != NULL));
		/* Cut short, it is said to be. */
		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(insn_x86_decode(code, cut, VADDR, &insn), -ENODATA);
	}
}

static void test_targets_and_stack(void **state)
{
	static const uint8_t back[] = {0xeb, 0xfe}, near[] = {0x0f, 0x84, 0xc5, 0, 0, 0};
	static const uint8_t sub[] = {0x48, 0x81, 0xec, 0x28, 1, 0, 0};
	static const uint8_t align[] = {0x48, 0x83, 0xe4, 0xf0};
	struct insn insn;

	assert_int_equal(insn_x86_decode(back, sizeof(back), VADDR, &insn), 0);
	assert_true(insn.has_target && insn.target == VADDR);
	assert_int_equal(insn_x86_decode(near, sizeof(near), VADDR, &insn), 0);
	assert_true(insn.has_target && insn.target == VADDR + 6 + 0xc5);
	assert_int_equal(insn_x86_decode(sub, sizeof(sub), VADDR, &insn), 0);
	assert_true(insn.sp_is_known && insn.sp_delta == -0x128);
	assert_int_equal(insn_x86_decode(align, sizeof(align), VADDR, &insn), 0);
	assert_false(insn.sp_is_known);
}

/* Nothing is read behind the bytes given (ASan), whatever they are. */
static void test_any_bytes(void **state)
{
	srand(1);
	for (unsigned int round = 0; round < 300000; round++) {
		size_t len = (size_t)rand() % 17;
		uint8_t *code = malloc(len ? len : 1);
		struct insn insn;

		assert_non_null(code);
		for (size_t i = 0; i < len; i++)
			code[i] = (uint8_t)(rand() >> 7);
		if (!insn_x86_decode(code, len, VADDR, &insn))
			assert_true(insn.len >= 1 && insn.len <= len &&
				    insn.len <= INSN_X86_MAX_BYTES);
		free(code);
	}
}

/* --- Sliding --- */

static int slide(const char *hex, struct slide_opts opts, struct probe_place *out)
{
	uint8_t code[512] = {0};
	struct code_range range = {code, from_hex(hex, code), VADDR};
	struct buf text;
	int err;

	buf_init(&text, 1024);
	err = probe_slide(&range, &opts, out, &text);
	assert_true(text.len > 0);
	buf_deinit(&text);
	return err;
}

static void check_place(const char *hex, struct slide_opts opts, uint32_t off,
			enum probe_class probe)
{
	struct probe_place place;

	assert_int_equal(slide(hex, opts, &place), 0);
	assert_int_equal(place.off, off);
	assert_int_equal(place.probe, probe);
	assert_int_equal(place.cost_ns, probe_cost_ns(probe));
}

/* test %rdi,%rdi; je +2; push %rbp; pop %rbp; ret: free() of glibc 2.36 in small. */
static void test_slide_to_branch(void **state)
{
	check_place("4885ff7402555dc3", (struct slide_opts){0}, 3, PROBE_EMULATED);
	check_place("55c3", (struct slide_opts){0}, 0, PROBE_EMULATED);
	/* With nothing emulated the entry stays: mov %rdi,%rax; ret. */
	check_place("4889f8c3", (struct slide_opts){0}, 0, PROBE_STEPPED);
}

/* The entries of glibc's AVX-512 strchr and memset: probed there, all that use them break. */
static void test_slide_off_mishandled(void **state)
{
	struct probe_place place;

	/* vpbroadcastb %esi,%ymm17; mov %edi,%eax; ret */
	check_place("62e27d287ace89f8c3", (struct slide_opts){0}, 6, PROBE_STEPPED);
	/* vpbroadcastb %esi,%zmm16; mov %rdi,%rax; cmp $0x40,%rdx; jb +1; ret; ret */
	check_place("62e27d487ac64889f84883fa407201c3c3", (struct slide_opts){0}, 13,
		    PROBE_EMULATED);
	/* vzeroupper; vpor: nowhere to go. */
	assert_int_equal(slide("c5f877c5e9ebc1", (struct slide_opts){0}, &place), -EOPNOTSUPP);
}

static void test_slide_stops(void **state)
{
	const struct slide_opts plain = {0};
	const struct slide_opts keep_args = {.keep_args = true}, keep_sp = {.keep_sp = true};
	struct probe_place place;

	/* mov %rdi,%rax; push; ret, but a jump back to the entry: each round would count or not. */
	check_place("4889f855ebfac3", plain, 0, PROBE_STEPPED);
	/* The same with a jump to the push. */
	check_place("4889f855ebfdc3", plain, 0, PROBE_STEPPED);
	/* mov %esi,%edi; push %rbp; ret */
	check_place("89f755c3", plain, 2, PROBE_EMULATED);
	check_place("89f755c3", keep_args, 0, PROBE_STEPPED);
	assert_int_equal(slide("89f755c3", plain, &place), 0);
	assert_int_equal(place.args_changed, RDI);
	/* sub $0x18,%rsp; je +0; ret */
	check_place("4883ec187400c3", plain, 4, PROBE_EMULATED);
	check_place("4883ec187400c3", keep_sp, 0, PROBE_STEPPED);
	assert_int_equal(slide("4883ec187400c3", plain, &place), 0);
	assert_int_equal(place.sp_moved, -0x18);
	/* and $-16,%rsp; push */
	check_place("4883e4f055c3", plain, 0, PROBE_STEPPED);
	/* ret, call *%rax: behind them is not every call's way. */
	check_place("c355", plain, 0, PROBE_STEPPED);
	check_place("ffd055c3", plain, 0, PROBE_STEPPED);
	/* What cannot be decoded may jump anywhere: mov; push; ret; (bad). */
	check_place("4889f855c306", plain, 0, PROBE_STEPPED);
	/* cs je, which is refused, is passed only on request; then push. */
	assert_int_equal(slide("2e740155c3", plain, &place), -EOPNOTSUPP);
	check_place("2e740155c3", (struct slide_opts){.may_pass_exit = true}, 3, PROBE_EMULATED);
	assert_int_equal(slide("06", plain, &place), -EBADMSG);
}

static void test_arm64(void **state)
{
	static const struct {
		uint32_t word;
		enum probe_class probe;
		enum insn_flow flow;
	} words[] = {
		{0xd503201f, PROBE_EMULATED, INSN_NEXT}, /* nop */
		{0xd503245f, PROBE_STEPPED, INSN_NEXT}, /* bti c */
		{0xd503233f, PROBE_STEPPED, INSN_NEXT}, /* paciasp */
		{0xa9bf7bfd, PROBE_STEPPED, INSN_NEXT}, /* stp x29, x30, [sp, #-16]! */
		{0x54000040, PROBE_EMULATED, INSN_COND}, /* b.eq +8 */
		{0x14000002, PROBE_EMULATED, INSN_JUMP}, /* b +8 */
		{0xd65f03c0, PROBE_EMULATED, INSN_END}, /* ret */
		{0xd65f0bff, PROBE_REFUSED, INSN_END}, /* retaa */
		{0xc85f7c00, PROBE_REFUSED, INSN_NEXT}, /* ldxr */
		{0xd4000001, PROBE_REFUSED, INSN_END}, /* svc */
	};
	struct insn insn;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		uint8_t code[4];

		memcpy(code, &words[i].word, sizeof(code));
		assert_int_equal(insn_arm64_decode(code, 4, VADDR, &insn), 0);
		assert_int_equal(insn.probe, words[i].probe);
		assert_int_equal(insn.flow, words[i].flow);
		if (insn.has_target)
			assert_int_equal(insn.target, VADDR + 8);
		assert_int_equal(insn_arm64_decode(code, 4, VADDR + 2, &insn), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_targets_and_stack),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_slide_to_branch),
		cmocka_unit_test(test_slide_off_mishandled),
		cmocka_unit_test(test_slide_stops),
		cmocka_unit_test(test_arm64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
