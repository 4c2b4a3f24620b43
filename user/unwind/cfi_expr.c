/* SPDX-License-Identifier: Apache-2.0 */
/* Recognising DWARF expressions (DWARF 5, section 7.7.1). */
#include "unwind/cfi_expr.h"

#include <string.h>

#include "base/reader.h"

enum dw_op {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT15 = OP_LIT0 + 15,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG7 = 0x77,
	OP_BREG16 = 0x80,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
};

static bool breg_read(struct reader *rd, uint64_t *reg, int64_t *off)
{
	uint8_t op = reader_u8(rd);

	if (op >= OP_BREG0 && op <= OP_BREG31)
		*reg = op - OP_BREG0;
	else if (op == OP_BREGX)
		*reg = reader_uleb128(rd);
	else
		return false;
	*off = reader_sleb128(rd);
	return !rd->err;
}

bool cfi_expr_is_reg(const struct cfi_expr *expr, uint64_t *reg, int64_t *off)
{
	struct reader rd;

	reader_init(&rd, expr->ops, expr->len);
	return breg_read(&rd, reg, off) && rd.pos == rd.end;
}

/* "breg index, 0; lit8; mul; plus" when the next operation is no deref. */
static bool index_read(struct reader *rd, struct cfi_deref *out)
{
	int64_t off;

	out->has_index = !reader_done(rd) && *rd->pos != OP_DEREF;
	if (!out->has_index)
		return true;
	return breg_read(rd, &out->index_reg, &off) && !off && reader_u8(rd) == OP_LIT0 + 8 &&
	       reader_u8(rd) == OP_MUL && reader_u8(rd) == OP_PLUS;
}

bool cfi_expr_is_deref(const struct cfi_expr *expr, struct cfi_deref *out)
{
	struct reader rd;

	*out = (struct cfi_deref){0};
	reader_init(&rd, expr->ops, expr->len);
	if (!breg_read(&rd, &out->reg, &out->off) || !index_read(&rd, out) ||
	    reader_u8(&rd) != OP_DEREF)
		return false;
	if (rd.pos != rd.end && !rd.err) {
		if (reader_u8(&rd) != OP_PLUS_UCONST)
			return false;
		out->add = (int64_t)reader_uleb128(&rd);
	}
	return !rd.err && rd.pos == rd.end;
}

bool cfi_expr_is_plt(const struct cfi_expr *expr, uint8_t *limit)
{
	static const uint8_t before[] = {OP_BREG7, 8, OP_BREG16, 0, OP_LIT15, OP_AND};
	static const uint8_t after[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};
	const uint8_t *at = expr->ops;
	uint8_t literal;

	if (expr->len != sizeof(before) + 1 + sizeof(after))
		return false;
	literal = at[sizeof(before)];
	if (memcmp(at, before, sizeof(before)) ||
	    memcmp(at + sizeof(before) + 1, after, sizeof(after)) || literal < OP_LIT0 ||
	    literal > OP_LIT31)
		return false;
	*limit = literal - OP_LIT0;
	return true;
}
