/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler's driver: walk the sections for FDEs, sort them, execute each on its part of the
 * code. Where FDEs overlap the one with the greatest start governs, as binary search in
 * .eh_frame_hdr has it.
 */
#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/cfi_eval.h"
#include "unwind/cfi_parse.h"
#include "unwind/fde_list.h"
#include "unwind/go_table.h"
#include "unwind/stub_rows.h"

enum { PUSH_BYTES_MAX = 4096 };

struct builder {
	const struct cfi_arch *arch;
	const struct cfi_sections *exe;
	struct elf_segments exec; /* the executable segments, owned */
	struct cfi_walk walks[2]; /* .eh_frame, .debug_frame */
	struct fde_list fdes;
	struct go_table go;
	bool has_go;
	struct unwind_table *table; /* owned until it is handed out */
	/* While the rows of one FDE are made: */
	const struct cfi_cie *cie;
	uint64_t start_vaddr, start_off; /* of the first row */
	uint64_t vaddr_minus_off;
	uint64_t last_off; /* file offset of its last row, UINT64_MAX: none yet */
	int64_t cfa_shift; /* of hidden_push() */
	uint64_t entry_off; /* file offset of the entry point, UINT64_MAX: none */
};

static void builder_deinit(struct builder *builder)
{
	cfi_walk_deinit(&builder->walks[0]);
	cfi_walk_deinit(&builder->walks[1]);
	fde_list_deinit(&builder->fdes);
	elf_segments_deinit(&builder->exec);
	unwind_table_free(builder->table);
}

static void walk_start(struct cfi_walk *walk, const struct cfi_sections *elf,
		       const struct elf_bytes *bytes)
{
	struct cfi_section section = {
		.data = bytes->data,
		.len = bytes->len,
		.vaddr = bytes->vaddr,
		.text_vaddr = elf->text_vaddr,
		.data_vaddr = elf->got_vaddr,
		.is_debug_frame = bytes == &elf->debug_frame,
		.is_open = bytes == &elf->eh_frame && elf->eh_frame_is_open,
	};

	cfi_walk_init(walk, &section);
}

static int builder_collect(struct builder *builder, const struct cfi_sections *exe,
			   const struct cfi_sections *debug)
{
	int err;

	walk_start(&builder->walks[0], exe, &exe->eh_frame);
	if (!exe->debug_frame.data && debug)
		walk_start(&builder->walks[1], debug, &debug->debug_frame);
	else
		walk_start(&builder->walks[1], exe, &exe->debug_frame);
	err = fde_list_add(&builder->fdes, &builder->walks[0], &builder->exec, false);
	builder->table->has_debug_frame = builder->fdes.cnt < UNWIND_FDES_FEW && !builder->has_go;
	if (!err && builder->table->has_debug_frame)
		err = fde_list_add(&builder->fdes, &builder->walks[1], &builder->exec, true);
	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		struct cfi_walk *walk = &builder->walks[i];

		builder->table->refused_cnt += walk->refused_cnt;
		for (size_t c = 0; c < walk->cies_cnt; c++)
			if (!walk->cies[c].is_bad)
				cfi_eval_cie(walk, builder->arch, &walk->cies[c]);
	}
	return fde_list_sort(&builder->fdes);
}

/* The file offsets from the first executable byte to the last. */
static void exec_bounds(const struct elf_segments *exec, uint64_t *start, uint64_t *end)
{
	*start = exec->cnt ? UINT64_MAX : 0;
	*end = 0;
	for (size_t i = 0; i < exec->cnt; i++) {
		const struct elf_segment *segment = &exec->items[i];
		uint64_t segment_end = segment->file_off + segment->file_bytes;

		*start = segment->file_off < *start ? segment->file_off : *start;
		*end = segment_end > *end ? segment_end : *end;
	}
}

/* The same state, its CFA moved to where it really is. */
static struct cfi_state state_shifted(const struct cfi_state *state, int64_t shift)
{
	struct cfi_state shifted = *state;

	if (!state->has_cfa || state->cfa_is_expr)
		return shifted;
	shifted.cfa_off += shift;
	if (shifted.ra.how == CFI_AT_CFA)
		shifted.ra.off -= shift;
	if (shifted.fp.how == CFI_AT_CFA)
		shifted.fp.off -= shift;
	return shifted;
}

