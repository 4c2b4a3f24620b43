/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of expressions, by recursive descent; event/expr.h has the language. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "event/expr_priv.h"

static uint16_t parse_binary(struct expr_parser *parser, uint32_t level);

static bool is_char(const struct expr_parser *parser, char chr)
{
	return parser->token.kind == TOKEN_CHAR && parser->token.chr == chr;
}

/* An expression and its closing parenthesis; the opening one, at @column, has been read. */
static uint16_t parse_wrapped(struct expr_parser *parser, uint32_t column)
{
	uint16_t node = parse_binary(parser, 1);

	if (parser->err)
		return EXPR_NO_NODE;
	if (!is_char(parser, ')'))
		return expr_fail(parser, parser->token.column,
				 "the ) of the ( in column %u is missing", column);
	expr_next(parser);
	return node;
}

/* The bytes and the sign of the function s8, u8, ... u64; 0: it is none. */
static uint32_t cast_bytes(const struct expr_token *name)
{
	static const struct {
		const char *digits;
		uint32_t bytes;
	} casts[] = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};

	if (name->name[0] != 's' && name->name[0] != 'u')
		return 0;
	for (size_t i = 0; i < sizeof(casts) / sizeof(*casts); i++)
		if (strlen(casts[i].digits) == name->len - 1 &&
		    !memcmp(casts[i].digits, name->name + 1, name->len - 1))
			return casts[i].bytes;
	return 0;
}

/* str(X): the text at the address X. */
static uint16_t text_at(struct expr_parser *parser, uint16_t address, uint32_t column)
{
	struct expr_node node = {
		.op = EXPR_POINTED,
		.type = EXPR_TEXT,
		.left = address,
		.column = column,
	};

	if (parser->expr->nodes[address].type == EXPR_TEXT)
		return expr_fail(parser, parser->expr->nodes[address].column,
				 "str() takes an address, and this is a string already");
	return expr_add(parser, &node);
}

/* @name and an opening parenthesis have been read. */
static uint16_t parse_call(struct expr_parser *parser, const struct expr_token *name,
			   uint32_t wrap_column)
{
	bool is_str = name->len == 3 && !memcmp(name->name, "str", 3);
	uint32_t bytes = is_str ? 0 : cast_bytes(name);
	uint16_t of;

	if (!is_str && !bytes)
		return expr_fail(parser, name->column,
				 "there is no function '%.*s'; there are str, s8, u8, s16, u16, "
				 "s32, u32, s64, u64",
				 name->len < 64 ? (int)name->len : 64, name->name);
	of = parse_wrapped(parser, wrap_column);
	if (parser->err)
		return EXPR_NO_NODE;
	return is_str ? text_at(parser, of, name->column)
		      : expr_cast(parser, bytes, name->name[0] == 's', of, name->column);
}

static uint16_t parse_name(struct expr_parser *parser)
{
	struct expr_token name = parser->token;
	uint32_t column;

	expr_next(parser);
	column = parser->token.column;
	if (!is_char(parser, '('))
		return parser->err ? EXPR_NO_NODE : expr_name(parser, &name);
	expr_next(parser);
	return parse_call(parser, &name, column);
}

static uint16_t parse_literal(struct expr_parser *parser)
{
	const struct expr_token *token = &parser->token;
	bool is_text = token->kind == TOKEN_STRING;
	struct expr_node node = {
		.op = is_text ? EXPR_LITERAL : EXPR_CONST,
		.type = is_text				     ? EXPR_TEXT
			: token->value > (uint64_t)INT64_MAX ? EXPR_U64
							     : EXPR_S64,
		.is_never_negative = true,
		.column = token->column,
		.value = token->value,
		.off = is_text ? (uint32_t)token->value : 0,
		.len = token->len,
	};

	expr_next(parser);
	return expr_add(parser, &node);
}

