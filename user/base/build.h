/* SPDX-License-Identifier: Apache-2.0 */
/* Which build this is, and what it lacks. */
#ifndef BPFPROF_BASE_BUILD_H
#define BPFPROF_BASE_BUILD_H

#include <stdbool.h>

/*
 * A static build (make STATIC=1) has its own C library, and loads nothing that is made for that of
 * the machine it runs on: glibc would try to, and crash in the other one's.
 */
#ifdef BPFPROF_STATIC
enum { BUILD_IS_STATIC = true };
#else
enum { BUILD_IS_STATIC = false };
#endif

struct build_lack {
	const char *name;
	const char *detail;
	const char *fix;
};

/* What this build lacks; the last one has no name. */
extern const struct build_lack build_lacks[];

/*
 * The shared library @name, with dlopen()'s @flags; closed with dlclose(). NULL when it cannot be
 * loaded, and always in a static build: *@why says why, and is borrowed until the next call.
 */
void *build_load_library(const char *name, int flags, const char **why);

/* The function @name of @library into *@function_out, a pointer to a function; false: it has none.
 */
bool build_bind_symbol(void *library, const char *name, void *function_out);

#endif
