/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on labels as Prometheus writes them. */
#include "store/selector.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/reader.h"

struct parser {
	struct reader rd;
	const char *text;
	struct buf *why;
	struct buf key, value, regex;
};

static void parser_deinit(struct parser *parser)
{
	buf_deinit(&parser->key);
	buf_deinit(&parser->value);
	buf_deinit(&parser->regex);
}

void selector_deinit(struct selector *selector)
{
	for (size_t i = 0; i < selector->cnt; i++) {
		free((char *)selector->items[i].key);
		free((char *)selector->items[i].glob);
		if (selector->items[i].regex) {
			regfree((regex_t *)selector->items[i].regex);
			free((regex_t *)selector->items[i].regex);
		}
	}
	free(selector->items);
	*selector = (struct selector){0};
}

static int refuse(struct parser *parser, const char *what)
{
	buf_printf(parser->why, "label selector '%s': %s, at byte %zu", parser->text, what,
		   reader_offset(&parser->rd) + 1);
	return -EINVAL;
}

/* --- Expressions: from RE2's to POSIX' --- */

/* Where a translation is. */
struct translation {
	struct parser *parser;
	struct reader rd;
	struct buf *out;
	unsigned int depth;
	bool has_atom; /* that a repetition could be of */
	bool is_repeated;
};

/* A class by its letter, within brackets; NULL: none. */
static const char *class_of(char letter)
{
	switch (letter) {
	case 'd':
		return "0-9";
	case 'w':
		return "a-zA-Z0-9_";
	case 's':
		return " \t\n\r\f";
	default:
		return NULL;
	}
}

static int translate_escape(struct translation *tr)
{
	char letter = (char)reader_u8(&tr->rd);
	const char *class = class_of((char)tolower((unsigned char)letter));

	if (tr->rd.err)
		return refuse(tr->parser, "an expression that ends in a backslash");
	if (class)
		buf_printf(tr->out, "[%s%s]", isupper((unsigned char)letter) ? "^" : "", class);
	else if (isalnum((unsigned char)letter) || (unsigned char)letter >= 0x80)
		return refuse(tr->parser, "an escape in the expression that is not known here");
	else if (letter == '^' || letter == '\\')
		buf_printf(tr->out, "\\%c", letter);
	else /* a backslash would give some of them another meaning */
		buf_printf(tr->out, "[%c]", letter);
	tr->has_atom = true;
	return 0;
}

/* Behind "[": what a backslash means in it POSIX does not know. */
static int translate_brackets(struct translation *tr)
{
	buf_add_char(tr->out, '[');
	if (reader_accept(&tr->rd, '^'))
		buf_add_char(tr->out, '^');
	if (reader_accept(&tr->rd, ']'))
		return refuse(tr->parser, "an expression with an empty '[]'");
	while (!reader_accept(&tr->rd, ']')) {
		char chr = (char)reader_u8(&tr->rd);
		const char *class;

		if (tr->rd.err)
			return refuse(tr->parser, "an expression with '[' without ']'");
		if ((unsigned char)chr >= 0x80)
			return refuse(tr->parser, "an expression with '[]' of more than ASCII");
		if (chr == '[')
			return refuse(tr->parser, "an expression with '[' within brackets");
		if (chr == '\\') {
			chr = (char)reader_u8(&tr->rd);
			class = class_of(chr);
			if (class) {
				buf_add_str(tr->out, class);
				continue;
			}
			if (tr->rd.err || !ispunct((unsigned char)chr) || strchr("]^-[", chr))
				return refuse(tr->parser,
					      "an escape within brackets that is not known here");
		}
		buf_add_char(tr->out, chr);
	}
	buf_add_char(tr->out, ']');
	tr->has_atom = true;
	return 0;
}

