/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that one module can tell about its code: the tables of symbols, Go's own tables, and DWARF,
 * each from the file itself or from what was split off it. DWARF is opened when the first address
 * asks for it: most modules of a profile have none, and looking costs nothing then.
 */
#ifndef BPFPROF_SYMBOL_MODULE_SYMBOLS_H
#define BPFPROF_SYMBOL_MODULE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/debug_file.h"
#include "elf/dwarf_index.h"
#include "elf/elf_file.h"
#include "elf/go_symbols.h"
#include "elf/symtab.h"
#include "proc/module.h"
#include "symbol/name_file.h"
#include "symbol/symbolizer.h"

struct module_symbols {
	const struct module *module; /* borrowed */
	const struct symbol_sources *sources; /* borrowed */
	const char *reason; /* why nothing in this module has a name; the rest is empty then */
	struct elf_file *elf; /* owned */
	bool is_loaded;
	struct symtab *symtab; /* owned */
	struct go_symbols *go; /* owned; NULL unless it has Go code */
	struct debug_file symbols_file; /* owned: the symbols that were split off elf */
	struct debug_file lines_file; /* owned: the lines, where they alone were */
	struct dwarf_index *dwarf; /* owned; NULL until asked for, and when there is none */
	bool is_dwarf_tried;
	bool lacks_part; /* of its DWARF: the file that dwz moved it to was not found */
	int dwarf_err; /* why there is none: negative errno */
};

/*
 * Open the file of @module (borrowed for the life of @out, as is @sources; NULL: not known, its
 * name is @path). 0 and *@out (module_symbols_deinit()), also when there is nothing, for the reason
 * that it says: no_file, not_permitted, file_changed, bad_elf, jit, unknown_mapping; -ENOMEM.
 */
int module_symbols_open(const struct module *module, const char *path,
			const struct symbol_sources *sources, struct module_symbols *out);
/* Has the file, or one that belongs to it, been cut short or written into since it was opened? The
 * names that were read may be wrong then. */
bool module_symbols_have_changed(const struct module_symbols *syms);
void module_symbols_deinit(struct module_symbols *syms);

/* Read symtab and go, once; only without a reason. 0 or -ENOMEM. */
int module_symbols_load(struct module_symbols *syms);

/*
 * What the names depend on, besides the build-id. False when they should not be kept: the file is
 * of no kind that is met again, or may be changed unseen.
 */
bool module_symbols_source(const struct module_symbols *syms, struct name_source *out);

/* May other names be found another time, though the source is the same? Judged by what was read so
 * far. */
bool module_symbols_are_passing(const struct module_symbols *syms);

/* Of what has been loaded: are there all symbols, is there debugging information? None of it is
 * read for the answer. */
bool module_symbols_are_full(const struct module_symbols *syms);
bool module_symbols_have_lines(struct module_symbols *syms);

/*
 * dwarf_index_walk() over what DWARF there is of the module, whose symbols have been loaded. The
 * first call's @deadline_ns (CLOCK_MONOTONIC; 0: none) counts. Also -ENOENT when there is no DWARF;
 * *@range stays as it is then.
 */
int module_symbols_walk(struct module_symbols *syms, uint64_t vaddr, uint64_t deadline_ns,
			struct dwarf_range *range, const struct dwarf_walk_ops *ops, void *arg);

#endif
