/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to step out of aarch64 code that no FDE covers but that is known for what it is: the linker's
 * stubs (.plt*), _init and _fini, and the vdso, which has no call frame information since Linux
 * 5.14 and none for its signal trampoline since 5.8. It is small and plain, so the instructions say
 * where the return address is (AArch64 ELF ABI, chapter 10; Arm ARM, C6.2: STP, LDP, ADD, SUB).
 */
#ifndef BPFPROF_UNWIND_STUB_ROWS_H
#define BPFPROF_UNWIND_STUB_ROWS_H

#include <stdint.h>

#include "abi_unwind.h"
#include "elf/cfi_sections.h"

/* From @vaddr on, @rule (borrowed) holds. Called in order of vaddr. */
typedef void stub_row_fn(void *ctx, uint64_t vaddr, const struct bp_rule *rule);

/* The rules of @code, which begins with a function, from its first byte on. Code behind a jump has
 * the frame that branches to it had, and is another function where there are none before it. A
 * signal trampoline's rule begins one byte early: it is looked up as the address before the one
 * that is returned to. O(bytes). 0 or -ENOMEM. */
int stub_rows(const struct elf_bytes *code, stub_row_fn *row, void *ctx);

#endif
