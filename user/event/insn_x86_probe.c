/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Linux does with a uprobe on an x86-64 instruction (arch/x86/kernel/uprobes.c, 5.10 to 7.x),
 * and which registers the instruction changes.
 *
 * The kernel has a defect here, in all of these versions. It decides by the opcode byte, and of an
 * instruction with a VEX or EVEX prefix it looks at the byte behind that prefix, as if it were an
 * opcode of its own: `vpbroadcastb %esi,%ymm17` (62 e2 7d 28 7a ce) has 7a there, which alone is
 * `jp`. So such instructions are not executed at all but "emulated" as the branch or the nop that
 * they look like, and those with an immediate (`vpshufd $3`, 70) may jump by it. glibc's strchr,
 * strchrnul, rawmemchr, wcschr and memset for AVX-512 begin that way: a probe on one of them, and
 * every program that it is in finds wrong characters and fills memory with wrong bytes. Others lose
 * the fix of the instruction pointer (c2, vcmpps) or keep the trap flag (9d, vfnmadd132sd) because
 * they look like ret and popf. tests/kernel/uprobe_insn.c shows each of them.
 *
 * Nops of several bytes (0f 1f) are emulated by recent kernels alone (6.18 does, not the 5-byte
 * one, which it replaces by a call); they pass for stepped here, which is never too cheap.
 */
#include "event/insn_x86.h"

#define GENERAL_ALL 0xffffu

enum { RAX = 1 << 0, RCX = 1 << 1, RDX = 1 << 2, RSP = 1 << 4, RSI = 1 << 6, RDI = 1 << 7 };

static const char looks_like_branch[] =
	"the kernel takes this vector instruction for another and executes it wrongly";
static const char is_privileged[] = "the kernel puts no probe on such an instruction";
static const char is_repeated[] = "each repetition of this string instruction would count as a hit";

/* Opcodes that arch_uprobe_analyze_insn() gives a meaning of their own. */
static bool is_special_one(uint8_t opcode)
{
	switch (opcode) {
	case 0x90:
	case 0x9a:
	case 0x9d:
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xe8:
	case 0xe9:
	case 0xea:
	case 0xeb:
	case 0xff:
		return true;
	default:
		return opcode >> 4 == 7;
	}
}

/* Outside its table of one-byte opcodes that are good to probe. */
static bool is_refused_one(uint8_t opcode)
{
	if (opcode < 0x40)
		return (opcode & 7) > 5;
	switch (opcode) {
	case 0x60 ... 0x62:
	case 0x66 ... 0x67:
	case 0x6c ... 0x6f:
	case 0x82:
	case 0x9a:
	case 0xc4 ... 0xc5:
	case 0xcc ... 0xcf:
	case 0xd4 ... 0xd6:
	case 0xe4 ... 0xe7:
	case 0xea:
	case 0xec ... 0xf1:
	case 0xf4:
	case 0xfa ... 0xfb:
		return true;
	default:
		return opcode >> 4 == 4;
	}
}

static bool is_refused_0f(uint8_t opcode)
{
	switch (opcode) {
	case 0x00 ... 0x01:
	case 0x05 ... 0x09:
	case 0x0b:
	case 0x30:
	case 0x34 ... 0x35:
	case 0x37:
	case 0x78 ... 0x79:
	case 0xae:
		return true;
	default:
		return false;
	}
}

static enum probe_class class_of_vector(const struct x86_parts *parts, const char **why)
{
	if (parts->vector == VECTOR_XOP || is_special_one(parts->opcode)) {
		*why = looks_like_branch;
		return PROBE_MISHANDLED;
	}
	if (is_refused_one(parts->opcode)) {
		*why = is_privileged;
		return PROBE_REFUSED;
	}
	return PROBE_STEPPED;
}

static bool is_branch(const struct x86_parts *parts)
{
	if (parts->map == MAP_0F)
		return parts->opcode >> 4 == 8;
	return parts->map == MAP_ONE && (parts->opcode >> 4 == 7 || parts->opcode == 0xe8 ||
					 parts->opcode == 0xe9 || parts->opcode == 0xeb);
}

