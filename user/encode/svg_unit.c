/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in the SVG. All in integers: the bytes are the same on every machine and in every locale.
 */
#include "encode/svg.h"

#include <string.h>

#include "base/clock.h"

struct svg_unit svg_unit_of(const char *type, const char *unit)
{
	if (!strcmp(unit, "nanoseconds"))
		return (struct svg_unit){SVG_TIME, unit};
	if (!strcmp(unit, "bytes"))
		return (struct svg_unit){SVG_BYTES, unit};
	if ((!strcmp(unit, "count") || !*unit) && *type)
		return (struct svg_unit){SVG_COUNT, type};
	return (struct svg_unit){SVG_COUNT, *unit ? unit : "samples"};
}

void svg_add_grouped(struct buf *out, uint64_t value)
{
	char digits[32];
	size_t pos = sizeof(digits);

	for (int i = 0; value || !i; i++, value /= 10) {
		if (i && i % 3 == 0)
			digits[--pos] = ',';
		digits[--pos] = (char)('0' + value % 10);
	}
	buf_add(out, digits + pos, sizeof(digits) - pos);
}

void svg_add_fixed(struct buf *out, uint64_t hundredths)
{
	unsigned fraction = hundredths % 100;

	buf_add_u64(out, hundredths / 100);
	if (fraction) {
		buf_add_char(out, '.');
		buf_add_char(out, (char)('0' + fraction / 10));
		if (fraction % 10)
			buf_add_char(out, (char)('0' + fraction % 10));
	}
}

/* @value / @divisor with two decimals, rounded half up. */
static void add_quotient(struct buf *out, uint64_t value, uint64_t divisor)
{
	__uint128_t hundredths = ((__uint128_t)value * 100 + divisor / 2) / divisor;

	svg_add_grouped(out, (uint64_t)(hundredths / 100));
	buf_printf(out, ".%02u", (unsigned)(hundredths % 100));
}

struct magnitude {
	uint64_t from; /* the smallest value written in it, and what it is divided by */
	const char *name;
};

static const struct magnitude times[] = {
	{NSEC_PER_SEC, " s"},
	{NSEC_PER_MSEC, " ms"},
	{NSEC_PER_USEC, " \xc2\xb5s"},
	{1, " ns"},
};

static const struct magnitude sizes[] = {
	{1ULL << 40, " TiB"}, {1ULL << 30, " GiB"}, {1ULL << 20, " MiB"},
	{1ULL << 10, " KiB"}, {1, " bytes"},
};

/* @table ends with the magnitude 1, whose values have no decimals. */
static void add_scaled(struct buf *out, const struct magnitude *table, uint64_t value)
{
	while (value < table->from && table->from > 1)
		table++;
	if (table->from > 1)
		add_quotient(out, value, table->from);
	else
		svg_add_grouped(out, value);
	buf_add_str(out, table->name);
}

void svg_add_value(struct buf *out, const struct svg_unit *unit, int64_t value)
{
	switch (unit->scale) {
	case SVG_TIME:
		add_scaled(out, times, (uint64_t)value);
		break;
	case SVG_BYTES:
		add_scaled(out, sizes, (uint64_t)value);
		break;
	case SVG_COUNT:
		svg_add_grouped(out, (uint64_t)value);
		buf_add_char(out, ' ');
		svg_add_text(out, unit->noun);
		break;
	}
}

void svg_add_percent(struct buf *out, int64_t part, int64_t whole)
{
	__uint128_t hundredths = 0;

	if (whole > 0)
		hundredths = ((__uint128_t)(uint64_t)part * 10000 + (uint64_t)whole / 2) /
			     (uint64_t)whole;
	buf_printf(out, "%u.%02u%%", (unsigned)(hundredths / 100), (unsigned)(hundredths % 100));
}
