/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rust's v0 mangling (RFC 2603, "Symbol name mangling v2"): a small prefix grammar with
 * back-references by byte offset. One function per grammar rule, in the RFC's terms; each prints
 * while it parses. Example:
 *
 *	_RINvMs_NtC4demo3vecINtB2_3VechE4pushjE
 *	   I ... E               path with generic arguments
 *	    Nv ... 4push         value "push" in
 *	      M s_ <path> <type> inherent impl, printed as <type>
 *
 * Hostile names: `depth` bounds the recursion, the output's size bounds what back-references can
 * multiply, and `steps` bounds the work where nothing is printed.
 */
#include <errno.h>
#include <string.h>

#include "symbol/rust_v0_priv.h"

enum {
	BINDER_MAX = 64, /* lifetimes that one for<...> introduces */
};

/* 'a to 'z, then '_26 and so on; counted from the outermost binder. 0 is the erased lifetime. */
static void print_lifetime(struct v0 *v0, uint64_t index)
{
	char letter[] = "'a";
	uint64_t depth;

	if (!index) {
		v0_print(v0, "'_");
		return;
	}
	if (index > v0->lifetime_cnt) {
		v0_fail(v0);
		return;
	}
	depth = v0->lifetime_cnt - index;
	if (depth < 26) {
		letter[1] = (char)('a' + depth);
		v0_print(v0, letter);
	} else {
		v0_print(v0, "'_");
		v0_print_u64(v0, depth);
	}
}

/* binder = ["G" base-62-number]; the caller restores lifetime_cnt. */
static void print_binder(struct v0 *v0)
{
	uint64_t cnt = v0_read_optional_base62(v0, 'G');

	if (cnt > BINDER_MAX)
		v0_fail(v0);
	if (!cnt || v0_is_over(v0))
		return;
	v0_print(v0, "for<");
	for (uint64_t i = 0; i < cnt; i++) {
		if (i)
			v0_print(v0, ", ");
		v0->lifetime_cnt++;
		print_lifetime(v0, 1);
	}
	v0_print(v0, "> ");
}

static void print_generic_arg(struct v0 *v0)
{
	if (v0_accept(v0, 'L'))
		print_lifetime(v0, v0_read_base62(v0));
	else if (v0_accept(v0, 'K'))
		v0_print_const(v0, false);
	else
		v0_print_type(v0);
}

/* N namespace path identifier. An upper-case namespace is something without a name of its own. */
static void print_nested(struct v0 *v0, bool in_value)
{
	char space = (char)reader_u8(&v0->rd);
	bool is_special = space >= 'A' && space <= 'Z';
	struct v0_ident ident;

	if (!is_special && !(space >= 'a' && space <= 'z'))
		v0_fail(v0);
	v0_print_path(v0, in_value);
	ident = v0_read_ident(v0);
	if (v0_is_over(v0))
		return;
	if (!is_special) {
		if (ident.len) {
			v0_print(v0, "::");
			v0_print_ident(v0, &ident);
		}
		return;
	}
	v0_print(v0, "::{");
	if (space == 'C')
		v0_print(v0, "closure");
	else if (space == 'S')
		v0_print(v0, "shim");
	else
		v0_print(v0, (char[]){space, '\0'});
	if (ident.len) {
		v0_print(v0, ":");
		v0_print_ident(v0, &ident);
	}
	v0_print(v0, "#");
	v0_print_u64(v0, ident.disambiguator);
	v0_print(v0, "}");
}

/* impl-path = [disambiguator] path: where the impl stands, which says less than what it is for. */
static void skip_impl_path(struct v0 *v0)
{
	v0->mute++;
	v0_read_optional_base62(v0, 's');
	v0_print_path(v0, false);
	v0->mute--;
}

/* <type>, or <type as path> */
static void print_qualified(struct v0 *v0, bool has_trait)
{
	v0_print(v0, "<");
	v0_print_type(v0);
	if (has_trait) {
		v0_print(v0, " as ");
		v0_print_path(v0, false);
	}
	v0_print(v0, ">");
}

