/* SPDX-License-Identifier: Apache-2.0 */
/* Words of expressions, and what is wrong with them in one line. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "event/expr_priv.h"

/* Longer texts before their own beginnings. */
static const struct {
	const char *text;
	enum expr_op op;
	uint32_t level;
} operators[] = {
	{"||", EXPR_OR, 1},	{"&&", EXPR_AND, 2}, {"<<", EXPR_SHL, 8},   {">>", EXPR_SHR, 8},
	{"==", EXPR_EQ, 6},	{"!=", EXPR_NE, 6},  {"<=", EXPR_LE, 7},    {">=", EXPR_GE, 7},
	{"<", EXPR_LT, 7},	{">", EXPR_GT, 7},   {"|", EXPR_BIT_OR, 3}, {"^", EXPR_BIT_XOR, 4},
	{"&", EXPR_BIT_AND, 5}, {"+", EXPR_ADD, 9},  {"-", EXPR_SUB, 9},    {"*", EXPR_MUL, 10},
	{"/", EXPR_DIV, 10},	{"%", EXPR_MOD, 10},
};

enum { OPERATORS = sizeof(operators) / sizeof(*operators) };

const char *expr_op_text(enum expr_op op)
{
	for (size_t i = 0; i < OPERATORS; i++)
		if (operators[i].op == op)
			return operators[i].text;
	return op == EXPR_NOT ? "!" : op == EXPR_INVERT ? "~" : "-";
}

uint32_t expr_op_level(enum expr_op op)
{
	for (size_t i = 0; i < OPERATORS; i++)
		if (operators[i].op == op)
			return operators[i].level;
	return 0;
}

/* A line of what a user typed stays one line. */
static void tidy(struct buf *why)
{
	for (size_t i = 0; i < why->len; i++)
		if ((unsigned char)why->data[i] < ' ' || why->data[i] == 0x7f)
			why->data[i] = '?';
}

static void fail_va(struct expr_parser *parser, int err, uint32_t column, const char *fmt,
		    va_list args)
{
	char what[1024];

	if (parser->err)
		return;
	parser->err = err;
	vsnprintf(what, sizeof(what), fmt, args);
	buf_printf(parser->why, "expression '%.100s%s': column %u: %s", parser->text,
		   strnlen(parser->text, 101) > 100 ? "..." : "", column, what);
	tidy(parser->why);
}

uint16_t expr_fail(struct expr_parser *parser, uint32_t column, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail_va(parser, -EINVAL, column, fmt, args);
	va_end(args);
	return EXPR_NO_NODE;
}

uint16_t expr_fail_with(struct expr_parser *parser, int err, uint32_t column, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail_va(parser, err, column, fmt, args);
	va_end(args);
	return EXPR_NO_NODE;
}

static uint32_t suffix_shift(char chr)
{
	switch (chr) {
	case 'k':
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	case 'T':
		return 40;
	default:
		return 0;
	}
}

static void lex_number(struct expr_parser *parser)
{
	const char *text = parser->text + parser->pos, *chr = text;
	uint32_t base = 10, shift;
	uint64_t value = 0;
	bool overflows = false;

	if (text[0] == '0' && (text[1] | 0x20) == 'x' && digit_value(text[2]) < 16) {
		base = 16;
		chr += 2;
	} else if (text[0] == '0') {
		base = 8;
	}
	for (; digit_value(*chr) < base; chr++)
		overflows |= __builtin_mul_overflow(value, (uint64_t)base, &value) ||
			     __builtin_add_overflow(value, digit_value(*chr), &value);
	shift = suffix_shift(*chr);
	chr += shift > 0;
	if (isalnum((unsigned char)*chr) || *chr == '_' || *chr == '.') {
		expr_fail(parser, (uint32_t)(chr - parser->text) + 1,
			  "'%c' is no part of a number%s", *chr,
			  base == 8 ? ", which is octal because of its 0"
				    : "; 64k, 10M, 2G, 0x1f are some");
		return;
	}
	if (overflows || value << shift >> shift != value) {
		expr_fail(parser, parser->token.column, "the number takes more than 64 bits");
		return;
	}
	parser->token.kind = TOKEN_NUMBER;
	parser->token.value = value << shift;
	parser->pos = (uint32_t)(chr - parser->text);
}

