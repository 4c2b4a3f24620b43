/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the tree to instructions, as for a machine with an accumulator: the value of a node comes
 * into r0, of its second operand into r1; r6 has the context. Of two operands that both need
 * computing, the one that needs more intermediate values comes first (Sethi and Ullman 1970), so
 * their number grows with the logarithm of the expression only.
 *
 * Conditions are jumps: branch() goes away where a node is true, or where it is false, and falls
 * through otherwise. A condition that is a number (x * (y > 5)) is put together from 1 and 0; a
 * verifier would follow each of both through all that comes, and so 2^n ways of n such numbers
 * (before "bpf: support precision propagation in the presence of subprogs", 6.4, it takes every
 * number there for important). So the number is made one that it does not know: twice
 * exclusive-or'ed with a word from the context.
 */
#include "event/expr_code.h"

#include <errno.h>
#include <string.h>

#include "event/expr_emit.h"
#include "event/expr_priv.h"
#include "event/expr_text.h"

static void value(struct expr_compiler *cc, uint16_t index);

/* Can it be had in any one register, with no other used? */
static bool is_simple(const struct expr_node *node)
{
	return node->op == EXPR_CONST || (node->op == EXPR_LOAD && node->off % node->size == 0);
}

static void load_simple(struct expr_compiler *cc, const struct expr_node *node, uint8_t dst)
{
	if (node->op == EXPR_CONST) {
		emit_const(&cc->em, dst, node->value);
		return;
	}
	emit_load(&cc->em, node->size, dst, EXPR_CTX_REG, (int32_t)node->off);
	if (node->is_signed)
		emit_extend(&cc->em, dst, node->size, true);
}

/* r1, r2: the place of a number of @bytes on the stack, as helpers take it. */
static void emit_place(struct expr_compiler *cc, uint32_t bytes)
{
	emit_alu(&cc->em, BPF_MOV, BPF_REG_1, BPF_REG_10);
	emit_alu_imm(&cc->em, BPF_ADD, BPF_REG_1, -8);
	emit_alu_imm(&cc->em, BPF_MOV, BPF_REG_2, (int32_t)bytes);
}

/* The number at the address r3, by @helper, which leaves 0 where it cannot be read. */
static void read_number(struct expr_compiler *cc, const struct expr_node *node, int32_t helper)
{
	emit_place(cc, node->size);
	emit_call(&cc->em, helper);
	emit_load(&cc->em, node->size, BPF_REG_0, BPF_REG_10, -8);
	if (node->is_signed)
		emit_extend(&cc->em, BPF_REG_0, node->size, true);
}

static void deref_value(struct expr_compiler *cc, const struct expr_node *node)
{
	const struct usdt_arg *place = &node->place;
	uint64_t off = (uint64_t)place->value;
	bool has_base = place->kind == USDT_DEREF || place->has_base;

	if (has_base)
		emit_load(&cc->em, 8, BPF_REG_3, EXPR_CTX_REG, place->reg_off);
	if (place->kind == USDT_DEREF_INDEX) {
		uint8_t reg = has_base ? BPF_REG_2 : BPF_REG_3;

		emit_load(&cc->em, 8, reg, EXPR_CTX_REG, place->index_off);
		emit_alu_imm(&cc->em, BPF_LSH, reg, place->index_shift);
		if (has_base)
			emit_alu(&cc->em, BPF_ADD, BPF_REG_3, BPF_REG_2);
	}
	if (off && expr_is_imm(off)) {
		emit_alu_imm(&cc->em, BPF_ADD, BPF_REG_3, (int32_t)off);
	} else if (off) {
		emit_const(&cc->em, BPF_REG_2, off);
		emit_alu(&cc->em, BPF_ADD, BPF_REG_3, BPF_REG_2);
	}
	read_number(cc, node, BPF_FUNC_probe_read_user);
}

static void unaligned_value(struct expr_compiler *cc, const struct expr_node *node)
{
	emit_alu(&cc->em, BPF_MOV, BPF_REG_3, EXPR_CTX_REG);
	emit_alu_imm(&cc->em, BPF_ADD, BPF_REG_3, (int32_t)node->off);
	read_number(cc, node, BPF_FUNC_probe_read_kernel);
}

