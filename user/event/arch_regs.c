/* SPDX-License-Identifier: Apache-2.0 */
/* Registers by name and by their part in a call; the layouts are user ABI (asm/ptrace.h). */
#include "event/arch_regs.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/parse.h"

/* struct pt_regs of x86-64 as words. */
enum x86_word {
	X86_R15,
	X86_R14,
	X86_R13,
	X86_R12,
	X86_BP,
	X86_BX,
	X86_R11,
	X86_R10,
	X86_R9,
	X86_R8,
	X86_AX,
	X86_CX,
	X86_DX,
	X86_SI,
	X86_DI,
	X86_IP = 16,
	X86_SP = 19,
};

/* By all of their widths, the last one being the second byte. */
static const struct x86_reg {
	const char *names[5];
	enum x86_word word;
} x86_regs[] = {
	{{"rax", "eax", "ax", "al", "ah"}, X86_AX},
	{{"rbx", "ebx", "bx", "bl", "bh"}, X86_BX},
	{{"rcx", "ecx", "cx", "cl", "ch"}, X86_CX},
	{{"rdx", "edx", "dx", "dl", "dh"}, X86_DX},
	{{"rsi", "esi", "si", "sil"}, X86_SI},
	{{"rdi", "edi", "di", "dil"}, X86_DI},
	{{"rbp", "ebp", "bp", "bpl"}, X86_BP},
	{{"rsp", "esp", "sp", "spl"}, X86_SP},
	{{"rip"}, X86_IP},
	{{"r8", "r8d", "r8w", "r8b"}, X86_R8},
	{{"r9", "r9d", "r9w", "r9b"}, X86_R9},
	{{"r10", "r10d", "r10w", "r10b"}, X86_R10},
	{{"r11", "r11d", "r11w", "r11b"}, X86_R11},
	{{"r12", "r12d", "r12w", "r12b"}, X86_R12},
	{{"r13", "r13d", "r13w", "r13b"}, X86_R13},
	{{"r14", "r14d", "r14w", "r14b"}, X86_R14},
	{{"r15", "r15d", "r15w", "r15b"}, X86_R15},
};

static const enum x86_word x86_args[] = {X86_DI, X86_SI, X86_DX, X86_CX, X86_R8, X86_R9};

enum {
	WORD_BYTES = 8,
	X86_ARGS = sizeof(x86_args) / sizeof(*x86_args),
	ARM64_ARGS = 8,
	ARM64_GENERAL = 31, /* x0..x30 */
	ARM64_SP = 31, /* as words of struct user_pt_regs */
};

uint32_t arch_arg_cnt(enum event_arch arch)
{
	return arch == EVENT_ARCH_X86_64 ? X86_ARGS : ARM64_ARGS;
}

uint32_t arch_arg_off(enum event_arch arch, uint32_t index)
{
	assert(index < arch_arg_cnt(arch));
	return WORD_BYTES * (arch == EVENT_ARCH_X86_64 ? x86_args[index] : index);
}

uint32_t arch_result_off(enum event_arch arch)
{
	return arch == EVENT_ARCH_X86_64 ? WORD_BYTES * X86_AX : 0;
}

static bool is_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, text, len);
}

static int x86_find(const char *name, size_t len, uint32_t *out)
{
	for (size_t i = 0; i < sizeof(x86_regs) / sizeof(*x86_regs); i++)
		for (uint32_t k = 0; k < 5; k++)
			if (is_name(x86_regs[i].names[k], name, len)) {
				*out = WORD_BYTES * x86_regs[i].word + (k == 4);
				return 0;
			}
	return -ENOENT;
}

static int arm64_find(const char *name, size_t len, uint32_t *out)
{
	uint32_t number;

	if (is_name("sp", name, len) || is_name("wsp", name, len)) {
		*out = WORD_BYTES * ARM64_SP;
		return 0;
	}
	if (len < 2 || len > 3 || (name[0] != 'x' && name[0] != 'w'))
		return -ENOENT;
	number = digit_value(name[1]);
	if (len == 3)
		number = number && number < 10 && digit_value(name[2]) < 10
				 ? number * 10 + digit_value(name[2])
				 : UINT32_MAX;
	if (number >= ARM64_GENERAL || (len == 2 && number > 9))
		return -ENOENT;
	*out = WORD_BYTES * number;
	return 0;
}

int arch_reg_find(enum event_arch arch, const char *name, size_t len, uint32_t *out)
{
	return arch == EVENT_ARCH_X86_64 ? x86_find(name, len, out) : arm64_find(name, len, out);
}
