/* SPDX-License-Identifier: Apache-2.0 */
/* What options are set to, as a configuration file would have it. */
#include "cli/opts.h"

#include <stdio.h>

struct unit {
	uint64_t scale;
	const char *suffix;
};

static const struct unit time_units[] = {
	{86400000000000ULL, "d"},
	{3600000000000ULL, "h"},
	{60000000000ULL, "m"},
	{1000000000ULL, "s"},
	{1000000ULL, "ms"},
	{1000ULL, "us"},
	{1, "ns"},
	{0, NULL},
};

static const struct unit byte_units[] = {
	{1ULL << 30, "G"}, {1ULL << 20, "M"}, {1ULL << 10, "k"}, {1, ""}, {0, NULL},
};

/* In the largest unit that leaves no rest, so that it is read back as it was. */
static void add_scaled(struct buf *out, uint64_t value, const struct unit *unit)
{
	while (value % unit->scale)
		unit++;
	buf_printf(out, "%llu%s", (unsigned long long)(value / unit->scale), unit->suffix);
}

static void add_line(struct buf *out, const struct opt *opt, const char *value)
{
	buf_printf(out, "%s = %s\n", opt->long_name, value);
}

static void add_number(struct buf *out, const struct opt *opt, uint64_t value)
{
	if (!value)
		return;
	buf_printf(out, "%s = ", opt->long_name);
	if (opt->kind == OPT_DURATION)
		add_scaled(out, value, time_units);
	else if (opt->kind == OPT_BYTES)
		add_scaled(out, value, byte_units);
	else
		buf_add_u64(out, value);
	buf_add_char(out, '\n');
}

static void add_set(struct buf *out, const struct opt *opt, const struct number_set *set)
{
	if (!set->cnt)
		return;
	buf_printf(out, "%s = ", opt->long_name);
	for (size_t i = 0; i < set->cnt; i++)
		buf_printf(out, "%s%u", i ? "," : "", set->items[i]);
	buf_add_char(out, '\n');
}

static void add_list(struct buf *out, const struct opt *opt, const struct opts_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		add_line(out, opt, list->items[i]);
}

static void add_option(struct buf *out, const struct opt *opt, const void *field)
{
	const struct opts_choices *choices = field;

	switch (opt->kind) {
	case OPT_FLAG:
		add_line(out, opt, *(const bool *)field ? "yes" : "no");
		break;
	case OPT_STRING:
		if (*(const char *const *)field)
			add_line(out, opt, *(const char *const *)field);
		break;
	case OPT_LIST:
		add_list(out, opt, field);
		break;
	case OPT_NUMBERS:
		add_set(out, opt, field);
		break;
	case OPT_PERCENT:
		if (*(const double *)field > 0)
			buf_printf(out, "%s = %g\n", opt->long_name, *(const double *)field);
		break;
	case OPT_CHOICE:
	case OPT_CHOICES:
		if (choices->text)
			add_line(out, opt, choices->text);
		break;
	default:
		add_number(out, opt, *(const uint64_t *)field);
	}
}

void opts_print(const struct opts_spec *spec, const void *target, uint32_t skip, struct buf *out)
{
	for (const struct opt *opt = spec->options; opt->kind != OPT_END; opt++) {
		if (opt->kind == OPT_GROUP)
			buf_printf(out, "%s# %s\n", opt == spec->options ? "" : "\n", opt->help);
		else if (opt->long_name && !(opt->flags & skip))
			add_option(out, opt, (const char *)target + opt->offset);
	}
}
