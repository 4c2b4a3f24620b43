/* SPDX-License-Identifier: Apache-2.0 */
/* The function symbols of one ELF image, by address: its own, or those split off it. */
#ifndef BPFPROF_ELF_SYMTAB_H
#define BPFPROF_ELF_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/debug_file.h"
#include "elf/elf_file.h"

/* Where the names come from, best first. */
enum symtab_source {
	SYMTAB_NONE, /* the image names no function */
	SYMTAB_FULL, /* .symtab, its own or a debug file's */
	SYMTAB_MINI, /* .gnu_debugdata and .dynsym */
	SYMTAB_DYNAMIC, /* .dynsym: exported functions only */
};

struct symtab;

/* A name as it stands in the string table, without a symbol version. */
struct symtab_name {
	const char *str; /* borrowed from the images; not NUL-terminated at len */
	size_t len;
	bool is_plt; /* a PLT entry: to be shown as "<str>@plt" */
	uint64_t start, end; /* the vaddrs that this name covers around the one asked for */
};

/*
 * Index the functions of @elf, with the symbols that were split off it (@debug, from
 * debug_file_find(); NULL: none). Both must outlive the result. Its own .symtab, else that of a
 * DEBUG_FULL, else that of a DEBUG_MINI together with .dynsym, else .dynsym; what is code, and the
 * PLT entries, is always @elf's word. *@out is *owned* (symtab_free()), also when it turns out to
 * be empty. Returns 0 or -ENOMEM; a damaged table counts as absent.
 */
int symtab_from_elf(const struct elf_file *elf, const struct debug_file *debug,
		    struct symtab **out);

/* A symbol that names code, as its table has it. */
struct elf_function {
	const char *name; /* without a version; borrowed until the call returns */
	uint64_t vaddr;
	uint64_t size_bytes; /* 0: not said */
	bool is_ifunc; /* vaddr is that of a resolver, which chooses the function when it is linked
			*/
	bool is_label; /* without a type: assembly's, or a place inside a function */
	bool is_local;
};

/* A non-zero result ends the walk. */
typedef int elf_function_fn(void *arg, const struct elf_function *function);

/*
 * Call @fn for each function symbol of the tables that symtab_from_elf() would take, in table
 * order, several for one address included; PLT entries are none. *@source says which tables these
 * are. 0, -ENOMEM, or what @fn returned.
 */
int symtab_for_each(const struct elf_file *elf, const struct debug_file *debug, elf_function_fn *fn,
		    void *arg, enum symtab_source *source);

/* Does the .symtab of @elf name any code? False for a stripped image. O(1) for usual files. */
bool symtab_is_full(const struct elf_file *elf);

void symtab_free(struct symtab *symtab);

enum symtab_source symtab_source(const struct symtab *symtab);

/* The ranges it holds, for statistics and tests. */
size_t symtab_range_cnt(const struct symtab *symtab);

/* The function at @vaddr. 0 and *@out; -ENOENT when no symbol covers it. O(log symbols). */
int symtab_find(const struct symtab *symtab, uint64_t vaddr, struct symtab_name *out);

#endif
