/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of an expression, and how its parts (lexer, names, typing, parser, compiler) meet. */
#ifndef BPFPROF_EVENT_EXPR_PRIV_H
#define BPFPROF_EVENT_EXPR_PRIV_H

#include "event/expr.h"
#include "event/usdt_args.h"

/* EXPR_MUL..EXPR_OR are binary, with the texts and levels of expr_operators[]. */
enum expr_op {
	EXPR_CONST, /* @value */
	EXPR_LOAD, /* @off, @size, @is_signed: of the context */
	EXPR_DEREF, /* @place: user memory */
	EXPR_TASK, /* @helper's result >> @shift, @size bytes of it */
	EXPR_LITERAL, /* @off, @len: of the strings */
	EXPR_COMM,
	EXPR_CHARS, /* @off, @size: an array in the context */
	EXPR_LOC, /* @off: of a u32 in the context, whose low half is the text's offset there */
	EXPR_POINTED, /* @left: its address */
	EXPR_CAST, /* @left, @size, @is_signed */
	EXPR_NEG,
	EXPR_NOT,
	EXPR_INVERT,
	EXPR_MUL,
	EXPR_DIV,
	EXPR_MOD,
	EXPR_ADD,
	EXPR_SUB,
	EXPR_SHL,
	EXPR_SHR,
	EXPR_LT,
	EXPR_LE,
	EXPR_GT,
	EXPR_GE,
	EXPR_EQ,
	EXPR_NE,
	EXPR_BIT_AND,
	EXPR_BIT_XOR,
	EXPR_BIT_OR,
	EXPR_AND,
	EXPR_OR,
};

static inline bool expr_op_compares(enum expr_op op)
{
	return op >= EXPR_LT && op <= EXPR_NE;
}

enum expr_helper { EXPR_HELPER_PID_TGID, EXPR_HELPER_UID_GID, EXPR_HELPER_CPU };

struct expr_node {
	enum expr_op op;
	enum expr_type type;
	bool is_unsigned; /* how a comparison, a division or a shift is done */
	bool is_never_negative;
	bool is_wrapped; /* in parentheses */
	bool is_signed;
	uint8_t shift;
	enum expr_helper helper;
	uint16_t left, right; /* indices of nodes */
	uint32_t column; /* from 1: of the name, literal or operator */
	uint32_t off, size, len;
	uint64_t value;
	struct usdt_arg place;
};

struct expr {
	enum event_kind kind;
	uint16_t root;
	uint32_t cnt;
	uint32_t strings_len;
	/* A number in the context that any program of this kind may read; size 0: there is none. */
	uint32_t any_off, any_size;
	char strings[EXPR_LEN_MAX]; /* of literals */
	struct expr_node nodes[EXPR_NODES_MAX];
};

enum expr_token_kind {
	TOKEN_END,
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_NAME,
	TOKEN_OPERATOR,
	TOKEN_CHAR
};

struct expr_token {
	enum expr_token_kind kind;
	uint32_t column;
	enum expr_op op; /* of TOKEN_OPERATOR; EXPR_SUB may be unary */
	char chr; /* of TOKEN_CHAR: one of ( ) ! ~ */
	uint64_t value; /* of TOKEN_NUMBER; TOKEN_STRING: where it is in the strings */
	const char *name; /* of TOKEN_NAME and TOKEN_STRING: *borrowed* from the text */
	uint32_t len;
};

struct expr_parser {
	const char *text;
	const struct expr_env *env;
	struct expr *expr;
	struct buf *why;
	struct expr_token token; /* the next */
	uint32_t pos; /* behind it */
	uint32_t depth;
	int err; /* sticky */
};

/* The first failure: -EINVAL (or what expr_fail_with() says) and one line in @why. Return
 * EXPR_NO_NODE. */
enum { EXPR_NO_NODE = EXPR_NODES_MAX };
uint16_t expr_fail(struct expr_parser *parser, uint32_t column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint16_t expr_fail_with(struct expr_parser *parser, int err, uint32_t column, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The text and the precedence (more binds closer) of binary @op. */
const char *expr_op_text(enum expr_op op);
uint32_t expr_op_level(enum expr_op op);

/* Read the next token into @parser->token. */
void expr_next(struct expr_parser *parser);

/* @node, copied into the tree: its index. */
uint16_t expr_add(struct expr_parser *parser, const struct expr_node *node);

/* A node for the name @token, as @parser->env has it. */
uint16_t expr_name(struct expr_parser *parser, const struct expr_token *token);

/* Nodes with checked operands, folded where these are constants. @column: of the operator. */
uint16_t expr_unary(struct expr_parser *parser, enum expr_op op, uint16_t operand, uint32_t column);
uint16_t expr_binary(struct expr_parser *parser, enum expr_op op, uint16_t left, uint16_t right,
		     uint32_t column);
uint16_t expr_cast(struct expr_parser *parser, uint32_t bytes, bool is_signed, uint16_t operand,
		   uint32_t column);

/* What numbers come to: @op of @left and @right, unsigned or not. */
uint64_t expr_fold(enum expr_op op, bool is_unsigned, uint64_t left, uint64_t right);
uint64_t expr_fold_cast(uint32_t bytes, bool is_signed, uint64_t value);

#endif