/* The byte that stands behind a backslash; *@pos goes behind it. -1: there is no such escape. */
static int lex_escape(const char *text, uint32_t *pos)
{
	static const char names[] = "ntr0\\'\"ae", bytes[] = "\n\t\r\0\\'\"\a\033";
	char chr = text[(*pos)++];
	const char *at = chr ? strchr(names, chr) : NULL;
	int value = -1;

	if (at)
		return (unsigned char)bytes[at - names];
	if (chr == 'x' && digit_value(text[*pos]) < 16 && digit_value(text[*pos + 1]) < 16) {
		value = (int)(digit_value(text[*pos]) * 16 + digit_value(text[*pos + 1]));
		*pos += 2;
	}
	return value;
}

/* A literal up to its closing @quote, into the strings. Its length; EXPR_LEN_MAX: it is none. */
static uint32_t lex_quoted(struct expr_parser *parser, char quote)
{
	struct expr *expr = parser->expr;
	uint32_t pos = parser->pos + 1, start = expr->strings_len;

	while (parser->text[pos] && parser->text[pos] != quote) {
		uint32_t at = pos;
		int byte = (unsigned char)parser->text[pos++];

		if (byte == '\\')
			byte = lex_escape(parser->text, &pos);
		if (byte < 0) {
			expr_fail(parser, at + 1,
				  "there is no such escape; \\n \\t \\r \\0 \\\\ \\' "
				  "\\\" and \\xNN are");
			return EXPR_LEN_MAX;
		}
		expr->strings[expr->strings_len++] = (char)byte;
	}
	if (!parser->text[pos]) {
		expr_fail(parser, parser->token.column, "the closing %c is missing", quote);
		return EXPR_LEN_MAX;
	}
	parser->pos = pos + 1;
	return expr->strings_len - start;
}

static void lex_char(struct expr_parser *parser)
{
	uint32_t start = parser->expr->strings_len, len = lex_quoted(parser, '\'');

	if (len == EXPR_LEN_MAX)
		return;
	if (len != 1) {
		expr_fail(parser, parser->token.column,
			  "between '' stands one character; a text is put between \"\"");
		return;
	}
	parser->expr->strings_len = start;
	parser->token.kind = TOKEN_NUMBER;
	parser->token.value = (unsigned char)parser->expr->strings[start];
}

static void lex_string(struct expr_parser *parser)
{
	struct expr_token *token = &parser->token;

	token->value = parser->expr->strings_len;
	token->len = lex_quoted(parser, '"');
	token->kind = TOKEN_STRING;
	if (token->len == EXPR_LEN_MAX)
		return;
	if (token->len > EXPR_TEXT_MAX)
		expr_fail_with(parser, -E2BIG, token->column,
			       "the text has %u bytes; at most %d can be compared", token->len,
			       EXPR_TEXT_MAX);
	else if (memchr(parser->expr->strings + token->value, 0, token->len))
		expr_fail(parser, token->column, "a text ends at its first \\0: none is in it");
}

static void lex_name(struct expr_parser *parser)
{
	struct expr_token *token = &parser->token;

	token->kind = TOKEN_NAME;
	token->name = parser->text + parser->pos;
	while (isalnum((unsigned char)token->name[token->len]) || token->name[token->len] == '_')
		token->len++;
	parser->pos += token->len;
}

static void lex_operator(struct expr_parser *parser)
{
	const char *text = parser->text + parser->pos;

	for (size_t i = 0; i < OPERATORS; i++) {
		size_t len = strlen(operators[i].text);

		if (strncmp(text, operators[i].text, len))
			continue;
		parser->token.kind = TOKEN_OPERATOR;
		parser->token.op = operators[i].op;
		parser->pos += (uint32_t)len;
		return;
	}
	if (!strchr("()!~", *text)) {
		expr_fail(parser, parser->token.column, "'%c' is not understood here%s", *text,
			  *text == '=' ? "; equality is ==" : "");
		return;
	}
	parser->token.kind = TOKEN_CHAR;
	parser->token.chr = *text;
	parser->pos++;
}

void expr_next(struct expr_parser *parser)
{
	char chr;

	while (parser->text[parser->pos] && strchr(" \t\r\n", parser->text[parser->pos]))
		parser->pos++;
	parser->token = (struct expr_token){.kind = TOKEN_END, .column = parser->pos + 1};
	chr = parser->text[parser->pos];
	if (parser->err || !chr)
		return;
	if (chr >= '0' && chr <= '9')
		lex_number(parser);
	else if (isalpha((unsigned char)chr) || chr == '_')
		lex_name(parser);
	else if (chr == '"')
		lex_string(parser);
	else if (chr == '\'')
		lex_char(parser);
	else
		lex_operator(parser);
	if (parser->err)
		parser->token.kind = TOKEN_END;
}
