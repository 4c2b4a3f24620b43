/* SPDX-License-Identifier: Apache-2.0 */
/* The pointer encodings of exception-handling data (LSB 5.0, section 10.5). */
#ifndef BPFPROF_UNWIND_CFI_POINTER_H
#define BPFPROF_UNWIND_CFI_POINTER_H

#include <stdint.h>

#include "base/reader.h"

enum cfi_pointer_enc {
	CFI_PTR_ABS = 0x00,
	CFI_PTR_ULEB128 = 0x01,
	CFI_PTR_UDATA2 = 0x02,
	CFI_PTR_UDATA4 = 0x03,
	CFI_PTR_UDATA8 = 0x04,
	CFI_PTR_SLEB128 = 0x09,
	CFI_PTR_SDATA2 = 0x0a,
	CFI_PTR_SDATA4 = 0x0b,
	CFI_PTR_SDATA8 = 0x0c,
	CFI_PTR_FORMAT_MASK = 0x0f,
	CFI_PTR_PCREL = 0x10,
	CFI_PTR_TEXTREL = 0x20,
	CFI_PTR_DATAREL = 0x30,
	CFI_PTR_FUNCREL = 0x40,
	CFI_PTR_BASE_MASK = 0x70,
	CFI_PTR_INDIRECT = 0x80,
	CFI_PTR_OMIT = 0xff,
};

/* What relative pointers are relative to; addresses of the ELF file. */
struct cfi_pointer_bases {
	uint64_t section, text, data, func;
};

/*
 * The pointer at @rd's cursor; @rd starts at the section's first byte. Indirect, aligned and
 * unknown encodings fail the reader: what an indirect pointer means is only known at run time.
 */
uint64_t cfi_pointer_read(struct reader *rd, uint8_t enc, const struct cfi_pointer_bases *bases);

/* Skip a pointer, of which only the size matters (a personality routine may be indirect). */
void cfi_pointer_skip(struct reader *rd, uint8_t enc);

#endif