/* path {generic-arg} E, without the closing ">" when @keep_open. */
static void print_generic_path(struct v0 *v0, bool in_value, bool keep_open)
{
	v0_print_path(v0, in_value);
	v0_print(v0, in_value ? "::<" : "<");
	v0_print_list(v0, print_generic_arg, ", ");
	if (!keep_open)
		v0_print(v0, ">");
}

static void print_path_of(struct v0 *v0, char tag, bool in_value)
{
	struct reader back;
	struct v0_ident ident;

	switch (tag) {
	case 'C':
		ident = v0_read_ident(v0);
		v0_print_ident(v0, &ident);
		break;
	case 'N':
		print_nested(v0, in_value);
		break;
	case 'M':
		skip_impl_path(v0);
		print_qualified(v0, false);
		break;
	case 'X':
		skip_impl_path(v0);
		print_qualified(v0, true);
		break;
	case 'Y':
		print_qualified(v0, true);
		break;
	case 'I':
		print_generic_path(v0, in_value, false);
		break;
	case 'B':
		if (v0_follow_backref(v0, &back)) {
			v0_print_path(v0, in_value);
			if (!v0->rd.err)
				v0->rd = back;
		}
		break;
	default:
		v0_fail(v0);
	}
}

void v0_print_path(struct v0 *v0, bool in_value)
{
	if (v0_enter(v0))
		print_path_of(v0, (char)reader_u8(&v0->rd), in_value);
	v0_leave(v0);
}