static int translate_group(struct translation *tr, char chr)
{
	if (chr == ')') {
		if (!tr->depth)
			return refuse(tr->parser, "an expression with ')' without '('");
		tr->depth--;
		tr->has_atom = true;
		buf_add_char(tr->out, ')');
		return 0;
	}
	if (++tr->depth > SELECTOR_GROUPS_DEEP_MAX)
		return refuse(tr->parser, "an expression with too many groups in each other");
	if (reader_accept(&tr->rd, '?') && !reader_accept(&tr->rd, ':'))
		return refuse(tr->parser, "an expression with flags or named groups");
	tr->has_atom = false;
	buf_add_char(tr->out, '(');
	return 0;
}

/* That it is lazy makes no difference to whether a whole value matches. */
static int translate_repetition(struct translation *tr, char chr)
{
	if (!tr->has_atom)
		return refuse(tr->parser, "an expression that repeats nothing");
	if (tr->is_repeated)
		return refuse(tr->parser, "an expression that repeats a repetition");
	buf_add_char(tr->out, chr);
	reader_accept(&tr->rd, '?');
	tr->is_repeated = true;
	return 0;
}

static int translate_one(struct translation *tr)
{
	char chr = (char)reader_u8(&tr->rd);

	if (chr == '*' || chr == '+' || chr == '?')
		return translate_repetition(tr, chr);
	tr->is_repeated = false;
	switch (chr) {
	case '\\':
		return translate_escape(tr);
	case '[':
		return translate_brackets(tr);
	case '(':
	case ')':
		return translate_group(tr, chr);
	case '{':
	case '}':
		return refuse(tr->parser, "an expression with '{' (counted repetition, or "
					  "without a backslash)");
	default:
		/* Of more than one byte the last would be repeated. */
		tr->has_atom = !strchr("|^$", chr) && (unsigned char)chr < 0x80;
		buf_add_char(tr->out, chr);
		return 0;
	}
}

static int translate(struct parser *parser)
{
	struct translation tr = {.parser = parser, .out = &parser->regex};
	int err = 0;

	if (parser->value.len > SELECTOR_REGEX_BYTES_MAX)
		return refuse(parser, "too long an expression");
	buf_reset(&parser->regex);
	buf_add_str(&parser->regex, "^(");
	reader_init(&tr.rd, buf_cstr(&parser->value), parser->value.len);
	while (!err && !reader_done(&tr.rd))
		err = translate_one(&tr);
	if (!err && tr.depth)
		err = refuse(parser, "an expression with '(' without ')'");
	buf_add_str(&parser->regex, ")$");
	return err ? err : parser->regex.err;
}

static int compile(struct parser *parser, const regex_t **out)
{
	_cleanup_free_ regex_t *regex = NULL;
	int err = translate(parser);

	if (err)
		return err;
	regex = calloc(1, sizeof(*regex));
	if (!regex)
		return -ENOMEM;
	err = regcomp(regex, buf_cstr(&parser->regex), REG_EXTENDED | REG_NOSUB);
	if (err)
		return err == REG_ESPACE ? -ENOMEM
					 : refuse(parser, "an expression that makes no sense");
	*out = take_ptr(regex);
	return 0;
}

/* --- Conditions --- */

static void skip_spaces(struct parser *parser)
{
	struct reader *rd = &parser->rd;

	while (!reader_done(rd) && strchr(" \t\n\r", *rd->pos))
		rd->pos++;
}

static bool accept(struct parser *parser, char chr)
{
	skip_spaces(parser);
	return !reader_done(&parser->rd) && reader_accept(&parser->rd, chr);
}

static int read_key(struct parser *parser)
{
	struct reader *rd = &parser->rd;

	buf_reset(&parser->key);
	skip_spaces(parser);
	while (!reader_done(rd) && (isalnum(*rd->pos) || strchr("_.-:/", *rd->pos)))
		buf_add_char(&parser->key, (char)reader_u8(rd));
	return parser->key.len ? 0 : refuse(parser, "the name of a label is wanted");
}

