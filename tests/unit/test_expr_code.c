/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random expressions, computed as they are written, in an interpreter and, as root, in the kernel:
 * all three must agree. The record of a tracepoint is what BPF_PROG_TEST_RUN gives to a program of
 * raw tracepoints as its arguments.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf_interp.h"
#include "bpf_run.h"
#include "event/expr.h"

enum { ROUNDS = 30000, KERNEL_ROUNDS = 700, RECORDS = 4, DEPTH = 6 };

/* What raw tracepoints have: 12 words. */
struct record {
	uint64_t hidden;
	int64_t s64;
	uint64_t u64;
	int32_t s32;
	uint32_t u32;
	int16_t s16;
	uint16_t u16;
	int8_t s8;
	uint8_t u8;
	uint8_t odd_bytes[6]; /* the field `odd` is at the second */
	uint64_t text_addr;
	char chars[16];
	uint32_t loc;
	char text[20];
};

_Static_assert(sizeof(struct record) == 96, "12 words");

#define FIELD(name_, is_signed_)                                                       \
	{                                                                              \
		.name = #name_, .off = offsetof(struct record, name_),                 \
		.size = sizeof(((struct record *)0)->name_), .is_signed = (is_signed_) \
	}

static const struct event_field fields[] = {
	FIELD(s64, true),
	FIELD(u64, false),
	FIELD(s32, true),
	FIELD(u32, false),
	FIELD(s16, true),
	FIELD(u16, false),
	FIELD(s8, true),
	FIELD(u8, false),
	{.name = "odd",
	 .off = offsetof(struct record, odd_bytes) + 1,
	 .size = 4,
	 .is_signed = true},
	FIELD(text_addr, false),
	{.name = "chars",
	 .off = offsetof(struct record, chars),
	 .size = 16,
	 .is_array = true,
	 .is_string = true},
	{.name = "loc",
	 .off = offsetof(struct record, loc),
	 .size = 4,
	 .is_data_loc = true,
	 .is_string = true},
};

enum { NUMBERS = 9 };

static const struct expr_env env = {
	.kind = EVENT_TRACEPOINT,
	.arch = EVENT_ARCH_HOST,
	.fields = fields,
	.field_cnt = sizeof(fields) / sizeof(*fields),
};

static const char *const texts[] = {
	"", "a", "abcd", "/etc/passwd", "/etc/passwe", "0123456789abcdef"};

enum { TEXTS = sizeof(texts) / sizeof(*texts) };

