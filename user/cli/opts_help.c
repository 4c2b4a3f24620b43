/* SPDX-License-Identifier: Apache-2.0 */
/* Help and man page from an option table. */
#include "cli/opts_help.h"

#include <string.h>

#include "encode/encoder.h"

enum {
	HELP_INDENT = 28, /* column of the explanations */
	HELP_WIDTH = 96,
};

static const struct opt *const *tables_of(const struct opts_spec *spec,
					  const struct opt *storage[static 3])
{
	storage[0] = spec->options;
	storage[1] = opts_common;
	storage[2] = NULL;
	return storage;
}

/* "-F, --freq HZ" */
static void add_spelling(const struct opt *opt, struct buf *out)
{
	if (opt->short_name)
		buf_printf(out, "-%c%s", opt->short_name, opt->long_name ? ", " : "");
	else
		buf_add_str(out, "    ");
	if (opt->long_name)
		buf_printf(out, "--%s", opt->long_name);
	if (opt->value_name)
		buf_printf(out, opt->flags & OPT_VALUE_OPTIONAL ? "[=%s]" : " %s", opt->value_name);
}

/* @text wrapped between HELP_INDENT and HELP_WIDTH; the cursor is at @column. */
static void add_wrapped(const char *text, size_t column, struct buf *out)
{
	if (column + 1 >= HELP_INDENT)
		buf_printf(out, "\n%*s", HELP_INDENT, "");
	else
		buf_printf(out, "%*s", (int)(HELP_INDENT - column), "");
	column = HELP_INDENT;
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > HELP_INDENT && column + 1 + len > HELP_WIDTH) {
			buf_printf(out, "\n%*s", HELP_INDENT, "");
			column = HELP_INDENT;
		} else if (column > HELP_INDENT) {
			buf_add_char(out, ' ');
			column++;
		}
		buf_add(out, text, len);
		column += len;
		text += len + strspn(text + len, " ");
	}
	buf_add_char(out, '\n');
}

static void add_option(const struct opt *opt, struct buf *out)
{
	size_t start = out->len;

	if (opt->kind == OPT_GROUP) {
		buf_printf(out, "\n%s\n", opt->help);
		return;
	}
	buf_add_str(out, "  ");
	add_spelling(opt, out);
	add_wrapped(opt->help, out->len - start, out);
}

static void add_formats(struct buf *out)
{
	buf_add_str(out, "\nFormats of -o, by extension (* holds one value)\n");
	for (const struct encoder *const *enc = encoder_list(); *enc; enc++) {
		size_t start = out->len;

		buf_printf(out, "  %s%s", (*enc)->extension, (*enc)->is_one_value ? " *" : "");
		add_wrapped((*enc)->help, out->len - start, out);
	}
}

void opts_help(const struct opts_spec *spec, struct buf *out)
{
	const struct opt *storage[3];

	buf_printf(out, "Usage: bpfprof %s\n\n%s.\n", spec->usage, spec->summary);
	if (spec->details)
		buf_printf(out, "%s\n", spec->details);
	for (const struct opt *const *table = tables_of(spec, storage); *table; table++)
		for (const struct opt *opt = *table; opt->kind != OPT_END; opt++)
			add_option(opt, out);
	if (spec->writes_profiles)
		add_formats(out);
	if (!spec->examples)
		return;
	buf_add_str(out, "\nExamples\n");
	for (const struct opts_example *ex = spec->examples; ex->line; ex++)
		buf_printf(out, "  %s\n      %s\n", ex->line, ex->what);
}

void opts_man_text(const char *text, struct buf *out)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			buf_add_str(out, "\\&");
		if (*text == '\\')
			buf_add_str(out, "\\e");
		else if (*text == '-')
			buf_add_str(out, "\\-");
		else
			buf_add_char(out, *text);
		line_start = *text == '\n';
	}
}

static void add_man_option(const struct opt *opt, struct buf *out)
{
	struct buf spelling;
	const char *shown;

	if (opt->kind == OPT_GROUP) {
		buf_printf(out, ".PP\n.I %s\n", opt->help);
		return;
	}
	buf_init(&spelling, BUF_NO_MAX);
	add_spelling(opt, &spelling);
	shown = buf_cstr(&spelling);
	buf_add_str(out, ".TP\n.B ");
	opts_man_text(shown + strspn(shown, " "), out);
	buf_add_char(out, '\n');
	opts_man_text(opt->help, out);
	buf_add_char(out, '\n');
	buf_deinit(&spelling);
}

static void add_man_formats(struct buf *out)
{
	buf_add_str(out, ".PP\n.I Formats of \\-o, by extension (* holds one value)\n");
	for (const struct encoder *const *enc = encoder_list(); *enc; enc++) {
		buf_printf(out, ".TP\n.B \\&%s%s\n", (*enc)->extension,
			   (*enc)->is_one_value ? " *" : "");
		opts_man_text((*enc)->help, out);
		buf_add_char(out, '\n');
	}
}

void opts_man(const struct opts_spec *spec, struct buf *out)
{
	buf_printf(out, ".SS %s\n.B bpfprof\n", spec->name);
	opts_man_text(spec->usage, out);
	buf_add_str(out, "\n.PP\n");
	opts_man_text(spec->summary, out);
	buf_add_str(out, ".\n");
	if (spec->details) {
		opts_man_text(spec->details, out);
		buf_add_char(out, '\n');
	}
	for (const struct opt *opt = spec->options; opt->kind != OPT_END; opt++)
		add_man_option(opt, out);
	if (spec->writes_profiles)
		add_man_formats(out);
	for (const struct opts_example *ex = spec->examples; ex && ex->line; ex++) {
		buf_printf(out, "%s.TP\n.B ", ex == spec->examples ? ".PP\n.I Examples\n" : "");
		opts_man_text(ex->line, out);
		buf_add_char(out, '\n');
		opts_man_text(ex->what, out);
		buf_add_char(out, '\n');
	}
}
