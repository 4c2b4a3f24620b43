/* SPDX-License-Identifier: Apache-2.0 */
/* Rust's two manglings. Both take a mangled name of @len bytes at the cursor of a reader, so that
 * what follows it (".llvm.1234") is left for the caller. */
#ifndef BPFPROF_SYMBOL_RUST_DEMANGLE_H
#define BPFPROF_SYMBOL_RUST_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

/* A bounded output: what does not fit is dropped and remembered. */
struct name_out {
	char *buf; /* borrowed */
	size_t len, max;
	bool is_full;
};

void name_out_init(struct name_out *out, char *buf, size_t max);
void name_add(struct name_out *out, const char *str, size_t len);
void name_add_str(struct name_out *out, const char *str);
void name_add_u64(struct name_out *out, uint64_t value);
void name_add_utf8(struct name_out *out, uint32_t code_point); /* U+FFFD for what is none */

/*
 * "_ZN4core3fmt5write17h0123456789abcdefE" -> "core::fmt::write": an Itanium nested name whose last
 * part is a hash, which is left out. 0; -EBADMSG when it is not of that form, @rd then untouched
 * and @out undefined.
 */
int rust_demangle_legacy(struct reader *rd, struct name_out *out);

/*
 * "_RNvCs1234_7mycrate3foo" -> "mycrate::foo" (RFC 2603), crate hashes left out, constants without
 * their type. Recursion and work are bounded; -EBADMSG as above.
 */
int rust_demangle_v0(struct reader *rd, struct name_out *out);

/* Punycode as v0 writes it ('_' for the last '-', no case marks; RFC 3492), as UTF-8. 0 or
 * -EBADMSG, nothing added then. */
int punycode_decode(const char *text, size_t len, struct name_out *out);

#endif
