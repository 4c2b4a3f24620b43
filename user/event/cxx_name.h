/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain part of C++ (and old Rust) symbols: _ZN3net6Server6acceptEib is net::Server::accept,
 * with the parameters "ib". Enough to find a function by the name that its source has, without a
 * demangler; names with template arguments are not plain.
 */
#ifndef BPFPROF_EVENT_CXX_NAME_H
#define BPFPROF_EVENT_CXX_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { CXX_NAME_MAX = 512 };

/*
 * The name of @mangled (Itanium C++ ABI 5.1) up to its parameters into @out, and what comes behind
 * it into *@params (borrowed from @mangled). False when it is no such name, not plain, or too long.
 */
bool cxx_plain_name(const char *mangled, char out[static CXX_NAME_MAX], const char **params);

#endif
