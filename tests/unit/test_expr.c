/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions as people type them: what is refused and how it is said, and what each kind of event
 * has; that the numbers are right is test_expr_code.c's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpf_interp.h"
#include "event/expr.h"

static const struct event_field fields[] = {
	{.name = "common_pid", .off = 4, .size = 4},
	{.name = "prev_comm", .off = 8, .size = 16, .is_array = true, .is_string = true},
	{.name = "prev_pid", .off = 24, .size = 4, .is_signed = true},
	{.name = "pid", .off = 28, .size = 4, .is_signed = true},
	{.name = "bytes_req", .off = 32, .size = 8},
	{.name = "words", .off = 40, .size = 16, .is_array = true},
};

#define COUNTER                       \
	{                             \
		.kind = EVENT_COUNTER \
	}
#define UPROBE                       \
	{                            \
		.kind = EVENT_UPROBE \
	}
#define URETPROBE                       \
	{                               \
		.kind = EVENT_URETPROBE \
	}
#define ARM_UPROBE                                             \
	{                                                      \
		.kind = EVENT_UPROBE, .arch = EVENT_ARCH_ARM64 \
	}
#define TRACEPOINT                                                         \
	{                                                                  \
		.kind = EVENT_TRACEPOINT, .fields = fields, .field_cnt = 6 \
	}
#define USDT                                                                         \
	{                                                                            \
		.kind = EVENT_USDT, .usdt_args = "-4@%edi 8@(%rsi) 8@sym(%rip) 4@$7" \
	}

static void refused(const char *text, struct expr_env env, const char *message)
{
	struct expr *expr = NULL;
	char wanted[1024];
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = expr_parse(text, &env, &expr, &why);
	snprintf(wanted, sizeof(wanted), "expression '%s': %s", text, message);
	assert_true(err == -EINVAL || err == -E2BIG);
	assert_null(expr);
	if (strncmp(buf_cstr(&why), wanted, strlen(wanted)))
		fail_msg("%s; wanted: %s", buf_cstr(&why), wanted);
	buf_deinit(&why);
}

#define REFUSED(env_, text_, message_) refused(text_, (struct expr_env)env_, message_)

static void test_syntax(void **state)
{
	REFUSED(UPROBE, "", "column 1: the end, where a name or a value should be");
	REFUSED(UPROBE, "arg0 +", "column 7: the end, where");
	REFUSED(UPROBE, "arg0 arg1", "column 6: here should be an operator or the end");
	REFUSED(UPROBE, "(arg0", "column 6: the ) of the ( in column 1 is missing");
	REFUSED(UPROBE, "arg0)", "column 5: here should be an operator or the end");
	REFUSED(UPROBE, "arg0 = 1", "column 6: '=' is not understood here; equality is ==");
	REFUSED(UPROBE, "* 2", "column 1: here should be a name or a value");
	REFUSED(UPROBE, "arg0 > 5x", "column 9: 'x' is no part of a number; 64k");
	REFUSED(UPROBE, "arg0 > 09", "column 9: '9' is no part of a number, which is octal");
	REFUSED(UPROBE, "arg0 > 1.5", "column 9: '.' is no part of a number");
	REFUSED(UPROBE, "18446744073709551616", "column 1: the number takes more than 64 bits");
	REFUSED(UPROBE, "arg0 > 99999999T", "column 8: the number takes more than 64 bits");
	REFUSED(UPROBE, "comm == \"x", "column 9: the closing \" is missing");
	REFUSED(UPROBE, "arg0 == 'xy'", "column 9: between '' stands one character");
	REFUSED(UPROBE, "arg0 == '\\q'", "column 10: there is no such escape");
	REFUSED(UPROBE, "comm == \"\\0\"", "column 9: a text ends at its first");
	REFUSED(UPROBE, "sqrt(arg0)", "column 1: there is no function 'sqrt'; there are str, s8");
	REFUSED(UPROBE, "arg0 ? 1 : 2", "column 6: '?' is not understood here");
	REFUSED(UPROBE, "1 < arg0 < 5", "column 10: 'a < b < c' is written 'a < b && b < c'");
}

