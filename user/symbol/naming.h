/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that name locations share: the run of a symbolizer, and how a location gets its
 * name. Private to symbol/. */
#ifndef BPFPROF_SYMBOL_NAMING_H
#define BPFPROF_SYMBOL_NAMING_H

#include <stdint.h>

#include "base/buf.h"
#include "proc/kernel_map.h"
#include "proc/module.h"
#include "profile/ledger.h"
#include "profile/profile.h"
#include "symbol/demangle.h"
#include "symbol/symbolizer.h"

/* A location that waits for its name. */
struct pending {
	uint64_t weight; /* of its mapping */
	uint64_t address;
	uint32_t mapping;
	uint32_t location;
};

/* What the time was too short for. */
struct lines_cut {
	size_t file_cnt;
	size_t most_cnt; /* of locations in one file */
	uint32_t most_mapping;
};

struct symbolizer {
	struct profile *prof;
	struct module *const *modules;
	size_t module_cnt;
	const struct symbolizer_opts *opts;
	struct ledger_frames *frames;
	struct pending *items; /* owned */
	size_t item_cnt;
	struct demangler *demangler; /* owned */
	struct kernel_map *own_kernel; /* owned; NULL: opts->kernel is there, or not yet needed */
	struct buf name, system_name; /* scratch */
	uint64_t deadline_ns; /* for lines; 0: none */
	struct lines_cut cut;
	uint64_t lists_ns; /* spent on the lists of JIT runtimes */
	uint64_t weight; /* of all samples */
	struct jit_advice *jit_advice; /* borrowed */
};

/* The path of the kernel's mapping. */
extern const char naming_kernel_path[];

/* The path of @mapping, "" for PROFILE_NONE; borrowed from the profile. */
const char *naming_path(const struct symbolizer *sym, uint32_t mapping);

/* The symbol @name as strings of the profile: demangled, and as it is; @suffix as "@plt". */
struct profile_function naming_intern(struct symbolizer *sym, const char *name, size_t len,
				      const char *suffix);

/* Count @item, which has got its lines, as named. */
void naming_count_named(struct symbolizer *sym, const struct pending *item);

/* One line, in @function, and counted. */
void naming_set_named(struct symbolizer *sym, const struct pending *item, uint32_t function);

/* A name from the address, and a count under @reason. */
void naming_set_unnamed(struct symbolizer *sym, const struct pending *item, const char *reason);

/*
 * Name @items, all that wait in one mapping: in a file or without any known module (@module NULL),
 * in the JIT code of one process, in the kernel. 0 or negative errno: only -ENOMEM, and what
 * profile.err says.
 */
int name_module(struct symbolizer *sym, const struct module *module, const struct pending *items,
		size_t cnt);
int name_jit(struct symbolizer *sym, const struct module *module, const struct pending *items,
	     size_t cnt);
int name_kernel(struct symbolizer *sym, const struct pending *items, size_t cnt);

#endif