static uint64_t random_word(void)
{
	uint64_t word = (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();

	switch (random() % 5) {
	case 0:
		return word % 4;
	case 1:
		return -(word % 4);
	case 2:
		return (1ULL << (word % 64)) - (word >> 60 & 1);
	case 3:
		return word % 1000;
	default:
		return word;
	}
}

static void random_record(struct record *rec)
{
	const char *text = texts[random() % TEXTS];
	int32_t odd = (int32_t)random_word();

	memset(rec, 0, sizeof(*rec));
	rec->s64 = (int64_t)random_word();
	rec->u64 = random_word();
	rec->s32 = (int32_t)random_word();
	rec->u32 = (uint32_t)random_word();
	rec->s16 = (int16_t)random_word();
	rec->u16 = (uint16_t)random_word();
	rec->s8 = (int8_t)random_word();
	rec->u8 = (uint8_t)random_word();
	memcpy(rec->odd_bytes + 1, &odd, 4);
	rec->text_addr = (uint64_t)(uintptr_t)texts[random() % TEXTS];
	memcpy(rec->chars, text, strlen(text));
	rec->loc = offsetof(struct record, text);
	text = texts[random() % TEXTS];
	memcpy(rec->text, text, strlen(text) + 1);
}

/* A written expression and what it comes to for each record. */
struct value {
	uint64_t of[RECORDS];
	bool is_u64, is_const;
};

struct writer {
	char text[8192];
	size_t len;
	struct record recs[RECORDS];
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	out->len +=
		(size_t)vsnprintf(out->text + out->len, sizeof(out->text) - out->len, fmt, args);
	va_end(args);
	assert_true(out->len < sizeof(out->text));
}

static struct value constant(struct writer *out)
{
	uint64_t word = random_word();
	struct value value = {.is_const = true, .is_u64 = word >> 63};

	if (word < 1024 && word > 31 && word < 127 && word != '\'' && word != '\\')
		put(out, "'%c'", (char)word);
	else
		put(out, random() % 2 ? "%#llx" : "%llu", (unsigned long long)word);
	for (int i = 0; i < RECORDS; i++)
		value.of[i] = word;
	return value;
}

static uint64_t field_of(const struct record *rec, const struct event_field *field)
{
	uint64_t word = 0;

	memcpy(&word, (const char *)rec + field->off, field->size);
	switch (field->is_signed ? field->size : 8) {
	case 1:
		return (uint64_t)(int8_t)word;
	case 2:
		return (uint64_t)(int16_t)word;
	case 4:
		return (uint64_t)(int32_t)word;
	default:
		return word;
	}
}

static struct value field(struct writer *out)
{
	const struct event_field *of = &fields[random() % NUMBERS];
	struct value value = {.is_u64 = of->size == 8 && !of->is_signed};

	put(out, "%s", of->name);
	for (int i = 0; i < RECORDS; i++)
		value.of[i] = field_of(&out->recs[i], of);
	return value;
}

static struct value text_comparison(struct writer *out)
{
	const char *literal = texts[random() % TEXTS];
	long which = random() % 4;
	bool wants_equal = random() % 2, first = random() % 2;
	static const char *const names[] = {"chars", "loc", "str(text_addr)", "comm"};
	struct value value = {0};

	if (which == 3 && strlen(literal) > 15)
		literal = "expr";
	if (first)
		put(out, "(%s %s \"%s\")", names[which], wants_equal ? "==" : "!=", literal);
	else
		put(out, "(\"%s\" %s %s)", literal, wants_equal ? "==" : "!=", names[which]);
	for (int i = 0; i < RECORDS; i++) {
		const struct record *rec = &out->recs[i];
		const char *text = which == 1	? rec->text
				   : which == 2 ? (const char *)(uintptr_t)rec->text_addr
						: "expr";

		value.of[i] =
			which == 0 ? !strncmp(rec->chars, literal, 16) : !strcmp(text, literal);
		value.of[i] ^= !wants_equal;
	}
	return value;
}

static struct value task(struct writer *out)
{
	bool wants_pid = random() % 2;
	struct value value = {0};

	put(out, "%s", wants_pid ? "pid" : "uid");
	for (int i = 0; i < RECORDS; i++)
		value.of[i] = wants_pid ? (uint64_t)getpid() : getuid();
	return value;
}

static struct value write_any(struct writer *out, int depth, int level);

static struct value leaf(struct writer *out)
{
	switch (random() % 8) {
	case 0:
	case 1:
		return constant(out);
	case 2:
		return text_comparison(out);
	case 3:
		return task(out);
	default:
		return field(out);
	}
}

static struct value unary(struct writer *out, int depth)
{
	char op = "-!~"[random() % 3];
	struct value value;

	put(out, "%c ", op);
	value = write_any(out, depth - 1, 11);
	value.is_u64 = op == '~' && value.is_u64;
	for (int i = 0; i < RECORDS; i++)
		value.of[i] = op == '-' ? -value.of[i] : op == '!' ? !value.of[i] : ~value.of[i];
	return value;
}

static struct value cast(struct writer *out, int depth)
{
	static const char *const names[] = {"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"};
	long which = random() % 8;
	struct value value;

	put(out, "%s(", names[which]);
	value = write_any(out, depth - 1, 0);
	put(out, ")");
	value.is_u64 = which == 7;
	for (int i = 0; i < RECORDS; i++) {
		uint64_t word = value.of[i];
		uint64_t results[] = {(uint64_t)(int8_t)word,
				      (uint8_t)word,
				      (uint64_t)(int16_t)word,
				      (uint16_t)word,
				      (uint64_t)(int32_t)word,
				      (uint32_t)word,
				      word,
				      word};

		value.of[i] = results[which];
	}
	return value;
}

static const struct {
	const char *text;
	int level;
} binaries[] = {
	{"||", 1}, {"&&", 2}, {"|", 3},	 {"^", 4},  {"&", 5},  {"==", 6},
	{"!=", 6}, {"<", 7},  {"<=", 7}, {">", 7},  {">=", 7}, {"<<", 8},
	{">>", 8}, {"+", 9},  {"-", 9},	 {"*", 10}, {"/", 10}, {"%", 10},
};

enum {
	OR,
	AND,
	BIT_OR,
	XOR,
	BIT_AND,
	EQ,
	NE,
	LT,
	LE,
	GT,
	GE,
	SHL,
	SHR,
	ADD,
	SUB,
	MUL,
	DIV,
	MOD,
	BINARIES
};

static __int128 widen(uint64_t word, bool is_unsigned)
{
	return is_unsigned ? (__int128)word : (__int128)(int64_t)word;
}

/* As C does it, but that nothing overflows or is undefined. */
static uint64_t apply(int op, bool is_unsigned, uint64_t left, uint64_t right)
{
	__int128 one = widen(left, is_unsigned), two = widen(right, is_unsigned);

	switch (op) {
	case OR:
		return left || right;
	case AND:
		return left && right;
	case BIT_OR:
		return left | right;
	case XOR:
		return left ^ right;
	case BIT_AND:
		return left & right;
	case EQ:
		return left == right;
	case NE:
		return left != right;
	case LT:
		return one < two;
	case LE:
		return one <= two;
	case GT:
		return one > two;
	case GE:
		return one >= two;
	case SHL:
		return left << (right % 64);
	case SHR:
		return is_unsigned ? left >> (right % 64)
				   : (uint64_t)((int64_t)left >> (right % 64));
	case ADD:
		return (uint64_t)(one + two);
	case SUB:
		return (uint64_t)(one - two);
	case MUL:
		return left * right;
	case DIV:
		return right ? (uint64_t)(one / two) : 0;
	default:
		return right ? (uint64_t)(one % two) : left;
	}
}

static bool is_minus(const struct value *value)
{
	return value->is_const && !value->is_u64 && value->of[0] >> 63;
}

static bool is_zero(const struct value *value)
{
	return value->is_const && !value->is_u64 && !value->of[0];
}

static struct value combine(int op, const struct value *left, const struct value *right)
{
	struct value value = {.is_const = left->is_const && right->is_const};
	bool is_unsigned = op == SHL || op == SHR ? left->is_u64 : left->is_u64 || right->is_u64;

	value.is_u64 = op >= EQ && op <= GE ? false : op != OR && op != AND && is_unsigned;
	if (op >= EQ && op <= GE && (is_minus(left) || is_minus(right)))
		is_unsigned = false;
	if (((op == LT || op == GE) && is_zero(right)) || ((op == GT || op == LE) && is_zero(left)))
		is_unsigned = false;
	/* What one operand decides is a constant. */
	if (op == AND || op == OR)
		value.is_const |= (left->is_const && !left->of[0] == (op == AND)) ||
				  (right->is_const && !right->of[0] == (op == AND));
	for (int i = 0; i < RECORDS; i++)
		value.of[i] = apply(op, is_unsigned, left->of[i], right->of[i]);
	return value;
}

/* What no machine is asked for: it is refused as it is read. */
static bool is_refused(int op, const struct value *right)
{
	return right->is_const &&
	       ((op >= DIV && !right->of[0]) || ((op == SHL || op == SHR) && right->of[0] > 63));
}

static struct value binary(struct writer *out, int depth, int level)
{
	int op = (int)(random() % BINARIES);
	bool wraps = binaries[op].level < level || random() % 8 == 0;
	/* a < b < c is refused, too. */
	int left_level = binaries[op].level + (op >= LT && op <= GE);
	struct value left, right;
	size_t start;

	if (wraps)
		put(out, "(");
	left = write_any(out, depth - 1, left_level);
	put(out, " %s ", binaries[op].text);
	start = out->len;
	do {
		out->len = start;
		right = write_any(out, depth - 1, binaries[op].level + 1);
	} while (is_refused(op, &right));
	if (wraps)
		put(out, ")");
	return combine(op, &left, &right);
}

static struct value write_any(struct writer *out, int depth, int level)
{
	if (!depth || random() % 6 == 0)
		return leaf(out);
	switch (random() % 7) {
	case 0:
		return unary(out, depth);
	case 1:
		return cast(out, depth);
	default:
		return binary(out, depth, level);
	}
}

static uint64_t run_interp(const struct expr_code *code, const struct record *rec)
{
	struct interp vm = {
		.ctx = (const uint8_t *)rec,
		.ctx_len = sizeof(*rec),
		.mem = (const uint8_t *)(uintptr_t)rec->text_addr,
		.mem_len = strlen((const char *)(uintptr_t)rec->text_addr) + 1,
		.pid_tgid = (uint64_t)getpid() << 32 | 77,
		.uid_gid = 5ULL << 32 | getuid(),
		.comm = "expr",
	};

	return interp_run(&vm, code);
}

/* Too large for its place is no mistake. */
static bool compile(const struct writer *in, const struct value *value, struct expr_code *code)
{
	struct expr *expr = NULL;
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = expr_parse(in->text, &env, &expr, &why);
	if (err && err != -E2BIG)
		fail_msg("%s", buf_cstr(&why));
	if (!err) {
		if ((expr_type(expr) == EXPR_U64) != value->is_u64)
			fail_msg("'%s': its type", in->text);
		err = expr_compile(expr, code, &why);
		assert_true(err == 0 || err == -E2BIG);
	}
	assert_true(!err == !why.len);
	expr_free(expr);
	buf_deinit(&why);
	return !err;
}

static void run_random(unsigned int seed, int rounds, bool in_kernel)
{
	static struct writer out;
	static struct expr_code code;
	uint32_t fit = 0, longest = 0;

	srandom(seed);
	for (int round = 0; round < rounds; round++) {
		struct value value;
		uint64_t got[RECORDS];

		out.len = 0;
		for (int i = 0; i < RECORDS; i++)
			random_record(&out.recs[i]);
		value = write_any(&out, 1 + round % DEPTH, 0);
		if (!compile(&out, &value, &code))
			continue;
		fit++;
		longest = code.cnt > longest ? code.cnt : longest;
		if (in_kernel)
			kernel_run(&code, out.recs, sizeof(out.recs[0]), RECORDS, got);
		for (int i = 0; i < RECORDS; i++) {
			if (!in_kernel)
				got[i] = run_interp(&code, &out.recs[i]);
			if (got[i] != value.of[i])
				fail_msg("'%s' is %#llx, not %#llx", out.text,
					 (unsigned long long)value.of[i],
					 (unsigned long long)got[i]);
		}
	}
	assert_true(fit > (uint32_t)rounds / 2);
	print_message("%u of %d fit, the longest has %u instructions\n", fit, rounds, longest);
}

/* A balanced tree: 16 values that are computed, four of which wait where the text is read. */
static void test_saved(void **state)
{
	static struct writer out = {
		.text = "(((pid+pid)+(pid+pid))+((pid+pid)+(pid+pid)))+"
			"(((pid+pid)+(pid+pid))+((pid+pid)+(pid+(str(text_addr)==\"/etc/"
			"passwd\"))))",
	};
	static const struct value none;
	static struct expr_code code;
	uint64_t got[RECORDS];

	assert_true(compile(&out, &none, &code));
	assert_int_equal(code.stack_bytes, 80);
	for (int i = 0; i < RECORDS; i++)
		random_record(&out.recs[i]);
	out.recs[0].text_addr = (uint64_t)(uintptr_t)texts[3];
	out.recs[1].text_addr = (uint64_t)(uintptr_t)texts[4];
	for (int in_kernel = 0; in_kernel <= kernel_may_load(); in_kernel++) {
		if (in_kernel)
			kernel_run(&code, out.recs, sizeof(out.recs[0]), RECORDS, got);
		for (int i = 0; i < 2; i++)
			assert_int_equal(in_kernel ? got[i] : run_interp(&code, &out.recs[i]),
					 15 * getpid() + !i);
	}
}

static void test_interp(void **state)
{
	run_random(1, ROUNDS, false);
}

static void test_kernel(void **state)
{
	if (!kernel_may_load())
		skip();
	assert_int_equal(prctl(PR_SET_NAME, "expr"), 0);
	run_random(2, KERNEL_ROUNDS, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_interp),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests_name("expr_code", tests, NULL, NULL);
}
