/* SPDX-License-Identifier: Apache-2.0 */
/* The types of expressions, and what can be computed before anything runs. */
#include <errno.h>
#include <string.h>

#include "event/expr_priv.h"

uint16_t expr_add(struct expr_parser *parser, const struct expr_node *node)
{
	struct expr *expr = parser->expr;

	if (parser->err)
		return EXPR_NO_NODE;
	if (expr->cnt == EXPR_NODES_MAX)
		return expr_fail_with(parser, -E2BIG, node->column,
				      "the expression has more than %d parts", EXPR_NODES_MAX);
	expr->nodes[expr->cnt] = *node;
	return (uint16_t)expr->cnt++;
}

static uint16_t add_const(struct expr_parser *parser, enum expr_type type, uint64_t value,
			  uint32_t column)
{
	struct expr_node node = {
		.op = EXPR_CONST,
		.type = type,
		.column = column,
		.value = value,
		.is_never_negative = type == EXPR_U64 || (int64_t)value >= 0,
	};

	return expr_add(parser, &node);
}

/* A signed quotient is one of magnitudes, as the compiled code has it: nothing overflows. */
static uint64_t divide(bool is_unsigned, uint64_t left, uint64_t right, bool wants_rest)
{
	bool left_minus = !is_unsigned && (int64_t)left < 0;
	bool right_minus = !is_unsigned && (int64_t)right < 0;
	uint64_t dividend = left_minus ? -left : left, divisor = right_minus ? -right : right;
	uint64_t value;

	if (wants_rest) {
		value = divisor ? dividend % divisor : dividend;
		return left_minus ? -value : value;
	}
	value = divisor ? dividend / divisor : 0;
	return left_minus != right_minus ? -value : value;
}

static bool less(bool is_unsigned, uint64_t left, uint64_t right)
{
	return is_unsigned ? left < right : (int64_t)left < (int64_t)right;
}

uint64_t expr_fold(enum expr_op op, bool is_unsigned, uint64_t left, uint64_t right)
{
	switch (op) {
	case EXPR_MUL:
		return left * right;
	case EXPR_DIV:
	case EXPR_MOD:
		return divide(is_unsigned, left, right, op == EXPR_MOD);
	case EXPR_ADD:
		return left + right;
	case EXPR_SUB:
		return left - right;
	case EXPR_SHL:
		return left << (right & 63);
	case EXPR_SHR:
		return is_unsigned ? left >> (right & 63)
				   : (uint64_t)((int64_t)left >> (right & 63));
	case EXPR_LT:
		return less(is_unsigned, left, right);
	case EXPR_LE:
		return !less(is_unsigned, right, left);
	case EXPR_GT:
		return less(is_unsigned, right, left);
	case EXPR_GE:
		return !less(is_unsigned, left, right);
	case EXPR_EQ:
		return left == right;
	case EXPR_NE:
		return left != right;
	case EXPR_BIT_AND:
		return left & right;
	case EXPR_BIT_XOR:
		return left ^ right;
	case EXPR_BIT_OR:
		return left | right;
	case EXPR_AND:
		return left && right;
	default:
		return left || right;
	}
}

uint64_t expr_fold_cast(uint32_t bytes, bool is_signed, uint64_t value)
{
	uint32_t shift = 64 - 8 * bytes;

	return is_signed ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
}

/* An operand of what takes numbers. */
static bool is_number(struct expr_parser *parser, enum expr_op op, uint16_t index)
{
	const struct expr_node *node = &parser->expr->nodes[index];

	if (node->type == EXPR_TEXT)
		expr_fail(parser, node->column, "'%s' takes numbers, and this is a string",
			  expr_op_text(op));
	return node->type != EXPR_TEXT;
}

uint16_t expr_unary(struct expr_parser *parser, enum expr_op op, uint16_t operand, uint32_t column)
{
	const struct expr_node *of = &parser->expr->nodes[operand];
	struct expr_node node = {
		.op = op,
		.left = operand,
		.column = column,
		.type = op == EXPR_NOT				 ? EXPR_BOOL
			: op == EXPR_NEG || of->type != EXPR_U64 ? EXPR_S64
								 : EXPR_U64,
		.is_never_negative = op == EXPR_NOT,
	};

	if (parser->err || !is_number(parser, op, operand))
		return EXPR_NO_NODE;
	if (of->op != EXPR_CONST)
		return expr_add(parser, &node);
	return add_const(parser, node.type,
			 op == EXPR_NOT	  ? !of->value
			 : op == EXPR_NEG ? -of->value
					  : ~of->value,
			 column);
}

