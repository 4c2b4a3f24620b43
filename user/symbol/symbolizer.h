/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for frames: each distinct location of a profile once. Works module by module, sorted by
 * address, so that a symbol index is built once, used, and released. Knows modules (files) and
 * kallsyms, not processes and not BPF.
 */
#ifndef BPFPROF_SYMBOL_SYMBOLIZER_H
#define BPFPROF_SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "proc/kernel_map.h"
#include "proc/module.h"
#include "profile/ledger.h"
#include "profile/profile.h"

struct debuginfod;
struct jit_advice;
struct name_keeper;
struct name_memory;

/* Where else than in a module's file and in the usual folders its symbols may be; all borrowed. */
struct symbol_sources {
	struct debuginfod *debuginfod; /* what servers have sent; NULL: nobody is asked */
	const char *const *debug_dirs; /* --debug-dir: see elf/debug_file.h; NULL: none */
};

/* How a profile that was recorded elsewhere is named (symbol/completion.h). Its kernel is not ours.
 */
struct symbolizer_elsewhere {
	void *arg; /* of the functions */
	/* The vaddr of @address in @mapping's file. */
	uint64_t (*vaddr_of)(void *arg, uint32_t mapping, uint64_t address);
	/* No name was found for @location: give it back the one that it had. False: it had none. */
	bool (*put_back)(void *arg, uint32_t location);
};

struct symbolizer_opts {
	bool no_symbols; /* --no-symbols: [module+0x..] everywhere */
	bool no_inline; /* --no-inline: one line a location, and DWARF is not read */
	bool merge_clones; /* "f.cold" and "f.isra.0" are called "f"; see demangle_trunk_len() */
	/* Borrowed: what earlier runs have learned of names, and where what is learned now goes,
	 * for name_keeper_save(). NULL: nothing is kept. */
	struct name_keeper *keeper;
	/* Borrowed: with no_inline, what the runs before this one have learned of names. NULL:
	 * nothing is remembered. */
	struct name_memory *memory;
	uint64_t lines_budget_ns; /* from the start, for DWARF; 0: as long as it takes */
	struct symbol_sources sources;
	const struct symbolizer_elsewhere *elsewhere; /* NULL: recorded here and now */
	/* Borrowed: what kernel code lay where when it was sampled. NULL, or not read yet: read
	 * now. */
	struct kernel_map *kernel;
	/* CLOCK_MONOTONIC: when what is to be named was sampled; end 0: to this day */
	uint64_t start_ns, end_ns;
	struct jit_advice *jit_advice; /* what was told before, and is told once; NULL: nothing */
	uint64_t names_budget_ns; /* from the start, for all; 0: as long as it takes */
};

/*
 * Name every location of @prof that has no lines yet. @modules[i] (borrowed, NULL where unknown) is
 * the module of mapping i; the kernel's mapping is the one whose path is "[kernel.kallsyms]", and
 * those of its modules have locations with LOCATION_KERNEL too: "[nf_tables]". A module's function
 * that is found in the former moves to the latter. The names of a stripped module come from its
 * debug file where there is one (elf/debug_file.h); files, lines and the calls that were inlined
 * from DWARF (elf/dwarf_index.h), those of a Go program from its own tables (elf/go_symbols.h);
 * those of JIT code from its runtime's lists (symbol/jitdump.h, which knows times and lines, and
 * for what it leaves symbol/perf_map.h).
 *
 * Frames that @opts->lines_budget_ns was too short for have the names of symbols only; they are
 * counted in @frames->lines_cut and told in one line of log_warn(): those of the modules with the
 * fewest samples. A module whose turn comes after @opts->names_budget_ns is not opened any more,
 * which is told likewise. Named locations get a function with demangled and system name; a location
 * without a symbol gets the name "[base+0xvaddr]" ("[anon+0xip]" for JIT memory) and is counted in
 * @frames->unnamed under its reason: no_symbol (file has none there), no_file (gone before it could
 * be opened), not_permitted (we may not read it), file_changed (another has taken its place, or
 * been written into it), bad_elf (its ELF headers cannot be read), jit, kptr_restrict,
 * no_kernel_symbol, unknown_mapping, no_time, not_wanted.
 *
 * Mappings get their HAS_* flags truthfully. A location beyond its module's symbols never fails the
 * rest. Returns 0 or -ENOMEM. The kernel's symbols that kptr_restrict hides are reported once by
 * log_warn with the fix.
 */
int symbolizer_run(struct profile *prof, struct module *const *modules, size_t module_cnt,
		   const struct symbolizer_opts *opts, struct ledger_frames *frames);

#endif
