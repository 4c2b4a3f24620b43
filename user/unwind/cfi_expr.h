/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognising the DWARF expressions that compilers and linkers write into call frame information.
 * There are few; a rule has a form for each, so none is ever evaluated in general.
 */
#ifndef BPFPROF_UNWIND_CFI_EXPR_H
#define BPFPROF_UNWIND_CFI_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi_state.h"

/* reg + off: the home of a register in a realigned frame (GCC). */
bool cfi_expr_is_reg(const struct cfi_expr *expr, uint64_t *reg, int64_t *off);

/*
 * *(reg + off + 8 * index) + add: the CFA kept on the stack. GCC's realigned frames have neither
 * index nor add; OpenSSL's assembly has both.
 */
struct cfi_deref {
	uint64_t reg;
	int64_t off, add;
	bool has_index;
	uint64_t index_reg;
};

bool cfi_expr_is_deref(const struct cfi_expr *expr, struct cfi_deref *out);

/*
 * rsp + 8 + ((rip & 15) >= limit ? 8 : 0): the linker's lazy PLT entries on x86-64, 16 bytes each,
 * with one push in the middle.
 */
bool cfi_expr_is_plt(const struct cfi_expr *expr, uint8_t *limit);

#endif