static uint16_t parse_primary(struct expr_parser *parser)
{
	const struct expr_token token = parser->token;
	uint16_t node;

	if (parser->err)
		return EXPR_NO_NODE;
	if (token.kind == TOKEN_NUMBER || token.kind == TOKEN_STRING)
		return parse_literal(parser);
	if (token.kind == TOKEN_NAME)
		return parse_name(parser);
	if (!is_char(parser, '('))
		return expr_fail(parser, token.column,
				 token.kind == TOKEN_END
					 ? "the end, where a name or a value should be"
					 : "here should be a name or a value");
	expr_next(parser);
	node = parse_wrapped(parser, token.column);
	if (!parser->err)
		parser->expr->nodes[node].is_wrapped = true;
	return node;
}

/* Everything that nests goes through here: the depth is bounded. */
static uint16_t parse_unary(struct expr_parser *parser)
{
	const struct expr_token token = parser->token;
	bool is_minus = token.kind == TOKEN_OPERATOR && token.op == EXPR_SUB;
	uint16_t node;

	if (parser->depth == EXPR_DEPTH_MAX)
		return expr_fail_with(parser, -E2BIG, token.column,
				      "more than %d parentheses and unary operators nest",
				      EXPR_DEPTH_MAX);
	parser->depth++;
	if (is_minus || is_char(parser, '!') || is_char(parser, '~')) {
		expr_next(parser);
		node = parse_unary(parser);
		if (!parser->err)
			node = expr_unary(parser,
					  is_minus	     ? EXPR_NEG
					  : token.chr == '!' ? EXPR_NOT
							     : EXPR_INVERT,
					  node, token.column);
	} else {
		node = parse_primary(parser);
	}
	parser->depth--;
	return node;
}

/* Operators of @level and those that bind closer. */
static uint16_t parse_binary(struct expr_parser *parser, uint32_t level)
{
	uint16_t left = parse_unary(parser), right;

	while (!parser->err && parser->token.kind == TOKEN_OPERATOR &&
	       expr_op_level(parser->token.op) >= level) {
		const struct expr_token token = parser->token;

		expr_next(parser);
		right = parse_binary(parser, expr_op_level(token.op) + 1);
		if (!parser->err)
			left = expr_binary(parser, token.op, left, right, token.column);
	}
	return left;
}

/* What a program may always read: the first register, or a field. */
static void find_any(const struct expr_env *env, struct expr *expr)
{
	if (env->kind != EVENT_TRACEPOINT) {
		expr->any_size = 8;
		return;
	}
	for (size_t i = 0; i < env->field_cnt; i++) {
		const struct event_field *field = &env->fields[i];

		if (field->off < 8 || (field->size != 4 && field->size != 8) ||
		    field->off % field->size)
			continue;
		expr->any_off = field->off;
		expr->any_size = field->size;
		return;
	}
}

static void parse_all(struct expr_parser *parser)
{
	uint16_t root;

	expr_next(parser);
	root = parse_binary(parser, 1);
	if (parser->err)
		return;
	if (parser->token.kind != TOKEN_END)
		expr_fail(parser, parser->token.column, "here should be an operator or the end");
	else if (parser->expr->nodes[root].type == EXPR_TEXT)
		expr_fail(parser, parser->expr->nodes[root].column,
			  "a string is no value; compare it by == or !=");
	parser->expr->root = root;
}

int expr_parse(const char *text, const struct expr_env *env, struct expr **out, struct buf *why)
{
	_cleanup_free_ struct expr *expr = calloc(1, sizeof(*expr));
	struct expr_parser parser = {.text = text, .env = env, .expr = expr, .why = why};

	if (!expr)
		return -ENOMEM;
	expr->kind = env->kind;
	find_any(env, expr);
	if (strlen(text) >= EXPR_LEN_MAX)
		expr_fail_with(&parser, -E2BIG, EXPR_LEN_MAX, "it has %d bytes or more",
			       EXPR_LEN_MAX);
	else
		parse_all(&parser);
	if (parser.err)
		return parser.err;
	*out = take_ptr(expr);
	return 0;
}

void expr_free(struct expr *expr)
{
	free(expr);
}

enum expr_type expr_type(const struct expr *expr)
{
	return expr->nodes[expr->root].type;
}
