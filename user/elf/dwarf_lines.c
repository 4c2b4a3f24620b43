/* SPDX-License-Identifier: Apache-2.0 */
/* Running line number programs, once to index them and in short pieces to look addresses up. */
#include "elf/dwarf_lines.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"
#include "elf/dwarf_const.h"
#include "elf/dwarf_line_files.h"

enum step {
	STEP_NONE, /* registers changed */
	STEP_ROW,
	STEP_END, /* the row behind the last of a run: its address is the run's end */
};

struct machine {
	const struct dwarf_lines *lines;
	struct reader rd;
	struct dwarf_line_row row; /* the registers */
};

static void machine_reset(struct machine *machine)
{
	machine->row = (struct dwarf_line_row){.file = 1, .line = 1};
}

static struct machine machine_at(const struct dwarf_lines *lines, uint64_t off)
{
	struct machine machine = {.lines = lines};

	machine.rd = dwarf_reader(lines->image, DWARF_LINE, off);
	if (!machine.rd.err)
		machine.rd.end = machine.rd.start + lines->end;
	machine_reset(&machine);
	return machine;
}

static void advance(struct machine *machine, uint64_t operations)
{
	machine->row.vaddr += operations * machine->lines->instruction_bytes;
}

static enum step step_special(struct machine *machine, uint8_t opcode)
{
	const struct dwarf_lines *lines = machine->lines;
	uint8_t adjusted = (uint8_t)(opcode - lines->opcode_base);

	advance(machine, adjusted / lines->line_range);
	machine->row.line += (uint32_t)(lines->line_base + adjusted % lines->line_range);
	return STEP_ROW;
}

static enum step step_extended(struct machine *machine)
{
	struct reader operands = reader_sub(&machine->rd, reader_uleb128(&machine->rd));
	uint8_t opcode = reader_u8(&operands);
	size_t bytes = reader_left(&operands);

	if (operands.err)
		return STEP_NONE; /* an empty one passes, a cut one has ended machine->rd */
	if (opcode == DW_LNE_end_sequence)
		return STEP_END;
	if (opcode == DW_LNE_set_address && (bytes == 4 || bytes == 8))
		machine->row.vaddr = dwarf_read_uint(&operands, (unsigned int)bytes);
	return STEP_NONE;
}

/* An opcode that changes nothing we keep: its operands are numbers. */
static void skip_operands(struct machine *machine, uint8_t opcode)
{
	struct reader counts = dwarf_reader(machine->lines->image, DWARF_LINE,
					    machine->lines->opcode_operands_off + opcode - 1);

	for (uint8_t left = reader_u8(&counts); left; left--)
		reader_uleb128(&machine->rd);
}

static enum step machine_step(struct machine *machine)
{
	struct reader *rd = &machine->rd;
	uint8_t opcode = reader_u8(rd);

