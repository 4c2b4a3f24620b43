/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts are compared as numbers of up to 8 bytes. One that is somewhere in memory is read up to one
 * byte more than the literal and its NUL have: how many bytes came says how long it is.
 */
#include "event/expr_text.h"

#include <string.h>

/* @len bytes at [@base] + @off are @bytes, or it jumps. */
static void compare_bytes(struct expr_compiler *cc, uint8_t base, int32_t off, const char *bytes,
			  uint32_t len, struct expr_jumps *jumps)
{
	for (uint32_t done = 0, step; done < len; done += step) {
		uint64_t word = 0;
		int32_t at = off + (int32_t)done;

		step = 8;
		while (step > len - done || at % (int32_t)step)
			step /= 2;
		/* In the order of the machine: both that we have are little-endian. */
		memcpy(&word, bytes + done, step);
		emit_load(&cc->em, step, BPF_REG_1, base, at);
		if (expr_is_imm(word)) {
			emit_jump_imm(&cc->em, jumps, BPF_JNE, BPF_REG_1, (int32_t)word);
		} else {
			emit_const(&cc->em, BPF_REG_2, word);
			emit_jump(&cc->em, jumps, BPF_JNE, BPF_REG_1, BPF_REG_2);
		}
	}
}

/* r1: the buffer, r2: @len. */
static void emit_buffer(struct expr_compiler *cc, uint32_t len)
{
	emit_alu(&cc->em, BPF_MOV, BPF_REG_1, BPF_REG_10);
	emit_alu_imm(&cc->em, BPF_ADD, BPF_REG_1, EXPR_BUFFER_OFF);
	emit_alu_imm(&cc->em, BPF_MOV, BPF_REG_2, (int32_t)len);
}

/* r3: the text's address. A kprobe's argument and a tracepoint's field may be either's, and
 * addresses of the kernel have their first bit set. */
static void read_pointed(struct expr_compiler *cc)
{
	struct expr_jumps in_kernel = {0}, end = {0};
	enum event_kind kind = cc->expr->kind;

	if (kind == EVENT_UPROBE || kind == EVENT_URETPROBE || kind == EVENT_USDT) {
		emit_call(&cc->em, BPF_FUNC_probe_read_user_str);
		return;
	}
	emit_jump_imm(&cc->em, &in_kernel, BPF_JSLT, BPF_REG_3, 0);
	emit_call(&cc->em, BPF_FUNC_probe_read_user_str);
	emit_goto(&cc->em, &end);
	emit_land(&cc->em, &in_kernel);
	emit_call(&cc->em, BPF_FUNC_probe_read_kernel_str);
	emit_land(&cc->em, &end);
}

static void read_loc(struct expr_compiler *cc, const struct expr_node *text, uint32_t len)
{
	emit_load(&cc->em, 2, BPF_REG_1, EXPR_CTX_REG, (int32_t)text->off);
	emit_alu(&cc->em, BPF_MOV, BPF_REG_3, EXPR_CTX_REG);
	emit_alu(&cc->em, BPF_ADD, BPF_REG_3, BPF_REG_1);
	emit_buffer(cc, len);
	emit_call(&cc->em, BPF_FUNC_probe_read_kernel_str);
}

void expr_text_compare(struct expr_compiler *cc, const struct expr_node *text,
		       const struct expr_node *literal, struct expr_jumps *jumps)
{
	char bytes[EXPR_TEXT_MAX + 1] = "";
	uint32_t len = literal->len;

	memcpy(bytes, cc->expr->strings + literal->off, len);
	switch (text->op) {
	case EXPR_COMM:
		emit_buffer(cc, text->size);
		emit_call(&cc->em, BPF_FUNC_get_current_comm);
		compare_bytes(cc, BPF_REG_10, EXPR_BUFFER_OFF, bytes, len + 1, jumps);
		return;
	case EXPR_CHARS:
		compare_bytes(cc, EXPR_CTX_REG, (int32_t)text->off, bytes,
			      len < text->size ? len + 1 : len, jumps);
		return;
	case EXPR_LOC:
		read_loc(cc, text, len + 2);
		break;
	default:
		emit_alu(&cc->em, BPF_MOV, BPF_REG_3, BPF_REG_0);
		emit_buffer(cc, len + 2);
		read_pointed(cc);
		break;
	}
	emit_jump_imm(&cc->em, jumps, BPF_JNE, BPF_REG_0, (int32_t)len + 1);
	compare_bytes(cc, BPF_REG_10, EXPR_BUFFER_OFF, bytes, len, jumps);
}