uint16_t expr_cast(struct expr_parser *parser, uint32_t bytes, bool is_signed, uint16_t operand,
		   uint32_t column)
{
	const struct expr_node *of = &parser->expr->nodes[operand];
	struct expr_node node = {
		.op = EXPR_CAST,
		.left = operand,
		.column = column,
		.size = bytes,
		.is_signed = is_signed,
		.type = bytes == 8 && !is_signed ? EXPR_U64 : EXPR_S64,
		.is_never_negative = !is_signed,
	};

	if (parser->err)
		return EXPR_NO_NODE;
	if (of->type == EXPR_TEXT)
		return expr_fail(parser, of->column, "%c%u() takes a number, and this is a string",
				 is_signed ? 's' : 'u', 8 * bytes);
	if (of->op == EXPR_CONST)
		return add_const(parser, node.type, expr_fold_cast(bytes, is_signed, of->value),
				 column);
	return expr_add(parser, &node);
}

static bool is_negative_const(const struct expr_node *node)
{
	return node->op == EXPR_CONST && node->type == EXPR_S64 && (int64_t)node->value < 0;
}

/* @left and @right are for == or !=, and one of them at least is a text. */
static uint16_t compare_texts(struct expr_parser *parser, struct expr_node *node)
{
	const struct expr_node *left = &parser->expr->nodes[node->left];
	const struct expr_node *right = &parser->expr->nodes[node->right], *swap;

	if (left->type != right->type)
		return expr_fail(parser, right->column, "a %s is compared with a %s",
				 left->type == EXPR_TEXT ? "string" : "number",
				 right->type == EXPR_TEXT ? "string" : "number");
	if (!(node->op == EXPR_EQ || node->op == EXPR_NE))
		return expr_fail(parser, node->column, "strings can be compared by == and != only");
	if ((left->op == EXPR_LITERAL) == (right->op == EXPR_LITERAL))
		return expr_fail(parser, right->column,
				 left->op == EXPR_LITERAL
					 ? "a literal is compared with a literal"
					 : "a string can be compared with a literal only");
	if (left->op == EXPR_LITERAL) {
		uint16_t index = node->left;

		node->left = node->right;
		node->right = index;
		swap = left;
		left = right;
		right = swap;
	}
	if (left->op == EXPR_COMM && right->len >= left->size)
		return expr_fail(parser, right->column, "a thread's name has %u bytes at most",
				 left->size - 1);
	if (left->op == EXPR_CHARS && right->len > left->size)
		return expr_fail(parser, right->column, "the field has %u bytes at most",
				 left->size);
	return expr_add(parser, node);
}

/* Of @node with one constant operand what it comes to without the other one, if anything: a
 * jump that is always taken would leave code that cannot be reached. */
static uint16_t fold_logic(struct expr_parser *parser, const struct expr_node *node)
{
	const struct expr_node *left = &parser->expr->nodes[node->left];
	const struct expr_node *right = &parser->expr->nodes[node->right];
	bool left_is_const = left->op == EXPR_CONST;
	const struct expr_node *known = left_is_const ? left : right;
	uint16_t other = left_is_const ? node->right : node->left, inner;

	if (!left_is_const && right->op != EXPR_CONST)
		return expr_add(parser, node);
	if (!!known->value == (node->op == EXPR_OR))
		return add_const(parser, EXPR_BOOL, node->op == EXPR_OR, node->column);
	inner = expr_unary(parser, EXPR_NOT, other, node->column);
	return parser->err ? inner : expr_unary(parser, EXPR_NOT, inner, node->column);
}

