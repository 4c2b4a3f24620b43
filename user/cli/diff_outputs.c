/* SPDX-License-Identifier: Apache-2.0 */
/* From a difference to stdout and files. */
#include "cli/diff_outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/outputs.h"
#include "encode/diff_page.h"
#include "encode/encoder.h"

const struct opt_choice diff_sort_choices[] = {
	{"change", DIFF_BY_CHANGE},
	{"self", DIFF_BY_SELF},
	{"percent", DIFF_BY_PERCENT},
	{"before", DIFF_BY_BEFORE},
	{"after", DIFF_BY_AFTER},
	{"name", DIFF_BY_NAME},
	{NULL},
};

const struct opt_choice diff_width_choices[] = {
	{"after", DIFF_WIDTH_AFTER},
	{"before", DIFF_WIDTH_BEFORE},
	{"max", DIFF_WIDTH_MAX},
	{"sum", DIFF_WIDTH_SUM},
	{NULL},
};

enum diff_format { DIFF_TEXT, DIFF_MARKDOWN, DIFF_JSON };

const struct opt_choice diff_format_choices[] = {
	{"text", DIFF_TEXT},
	{"md", DIFF_MARKDOWN},
	{"json", DIFF_JSON},
	{NULL},
};

static int write_svg(const struct diff_report *report, const struct diff_opts *opts,
		     struct buf *out)
{
	return diff_page_svg(report, (enum diff_width)opts->width.bits, opts->title, out);
}

static int write_html(const struct diff_report *report, const struct diff_opts *opts,
		      struct buf *out)
{
	return diff_page_html(report, (enum diff_width)opts->width.bits, opts->title, NULL, out);
}

static int write_folded(const struct diff_report *report, const struct diff_opts *opts,
			struct buf *out)
{
	return diff_page_folded(report, out);
}

static int write_markdown(const struct diff_report *report, const struct diff_opts *opts,
			  struct buf *out)
{
	diff_report_markdown(report, out);
	return out->err;
}

static int write_json(const struct diff_report *report, const struct diff_opts *opts,
		      struct buf *out)
{
	diff_report_json(report, out);
	return out->err;
}

/* Formats that know what a difference is. Those that hold several values get the joined profile. */
static const struct {
	const char *extension;
	int (*write)(const struct diff_report *report, const struct diff_opts *opts,
		     struct buf *out);
} formats[] = {
	{".html", write_html},	 {".svg", write_svg},	{".folded", write_folded},
	{".md", write_markdown}, {".json", write_json},
};

enum { FORMAT_CNT = sizeof(formats) / sizeof(*formats), FORMAT_FOLDED = 2 };

/* Index into formats; FORMAT_CNT: none of them. */
static size_t format_of(const char *path)
{
	size_t len = strlen(path), i;

	if (!strcmp(path, "-"))
		return FORMAT_FOLDED;
	for (i = 0; i < FORMAT_CNT; i++) {
		size_t tail = strlen(formats[i].extension);

		if (len > tail && !strcmp(path + len - tail, formats[i].extension))
			break;
	}
	return i;
}

static bool has_format(const char *path)
{
	const struct encoder *encoder = encoder_for_path(path);

	return format_of(path) < FORMAT_CNT || (encoder && !encoder->is_one_value);
}

static int open_file(const struct diff_opts *opts, const char *path, struct diff_outputs *out,
		     struct buf *why)
{
	struct diff_file *file = &out->files[out->cnt];
	int err;

	if (!has_format(path)) {
		buf_printf(
			why,
			"output '%s': a difference can be .html, .svg, .folded, .md or .json, or, "
			"as values before, after and delta, .pb.gz or .speedscope.json",
			path);
		return -EINVAL;
	}
	for (size_t i = 0; i < out->cnt; i++) {
		if (!fs_output_is_same(out->files[i].path, path))
			continue;
		buf_printf(why, "output '%s' is named twice", path);
		return -EINVAL;
	}
	err = fs_output_open(path, opts->force, &file->file);
	if (err) {
		output_log_error(path, err);
		return err;
	}
	file->path = path;
	file->is_open = true;
	out->has_stdout |= fs_output_is_stdout(path);
	out->cnt++;
	return 0;
}

int diff_outputs_open(const struct diff_opts *opts, struct diff_outputs *out, struct buf *why)
{
	int err = 0;

	*out = (struct diff_outputs){.files = calloc(opts->outputs.cnt + 1, sizeof(*out->files))};
	if (!out->files)
		return -ENOMEM;
	viewer_init(&out->viewer, opts->open);
	for (size_t i = 0; i < opts->outputs.cnt && !err; i++)
		err = open_file(opts, opts->outputs.items[i], out, why);
	return err;
}

void diff_outputs_deinit(struct diff_outputs *outputs)
{
	for (size_t i = 0; i < outputs->cnt; i++)
		if (outputs->files[i].is_open)
			fs_output_abandon(&outputs->files[i].file);
	free(outputs->files);
	viewer_deinit(&outputs->viewer);
	*outputs = (struct diff_outputs){0};
}

static int encode(const struct diff_report *report, const struct diff_opts *opts, const char *path,
		  struct buf *out)
{
	struct encoder_opts how = {
		.value = DIFF_AFTER, .by = report->diff->by, .title = opts->title};
	size_t format = format_of(path);

	if (format < FORMAT_CNT)
		return formats[format].write(report, opts, out);
	return encoder_for_path(path)->encode(&report->diff->joined, &how, out);
}

static int write_file(const struct diff_report *report, const struct diff_opts *opts,
		      struct diff_file *file)
{
	_cleanup_(buf_deinit) struct buf data;
	int err;

	buf_init(&data, BUF_NO_MAX);
	err = encode(report, opts, file->path, &data);
	if (!err)
		err = data.err;
	if (!err) {
		err = fs_output_commit(&file->file, buf_cstr(&data), data.len);
		file->is_open = false;
	}
	if (err)
		output_log_error(file->path, err);
	else if (!fs_output_is_stdout(file->path))
		log_info("wrote %s", file->path);
	return err;
}

/* Where stdout carries one of the files, the warnings still have to be seen. */
static int print_report(const struct diff_opts *opts, const struct diff_outputs *outputs,
			const struct diff_report *report)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	if (outputs->has_stdout) {
		for (size_t i = 0; i < report->warnings.cnt; i++)
			log_warn("%s", report->warnings.items[i]);
		return CLI_OK;
	}
	if (opts->format.bits == DIFF_MARKDOWN)
		diff_report_markdown(report, &text);
	else if (opts->format.bits == DIFF_JSON)
		diff_report_json(report, &text);
	else
		diff_report_text(report, &text);
	return cli_print(&text);
}

int diff_outputs_show(const struct diff_opts *opts, struct diff_outputs *outputs,
		      struct diff_report *report)
{
	const char *page = NULL;
	int status, err;

	report->limit = opts->limit;
	report->fail_above = opts->fail_above;
	err = diff_report_conclude(report);
	if (err) {
		log_error("diff: %s", strerror(-err));
		return CLI_FAILED;
	}
	status = print_report(opts, outputs, report);
	for (size_t i = 0; i < outputs->cnt; i++) {
		struct diff_file *file = &outputs->files[i];

		if (write_file(report, opts, file))
			status = CLI_FAILED;
		else if (!page && viewer_can_show(file->path))
			page = file->path;
	}
	viewer_show(&outputs->viewer, page);
	for (size_t i = 0; i < report->regressions.cnt; i++)
		log_error("%s", report->regressions.items[i]);
	return report->regressions.cnt ? CLI_FAILED : status;
}