static void task_value(struct expr_compiler *cc, const struct expr_node *node)
{
	static const int32_t helpers[] = {
		[EXPR_HELPER_PID_TGID] = BPF_FUNC_get_current_pid_tgid,
		[EXPR_HELPER_UID_GID] = BPF_FUNC_get_current_uid_gid,
		[EXPR_HELPER_CPU] = BPF_FUNC_get_smp_processor_id,
	};

	emit_call(&cc->em, helpers[node->helper]);
	if (node->shift)
		emit_alu_imm(&cc->em, BPF_RSH, BPF_REG_0, node->shift);
	else
		emit_extend(&cc->em, BPF_REG_0, node->size, false);
}

/* The left operand into r0 and the right one into r1, or nowhere: true, it is an immediate. */
static bool operands(struct expr_compiler *cc, const struct expr_node *node, bool may_be_imm)
{
	const struct expr_node *left = &cc->expr->nodes[node->left];
	const struct expr_node *right = &cc->expr->nodes[node->right];

	if (is_simple(right)) {
		value(cc, node->left);
		if (may_be_imm && right->op == EXPR_CONST && expr_is_imm(right->value))
			return true;
		load_simple(cc, right, BPF_REG_1);
	} else if (is_simple(left)) {
		value(cc, node->right);
		emit_alu(&cc->em, BPF_MOV, BPF_REG_1, BPF_REG_0);
		load_simple(cc, left, BPF_REG_0);
	} else if (cc->needs[node->left] >= cc->needs[node->right]) {
		value(cc, node->left);
		emit_save(&cc->em);
		value(cc, node->right);
		emit_alu(&cc->em, BPF_MOV, BPF_REG_1, BPF_REG_0);
		emit_restore(&cc->em, BPF_REG_0);
	} else {
		value(cc, node->right);
		emit_save(&cc->em);
		value(cc, node->left);
		emit_restore(&cc->em, BPF_REG_1);
	}
	return false;
}

/* @reg = its magnitude; @sign = 0 or -1. */
static void split_sign(struct expr_emitter *em, uint8_t reg, uint8_t sign)
{
	emit_alu(em, BPF_MOV, sign, reg);
	emit_alu_imm(em, BPF_ARSH, sign, 63);
	emit_alu(em, BPF_XOR, reg, sign);
	emit_alu(em, BPF_SUB, reg, sign);
}

/* r0 by r1. BPF divides numbers with a sign since 6.6 only. */
static void divide_signed(struct expr_emitter *em, enum expr_op op)
{
	split_sign(em, BPF_REG_0, BPF_REG_2);
	split_sign(em, BPF_REG_1, BPF_REG_3);
	emit_alu(em, op == EXPR_DIV ? BPF_DIV : BPF_MOD, BPF_REG_0, BPF_REG_1);
	if (op == EXPR_DIV)
		emit_alu(em, BPF_XOR, BPF_REG_2, BPF_REG_3);
	emit_alu(em, BPF_XOR, BPF_REG_0, BPF_REG_2);
	emit_alu(em, BPF_SUB, BPF_REG_0, BPF_REG_2);
}

static uint8_t alu_op(const struct expr_node *node)
{
	switch (node->op) {
	case EXPR_MUL:
		return BPF_MUL;
	case EXPR_DIV:
		return BPF_DIV;
	case EXPR_MOD:
		return BPF_MOD;
	case EXPR_ADD:
		return BPF_ADD;
	case EXPR_SUB:
		return BPF_SUB;
	case EXPR_SHL:
		return BPF_LSH;
	case EXPR_SHR:
		return node->is_unsigned ? BPF_RSH : BPF_ARSH;
	case EXPR_BIT_AND:
		return BPF_AND;
	case EXPR_BIT_XOR:
		return BPF_XOR;
	default:
		return BPF_OR;
	}
}