static bool is_string(uint8_t opcode)
{
	return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf);
}

static enum probe_class class_of_one(const struct x86_parts *parts, const char **why)
{
	uint8_t opcode = parts->opcode;
	bool is_xbegin = opcode == 0xc7 && parts->modrm == 0xf8;
	bool is_mov_ss = opcode == 0x8e && x86_group(parts) == 2;

	if (is_refused_one(opcode) || is_mov_ss || is_xbegin) {
		*why = is_privileged;
		return PROBE_REFUSED;
	}
	if (is_string(opcode) && (parts->has_rep || parts->has_repne)) {
		*why = is_repeated;
		return PROBE_REFUSED;
	}
	if (opcode == 0x90) {
		/* With REX.B it is xchg %rax,%r8, which the kernel takes for a nop too. */
		*why = parts->rex & 1 ? looks_like_branch : NULL;
		return parts->rex & 1 ? PROBE_MISHANDLED : PROBE_EMULATED;
	}
	if (opcode >> 3 == 0x50 >> 3 &&
	    (parts->pos == 1 || (parts->pos == 2 && parts->rex == 0x41)))
		return PROBE_EMULATED;
	return PROBE_STEPPED;
}

enum probe_class x86_probe_class(const struct x86_parts *parts, const char **why)
{
	if (parts->has_lock || parts->has_segment || (is_branch(parts) && parts->has_66)) {
		*why = is_privileged;
		return PROBE_REFUSED;
	}
	if (parts->vector != VECTOR_NONE)
		return class_of_vector(parts, why);
	if (is_branch(parts))
		return PROBE_EMULATED;
	if (parts->map == MAP_ONE)
		return class_of_one(parts, why);
	if (parts->map == MAP_0F && is_refused_0f(parts->opcode)) {
		*why = is_privileged;
		return PROBE_REFUSED;
	}
	return PROBE_STEPPED;
}

/* --- Registers --- */

static uint32_t in_rm(const struct x86_parts *parts)
{
	return x86_rm_is_reg(parts) ? 1u << parts->rm : 0;
}

static uint32_t in_reg(const struct x86_parts *parts)
{
	return 1u << parts->reg;
}

static uint32_t in_opcode(const struct x86_parts *parts)
{
	return 1u << ((parts->opcode & 7) | (parts->rex & 1) << 3);
}

/* The eight arithmetic operations, 00 to 3d. */
static uint32_t written_arithmetic(const struct x86_parts *parts)
{
	if (parts->opcode >= 0x38)
		return 0; /* cmp */
	switch (parts->opcode & 7) {
	case 0:
	case 1:
		return in_rm(parts);
	case 2:
	case 3:
		return in_reg(parts);
	default:
		return RAX;
	}
}

static uint32_t written_group(const struct x86_parts *parts)
{
	unsigned int group = x86_group(parts);

	switch (parts->opcode) {
	case 0x80 ... 0x83:
		return group == 7 ? 0 : in_rm(parts);
	case 0xf6:
	case 0xf7:
		return group < 2 ? 0 : group < 4 ? in_rm(parts) : RAX | RDX;
	default: /* fe, ff */
		return group < 2 ? in_rm(parts) : group == 6 ? RSP : GENERAL_ALL;
	}
}

