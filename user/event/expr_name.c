/* SPDX-License-Identifier: Apache-2.0 */
/* What the names in an expression stand for: threads, arguments, results, fields of tracepoints. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/parse.h"
#include "event/expr_priv.h"

/* Names that each kind of event has. */
static const struct {
	const char *name;
	enum expr_op op;
	enum expr_helper helper;
	uint8_t shift;
} task_names[] = {
	{"comm", EXPR_COMM, 0, 0},
	{"pid", EXPR_TASK, EXPR_HELPER_PID_TGID, 32},
	{"tid", EXPR_TASK, EXPR_HELPER_PID_TGID, 0},
	{"uid", EXPR_TASK, EXPR_HELPER_UID_GID, 0},
	{"cpu", EXPR_TASK, EXPR_HELPER_CPU, 0},
};

enum {
	TASK_NAMES = sizeof(task_names) / sizeof(*task_names),
	NAME_MAX_BYTES = 64,
	COMM_LEN_MAX = 15,
	/* Where a program's context has a pointer instead of the record's first bytes. */
	RECORD_HIDDEN_BYTES = 8,
	RECORD_BYTES_MAX = 8192, /* PERF_MAX_TRACE_SIZE */
};

static bool token_is(const struct expr_token *token, const char *name)
{
	return strlen(name) == token->len && !memcmp(name, token->name, token->len);
}

/* How many argN there are. */
static uint32_t arg_cnt(const struct expr_env *env)
{
	switch (env->kind) {
	case EVENT_KPROBE:
	case EVENT_UPROBE:
		return arch_arg_cnt(env->arch);
	case EVENT_USDT:
		return env->usdt_args ? usdt_arg_cnt(env->usdt_args) : 0;
	default:
		return 0;
	}
}

/* All names there are, one after another; false behind the last. */
static bool nth_name(const struct expr_env *env, size_t index, char *out, size_t bytes)
{
	size_t args = arg_cnt(env);

	if (index < env->field_cnt) {
		snprintf(out, bytes, "%s", env->fields[index].name);
		return true;
	}
	index -= env->field_cnt;
	if (index < args) {
		snprintf(out, bytes, "arg%zu", index);
		return true;
	}
	index -= args;
	if (event_is_return(env->kind) && !index--) {
		snprintf(out, bytes, "ret");
		return true;
	}
	if (index >= TASK_NAMES)
		return false;
	snprintf(out, bytes, "%s", task_names[index].name);
	return true;
}

static uint16_t fail_unknown(struct expr_parser *parser, const struct expr_token *token)
{
	char typed[NAME_MAX_BYTES], name[NAME_MAX_BYTES], best[NAME_MAX_BYTES] = "", list[512] = "";
	size_t len = 0;
	struct nearest nearest;

	snprintf(typed, sizeof(typed), "%.*s", (int)token->len, token->name);
	nearest_init(&nearest, typed);
	for (size_t i = 0; nth_name(parser->env, i, name, sizeof(name)); i++) {
		uint32_t before = nearest.distance;

		nearest_offer(&nearest, name);
		if (nearest.distance < before)
			snprintf(best, sizeof(best), "%s", name);
		if (len < sizeof(list) - NAME_MAX_BYTES - 8)
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? ", " : "", name);
		else if (list[len - 1] != '.')
			len += (size_t)snprintf(list + len, sizeof(list) - len, ", ...");
	}
	return expr_fail(parser, token->column, "there is no '%s' here%s%s%s there is %s", typed,
			 *best ? "; did you mean '" : "", best, *best ? "'?" : ";", list);
}

static bool fits_load(const struct event_field *field)
{
	return field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8;
}

static uint16_t field_node(struct expr_parser *parser, const struct expr_token *token,
			   const struct event_field *field)
{
	struct expr_node node = {
		.column = token->column,
		.off = field->off,
		.size = field->size,
		.is_signed = field->is_signed,
	};

	if (field->off < RECORD_HIDDEN_BYTES)
		return expr_fail(parser, token->column,
				 "the kernel does not show '%s' to programs; pid and cpu are known",
				 field->name);
	if (field->size > RECORD_BYTES_MAX || field->off > RECORD_BYTES_MAX - field->size ||
	    (field->is_data_loc && field->off % 2))
		return expr_fail(parser, token->column, "no program may read the field '%s'",
				 field->name);
	if (field->is_string && (field->is_data_loc || field->is_array)) {
		node.op = field->is_data_loc ? EXPR_LOC : EXPR_CHARS;
		node.type = EXPR_TEXT;
		return expr_add(parser, &node);
	}
	if (field->is_data_loc || field->is_array || !fits_load(field))
		return expr_fail(parser, token->column,
				 "the field '%s' is an array, neither a number nor a text",
				 field->name);
	node.op = EXPR_LOAD;
	node.type = field->size == 8 && !field->is_signed ? EXPR_U64 : EXPR_S64;
	node.is_never_negative = !field->is_signed;
	return expr_add(parser, &node);
}

