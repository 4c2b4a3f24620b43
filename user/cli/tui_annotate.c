/* SPDX-License-Identifier: Apache-2.0 */
/* One function by line or by instruction: see tui.h. */
#include <errno.h>
#include <string.h>

#include "cli/tui.h"

static const char *source_path(const struct report *report, uint32_t row)
{
	uint32_t function = report->table->rows[row].function;

	return function == PROFILE_NONE
		       ? ""
		       : profile_str(report->prof, report->prof->functions[function].file);
}

static int read_source(struct tui_code *code, const struct report *report, uint32_t row)
{
	int err = source_text_read(source_path(report, row), &code->source, &code->source_why);
	const struct annotation *lines = &code->lines;

	if (!err && lines->cnt && lines->parts[lines->cnt - 1].at > code->source.cnt)
		buf_printf(&code->source_why,
			   "%s has fewer lines than what was profiled: another version",
			   source_path(report, row));
	return err == -ENOENT ? 0 : err;
}

static int read_code(struct tui_code *code, const struct report *report, uint32_t row)
{
	const struct annotation_part *hottest = annotation_hottest(&code->addresses);
	int err;

	if (!hottest) {
		buf_add_str(&code->code_why, "no address of it is known");
		return 0;
	}
	err = function_code_find(report->prof, report->table->rows[row].mapping, hottest->at,
				 &code->function, &code->code_why);
	if (!err)
		err = disasm_init(&code->disasm, &code->function.code);
	if (err == -ENOTSUP)
		buf_add_str(&code->code_why, "code of a machine that is not disassembled here");
	return err == -ENOENT || err == -ENOTSUP ? 0 : err;
}

/* Is a line known of anything that the function had? */
static bool has_lines(const struct tui_code *code)
{
	return code->lines.cnt && code->lines.parts[code->lines.cnt - 1].at;
}

int tui_code_init(struct tui_code *code, const struct report *report, uint32_t row)
{
	int err;

	*code = (struct tui_code){0};
	buf_init(&code->source_why, BUF_NO_MAX);
	buf_init(&code->code_why, BUF_NO_MAX);
	err = annotation_init(&code->lines, report, row, ANNOTATE_LINES);
	if (!err)
		err = annotation_init(&code->addresses, report, row, ANNOTATE_ADDRESSES);
	if (!err)
		err = read_source(code, report, row);
	if (!err)
		err = read_code(code, report, row);
	code->by_insn = !has_lines(code);
	return err;
}

void tui_code_deinit(struct tui_code *code)
{
	annotation_deinit(&code->lines);
	annotation_deinit(&code->addresses);
	source_text_deinit(&code->source);
	function_code_deinit(&code->function);
	disasm_deinit(&code->disasm);
	buf_deinit(&code->source_why);
	buf_deinit(&code->code_why);
	*code = (struct tui_code){0};
}

/* Are all lines of the file shown, or all instructions? Else only those that have anything. */
static bool is_whole(const struct tui_code *code)
{
	return code->by_insn ? code->disasm.cnt > 0 : code->source.cnt > 0 && !code->source_why.len;
}

size_t tui_code_cnt(const struct tui_code *code)
{
	if (is_whole(code))
		return code->by_insn ? code->disasm.cnt : code->source.cnt;
	return code->by_insn ? code->addresses.cnt : code->lines.cnt;
}

void tui_code_get(const struct tui_code *code, size_t index, struct tui_code_row *out)
{
	const struct annotation *annotation = code->by_insn ? &code->addresses : &code->lines;
	struct annotation_part part;

	if (!is_whole(code)) {
		part = annotation->parts[index];
		out->at = part.at;
	} else if (code->by_insn) {
		const struct disasm_insn *insn = &code->disasm.insns[index];
		uint64_t from = insn->vaddr - code->function.shift;

		part = annotation_sum(annotation, from, from + insn->len);
		out->at = insn->vaddr;
		buf_add_str(&out->text, disasm_text(&code->disasm, index));
	} else {
		part = annotation_sum(annotation, index + 1, index + 2);
		out->at = index + 1;
		source_text_line(&code->source, index + 1, &out->text);
	}
	out->self = part.self;
	out->total = part.total;
}

/* The row that shows @at. */
static size_t row_of(const struct tui_code *code, uint64_t at)
{
	const struct annotation *annotation = code->by_insn ? &code->addresses : &code->lines;
	size_t row = 0;

	if (!is_whole(code)) {
		while (row < annotation->cnt && annotation->parts[row].at != at)
			row++;
	} else if (!code->by_insn) {
		row = at ? at - 1 : 0;
	} else {
		at += code->function.shift;
		while (row + 1 < code->disasm.cnt && code->disasm.insns[row + 1].vaddr <= at)
			row++;
	}
	return row;
}

size_t tui_code_hottest(const struct tui_code *code)
{
	const struct annotation_part *part =
		annotation_hottest(code->by_insn ? &code->addresses : &code->lines);

	return part ? row_of(code, part->at) : 0;
}

const char *tui_code_why(const struct tui_code *code)
{
	return buf_cstr(code->by_insn ? &code->code_why : &code->source_why);
}