static uint32_t written_one(const struct x86_parts *parts)
{
	switch (parts->opcode) {
	case 0x00 ... 0x3f:
		return written_arithmetic(parts);
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
	case 0x9c:
	case 0x9d:
		return RSP;
	case 0x58 ... 0x5f:
		return in_opcode(parts) | RSP;
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8a ... 0x8b:
	case 0x8d:
		return in_reg(parts);
	case 0x70 ... 0x7f:
	case 0x84 ... 0x85:
	case 0xa8 ... 0xa9:
	case 0x8e:
	case 0xe3:
	case 0xe9:
	case 0xeb:
	case 0x9b:
	case 0xf5:
	case 0xf8 ... 0xfd:
		return 0;
	case 0x80 ... 0x83:
	case 0xf6 ... 0xf7:
	case 0xfe ... 0xff:
		return written_group(parts);
	case 0x86 ... 0x87:
		return in_reg(parts) | in_rm(parts);
	case 0x88 ... 0x89:
	case 0x8c:
	case 0xc0 ... 0xc1:
	case 0xc6 ... 0xc7:
	case 0xd0 ... 0xd3:
		return in_rm(parts);
	case 0x8f:
		return in_rm(parts) | RSP;
	case 0x90 ... 0x97:
		return parts->opcode == 0x90 && !(parts->rex & 1) ? 0 : in_opcode(parts) | RAX;
	case 0x98:
		return RAX;
	case 0x99:
		return RDX;
	case 0xa4 ... 0xa7:
	case 0xaa ... 0xaf:
		return RAX | RCX | RSI | RDI;
	case 0xb0 ... 0xbf:
		return in_opcode(parts);
	case 0xd8 ... 0xdf:
		return RAX; /* fnstsw */
	default:
		return GENERAL_ALL;
	}
}

static uint32_t written_0f(const struct x86_parts *parts)
{
	switch (parts->opcode) {
	case 0x0d:
	case 0x10 ... 0x17:
	case 0x18:
	case 0x1e ... 0x1f:
	case 0x28 ... 0x2b:
	case 0x2e ... 0x2f:
	case 0x51 ... 0x77:
	case 0x7c ... 0x7d:
	case 0x7f ... 0x8f:
	case 0xa3:
	case 0xc2:
	case 0xc4:
	case 0xc6:
	case 0xd0 ... 0xd6:
	case 0xd8 ... 0xfe:
		return 0;
	case 0x2c ... 0x2d:
	case 0x40 ... 0x50:
	case 0xaf:
	case 0xb6 ... 0xb8:
	case 0xbc ... 0xbf:
	case 0xc5:
	case 0xd7:
		return in_reg(parts);
	case 0x7e:
	case 0x90 ... 0x9f:
	case 0xa4 ... 0xa5:
	case 0xab ... 0xad:
	case 0xb3:
	case 0xba ... 0xbb:
		return in_rm(parts);
	case 0xb0 ... 0xb1:
		return in_rm(parts) | RAX;
	case 0xc0 ... 0xc1:
		return in_rm(parts) | in_reg(parts);
	case 0xc8 ... 0xcf:
		return in_opcode(parts);
	default:
		return GENERAL_ALL;
	}
}

/* Of the maps behind 0F, with and without VEX or EVEX. */
static uint32_t written_far(const struct x86_parts *parts)
{
	if (parts->map == MAP_0F38)
		return parts->opcode < 0xf0 ? 0 : in_reg(parts) | in_rm(parts) | 1u << parts->vvvv;
	/* pextr, extractps; rorx; pcmpestr and pcmpistr; sha1rnds4 and others have xmm registers
	 * alone. */
	if (parts->opcode >= 0x14 && parts->opcode <= 0x17)
		return in_rm(parts);
	if (parts->opcode >= 0x60 && parts->opcode <= 0x63)
		return RCX;
	return parts->opcode == 0xf0 ? in_reg(parts) : 0;
}

/* VEX and EVEX forms of what 0F has. */
static uint32_t written_vector(const struct x86_parts *parts)
{
	switch (parts->opcode) {
	case 0x2c ... 0x2d:
	case 0x50:
	case 0x78 ... 0x79:
	case 0x93:
	case 0xc5:
	case 0xd7:
		return in_reg(parts);
	case 0x7e:
		return in_rm(parts);
	default:
		return 0;
	}
}

uint32_t x86_written(const struct x86_parts *parts)
{
	if (parts->vector == VECTOR_XOP || parts->map == MAP_OTHER)
		return GENERAL_ALL;
	if (parts->map == MAP_0F38 || parts->map == MAP_0F3A)
		return written_far(parts);
	if (parts->vector != VECTOR_NONE)
		return written_vector(parts);
	return parts->map == MAP_ONE ? written_one(parts) : written_0f(parts);
}