static int read_how(struct parser *parser, enum store_match_how *out)
{
	if (accept(parser, '=')) {
		*out = reader_left(&parser->rd) && reader_accept(&parser->rd, '~')
			       ? STORE_MATCH_REGEX
			       : STORE_MATCH_EQUAL;
		return 0;
	}
	if (accept(parser, '!') && reader_left(&parser->rd)) {
		if (reader_accept(&parser->rd, '=')) {
			*out = STORE_MATCH_UNEQUAL;
			return 0;
		}
		if (reader_accept(&parser->rd, '~')) {
			*out = STORE_MATCH_NOT_REGEX;
			return 0;
		}
	}
	return refuse(parser, "=, !=, =~ or !~ is wanted");
}

static int read_escape(struct parser *parser)
{
	static const char letters[] = "\\\"'`nrt", meant[] = "\\\"'`\n\r\t";
	char letter = (char)reader_u8(&parser->rd);
	const char *found = letter ? strchr(letters, letter) : NULL;
	uint32_t high, low;

	if (found) {
		buf_add_char(&parser->value, meant[found - letters]);
		return 0;
	}
	if (letter == 'x') {
		high = digit_value((char)reader_u8(&parser->rd));
		low = digit_value((char)reader_u8(&parser->rd));
		if (high < 16 && low < 16 && (high || low)) {
			buf_add_char(&parser->value, (char)(high << 4 | low));
			return 0;
		}
	}
	return refuse(parser, "an escape that is not known here");
}

static int read_value(struct parser *parser)
{
	struct reader *rd = &parser->rd;
	char quote;
	int err = 0;

	skip_spaces(parser);
	quote = reader_left(rd) ? (char)reader_u8(rd) : '\0';
	if (!quote || !strchr("\"'`", quote))
		return refuse(parser, "a text in quotes is wanted");
	buf_reset(&parser->value);
	while (!err && !reader_done(rd)) {
		char chr = (char)reader_u8(rd);

		if (chr == quote)
			return parser->value.err;
		if (chr == '\\' && quote != '`')
			err = read_escape(parser);
		else
			buf_add_char(&parser->value, chr);
	}
	return err ? err : refuse(parser, "a text does not end");
}

static int read_match(struct parser *parser, struct selector *selector)
{
	struct store_match match = {.key = NULL};
	int err = read_key(parser);

	if (!err)
		err = read_how(parser, &match.how);
	if (!err)
		err = read_value(parser);
	if (!err && selector->cnt == SELECTOR_MATCHES_MAX)
		err = refuse(parser, "too many conditions");
	if (!err)
		err = array_reserve(&selector->items, &selector->cap, selector->cnt + 1,
				    sizeof(*selector->items));
	if (!err && (match.how == STORE_MATCH_REGEX || match.how == STORE_MATCH_NOT_REGEX))
		err = compile(parser, &match.regex);
	if (err)
		return err;
	match.key = buf_take(&parser->key, NULL);
	match.glob = strdup(buf_cstr(&parser->value));
	selector->items[selector->cnt++] = match;
	return match.key && match.glob ? 0 : -ENOMEM;
}

static int read_matches(struct parser *parser, struct selector *selector)
{
	int err = 0;

	if (!accept(parser, '{'))
		return refuse(parser, "'{' is wanted");
	while (!err && !accept(parser, '}')) {
		err = read_match(parser, selector);
		if (err)
			return err;
		if (accept(parser, ','))
			continue;
		return accept(parser, '}') ? 0 : refuse(parser, "',' or '}' is wanted");
	}
	return err;
}

int selector_parse(const char *text, struct selector *selector, struct buf *why)
{
	_cleanup_(parser_deinit) struct parser parser = {.text = text, .why = why};
	int err;

	buf_init(&parser.key, BUF_NO_MAX);
	buf_init(&parser.value, BUF_NO_MAX);
	buf_init(&parser.regex, BUF_NO_MAX);
	reader_init(&parser.rd, text, strlen(text));
	skip_spaces(&parser);
	if (reader_done(&parser.rd))
		return 0;
	err = read_matches(&parser, selector);
	skip_spaces(&parser);
	if (!err && !reader_done(&parser.rd))
		err = refuse(&parser, "something is behind '}'");
	return err;
}
