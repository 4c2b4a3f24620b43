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

struct module_symbols {
	const struct module *module; /* borrowed */
	const char *reason; /* why nothing in this module has a name; the rest is empty then */
	struct elf_file *elf; /* owned */
	struct symtab *symtab; /* owned */
	struct go_symbols *go; /* owned; NULL unless it has Go code */
	struct debug_file symbols_file; /* owned: the symbols that were split off elf */
	struct debug_file lines_file; /* owned: the lines, where they alone were */
	struct dwarf_index *dwarf; /* owned; NULL until asked for, and when there is none */
	bool is_dwarf_tried;
	int dwarf_err; /* why there is none: negative errno */
};

/*
 * Open the tables of @module (borrowed for the life of @out; NULL: not known, its name is @path).
 * 0 and *@out (module_symbols_deinit()), also when there is nothing, for the reason that it says:
 * no_file, file_changed, bad_elf, jit, unknown_mapping; -ENOMEM.
 */
int module_symbols_load(const struct module *module, const char *path, struct module_symbols *out);
void module_symbols_deinit(struct module_symbols *syms);

/*
 * The function at @vaddr and what is inlined there, with lines, from DWARF: innermost first, into
 * @out. Strings are borrowed until the next call. Returns how many; -ENOENT: nothing is known;
 * -ETIME: CLOCK_MONOTONIC @deadline_ns (0: none; that of the first call counts) has passed;
 * -ENOMEM.
 */
int module_symbols_chain(struct module_symbols *syms, uint64_t vaddr, uint64_t deadline_ns,
			 struct dwarf_frame out[static DWARF_FRAMES_MAX]);

#endif