static void test_types(void **state)
{
	REFUSED(UPROBE, "arg0 >= \"x\"", "column 9: a number is compared with a string");
	REFUSED(UPROBE, "\"x\" == 5", "column 8: a string is compared with a number");
	REFUSED(UPROBE, "comm < \"x\"", "column 6: strings can be compared by == and != only");
	REFUSED(UPROBE, "comm == comm", "column 9: a string can be compared with a literal only");
	REFUSED(UPROBE, "\"a\" == \"a\"", "column 8: a literal is compared with a literal");
	REFUSED(UPROBE, "comm", "column 1: a string is no value");
	REFUSED(UPROBE, "comm && 1", "column 1: '&&' takes numbers, and this is a string");
	REFUSED(UPROBE, "1 + str(arg0)", "column 5: '+' takes numbers, and this is a string");
	REFUSED(UPROBE, "!comm", "column 2: '!' takes numbers, and this is a string");
	REFUSED(UPROBE, "str(comm) == \"x\"", "column 5: str() takes an address");
	REFUSED(UPROBE, "s32(comm)", "column 5: s32() takes a number, and this is a string");
	REFUSED(UPROBE, "arg0 / 0", "column 8: this divides by 0");
	REFUSED(UPROBE, "arg0 % (1 - 1)", "column 11: this divides by 0");
	REFUSED(UPROBE, "arg0 >> 64", "column 9: a shift is by 0 to 63 bits");
	REFUSED(UPROBE, "arg0 << -1", "column 9: a shift is by 0 to 63 bits");
	REFUSED(UPROBE, "comm == \"0123456789abcdef\"", "column 9: a thread's name has 15 bytes");
	REFUSED(TRACEPOINT, "prev_comm == \"0123456789abcdefg\"",
		"column 14: the field has 16 bytes");
}

static void test_names(void **state)
{
	REFUSED(UPROBE, "agr0 > 1",
		"column 1: there is no 'agr0' here; did you mean 'arg0'? there is arg0, arg1, "
		"arg2, "
		"arg3, arg4, arg5, comm, pid, tid, uid, cpu");
	REFUSED(COUNTER, "arg0",
		"column 1: there is no 'arg0' here; there is comm, pid, tid, uid, cpu");
	REFUSED(UPROBE, "arg6", "column 1: arg6 is not in a register: only arg0..arg5 are");
	REFUSED(ARM_UPROBE, "arg8", "column 1: arg8 is not in a register: only arg0..arg7 are");
	REFUSED(UPROBE, "ret", "column 1: ret is known where a function returns");
	REFUSED(URETPROBE, "arg0", "column 1: arguments are gone when a function returns");
	REFUSED(TRACEPOINT, "prev_pod == 1",
		"column 1: there is no 'prev_pod' here; did you mean "
		"'prev_pid'? there is common_pid, prev_comm, ");
	REFUSED(TRACEPOINT, "common_pid", "column 1: the kernel does not show 'common_pid'");
	REFUSED(TRACEPOINT, "words", "column 1: the field 'words' is an array");
	REFUSED(USDT, "arg2", "column 1: the probe's argument 2 is at '8@sym(%rip)', where");
	REFUSED(USDT, "arg4", "column 1: the probe has 4 arguments");
	REFUSED({.kind = EVENT_USDT}, "arg0", "column 1: the probe has no arguments");
}