	if (opcode >= machine->lines->opcode_base)
		return step_special(machine, opcode);
	switch (opcode) {
	case 0:
		return step_extended(machine);
	case DW_LNS_copy:
		return STEP_ROW;
	case DW_LNS_advance_pc:
		advance(machine, reader_uleb128(rd));
		break;
	case DW_LNS_advance_line:
		machine->row.line += (uint32_t)reader_sleb128(rd);
		break;
	case DW_LNS_set_file:
		machine->row.file = (uint32_t)reader_uleb128(rd);
		break;
	case DW_LNS_set_column:
		machine->row.column = (uint32_t)reader_uleb128(rd);
		break;
	case DW_LNS_const_add_pc:
		advance(machine,
			(UINT8_MAX - machine->lines->opcode_base) / machine->lines->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		machine->row.vaddr += reader_u16(rd);
		break;
	default:
		skip_operands(machine, opcode);
		break;
	}
	return STEP_NONE;
}

/* --- The index --- */

/* The run that is being read. */
struct builder {
	struct dwarf_lines lines;
	struct dwarf_line_run run;
	size_t rows_cnt; /* of the run */
	uint64_t last_vaddr;
	bool is_broken; /* addresses went back: the rest of it cannot be searched */
};

static int add_chunk(struct builder *builder, const struct machine *machine)
{
	struct dwarf_lines *lines = &builder->lines;
	int err = array_reserve(&lines->chunks, &lines->chunks_cap, lines->chunks_cnt + 1,
				sizeof(*lines->chunks));

	if (!err)
		lines->chunks[lines->chunks_cnt++] = (struct dwarf_line_chunk){
			.row = machine->row,
			.next_off = reader_offset(&machine->rd),
		};
	return err;
}

static int add_row(struct builder *builder, const struct machine *machine)
{
	uint64_t vaddr = machine->row.vaddr;

	if (!builder->rows_cnt) {
		builder->run = (struct dwarf_line_run){
			.lo = vaddr,
			.chunks_at = (uint32_t)builder->lines.chunks_cnt,
		};
		builder->is_broken = false;
	} else if (builder->is_broken || vaddr < builder->last_vaddr) {
		builder->is_broken = true;
		return 0;
	}
	builder->last_vaddr = vaddr;
	if (builder->rows_cnt++ % LINES_CHUNK_ROWS)
		return 0;
	return add_chunk(builder, machine);
}

static int end_run(struct builder *builder, uint64_t end_vaddr)
{
	struct dwarf_lines *lines = &builder->lines;
	struct dwarf_line_run run = builder->run;
	int err;

	run.hi = builder->is_broken ? builder->last_vaddr : end_vaddr;
	run.chunks_cnt = (uint32_t)(lines->chunks_cnt - run.chunks_at);
	/* Of a function that the linker has dropped nothing is kept. */
	if (!builder->rows_cnt || !dwarf_image_is_code(lines->image, run.lo, run.hi)) {
		if (builder->rows_cnt)
			lines->chunks_cnt = run.chunks_at;
		builder->rows_cnt = 0;
		return 0;
	}
	builder->rows_cnt = 0;
	err = array_reserve(&lines->runs, &lines->runs_cap, lines->runs_cnt + 1,
			    sizeof(*lines->runs));
	if (!err)
		lines->runs[lines->runs_cnt++] = run;
	return err;
}

static int compare_runs(const void *left, const void *right)
{
	const struct dwarf_line_run *a = left, *b = right;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return (a->chunks_at > b->chunks_at) - (a->chunks_at < b->chunks_at);
}

static int index_program(struct builder *builder)
{
	struct dwarf_lines *lines = &builder->lines;
	struct machine machine = machine_at(lines, lines->program_off);
	int err = 0;

	while (!err && !reader_done(&machine.rd)) {
		enum step step = machine_step(&machine);

		if (machine.rd.err)
			break;
		if (step == STEP_ROW) {
			err = add_row(builder, &machine);
		} else if (step == STEP_END) {
			err = end_run(builder, machine.row.vaddr);
			machine_reset(&machine);
		}
	}
	if (!err && lines->runs_cnt)
		qsort(lines->runs, lines->runs_cnt, sizeof(*lines->runs), compare_runs);
	return err;
}

/* --- The header --- */

static int read_header(struct dwarf_lines *lines, struct reader *rd)
{
	uint64_t length = reader_u32(rd);
	uint64_t header_length;

	lines->sizes.off_bytes = length == UINT32_MAX ? 8 : 4;
	if (length == UINT32_MAX)
		length = reader_u64(rd);
	if (rd->err || length > reader_left(rd) || length > UINT32_MAX)
		return -EBADMSG;
	lines->end = reader_offset(rd) + length;
	rd->end = rd->start + lines->end;
	lines->sizes.version = (uint8_t)reader_u16(rd);
	if (lines->sizes.version < 2 || lines->sizes.version > 5)
		return -EBADMSG;
	if (lines->sizes.version == 5)
		reader_skip(rd, 2); /* sizes of addresses and segment selectors */
	header_length = dwarf_read_uint(rd, lines->sizes.off_bytes);
	if (rd->err || header_length > reader_left(rd))
		return -EBADMSG;
	lines->program_off = reader_offset(rd) + header_length;
	lines->instruction_bytes = reader_u8(rd);
	if (lines->sizes.version >= 4)
		reader_skip(rd, 1); /* operations per instruction: 1 on our machines */
	reader_skip(rd, 1); /* whether rows begin as statements */
	lines->line_base = (int8_t)reader_u8(rd);
	lines->line_range = reader_u8(rd);
	lines->opcode_base = reader_u8(rd);
	if (rd->err || !lines->line_range || !lines->opcode_base)
		return -EBADMSG;
	lines->opcode_operands_off = reader_offset(rd);
	reader_skip(rd, lines->opcode_base - 1U);
	return rd->err;
}

int dwarf_lines_build(struct dwarf_image *image, uint64_t off, struct dwarf_sizes sizes,
		      struct dwarf_lines *out)
{
	struct builder builder = {.lines = {.image = image, .sizes = sizes}};
	struct reader rd = dwarf_reader(image, DWARF_LINE, off);
	int err = read_header(&builder.lines, &rd);

