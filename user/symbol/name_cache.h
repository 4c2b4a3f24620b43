/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of modules, kept from run to run by build-id (base/cache_dir.h). A kept table is used when
 * the module's file and what lies where its debug files would be are what they were.
 */
#ifndef BPFPROF_SYMBOL_NAME_CACHE_H
#define BPFPROF_SYMBOL_NAME_CACHE_H

#include "base/cache_dir.h"
#include "symbol/module_symbols.h"
#include "symbol/name_file.h"

enum { NAME_CACHE_MAX_BYTES = 256 << 20 };

/* The cache in @base (NULL: the user's); as cache_dir_open(). */
struct cache_dir *name_cache_open(const char *base);

/* What is kept of one module. */
struct kept_names {
	char name[CACHE_NAME_MAX]; /* of the file; "": nothing may be kept of it */
	struct name_source source;
	struct name_table table; /* empty when there is none */
	const void *data; /* owned mapping: what table lies in; NULL when there is none */
	size_t data_bytes;
};

/* Look up @syms, which is open. Release with kept_names_deinit(). */
void kept_names_load(struct kept_names *kept, struct cache_dir *cache,
		     const struct module_symbols *syms);
void kept_names_deinit(struct kept_names *kept);

/* Keep @learned as well, which has no address in common with @kept. */
void kept_names_save(const struct kept_names *kept, struct cache_dir *cache,
		     const struct name_table *learned);

#endif