static void put_row(void *ctx, uint64_t vaddr, const struct cfi_state *state)
{
	struct builder *builder = ctx;
	struct unwind_table *table = builder->table;
	uint64_t file_off = vaddr == builder->start_vaddr ? builder->start_off
							  : vaddr - builder->vaddr_minus_off;
	uint16_t rule16 = RULE16_UNSUPPORTED;

	if (state) {
		struct cfi_state shifted = state_shifted(state, builder->cfa_shift);

		rule16 = rule16_of_state(&table->rules, builder->cie, &shifted);
		/* Some say of _start that it is the bottom from its second instruction on: behind
		 * the landing pad (endbr64), and on aarch64. */
		if (state->ra.how == CFI_UNDEFINED && builder->last_off != UINT64_MAX &&
		    builder->last_off == builder->entry_off)
			rows_put(&table->rows, builder->last_off, rule16);
	}
	rows_put(&table->rows, file_off, rule16);
	builder->last_off = file_off;
}

/* The return address above the CFA, where the caller's frame is: by how much, rounded to what a
 * push on aarch64 moves sp by. */
static void see_hidden_push(void *ctx, uint64_t vaddr, const struct cfi_state *state)
{
	int64_t *shift = ctx;

	if (state && !state->cfa_is_expr && state->cfa_reg == cfi_arch_aarch64.sp_reg &&
	    state->ra.how == CFI_AT_CFA && state->ra.off >= 0 && state->ra.off < PUSH_BYTES_MAX)
		*shift = (state->ra.off + 16) & -16;
}

/*
 * The PLT's header on aarch64 pushes the return address and jumps to the dynamic linker, whose
 * _dl_runtime_resolve() leaves that push out of its CFA: all its rows are that much too low. Found
 * by the return address being above the CFA, in a program that has the one instruction which can
 * say so. What is to be added to the CFA, 0: nothing.
 */
static int64_t hidden_push(const struct builder *builder, const struct cfi_walk *walk,
			   const struct cfi_fde *fde, uint64_t end_vaddr)
{
	enum { DW_CFA_OFFSET_EXTENDED_SF = 0x11 };
	const uint8_t *program = walk->section.data + fde->program_off;
	int64_t shift = 0;

	if (builder->arch != &cfi_arch_aarch64 ||
	    !memchr(program, DW_CFA_OFFSET_EXTENDED_SF, fde->program_len))
		return 0;
	cfi_eval_fde(walk, builder->arch, fde, end_vaddr, see_hidden_push, &shift);
	return shift;
}

/* Rows of @entry up to before @end_off. */
static void builder_fde(struct builder *builder, const struct fde_entry *entry, uint64_t end_off)
{
	const struct cfi_walk *walk = &builder->walks[entry->is_second];
	const struct elf_segment *segment = exec_segment_at_off(&builder->exec, entry->file_off);
	struct cfi_fde fde = {
		.program_off = entry->program_off,
		.program_len = entry->program_len,
		.cie = entry->cie,
	};
	uint64_t end_vaddr;

	builder->cie = &walk->cies[entry->cie];
	builder->start_off = entry->file_off;
	if (!segment || builder->cie->is_bad) {
		rows_put(&builder->table->rows, entry->file_off, RULE16_UNSUPPORTED);
		return;
	}
	builder->vaddr_minus_off = segment->vaddr - segment->file_off;
	fde.start_vaddr = entry->file_off + builder->vaddr_minus_off;
	if (builder->cie->is_signal && entry->file_off > segment->file_off)
		fde.start_vaddr++;
	builder->start_vaddr = fde.start_vaddr;
	builder->last_off = UINT64_MAX;
	end_vaddr = end_off + builder->vaddr_minus_off;
	builder->cfa_shift = hidden_push(builder, walk, &fde, end_vaddr);
	cfi_eval_fde(walk, builder->arch, &fde, end_vaddr, put_row, builder);
}

/* Is any of the file offsets [@from, @to) code of _init, _fini or PLT entries? */
static bool holds_stub(const struct builder *builder, uint64_t from, uint64_t to)
{
	const struct cfi_sections *exe = builder->exe;
	const struct elf_segment *segment = exec_segment_at_off(&builder->exec, from);
	uint64_t start = segment ? from - segment->file_off + segment->vaddr : 0;

	for (size_t i = 0; segment && i < exe->stubs_cnt; i++)
		if (start < exe->stubs[i].vaddr + exe->stubs[i].len &&
		    exe->stubs[i].vaddr < start + (to - from))
			return true;
	return false;
}

static void put_rule(void *ctx, uint64_t vaddr, const struct bp_rule *rule)
{
	struct builder *builder = ctx;
	struct unwind_table *table = builder->table;

	rows_put(&table->rows, vaddr - builder->vaddr_minus_off, rule16_put(&table->rules, rule));
}

