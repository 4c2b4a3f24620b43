/* SPDX-License-Identifier: Apache-2.0 */
#include "base/build.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

const struct build_lack build_lacks[] = {
#ifdef BPFPROF_STATIC
	{"debuginfod", "a static build does not ask the servers in $DEBUGINFOD_URLS",
	 "bpfprof symbolize of a build with shared libraries completes a profile elsewhere"},
	{"users of name services",
	 "COMMAND under sudo: of /etc/passwd and /etc/group only, not of LDAP or systemd",
	 "where they are needed, a build with shared libraries"},
	{"choice of IFUNCs", "a uprobe on one stands on every variant that its debug file names",
	 "name the variant (libc:__strlen_avx2), or a build with shared libraries"},
	{"HTTP server", "bpfprof agent and serve cannot listen: the TLS library is no static one",
	 "a build with shared libraries, which can serve what this one stores"},
	{"HTTP client",
	 "no store or sink behind clickhouse://: libcurl is loaded where it is needed",
	 "a build with shared libraries, which can ship what this one stores"},
	{"other character sets", "UTF-8 and ASCII only: in other locales the screen is ASCII",
	 "a UTF-8 locale (LC_ALL=C.UTF-8)"},
#endif
	{NULL, NULL, NULL},
};

#ifdef BPFPROF_STATIC
void *__wrap_dlopen(const char *name, int flags);

/* In the place of the C library's (ld --wrap): SQLite has code for extensions, which nobody here
 * loads. */
void *__wrap_dlopen(const char *name, int flags)
{
	return NULL;
}
#endif

void *build_load_library(const char *name, int flags, const char **why)
{
	void *library;

	if (BUILD_IS_STATIC) {
		*why = "a static build loads no libraries";
		return NULL;
	}
	library = dlopen(name, flags);
	*why = library ? NULL : dlerror();
	return library;
}

/* ISO C has no conversion from object to function pointers; POSIX has. */
bool build_bind_symbol(void *library, const char *name, void *function_out)
{
	void *symbol = dlsym(library, name);

	memcpy(function_out, &symbol, sizeof(symbol));
	return symbol != NULL;
}