/* @unit, @cnt times, in @pre and @post; what is long is refused, and not followed. */
static int parse_repeated(const char *pre, const char *unit, uint32_t cnt, const char *post)
{
	struct expr_env env = UPROBE;
	struct expr *expr = NULL;
	struct expr_code code;
	struct buf text, why;
	int err;

	buf_init(&text, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	buf_add_str(&text, pre);
	for (uint32_t i = 0; i < cnt; i++)
		buf_add_str(&text, unit);
	buf_add_str(&text, post);
	err = expr_parse(buf_cstr(&text), &env, &expr, &why);
	if (!err)
		err = expr_compile(expr, &code, &why);
	assert_true(!err == !why.len);
	assert_null(strchr(buf_cstr(&why), '\n'));
	expr_free(expr);
	buf_deinit(&text);
	buf_deinit(&why);
	return err;
}

static void test_limits(void **state)
{
	assert_int_equal(parse_repeated("", "!", 31, "arg0"), 0);
	assert_int_equal(parse_repeated("", "!", 32, "arg0"), -E2BIG);
	assert_int_equal(parse_repeated("", "(", 900, "arg0"), -E2BIG);
	assert_int_equal(parse_repeated("arg0", "+arg1", 70, ""), 0);
	assert_int_equal(parse_repeated("arg0", "+arg1", 90, ""), -E2BIG);
	assert_int_equal(parse_repeated("arg0", "+arg1", 150, ""), -E2BIG);
	assert_int_equal(parse_repeated("arg0", " ", 1019, ""), 0);
	assert_int_equal(parse_repeated("arg0", " ", 1020, ""), -E2BIG);
	assert_int_equal(parse_repeated("comm\n", "\n", 3, ""), -EINVAL);
	assert_int_equal(parse_repeated("str(arg0) == \"", "x", 64, "\""), 0);
	assert_int_equal(parse_repeated("str(arg0) == \"", "x", 65, "\""), -E2BIG);
	assert_int_equal(parse_repeated("1", " || str(arg0) != \"0123456789abcdef\"", 9, ""), 0);
	assert_int_equal(parse_repeated("0", " || str(arg0) != \"0123456789abcdef\"", 12, ""),
			 -E2BIG);
}

/* What @text comes to in a probe with registers whose values are their offsets. */
static uint64_t run(const char *text, struct expr_env env, uint64_t *regs)
{
	struct interp vm = {
		.ctx = (const uint8_t *)regs,
		.ctx_len = 168,
		.mem = (const uint8_t *)text,
		.mem_len = strlen(text) + 1,
		.pid_tgid = 5ULL << 32 | 6,
		.uid_gid = 7ULL << 32 | 8,
		.cpu = 9,
		.comm = "nginx",
	};
	struct expr_code code;
	struct expr *expr = NULL;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (expr_parse(text, &env, &expr, &why) || expr_compile(expr, &code, &why))
		fail_msg("%s", buf_cstr(&why));
	expr_free(expr);
	return interp_run(&vm, &code);
}

#define GIVES(env_, text_, value_) \
	assert_int_equal(run(text_, (struct expr_env)env_, regs), (uint64_t)(value_))

static void test_kinds(void **state)
{
	uint64_t regs[21], record[8] = {0};

	for (uint32_t i = 0; i < 21; i++)
		regs[i] = 8 * i;
	GIVES(UPROBE, "arg0 * 1000 + arg1", 112 * 1000 + 104);
	GIVES(UPROBE, "arg2 == 96 && arg3 == 88 && arg4 == 72 && arg5 == 64", 1);
	GIVES(URETPROBE, "ret", 80);
	GIVES(ARM_UPROBE, "arg7 * 1000 + arg0", 56000);
	GIVES(COUNTER, "pid * 1000 + tid * 100 + uid * 10 + cpu", 5000 + 600 + 80 + 9);
	GIVES(UPROBE, "comm == \"nginx\"", 1);
	GIVES(UPROBE, "comm == \"ngin\" || comm == \"nginxx\"", 0);
	GIVES(UPROBE, "2k + 010 + 0x10 + '\\n' + '\\x41'", 2048 + 8 + 16 + 10 + 65);
	GIVES(UPROBE, "1 + 2 * 3 - 8 / 4 % 3 << 1", (1 + 2 * 3 - 8 / 4 % 3) << 1);
	GIVES(UPROBE, "-7 / 2 * 100 + -7 % 2", -301);
	GIVES(USDT, "arg3 + arg0", 7 + 112);
	GIVES(USDT, "arg1", 0);
	regs[14] = 0xdead0000ffffffff;
	GIVES(USDT, "arg0", -1);
	GIVES(USDT, "arg0 == -1 && arg0 < 0", 1);
	GIVES(UPROBE, "s32(arg0) < 0 && u32(arg0) == 0xffffffff && arg0 < 0 && u64(arg0) > 1T", 1);
	regs[14] = UINT64_MAX;
	GIVES(UPROBE, "arg0 < 0 && arg0 == -1 && arg0 > 0xffffffff80000000", 1);
	memcpy((char *)record + 8, "swapper/0", 9);
	record[4] = UINT64_MAX;
	memcpy(regs, record, sizeof(record));
	GIVES(TRACEPOINT, "prev_comm == \"swapper/0\" && prev_pid == 0 && pid == 0", 1);
	GIVES(TRACEPOINT, "bytes_req > 1G && bytes_req == -1 && bytes_req < 0", 1);
	GIVES(TRACEPOINT, "bytes_req < prev_pid", 0);
}

static void test_usdt_memory(void **state)
{
	static const char text[] = "arg1 == 0x203d3d2031677261"; /* "arg1 == " */
	uint64_t regs[21] = {[13] = (uint64_t)(uintptr_t)text};

	GIVES(USDT, text, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syntax), cmocka_unit_test(test_types),
		cmocka_unit_test(test_names),  cmocka_unit_test(test_limits),
		cmocka_unit_test(test_kinds),  cmocka_unit_test(test_usdt_memory),
	};

	return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
