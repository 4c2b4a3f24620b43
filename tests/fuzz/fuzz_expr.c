/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions, compiled and run, for each kind of event: the first byte. A USDT probe's location
 * string comes first, up to a newline. The interpreter ends the program where a verifier would
 * refuse the code.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/bpf_interp.h"
#include "event/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct event_field fields[] = {
	{.name = "s", .off = 8, .size = 8, .is_signed = true},
	{.name = "u", .off = 16, .size = 8},
	{.name = "i", .off = 24, .size = 4, .is_signed = true},
	{.name = "b", .off = 28, .size = 1},
	{.name = "o", .off = 29, .size = 4},
	{.name = "c", .off = 34, .size = 16, .is_array = true, .is_string = true},
	{.name = "l", .off = 52, .size = 4, .is_data_loc = true, .is_string = true},
};

static void compile(const char *text, const struct expr_env *env)
{
	struct interp vm = {.comm = "fuzz"};
	struct expr *expr = NULL;
	struct expr_code code;
	uint64_t regs[42] = {0}; /* arm64's are 34 words */
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = expr_parse(text, env, &expr, &why);
	if (!err)
		err = expr_compile(expr, &code, &why);
	if (!err != !why.len || strchr(buf_cstr(&why), '\n'))
		abort();
	vm.ctx = (const uint8_t *)regs;
	vm.ctx_len = sizeof(regs);
	for (uint32_t i = 0; i < sizeof(regs); i++)
		((uint8_t *)regs)[i] = (uint8_t)(i * 37);
	if (!err)
		interp_run(&vm, &code);
	expr_free(expr);
	buf_deinit(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct expr_env env = {0};
	char text[2048], *expr = text, *end;

	if (!len || len > sizeof(text))
		return 0;
	memcpy(text, data + 1, len - 1);
	text[len - 1] = 0;
	env.kind = data[0] % (EVENT_USDT + 1);
	env.arch = data[0] / 8 % 2 ? EVENT_ARCH_ARM64 : EVENT_ARCH_X86_64;
	end = strchr(text, '\n');
	if (env.kind == EVENT_USDT && end) {
		*end = 0;
		env.usdt_args = text;
		expr = end + 1;
	}
	if (env.kind == EVENT_TRACEPOINT) {
		env.fields = fields;
		env.field_cnt = sizeof(fields) / sizeof(*fields);
	}
	compile(expr, &env);
	return 0;
}