/* Of [@from, @to), which no FDE covers, what Go's tables cover. */
static void builder_go(struct builder *builder, uint64_t from, uint64_t to)
{
	const struct elf_segment *segment = exec_segment_at_off(&builder->exec, from);
	uint64_t end_vaddr;

	if (!segment)
		return;
	builder->vaddr_minus_off = segment->vaddr - segment->file_off;
	if (to > segment->file_off + segment->file_bytes)
		to = segment->file_off + segment->file_bytes;
	end_vaddr = go_table_rows(&builder->go, from + builder->vaddr_minus_off,
				  to + builder->vaddr_minus_off, put_rule, builder);
	if (end_vaddr - builder->vaddr_minus_off < to)
		rows_put(&builder->table->rows, end_vaddr - builder->vaddr_minus_off, RULE16_GAP);
}

/* The first part of a stub in [@from, @to), file offsets of @segment, into *@out. Its file offset;
 * UINT64_MAX: there is none. */
static uint64_t stub_within(const struct builder *builder, const struct elf_segment *segment,
			    uint64_t from, uint64_t to, struct elf_bytes *out)
{
	const struct cfi_sections *exe = builder->exe;
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < exe->stubs_cnt; i++) {
		struct elf_bytes stub = exe->stubs[i];
		uint64_t off = stub.vaddr - segment->vaddr + segment->file_off;
		uint64_t skip = off < from ? from - off : 0;

		if (!stub.data || off >= to || skip >= stub.len || off + skip >= first)
			continue;
		first = off + skip;
		*out = (struct elf_bytes){stub.data + skip, stub.len - skip, stub.vaddr + skip};
		if (out->len > to - first)
			out->len = to - first;
	}
	return first;
}

/* Of [@from, @to), which no FDE covers, what aarch64's stubs cover. The file offset behind them. */
static uint64_t builder_stubs(struct builder *builder, uint64_t from, uint64_t to)
{
	const struct elf_segment *segment = exec_segment_at_off(&builder->exec, from);
	struct rows *rows = &builder->table->rows;
	struct elf_bytes stub;
	uint64_t off;

	if (builder->arch != &cfi_arch_aarch64 || !segment)
		return from;
	builder->vaddr_minus_off = segment->vaddr - segment->file_off;
	while (from < to && !rows->err &&
	       (off = stub_within(builder, segment, from, to, &stub)) != UINT64_MAX) {
		rows->err = stub_rows(&stub, put_rule, builder);
		from = off + stub.len;
		if (from < to)
			rows_put(rows, from, RULE16_GAP);
	}
	return from;
}

/*
 * No FDE covers [@from, @to). Short stretches are padding and keep the rule of what is before them.
 * The program's entry point is the stack's bottom, whether its author says so or not (ld.so, musl
 * and Go do not).
 */
static void builder_gap(struct builder *builder, uint64_t from, uint64_t to)
{
	static const struct bp_rule end = {.kind = BP_RULE_END};
	struct unwind_table *table = builder->table;
	uint64_t entry_off = builder->entry_off, entry_end = entry_off + UNWIND_ENTRY_BYTES;

	if (to - from < UNWIND_GAP_MIN_BYTES && !holds_stub(builder, from, to))
		return;
	if (from < to)
		rows_put(&table->rows, from, RULE16_GAP);
	if (builder->has_go && from < to) {
		builder_go(builder, from, to);
		return;
	}
	from = builder_stubs(builder, from, to);
	if (entry_off < from || entry_off >= to)
		return;
	/* One byte early: a task that comes back from execve() stands right behind a system call.
	 */
	rows_put(&table->rows, entry_off > from ? entry_off - 1 : entry_off,
		 rule16_put(&table->rules, &end));
	if (entry_end < to)
		rows_put(&table->rows, entry_end, RULE16_GAP);
}

static int builder_rows(struct builder *builder)
{
	struct rows *rows = &builder->table->rows;
	const struct fde_list *fdes = &builder->fdes;
	uint64_t covered_off = rows->start_off;

	for (size_t i = 0; i < fdes->cnt && !rows->err; i++) {
		const struct fde_entry *entry = &fdes->items[i];
		uint64_t end_off = entry->file_off + entry->bytes;

		if (i + 1 < fdes->cnt && fdes->items[i + 1].file_off < end_off)
			end_off = fdes->items[i + 1].file_off;
		builder_gap(builder, covered_off, entry->file_off);
		builder_fde(builder, entry, end_off);
		covered_off = end_off;
	}
	builder_gap(builder, covered_off, rows->end_off);
	builder->table->fdes_cnt = fdes->cnt;
	return rows_finish(rows);
}