static bool check_numbers(struct expr_parser *parser, const struct expr_node *node)
{
	const struct expr_node *left = &parser->expr->nodes[node->left];
	const struct expr_node *right = &parser->expr->nodes[node->right];
	bool is_shift = node->op == EXPR_SHL || node->op == EXPR_SHR;

	if (!is_number(parser, node->op, node->left) || !is_number(parser, node->op, node->right))
		return false;
	if (right->op == EXPR_CONST && is_shift && right->value > 63)
		expr_fail(parser, right->column, "a shift is by 0 to 63 bits");
	else if (right->op == EXPR_CONST && !right->value &&
		 (node->op == EXPR_DIV || node->op == EXPR_MOD))
		expr_fail(parser, right->column, "this divides by 0");
	else if (node->op >= EXPR_LT && node->op <= EXPR_GE && left->op >= EXPR_LT &&
		 left->op <= EXPR_GE && !left->is_wrapped)
		expr_fail(parser, node->column,
			  "'a < b < c' is written 'a < b && b < c'; with () it is taken as it is");
	return !parser->err;
}

/* Is the sign what a comparison asks for? `< 0` without a sign would be no question. */
static bool asks_for_sign(enum expr_op op, const struct expr_node *left,
			  const struct expr_node *right)
{
	bool left_is_0 = left->op == EXPR_CONST && left->type != EXPR_U64 && !left->value;
	bool right_is_0 = right->op == EXPR_CONST && right->type != EXPR_U64 && !right->value;

	return is_negative_const(left) || is_negative_const(right) ||
	       (right_is_0 && (op == EXPR_LT || op == EXPR_GE)) ||
	       (left_is_0 && (op == EXPR_GT || op == EXPR_LE));
}

/* The type, and whether the operands are taken as unsigned. */
static void type_numbers(struct expr_node *node, const struct expr_node *left,
			 const struct expr_node *right)
{
	bool any_u64 = left->type == EXPR_U64 || right->type == EXPR_U64;
	bool none_negative = left->is_never_negative && right->is_never_negative;

	if (expr_op_compares(node->op)) {
		node->type = EXPR_BOOL;
		node->is_unsigned = any_u64 && !asks_for_sign(node->op, left, right);
	} else if (node->op == EXPR_AND || node->op == EXPR_OR) {
		node->type = EXPR_BOOL;
	} else if (node->op == EXPR_SHL || node->op == EXPR_SHR) {
		node->type = left->type == EXPR_U64 ? EXPR_U64 : EXPR_S64;
		node->is_unsigned = left->type == EXPR_U64;
		node->is_never_negative = node->op == EXPR_SHR && left->is_never_negative;
	} else {
		node->type = any_u64 ? EXPR_U64 : EXPR_S64;
		/* Of numbers without a minus both divisions give the same; this one is shorter. */
		node->is_unsigned = any_u64 || none_negative;
		node->is_never_negative = node->type == EXPR_U64 ||
					  ((node->op == EXPR_DIV || node->op == EXPR_MOD ||
					    node->op == EXPR_BIT_AND || node->op == EXPR_BIT_OR ||
					    node->op == EXPR_BIT_XOR) &&
					   none_negative);
	}
	if (node->type == EXPR_BOOL)
		node->is_never_negative = true;
}

uint16_t expr_binary(struct expr_parser *parser, enum expr_op op, uint16_t left, uint16_t right,
		     uint32_t column)
{
	const struct expr_node *nodes = parser->expr->nodes;
	struct expr_node node = {.op = op, .left = left, .right = right, .column = column};

	if (parser->err)
		return EXPR_NO_NODE;
	if (expr_op_compares(op) &&
	    (nodes[left].type == EXPR_TEXT || nodes[right].type == EXPR_TEXT)) {
		node.type = EXPR_BOOL;
		node.is_never_negative = true;
		return compare_texts(parser, &node);
	}
	if (!check_numbers(parser, &node))
		return EXPR_NO_NODE;
	type_numbers(&node, &nodes[left], &nodes[right]);
	if (nodes[left].op == EXPR_CONST && nodes[right].op == EXPR_CONST)
		return add_const(parser, node.type,
				 expr_fold(op, node.is_unsigned, nodes[left].value,
					   nodes[right].value),
				 column);
	if (op == EXPR_AND || op == EXPR_OR)
		return fold_logic(parser, &node);
	return expr_add(parser, &node);
}
