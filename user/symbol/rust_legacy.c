/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rust's first mangling: an Itanium nested name of plain identifiers, the last one 'h' and 16 hex
 * digits. What Itanium does not allow in an identifier is spelt "$LT$", "$u7e$" or "..".
 */
#include <errno.h>
#include <string.h>

#include "symbol/rust_demangle.h"

enum {
	HASH_LEN = 17, /* 'h' + 16 digits */
	HASH_DIGITS_MIN = 5, /* distinct ones: a C++ name that only looks like a hash has fewer */
};

static const struct {
	const char *name, *text;
} escapes[] = {
	{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"},
	{"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","},
};

static bool is_hash(const char *part, size_t len)
{
	uint32_t seen = 0;

	if (len != HASH_LEN || part[0] != 'h')
		return false;
	for (size_t i = 1; i < len; i++) {
		const char *digit = strchr("0123456789abcdef", part[i]);

		if (!part[i] || !digit)
			return false;
		seen |= 1u << (part[i] <= '9' ? part[i] - '0' : part[i] - 'a' + 10);
	}
	return __builtin_popcount(seen) >= HASH_DIGITS_MIN;
}

/* "u7e": a code point in hex, but no control character. */
static bool add_code_point(const char *digits, size_t len, struct name_out *out)
{
	struct reader rd;
	uint64_t code;

	reader_init(&rd, digits, len);
	code = reader_number(&rd, 16);
	if (!reader_done(&rd) || rd.err || code < 0x20 || code == 0x7f || code > 0x10ffff)
		return false;
	name_add_utf8(out, (uint32_t)code);
	return true;
}

/* The text between two dollar signs. */
static bool add_escape(const char *name, size_t len, struct name_out *out)
{
	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
		if (strlen(escapes[i].name) == len && !memcmp(escapes[i].name, name, len)) {
			name_add_str(out, escapes[i].text);
			return true;
		}
	}
	return len > 1 && name[0] == 'u' && add_code_point(name + 1, len - 1, out);
}

/* The bytes that the element at @part takes; it is added to @out. */
static size_t add_element(const char *part, size_t len, struct name_out *out)
{
	if (part[0] == '.' && len > 1 && part[1] == '.') {
		name_add_str(out, "::");
		return 2;
	}
	if (part[0] == '$') {
		const char *end = memchr(part + 1, '$', len - 1);

		if (end && add_escape(part + 1, (size_t)(end - part) - 1, out))
			return (size_t)(end - part) + 1;
	}
	name_add(out, part, 1);
	return 1;
}

static void add_part(const char *part, size_t len, struct name_out *out)
{
	/* An identifier must not begin with '$': rustc puts a '_' in front then. */
	if (len > 1 && part[0] == '_' && part[1] == '$') {
		part++;
		len--;
	}
	while (len && !out->is_full) {
		size_t used = add_element(part, len, out);

		part += used;
		len -= used;
	}
}

/* Where the parts end, and that the last one is a hash. The number of parts before it, or
 * -EBADMSG. */
static int count_parts(struct reader rd)
{
	const char *part = NULL;
	size_t len = 0;
	int cnt = 0;

	while (!reader_accept(&rd, 'E')) {
		len = reader_number(&rd, 10);
		part = reader_bytes(&rd, len);
		if (rd.err || !len)
			return -EBADMSG;
		cnt++;
	}
	return cnt > 1 && is_hash(part, len) ? cnt - 1 : -EBADMSG;
}

int rust_demangle_legacy(struct reader *rd, struct name_out *out)
{
	struct reader mine = *rd;
	const char *prefix = reader_bytes(&mine, 3);
	int cnt;

	if (!prefix || memcmp(prefix, "_ZN", 3))
		return -EBADMSG;
	cnt = count_parts(mine);
	if (cnt < 0)
		return cnt;
	for (int i = 0; i < cnt; i++) {
		size_t len = reader_number(&mine, 10);

		if (i)
			name_add_str(out, "::");
		add_part(reader_bytes(&mine, len), len, out);
	}
	reader_skip(&mine, reader_number(&mine, 10));
	reader_accept(&mine, 'E');
	*rd = mine;
	return 0;
}
