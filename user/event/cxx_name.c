/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C++ names: lengths and letters, no substitutions but std's. */
#include "event/cxx_name.h"

#include <ctype.h>
#include <string.h>

#include "base/reader.h"

/* The operators that people put probes on (Itanium C++ ABI 5.1.3). */
static const struct {
	char code[3];
	const char *name;
} operators[] = {
	{"nw", "operator new"},	     {"na", "operator new[]"}, {"dl", "operator delete"},
	{"da", "operator delete[]"}, {"cl", "operator()"},     {"ix", "operator[]"},
	{"aS", "operator="},	     {"eq", "operator=="},     {"lt", "operator<"},
	{"ls", "operator<<"},	     {"rs", "operator>>"},     {"pl", "operator+"},
};

enum { OPERATOR_CNT = sizeof(operators) / sizeof(*operators) };

static const char anonymous[] = "_GLOBAL__N_1";
/* Rust's own ending of each: "h" and 16 hexadecimal digits. */
enum { RUST_HASH_LEN = 17 };

struct plain {
	struct reader rd;
	char *out;
	size_t len;
	const char *last; /* the component before, for constructors */
	size_t last_len;
	bool is_whole; /* so far */
};

static void put(struct plain *plain, const char *text, size_t len)
{
	if (len >= CXX_NAME_MAX - plain->len) {
		plain->is_whole = false;
		return;
	}
	memcpy(plain->out + plain->len, text, len);
	plain->len += len;
	plain->out[plain->len] = '\0';
}

static void put_component(struct plain *plain, const char *text, size_t len)
{
	if (plain->len)
		put(plain, "::", 2);
	put(plain, text, len);
	plain->last = text;
	plain->last_len = len;
}

static char peek(const struct plain *plain)
{
	return reader_done(&plain->rd) ? '\0' : (char)*plain->rd.pos;
}

static bool accept(struct plain *plain, const char *code)
{
	size_t len = strlen(code);

	/* Behind an error nothing moves any more. */
	if (plain->rd.err || reader_left(&plain->rd) < len || memcmp(plain->rd.pos, code, len) != 0)
		return false;
	reader_skip(&plain->rd, len);
	return true;
}

static bool is_rust_hash(const struct plain *plain, const char *text, size_t len)
{
	if (len != RUST_HASH_LEN || text[0] != 'h' || peek(plain) != 'E')
		return false;
	for (size_t i = 1; i < len; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

/* <source-name>, and the ABI tags behind it, which are not shown. */
static bool take_source_name(struct plain *plain)
{
	uint64_t len = reader_number(&plain->rd, 10);
	const char *text = reader_bytes(&plain->rd, len);

	if (!text || !len)
		return false;
	if (len == sizeof(anonymous) - 1 && !memcmp(text, anonymous, len))
		put_component(plain, "(anonymous namespace)", strlen("(anonymous namespace)"));
	else if (!is_rust_hash(plain, text, len))
		put_component(plain, text, len);
	while (accept(plain, "B"))
		reader_skip(&plain->rd, reader_number(&plain->rd, 10));
	return !plain->rd.err;
}

static bool take_operator(struct plain *plain)
{
	for (size_t i = 0; i < OPERATOR_CNT; i++) {
		if (accept(plain, operators[i].code)) {
			put_component(plain, operators[i].name, strlen(operators[i].name));
			return true;
		}
	}
	return false;
}

/* Constructors and destructors have the name of what they are in. */
static bool take_structor(struct plain *plain)
{
	const char *name = plain->last;
	size_t len = plain->last_len;
	bool is_destructor = peek(plain) == 'D';

	if (!name || !(accept(plain, "C1") || accept(plain, "C2") || accept(plain, "C3") ||
		       accept(plain, "D0") || accept(plain, "D1") || accept(plain, "D2")))
		return false;
	if (is_destructor) {
		put(plain, "::~", 3);
		put(plain, name, len);
	} else {
		put_component(plain, name, len);
	}
	return true;
}

static bool take_component(struct plain *plain)
{
	accept(plain, "L"); /* internal linkage */
	if (isdigit((unsigned char)peek(plain)))
		return take_source_name(plain);
	if (accept(plain, "St")) {
		put_component(plain, "std", 3);
		return true;
	}
	return take_structor(plain) || take_operator(plain);
}

static bool take_nested(struct plain *plain)
{
	while (peek(plain) && strchr("rVKRO", peek(plain)))
		reader_skip(&plain->rd, 1);
	while (!accept(plain, "E")) {
		if (!take_component(plain))
			return false;
	}
	return true;
}

bool cxx_plain_name(const char *mangled, char out[static CXX_NAME_MAX], const char **params)
{
	struct plain plain = {.out = out, .is_whole = true};
	bool is_taken;

	if (strncmp(mangled, "_Z", 2) != 0)
		return false;
	out[0] = '\0';
	reader_init(&plain.rd, mangled + 2, strlen(mangled + 2));
	if (accept(&plain, "N"))
		is_taken = take_nested(&plain);
	else
		is_taken = take_component(&plain) &&
			   (strcmp(out, "std") != 0 || take_component(&plain));
	if (!is_taken || !plain.len || !plain.is_whole || plain.rd.err || peek(&plain) == 'I')
		return false;
	*params = (const char *)plain.rd.pos;
	return true;
}
