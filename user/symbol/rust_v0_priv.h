/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the v0 demangler share. The grammar and its limits are explained in rust_v0.c.
 * All functions do nothing once v0_is_over(). */
#ifndef BPFPROF_SYMBOL_RUST_V0_PRIV_H
#define BPFPROF_SYMBOL_RUST_V0_PRIV_H

#include "symbol/rust_demangle.h"

struct v0 {
	struct reader rd; /* over what follows "_R": back-references count from there */
	struct name_out *out;
	uint64_t lifetime_cnt; /* introduced by the for<...> around */
	uint32_t depth;
	uint32_t steps;
	uint32_t mute; /* > 0: parse without printing */
	bool is_bad;
};

struct v0_ident {
	const char *str; /* borrowed from the symbol */
	size_t len;
	uint64_t disambiguator;
	bool is_punycode;
};

/* Damaged, at its end, or the output full. */
bool v0_is_over(const struct v0 *v0);
void v0_fail(struct v0 *v0);

/* Nothing while muted. */
void v0_print(struct v0 *v0, const char *str);
void v0_print_u64(struct v0 *v0, uint64_t value);

/* True when one level deeper is still allowed; v0_leave() in any case. */
bool v0_enter(struct v0 *v0);
void v0_leave(struct v0 *v0);

/* Skip @chr if it is next; true when it was. */
bool v0_accept(struct v0 *v0, char chr);

/* Print @print_item after @print_item, separated, up to the closing E. Returns how many. */
size_t v0_print_list(struct v0 *v0, void (*print_item)(struct v0 *), const char *separator);

/* base-62-number: "_" is 0, "0_" is 1. */
uint64_t v0_read_base62(struct v0 *v0);

/* The number behind @tag, plus one; 0 when there is no @tag. */
uint64_t v0_read_optional_base62(struct v0 *v0, char tag);

/* undisambiguated-identifier = ["u"] decimal ["_"] bytes, and [disambiguator] in front of it. */
struct v0_ident v0_read_plain_ident(struct v0 *v0);
struct v0_ident v0_read_ident(struct v0 *v0);
void v0_print_ident(struct v0 *v0, const struct v0_ident *ident);

/*
 * Follow the reference at the cursor (its "B" is read already): true when the caller is to print
 * from there, and then to set the cursor back to @back. Muted, nothing is gained by following it.
 * A reference must point before its own start, else it would never end.
 */
bool v0_follow_backref(struct v0 *v0, struct reader *back);

/* The rules that refer to each other across files: path, type, const. @in_value: generic arguments
 * need "::<"; a compound constant needs no braces. */
void v0_print_path(struct v0 *v0, bool in_value);
void v0_print_type(struct v0 *v0);
void v0_print_const(struct v0 *v0, bool in_value);

#endif
