/* SPDX-License-Identifier: Apache-2.0 */
/* The procedure linkage table: which stub jumps to which imported function. */
#ifndef BPFPROF_ELF_PLT_H
#define BPFPROF_ELF_PLT_H

#include <stdint.h>

#include "elf/elf_file.h"

/* Called for each stub; @name is an offset into .dynstr. A non-zero result ends the walk. */
typedef int plt_stub_fn(void *arg, uint64_t vaddr, uint64_t size_bytes, uint32_t name);

/*
 * Decode the stubs of .plt, .plt.sec and .plt.got (x86-64, aarch64): each loads the address of its
 * target from one GOT slot, and the dynamic relocation of that slot names it. Going by the slot
 * holds for every linker's layout and order; other machines have no stubs here. Returns 0, -ENOMEM,
 * or what @fn returned.
 */
int plt_for_each(const struct elf_file *elf, plt_stub_fn *fn, void *arg);

#endif