static const char *basic_type(char tag)
{
	static const char *const names['z' - 'a' + 1] = {
		['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",
		['d' - 'a'] = "f64",  ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",
		['h' - 'a'] = "u8",   ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
		['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",   ['n' - 'a'] = "i128",
		['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",
		['t' - 'a'] = "u16",  ['u' - 'a'] = "()",    ['v' - 'a'] = "...",
		['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",   ['z' - 'a'] = "!",
	};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

/* R, Q: "&'a mut T" */
static void print_reference(struct v0 *v0, bool is_mut)
{
	v0_print(v0, "&");
	if (v0_accept(v0, 'L')) {
		uint64_t lifetime = v0_read_base62(v0);

		if (lifetime) {
			print_lifetime(v0, lifetime);
			v0_print(v0, " ");
		}
	}
	if (is_mut)
		v0_print(v0, "mut ");
	v0_print_type(v0);
}

static void print_array(struct v0 *v0)
{
	v0_print(v0, "[");
	v0_print_type(v0);
	v0_print(v0, "; ");
	v0_print_const(v0, true);
	v0_print(v0, "]");
}

static void print_tuple(struct v0 *v0)
{
	v0_print(v0, "(");
	if (v0_print_list(v0, v0_print_type, ", ") == 1)
		v0_print(v0, ",");
	v0_print(v0, ")");
}

/* K abi: "C", or an identifier with '_' for '-'. */
static void print_abi(struct v0 *v0)
{
	v0_print(v0, "extern \"");
	if (v0_accept(v0, 'C')) {
		v0_print(v0, "C");
	} else {
		struct v0_ident abi = v0_read_plain_ident(v0);

		for (size_t i = 0; i < abi.len; i++)
			v0_print(v0, (char[]){abi.str[i] == '_' ? '-' : abi.str[i], '\0'});
	}
	v0_print(v0, "\" ");
}

/* fn-sig = [binder] ["U"] ["K" abi] {type} "E" type */
static void print_fn(struct v0 *v0)
{
	uint64_t outer = v0->lifetime_cnt;

	print_binder(v0);
	if (v0_accept(v0, 'U'))
		v0_print(v0, "unsafe ");
	if (v0_accept(v0, 'K'))
		print_abi(v0);
	v0_print(v0, "fn(");
	v0_print_list(v0, v0_print_type, ", ");
	v0_print(v0, ")");
	if (!v0_accept(v0, 'u')) { /* nobody writes -> () */
		v0_print(v0, " -> ");
		v0_print_type(v0);
	}
	v0->lifetime_cnt = outer;
}

/* A path whose generic arguments stay open, so that associated types can join them. True when "<"
 * has been printed. */
static bool print_open_path(struct v0 *v0)
{
	struct reader back;
	bool is_open = false;

	if (!v0_enter(v0)) {
		v0_leave(v0);
		return false;
	}
	if (v0_accept(v0, 'B')) {
		if (v0_follow_backref(v0, &back)) {
			is_open = print_open_path(v0);
			if (!v0->rd.err)
				v0->rd = back;
		}
	} else if (v0_accept(v0, 'I')) {
		print_generic_path(v0, false, true);
		is_open = true;
	} else {
		v0_print_path(v0, false);
	}
	v0_leave(v0);
	return is_open;
}

/* dyn-trait = path {"p" identifier type} */
static void print_dyn_trait(struct v0 *v0)
{
	bool is_open = print_open_path(v0);

	while (!v0_is_over(v0) && v0_accept(v0, 'p')) {
		struct v0_ident name = v0_read_plain_ident(v0);

		v0_print(v0, is_open ? ", " : "<");
		is_open = true;
		v0_print_ident(v0, &name);
		v0_print(v0, " = ");
		v0_print_type(v0);
	}
	if (is_open)
		v0_print(v0, ">");
}

/* D [binder] {dyn-trait} E lifetime */
static void print_dyn(struct v0 *v0)
{
	uint64_t outer = v0->lifetime_cnt;
	uint64_t lifetime;

	v0_print(v0, "dyn ");
	print_binder(v0);
	v0_print_list(v0, print_dyn_trait, " + ");
	v0->lifetime_cnt = outer;
	if (!v0_accept(v0, 'L')) {
		v0_fail(v0);
		return;
	}
	lifetime = v0_read_base62(v0);
	if (lifetime) {
		v0_print(v0, " + ");
		print_lifetime(v0, lifetime);
	}
}

static void print_type_of(struct v0 *v0, char tag)
{
	struct reader back;

	switch (tag) {
	case 'A':
		print_array(v0);
		break;
	case 'S':
		v0_print(v0, "[");
		v0_print_type(v0);
		v0_print(v0, "]");
		break;
	case 'T':
		print_tuple(v0);
		break;
	case 'R':
	case 'Q':
		print_reference(v0, tag == 'Q');
		break;
	case 'P':
	case 'O':
		v0_print(v0, tag == 'P' ? "*const " : "*mut ");
		v0_print_type(v0);
		break;
	case 'F':
		print_fn(v0);
		break;
	case 'D':
		print_dyn(v0);
		break;
	case 'B':
		if (v0_follow_backref(v0, &back)) {
			v0_print_type(v0);
			if (!v0->rd.err)
				v0->rd = back;
		}
		break;
	default:
		print_path_of(v0, tag, false);
	}
}

void v0_print_type(struct v0 *v0)
{
	if (v0_enter(v0)) {
		char tag = (char)reader_u8(&v0->rd);
		const char *basic = basic_type(tag);

		if (basic)
			v0_print(v0, basic);
		else
			print_type_of(v0, tag);
	}
	v0_leave(v0);
}

int rust_demangle_v0(struct reader *rd, struct name_out *out)
{
	struct reader mine = *rd;
	const char *prefix = reader_bytes(&mine, 2);
	struct v0 v0 = {.out = out};

	/* An encoding version would stand here; there is none but the first, which has none. */
	if (!prefix || memcmp(prefix, "_R", 2) || (!reader_done(&mine) && *mine.pos <= '9'))
		return -EBADMSG;
	reader_init(&v0.rd, mine.pos, reader_left(&mine));
	v0_print_path(&v0, true);
	/* The crate that made this instance: a further path. */
	if (!v0_is_over(&v0) && reader_left(&v0.rd) && *v0.rd.pos >= 'A' && *v0.rd.pos <= 'Z') {
		v0.mute++;
		v0_print_path(&v0, false);
	}
	if (out->is_full && !v0.is_bad) { /* its end was not reached: a suffix cannot be told */
		reader_skip(rd, reader_left(rd));
		return 0;
	}
	if (v0_is_over(&v0))
		return -EBADMSG;
	reader_skip(rd, 2 + reader_offset(&v0.rd));
	return 0;
}