static uint16_t task_node(struct expr_parser *parser, const struct expr_token *token, size_t index)
{
	struct expr_node node = {
		.op = task_names[index].op,
		.type = EXPR_S64,
		.helper = task_names[index].helper,
		.shift = task_names[index].shift,
		.size = 4,
		.is_never_negative = true,
		.column = token->column,
	};

	if (node.op == EXPR_COMM) {
		node.type = EXPR_TEXT;
		node.size = COMM_LEN_MAX + 1;
	}
	return expr_add(parser, &node);
}

static uint16_t usdt_node(struct expr_parser *parser, const struct expr_token *token,
			  uint32_t index)
{
	struct expr_node node = {.op = EXPR_DEREF, .column = token->column};
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = usdt_arg_parse(parser->env->usdt_args, index, parser->env->arch, &node.place, &why);
	if (err)
		expr_fail(parser, token->column, "%s", buf_cstr(&why));
	buf_deinit(&why);
	if (err)
		return EXPR_NO_NODE;
	node.size = node.place.size;
	node.is_signed = node.place.is_signed;
	node.is_never_negative = !node.is_signed;
	node.type = node.size == 8 && !node.is_signed ? EXPR_U64 : EXPR_S64;
	if (node.place.kind == USDT_REG) {
		node.op = EXPR_LOAD;
		node.off = node.place.reg_off;
	} else if (node.place.kind == USDT_CONST) {
		node.op = EXPR_CONST;
		node.value = (uint64_t)node.place.value;
		node.type = node.is_never_negative && node.place.value < 0 ? EXPR_U64 : EXPR_S64;
	}
	return expr_add(parser, &node);
}

static uint16_t register_node(struct expr_parser *parser, const struct expr_token *token,
			      uint32_t off)
{
	struct expr_node node = {
		.op = EXPR_LOAD,
		.type = EXPR_S64,
		.column = token->column,
		.off = off,
		.size = 8,
	};

	return expr_add(parser, &node);
}

static uint16_t arg_node(struct expr_parser *parser, const struct expr_token *token, uint32_t index)
{
	const struct expr_env *env = parser->env;

	if (event_is_return(env->kind))
		return expr_fail(parser, token->column,
				 "arguments are gone when a function returns: only ret is there");
	if (env->kind == EVENT_USDT && env->usdt_args)
		return usdt_node(parser, token, index);
	if (env->kind == EVENT_USDT)
		return expr_fail(parser, token->column, "the probe has no arguments");
	if (index >= arch_arg_cnt(env->arch))
		return expr_fail(parser, token->column,
				 "arg%u is not in a register: only arg0..arg%u are", index,
				 arch_arg_cnt(env->arch) - 1);
	return register_node(parser, token, arch_arg_off(env->arch, index));
}

uint16_t expr_name(struct expr_parser *parser, const struct expr_token *token)
{
	const struct expr_env *env = parser->env;

	for (size_t i = 0; i < env->field_cnt; i++)
		if (token_is(token, env->fields[i].name))
			return field_node(parser, token, &env->fields[i]);
	for (size_t i = 0; i < TASK_NAMES; i++)
		if (token_is(token, task_names[i].name))
			return task_node(parser, token, i);
	if (!event_is_probe(env->kind))
		return fail_unknown(parser, token);
	if (token->len == 4 && !memcmp(token->name, "arg", 3) && digit_value(token->name[3]) < 10)
		return arg_node(parser, token, digit_value(token->name[3]));
	if (!token_is(token, "ret"))
		return fail_unknown(parser, token);
	if (!event_is_return(env->kind))
		return expr_fail(parser, token->column,
				 "ret is known where a function returns: kretprobe:, uretprobe:");
	return register_node(parser, token, arch_result_off(env->arch));
}
