/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one ELF image by address, for probes: which one holds a place, and how far it
 * reaches. Names are without their symbol version.
 */
#ifndef BPFPROF_ELF_FUNCTIONS_H
#define BPFPROF_ELF_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/debug_file.h"
#include "elf/elf_file.h"

struct function {
	const char *name; /* borrowed from the struct functions */
	uint64_t vaddr;
	uint64_t size; /* bytes; 0: the symbol does not say */
	bool is_ifunc; /* resolver of an indirect function: runs once, when it is bound */
	bool is_label; /* a global symbol of no type, as assembly has them */
};

struct functions {
	struct function *items; /* owned; ascending by (vaddr, fewest underscores, length, name) */
	size_t cnt, cap;
	char *names; /* owned */
	uint64_t end; /* of the last one, where a size says so */
};

/* Of @elf and what was split off it (@debug; NULL: none), neither of which need outlive *@out. 0,
 * functions_deinit(); -ENOMEM. An image without any is no error. */
int functions_from_elf(const struct elf_file *elf, const struct debug_file *debug,
		       struct functions *out);
void functions_deinit(struct functions *functions);

/*
 * The function that holds @vaddr: its size says so, or it has none and begins last before @vaddr.
 * NULL: none. O(functions).
 */
const struct function *functions_at(const struct functions *functions, uint64_t vaddr);

/* The bytes from @function to its end or to where another begins, whichever comes first. 0: nothing
 * says where it ends. */
uint64_t functions_extent(const struct functions *functions, const struct function *function);

/*
 * The start of the function around @vaddr by the table of .eh_frame_hdr, which stripped files have
 * too. 0 and *@out; -ENOENT: there is no such table (only GNU's form of it is read), or nothing
 * begins at or before @vaddr. That it reaches as far as @vaddr is not known.
 */
int unwind_table_start(const struct elf_file *elf, uint64_t vaddr, uint64_t *out);

#endif
