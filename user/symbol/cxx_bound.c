/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The estimate needs no grammar. Walking over the name, `sum` is the length of everything so far.
 * What refers back is recognised wherever its letters stand, also inside identifiers, which can
 * only make the result larger:
 *
 *	S<n>_   the n-th type so far. It was complete when a type numbered n or higher was first
 *		referred to, so it is no longer than the sum was then.
 *	T<n>_   a template argument: at most everything so far.
 *	Dp, sp  the pattern behind it once for each argument of a pack: at most times the name's
 *		length. Only a pattern with a T<n>_ in it, or an S<n>_ that may hold one, is
 *		repeated; and one that is just T<n>_ makes no more than the pack itself. An
 *		identifier as "11json_spirit" is passed over, unless it has letters that could
 *		make it something else.
 *	cv .. T a conversion operator refers to arguments that only come behind it: squared.
 */
#include "symbol/cxx_bound.h"

#include <stdbool.h>
#include <string.h>

enum {
	TYPES_MAX = 256 /* referred to by their number; higher ones count as everything so far */
};

struct bound {
	const char *name;
	size_t len;
	size_t pos;
	uint64_t sum;
	uint64_t factor;
	uint64_t packs_factor; /* of the Dp and sp that no T<n>_ or S<n>_ has followed yet */
	bool has_argument; /* a T<n>_ has been seen */
	bool has_conversion;
	uint32_t type_cnt; /* types that have been referred to, or have a lower number */
	uint64_t type_len[TYPES_MAX];
};

static uint64_t saturate(uint64_t value)
{
	return value < UINT32_MAX ? value : UINT32_MAX;
}

static bool is_at(const struct bound *bnd, size_t pos, const char *chars)
{
	return pos < bnd->len && bnd->name[pos] && strchr(chars, bnd->name[pos]);
}

/* The number between the cursor's letter and a '_', counted from 0 for none; false when there is
 * no '_'. The cursor is left alone. */
static bool read_number(const struct bound *bnd, size_t pos, uint32_t base, uint32_t *out,
			size_t *end_out)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	uint32_t number = 0;
	size_t begin = pos;

	while (pos < bnd->len && bnd->name[pos] != '_') {
		const char *digit = bnd->name[pos] ? strchr(digits, bnd->name[pos]) : NULL;

		if (!digit || digit - digits >= (long)base)
			return false;
		if (number < TYPES_MAX)
			number = number * base + (uint32_t)(digit - digits);
		pos++;
	}
	if (pos >= bnd->len)
		return false;
	*out = pos > begin ? number + 1 : 0;
	*end_out = pos + 1;
	return true;
}

static uint64_t type_bound(struct bound *bnd, uint32_t number)
{
	if (number >= TYPES_MAX)
		return bnd->sum;
	while (bnd->type_cnt <= number)
		bnd->type_len[bnd->type_cnt++] = bnd->sum;
	return bnd->type_len[number];
}

/* Is what stands at @pos a template parameter, or a reference or pointer to one? */
static bool is_parameter(const struct bound *bnd, size_t pos)
{
	uint32_t number;

	while (is_at(bnd, pos, "ORKPV"))
		pos++;
	return is_at(bnd, pos, "T") && read_number(bnd, pos + 1, 10, &number, &pos);
}

/* The length of the identifier at the cursor, its number included; 0 when it may be none. */
static size_t plain_identifier(const struct bound *bnd)
{
	size_t pos = bnd->pos, len = 0;

	while (is_at(bnd, pos, "0123456789") && len < bnd->len)
		len = len * 10 + (size_t)(bnd->name[pos++] - '0');
	if (!len || len > bnd->len - pos)
		return 0;
	for (size_t i = pos; i < pos + len; i++) {
		if (is_at(bnd, i, "DESTX"))
			return 0;
	}
	return pos + len - bnd->pos;
}

static void use_packs(struct bound *bnd)
{
	bnd->factor = saturate(bnd->factor * bnd->packs_factor);
	bnd->packs_factor = 1;
}

/* Account for what begins at the cursor and move behind it. */
static void step(struct bound *bnd)
{
	const char *at = bnd->name + bnd->pos;
	size_t left = bnd->len - bnd->pos;
	size_t skip = plain_identifier(bnd);
	uint32_t number;
	size_t end;

	if (skip) {
		bnd->sum += skip;
		bnd->pos += skip;
		return;
	}
	if (*at == 'S' && read_number(bnd, bnd->pos + 1, 36, &number, &end)) {
		bnd->sum += type_bound(bnd, number);
		bnd->pos = end;
		if (bnd->has_argument)
			use_packs(bnd);
		return;
	}
	if (*at == 'T' && read_number(bnd, bnd->pos + 1, 10, &number, &end)) {
		bnd->sum *= 2;
		bnd->pos = end;
		bnd->has_argument = true;
		use_packs(bnd);
		return;
	}
	if (left >= 2 && (!memcmp(at, "Dp", 2) || !memcmp(at, "sp", 2)) &&
	    !is_parameter(bnd, bnd->pos + 2))
		bnd->packs_factor = saturate(bnd->packs_factor * bnd->len);
	if (left >= 2 && !memcmp(at, "cv", 2) && is_parameter(bnd, bnd->pos + 2))
		bnd->has_conversion = true;
	bnd->sum++;
	bnd->pos++;
}

uint32_t cxx_demangled_bound(const char *name, size_t len)
{
	struct bound bnd = {.name = name, .len = len, .factor = 1, .packs_factor = 1};

	while (bnd.pos < len) {
		step(&bnd);
		bnd.sum = saturate(bnd.sum);
	}
	if (bnd.has_conversion)
		bnd.sum *= bnd.sum;
	return (uint32_t)saturate(saturate(bnd.sum) * bnd.factor);
}
