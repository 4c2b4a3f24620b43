/* SPDX-License-Identifier: Apache-2.0 */
/* The pointer encodings of exception-handling data. */
#include "unwind/cfi_pointer.h"

#include <errno.h>

static uint64_t pointer_value(struct reader *rd, uint8_t enc)
{
	switch (enc & CFI_PTR_FORMAT_MASK) {
	case CFI_PTR_ULEB128:
		return reader_uleb128(rd);
	case CFI_PTR_SLEB128:
		return (uint64_t)reader_sleb128(rd);
	case CFI_PTR_UDATA2:
		return reader_u16(rd);
	case CFI_PTR_SDATA2:
		return (uint64_t)(int16_t)reader_u16(rd);
	case CFI_PTR_UDATA4:
		return reader_u32(rd);
	case CFI_PTR_SDATA4:
		return (uint64_t)(int32_t)reader_u32(rd);
	case CFI_PTR_ABS:
	case CFI_PTR_UDATA8:
	case CFI_PTR_SDATA8:
		return reader_u64(rd);
	default:
		rd->err = rd->err ? rd->err : -EBADMSG;
		return 0;
	}
}

static uint64_t pointer_base(struct reader *rd, uint8_t enc, const struct cfi_pointer_bases *bases)
{
	switch (enc & CFI_PTR_BASE_MASK) {
	case CFI_PTR_ABS:
		return 0;
	case CFI_PTR_PCREL:
		return bases->section + reader_offset(rd);
	case CFI_PTR_TEXTREL:
		return bases->text;
	case CFI_PTR_DATAREL:
		return bases->data;
	case CFI_PTR_FUNCREL:
		return bases->func;
	default:
		rd->err = rd->err ? rd->err : -EBADMSG;
		return 0;
	}
}

uint64_t cfi_pointer_read(struct reader *rd, uint8_t enc, const struct cfi_pointer_bases *bases)
{
	uint64_t base = pointer_base(rd, enc, bases);

	if (enc & CFI_PTR_INDIRECT)
		rd->err = rd->err ? rd->err : -EBADMSG;
	return base + pointer_value(rd, enc);
}

void cfi_pointer_skip(struct reader *rd, uint8_t enc)
{
	if (enc != CFI_PTR_OMIT)
		pointer_value(rd, enc);
}