static void binary_value(struct expr_compiler *cc, const struct expr_node *node)
{
	bool is_signed_division =
		(node->op == EXPR_DIV || node->op == EXPR_MOD) && !node->is_unsigned;
	bool is_imm = operands(cc, node, !is_signed_division);

	if (is_signed_division) {
		divide_signed(&cc->em, node->op);
		return;
	}
	if (is_imm) {
		emit_alu_imm(&cc->em, alu_op(node), BPF_REG_0,
			     (int32_t)cc->expr->nodes[node->right].value);
		return;
	}
	/* "bpf: Fix out of bounds from speculative shift" came late: no JIT may see more bits. */
	if (node->op == EXPR_SHL || node->op == EXPR_SHR)
		emit_alu_imm(&cc->em, BPF_AND, BPF_REG_1, 63);
	emit_alu(&cc->em, alu_op(node), BPF_REG_0, BPF_REG_1);
}

/* The jump on which @node, a comparison of numbers, is @want. */
static uint8_t jump_op(const struct expr_node *node, bool want)
{
	/* By operator: signed, unsigned, and what is the contrary. */
	static const uint8_t ops[][3] = {
		[EXPR_LT - EXPR_LT] = {BPF_JSLT, BPF_JLT, EXPR_GE},
		[EXPR_LE - EXPR_LT] = {BPF_JSLE, BPF_JLE, EXPR_GT},
		[EXPR_GT - EXPR_LT] = {BPF_JSGT, BPF_JGT, EXPR_LE},
		[EXPR_GE - EXPR_LT] = {BPF_JSGE, BPF_JGE, EXPR_LT},
		[EXPR_EQ - EXPR_LT] = {BPF_JEQ, BPF_JEQ, EXPR_NE},
		[EXPR_NE - EXPR_LT] = {BPF_JNE, BPF_JNE, EXPR_EQ},
	};
	enum expr_op op = want ? node->op : (enum expr_op)ops[node->op - EXPR_LT][2];

	return ops[op - EXPR_LT][node->is_unsigned];
}

/* Where the texts are (@want) or are not equal. */
static void branch_text(struct expr_compiler *cc, const struct expr_node *node, bool want,
			struct expr_jumps *jumps)
{
	struct expr_jumps differ = {0};
	const struct expr_node *text = &cc->expr->nodes[node->left];

	if (text->op == EXPR_POINTED)
		value(cc, text->left);
	if (want != (node->op == EXPR_EQ)) {
		expr_text_compare(cc, text, &cc->expr->nodes[node->right], jumps);
		return;
	}
	expr_text_compare(cc, text, &cc->expr->nodes[node->right], &differ);
	emit_goto(&cc->em, jumps);
	emit_land(&cc->em, &differ);
}

static void branch(struct expr_compiler *cc, uint16_t index, bool want, struct expr_jumps *jumps)
{
	const struct expr_node *node = &cc->expr->nodes[index];
	struct expr_jumps past = {0};

	if (node->op == EXPR_NOT) {
		branch(cc, node->left, !want, jumps);
	} else if (node->op == EXPR_AND || node->op == EXPR_OR) {
		/* One operand that decides is enough: of an || a true one. */
		bool decides = node->op == EXPR_OR;

		branch(cc, node->left, decides, want == decides ? jumps : &past);
		branch(cc, node->right, want, jumps);
		emit_land(&cc->em, &past);
	} else if (expr_op_compares(node->op)) {
		if (cc->expr->nodes[node->left].type == EXPR_TEXT)
			branch_text(cc, node, want, jumps);
		else if (operands(cc, node, true))
			emit_jump_imm(&cc->em, jumps, jump_op(node, want), BPF_REG_0,
				      (int32_t)cc->expr->nodes[node->right].value);
		else
			emit_jump(&cc->em, jumps, jump_op(node, want), BPF_REG_0, BPF_REG_1);
	} else {
		value(cc, index);
		emit_jump_imm(&cc->em, jumps, want ? BPF_JNE : BPF_JEQ, BPF_REG_0, 0);
	}
}

