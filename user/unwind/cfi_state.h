/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of the table that a CFI program describes (DWARF 5, section 6.4.1), with only the columns
 * that a step needs: the CFA, the caller's frame pointer and the return address.
 */
#ifndef BPFPROF_UNWIND_CFI_STATE_H
#define BPFPROF_UNWIND_CFI_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* DWARF register numbers that matter, per machine. */
struct cfi_arch {
	uint16_t machine; /* EM_* */
	uint8_t fp_reg, sp_reg;
	uint8_t bx_reg; /* x86-64: rbx, see struct bp_rows; elsewhere no register's number */
	uint8_t ra_reg; /* the column that holds the return address by convention */
	/* The registers that pass data to a landing pad, as a mask; who saves them all ends in
	 * __builtin_eh_return(). 0: not followed (GCC's EH_RETURN_DATA_REGNO). */
	uint8_t eh_data_regs;
};

extern const struct cfi_arch cfi_arch_x86_64, cfi_arch_aarch64;

/* The register numbers of @machine (EM_*), or NULL: not a machine of ours. */
const struct cfi_arch *cfi_arch_of(uint16_t machine);

/* An expression's bytes; borrowed from the section. */
struct cfi_expr {
	const uint8_t *ops;
	uint32_t len;
};

enum cfi_how {
	CFI_SAME = 0, /* same value, or no rule given: not touched yet */
	CFI_UNDEFINED,
	CFI_AT_CFA, /* *(CFA + off) */
	CFI_VAL_CFA, /* CFA + off */
	CFI_IN_REG, /* the value of register `off` */
	CFI_AT_EXPR, /* *(expr) */
	CFI_VAL_EXPR, /* expr */
};

/* How to recover one register. */
struct cfi_saved {
	enum cfi_how how;
	union {
		int64_t off;
		struct cfi_expr expr;
	};
};

struct cfi_state {
	bool has_cfa; /* some instruction has set it */
	bool cfa_is_expr;
	uint64_t cfa_reg;
	union {
		int64_t cfa_off;
		struct cfi_expr cfa_expr;
	};
	struct cfi_saved fp, ra, bx;
	uint8_t eh_saved; /* those of eh_data_regs that are saved */
};

#endif