	if (!err)
		err = dwarf_spend(image, builder.lines.end - off);
	if (!err)
		err = dwarf_line_files_read(&builder.lines, &rd);
	if (!err)
		err = index_program(&builder);
	if (err) {
		dwarf_lines_deinit(&builder.lines);
		return err;
	}
	*out = builder.lines;
	return 0;
}

void dwarf_lines_deinit(struct dwarf_lines *lines)
{
	free(lines->dirs);
	free(lines->files);
	free(lines->runs);
	free(lines->chunks);
	*lines = (struct dwarf_lines){0};
}

size_t dwarf_lines_bytes(const struct dwarf_lines *lines)
{
	return lines->dirs_cap * sizeof(*lines->dirs) + lines->files_cap * sizeof(*lines->files) +
	       lines->runs_cap * sizeof(*lines->runs) + lines->chunks_cap * sizeof(*lines->chunks);
}

/* --- Lookups --- */

/* The last chunk of @run that begins at or before @vaddr, which is in the run. */
static const struct dwarf_line_chunk *find_chunk(const struct dwarf_lines *lines,
						 const struct dwarf_line_run *run, uint64_t vaddr)
{
	const struct dwarf_line_chunk *chunks = &lines->chunks[run->chunks_at];

	/* The first begins with the run. */
	return &chunks[SEARCH_CNT(i, run->chunks_cnt, chunks[i].row.vaddr <= vaddr) - 1];
}

/* Read the row behind cursor->next, which becomes cursor->row. */
static void cursor_advance(const struct dwarf_lines *lines, struct dwarf_line_cursor *cursor)
{
	struct machine machine = {.lines = lines, .rd = cursor->rd, .row = cursor->next};
	enum step step = STEP_NONE;

	cursor->row = cursor->next;
	while (step == STEP_NONE && !reader_done(&machine.rd))
		step = machine_step(&machine);
	cursor->rd = machine.rd;
	cursor->next = machine.row;
	if (step != STEP_ROW)
		cursor->next.vaddr = UINT64_MAX;
}

/* Bring @cursor to the last row of @run at or before @vaddr, which is in the run. */
static void cursor_seek(const struct dwarf_lines *lines, const struct dwarf_line_run *run,
			uint64_t vaddr, struct dwarf_line_cursor *cursor)
{
	const struct dwarf_line_chunk *chunk = find_chunk(lines, run, vaddr);

	if (cursor->run != run || vaddr < cursor->row.vaddr ||
	    chunk->row.vaddr > cursor->row.vaddr) {
		cursor->run = run;
		cursor->rd = machine_at(lines, chunk->next_off).rd;
		cursor->next = chunk->row;
		cursor_advance(lines, cursor);
	}
	while (cursor->next.vaddr <= vaddr)
		cursor_advance(lines, cursor);
}

int dwarf_lines_find(const struct dwarf_lines *lines, uint64_t vaddr,
		     struct dwarf_line_cursor *cursor, const struct dwarf_line_row **row,
		     uint64_t *end)
{
	size_t cnt = SEARCH_CNT(i, lines->runs_cnt, lines->runs[i].lo <= vaddr);
	const struct dwarf_line_run *run = cnt ? &lines->runs[cnt - 1] : NULL;
	uint64_t next_run = cnt < lines->runs_cnt ? lines->runs[cnt].lo : UINT64_MAX;

	*end = next_run;
	if (!run || vaddr >= run->hi)
		return -ENOENT;
	cursor_seek(lines, run, vaddr, cursor);
	*row = &cursor->row;
	*end = run->hi < *end ? run->hi : *end;
	*end = cursor->next.vaddr < *end ? cursor->next.vaddr : *end;
	return 0;
}