static void condition_value(struct expr_compiler *cc, uint16_t index)
{
	struct expr_jumps is_false = {0}, end = {0};

	branch(cc, index, false, &is_false);
	emit_alu_imm(&cc->em, BPF_MOV, BPF_REG_0, 1);
	emit_goto(&cc->em, &end);
	emit_land(&cc->em, &is_false);
	emit_alu_imm(&cc->em, BPF_MOV, BPF_REG_0, 0);
	emit_land(&cc->em, &end);
	if (!cc->expr->any_size)
		return;
	emit_load(&cc->em, cc->expr->any_size, BPF_REG_1, EXPR_CTX_REG, (int32_t)cc->expr->any_off);
	emit_alu(&cc->em, BPF_XOR, BPF_REG_0, BPF_REG_1);
	emit_alu(&cc->em, BPF_XOR, BPF_REG_0, BPF_REG_1);
}

static void unary_value(struct expr_compiler *cc, const struct expr_node *node)
{
	value(cc, node->left);
	if (node->op == EXPR_CAST)
		emit_extend(&cc->em, BPF_REG_0, node->size, node->is_signed);
	else if (node->op == EXPR_INVERT)
		emit_alu_imm(&cc->em, BPF_XOR, BPF_REG_0, -1);
	else
		emit_alu_imm(&cc->em, BPF_NEG, BPF_REG_0, 0);
}

/* The number that node @index is, into r0. */
static void value(struct expr_compiler *cc, uint16_t index)
{
	const struct expr_node *node = &cc->expr->nodes[index];

	if (is_simple(node))
		load_simple(cc, node, BPF_REG_0);
	else if (node->op == EXPR_LOAD)
		unaligned_value(cc, node);
	else if (node->op == EXPR_DEREF)
		deref_value(cc, node);
	else if (node->op == EXPR_TASK)
		task_value(cc, node);
	else if (node->type == EXPR_BOOL)
		condition_value(cc, index);
	else if (node->op == EXPR_CAST || node->op == EXPR_NEG || node->op == EXPR_INVERT)
		unary_value(cc, node);
	else
		binary_value(cc, node);
}

static uint8_t max_u8(uint8_t one, uint8_t two)
{
	return one > two ? one : two;
}

/* How many intermediate values @node needs; of its operands it is known. */
static uint8_t need(const struct expr_compiler *cc, const struct expr_node *node)
{
	uint8_t left, right;

	if (node->op < EXPR_POINTED)
		return 0;
	left = cc->needs[node->left];
	if (node->op < EXPR_MUL)
		return left;
	right = cc->needs[node->right];
	if (node->op == EXPR_AND || node->op == EXPR_OR)
		return max_u8(left, right);
	if (is_simple(&cc->expr->nodes[node->right]) ||
	    cc->expr->nodes[node->right].op == EXPR_LITERAL)
		return left;
	if (is_simple(&cc->expr->nodes[node->left]))
		return right;
	return left == right ? left + 1 : max_u8(left, right);
}

int expr_compile(const struct expr *expr, struct expr_code *out, struct buf *why)
{
	struct expr_code code = {.type = expr->nodes[expr->root].type};
	struct expr_compiler cc = {.expr = expr, .em = {.code = &code}};

	for (uint32_t i = 0; i < expr->cnt; i++)
		cc.needs[i] = need(&cc, &expr->nodes[i]);
	emit_alu(&cc.em, BPF_MOV, EXPR_CTX_REG, BPF_REG_1);
	value(&cc, expr->root);
	if (cc.em.cnt > EXPR_CODE_MAX) {
		buf_printf(why,
			   "the expression takes %u BPF instructions, and %d fit: "
			   "make it shorter",
			   cc.em.cnt, EXPR_CODE_MAX);
		return -E2BIG;
	}
	if (cc.em.saved_max > EXPR_SAVED_MAX) {
		buf_printf(why,
			   "the expression has %u intermediate values, and %d fit: make it "
			   "shorter",
			   cc.em.saved_max, EXPR_SAVED_MAX);
		return -E2BIG;
	}
	code.cnt = cc.em.cnt;
	code.stack_bytes = (uint32_t)-EXPR_BUFFER_OFF;
	if (cc.em.saved_max > EXPR_SAVED_REGS)
		code.stack_bytes += 8 * (cc.em.saved_max - EXPR_SAVED_REGS);
	*out = code;
	return 0;
}
