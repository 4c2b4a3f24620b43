/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of an image that a name means. */
#ifndef BPFPROF_EVENT_FUNCTION_SEARCH_H
#define BPFPROF_EVENT_FUNCTION_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/symtab.h"
#include "event/suggest.h"

struct probe_image;

enum function_match {
	MATCH_NAME, /* the symbol */
	MATCH_CXX_NAME, /* the plain C++ name of the symbol (cxx_name.h) */
	MATCH_GLOB, /* fnmatch(3) of the symbol; no parts of functions and no labels */
	MATCH_VARIANT, /* what an indirect function may stand for (ifunc.h) */
};

struct found_function {
	char *name; /* owned; NULL: one of so many that none is of use */
	uint64_t vaddr, size_bytes; /* size 0: not known */
	bool is_ifunc;
};

struct function_search {
	struct found_function *items; /* owned: by vaddr, one for each */
	size_t cnt, cap;
	enum symtab_source source;
	size_t function_cnt; /* symbols of the image that name functions, aliases included */
};

/* 0 and *@out (function_search_deinit()), also when nothing is found; -ENOMEM. One pass over the
 * symbols. */
int function_search(const struct probe_image *image, enum function_match match, const char *name,
		    struct function_search *out);
void function_search_deinit(struct function_search *search);

/* Offer the names of all functions, C++ names as MATCH_CXX_NAME takes them. */
void function_search_suggest(const struct probe_image *image, struct suggest *near);

/* Is @name that of code that is split off a function and jumped to, and no function? */
bool is_function_part(const char *name);

#endif
