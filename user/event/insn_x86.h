/* SPDX-License-Identifier: Apache-2.0 */
/* What insn_x86.c and insn_x86_probe.c share. */
#ifndef BPFPROF_EVENT_INSN_X86_H
#define BPFPROF_EVENT_INSN_X86_H

#include "event/insn.h"

/* Which table an opcode byte is looked up in. */
enum insn_map {
	MAP_ONE, /* no escape byte */
	MAP_0F,
	MAP_0F38,
	MAP_0F3A,
	MAP_OTHER, /* of EVEX 5 and 6, XOP */
};

enum insn_vector {
	VECTOR_NONE,
	VECTOR_VEX,
	VECTOR_EVEX,
	VECTOR_XOP,
};

/* An instruction taken apart. */
struct x86_parts {
	const uint8_t *code;
	size_t len; /* that can be read */
	size_t pos; /* of the next byte */
	uint64_t vaddr;
	bool has_66, has_67, has_lock, has_rep, has_repne, has_segment; /* cs, ds, es, ss */
	bool is_bad; /* an escape that no table continues */
	uint8_t rex; /* 0: none */
	enum insn_vector vector;
	enum insn_map map;
	uint8_t opcode;
	bool has_modrm;
	uint8_t modrm;
	uint8_t reg, rm; /* register numbers, with REX's bits */
	uint8_t vvvv;
	int64_t imm; /* sign-extended */
	uint8_t imm_bytes;
};

/* The uprobe class of a decoded instruction, with the reason in *@why where there is one. */
enum probe_class x86_probe_class(const struct x86_parts *parts, const char **why);

/* The general registers that it may write, a bit each. */
uint32_t x86_written(const struct x86_parts *parts);

static inline bool x86_rm_is_reg(const struct x86_parts *parts)
{
	return parts->has_modrm && parts->modrm >> 6 == 3;
}

static inline unsigned int x86_group(const struct x86_parts *parts)
{
	return parts->modrm >> 3 & 7;
}

#endif