/* The file offset of the entry point; a library's 0 is none. */
static uint64_t entry_off(const struct elf_segments *exec, uint64_t entry_vaddr)
{
	const struct elf_segment *segment = exec_segment_at_vaddr(exec, entry_vaddr);

	return segment && entry_vaddr ? entry_vaddr - segment->vaddr + segment->file_off
				      : UINT64_MAX;
}

static struct unwind_table *build_once(const struct cfi_sections *exe,
				       const struct cfi_sections *debug, bool tracks_bx)
{
	_cleanup_(builder_deinit) struct builder builder = {
		.arch = cfi_arch_of(exe->machine),
		.exe = exe,
	};
	uint64_t start_off = 0, end_off = 0;
	int err;

	builder.table = calloc(1, sizeof(*builder.table));
	if (!builder.table)
		return NULL;
	err = exec_segments_of(&exe->segments, &builder.exec);
	if (!err)
		err = rule_set_init(&builder.table->rules, builder.arch);
	exec_bounds(&builder.exec, &start_off, &end_off);
	builder.entry_off = entry_off(&builder.exec, exe->entry_vaddr);
	builder.has_go = go_table_init(&builder.go, exe);
	builder.table->rules.tracks_bx = tracks_bx;
	if (!err)
		err = rows_init(&builder.table->rows, start_off, end_off);
	if (!err)
		err = builder_collect(&builder, exe, debug);
	if (!err)
		err = builder_rows(&builder);
	if (!err)
		err = builder.table->rules.err;
	if (err) {
		errno = -err;
		return NULL;
	}
	return take_ptr(builder.table);
}

struct unwind_table *unwind_table_build(const struct cfi_sections *exe,
					const struct cfi_sections *debug)
{
	struct unwind_table *table = build_once(exe, debug, false);

	if (!table || !table->rules.needs_bx)
		return table;
	unwind_table_free(table);
	return build_once(exe, debug, true);
}

static struct unwind_table *table_of(struct cfi_sections *sections)
{
	struct unwind_table *table = unwind_table_build(sections, NULL);
	int err = errno;

	cfi_sections_deinit(sections);
	errno = err;
	return table;
}

struct unwind_table *unwind_table_open(int fd)
{
	struct cfi_sections sections;
	int err = cfi_sections_open(fd, &sections);

	errno = -err;
	return err ? NULL : table_of(&sections);
}

struct unwind_table *unwind_table_from_memory(void *image, size_t len)
{
	struct cfi_sections sections;
	int err = cfi_sections_from_memory(image, len, &sections);

	errno = -err;
	return err ? NULL : table_of(&sections);
}

void unwind_table_free(struct unwind_table *table)
{
	if (!table)
		return;
	if (!table->image) {
		rows_deinit(&table->rows);
		rule_set_deinit(&table->rules);
	}
	free(table->image);
	free(table);
}

void unwind_table_find(const struct unwind_table *table, uint64_t file_off, struct bp_rule *out)
{
	rule16_decode(&table->rules, rows_find(&table->rows, file_off), out);
}

/* Count the rows of one page, of which the bytes up to @end (65,536 or less) belong to the table.
 */
static void page_stats(const struct unwind_table *table, const struct row_page *page,
		       uint32_t start, uint32_t end, struct unwind_stats *out)
{
	const uint32_t *rows = table->rows.items + page->first;

	if (!page->cnt)
		out->bytes[BP_RULE_GAP] += end - start;
	for (uint32_t i = 0; i < page->cnt; i++) {
		uint16_t rule16 = row_rule16(rows[i]);
		uint32_t from = row_key(rows[i]);
		uint32_t to = i + 1 < page->cnt ? row_key(rows[i + 1]) : end;
		struct bp_rule rule;

		rule16_decode(&table->rules, rule16, &rule);
		from = from > start ? from : start;
		to = to > from ? to : from;
		out->bytes[rule.kind] += to - from;
		out->inline_cnt += rule16_is_inline(rule16);
	}
}

void unwind_table_stats(const struct unwind_table *table, struct unwind_stats *out)
{
	const struct rows *rows = &table->rows;
	const uint64_t page_bytes = 1 << BP_ROW_PAGE_BITS;

	*out = (struct unwind_stats){.rows_cnt = rows->cnt, .rules_cnt = table->rules.cnt};
	for (size_t i = 0; i < rows->pages_cnt; i++) {
		uint64_t page_off = (rows->first_page + i) * page_bytes;
		uint64_t left = rows->end_off - page_off;
		uint32_t start =
			rows->start_off > page_off ? (uint32_t)(rows->start_off - page_off) : 0;

		page_stats(table, &rows->pages[i], start,
			   (uint32_t)(left < page_bytes ? left : page_bytes), out);
	}
}
