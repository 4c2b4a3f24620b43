/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol-table names to what the programmer wrote: C++ (Itanium ABI), Rust (legacy and v0). A name
 * that is none of these, or is damaged, stays as it is. Compilers' suffixes stay readable:
 * "_ZN1a1bEv.cold" becomes "a::b() [clone .cold]"; ".llvm.1234", a mere number of the file, goes.
 */
#ifndef BPFPROF_SYMBOL_DEMANGLE_H
#define BPFPROF_SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	DEMANGLE_MAX = 1024, /* bytes of a result, its NUL included; a longer one ends in "..." */
	MANGLED_MAX = 4096, /* longer names are not taken apart */
};

struct demangler;

/* The first C++ name loads the C++ runtime's demangler if there is one; without it such names stay
 * mangled. *owned*; NULL + ENOMEM. */
struct demangler *demangler_new(void);

/* Load it now and for good, for who may load no code later. */
void demangle_preload(void);
void demangler_free(struct demangler *dem);

/* Does this machine have the C++ runtime's demangler? */
bool demangler_has_cxx(struct demangler *dem);

/*
 * The readable form of the @len bytes at @name into @out, always NUL-terminated; the name itself
 * (cut to fit) where there is none. True when it was demangled. Time and stack are bounded for any
 * input.
 */
bool demangle(struct demangler *dem, const char *name, size_t len, char out[static DEMANGLE_MAX]);

/*
 * How many of the @len bytes at @name are the function's own name: what compilers append for its
 * parts and copies (.cold, .part.0, .isra.0, .constprop.1, .lto_priv.2 and the like, also several)
 * is not.
 */
size_t demangle_trunk_len(const char *name, size_t len);

#endif
