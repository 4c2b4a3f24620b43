/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Property test: over every ELF file below the given paths, a compact rule says what libdw's
 * evaluation of the same CFI says, at every byte that any FDE covers.
 *
 *	cfi_libdw [--sample N] [--random N] [--list] PATH...
 *
 * Every Nth file is compared, with N > 1 none of more than 128 MiB: libdw takes minutes for one. Of
 * all files the rows are counted.
 *
 * "[vdso]" is a path, too.
 *
 * The code is cut at the row boundaries of both sides; within an interval neither changes, so that
 * one comparison stands for all of its bytes (PLT entries are compared byte by byte). Besides, the
 * bytes before and behind each boundary are asked for anew, and random ones.
 *
 * Output: one "key value" per line. Exit status: 0 unless a difference is not in the listed set or
 * the equal bytes are fewer than 99.99 % of those covered.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "cfi_libdw.h"
#include "unwind/table.h"

enum {
	CAUSES_MAX = 256,
	EXAMPLE_BYTES = 160,
	SAMPLED_BYTES_MAX = 128 << 20,
};

#define RANDOM_SEED 88172645463325252ULL

/* Differences by their cause. */
enum {
	PLT_PUSH_BYTES = 16,
	ENTRY_INSN_BYTES = 4, /* any of aarch64, and x86's endbr64 */
};

enum difference {
	DIFF_UNSUPPORTED, /* listed: no rule can say it; the row says so */
	DIFF_FP_LOST, /* listed: CFA and RA are right, the frame pointer is given up */
	DIFF_LIBDW_REFUSES, /* listed: libdw does not follow the CFI */
	DIFF_TRAMPOLINE, /* listed: signal frames on aarch64, and the byte before one */
	DIFF_RA_COLUMN, /* listed: a return address column of its own (x15 in glibc's aarch64
			   strlen): libdw takes the scratch register for lost, it is where the
			   return address is */
	DIFF_HIDDEN_PUSH, /* aarch64: the CFA is higher by what the PLT has pushed */
	DIFF_ENTRY, /* the first instruction of _start is the bottom, too */
	DIFF_WRONG,
	DIFF_CNT,
};

static const char *const difference_names[DIFF_CNT] = {
	[DIFF_UNSUPPORTED] = "unsupported",
	[DIFF_FP_LOST] = "fp_lost",
	[DIFF_LIBDW_REFUSES] = "libdw_refuses",
	[DIFF_TRAMPOLINE] = "trampoline",
	[DIFF_RA_COLUMN] = "ra_column",
	[DIFF_HIDDEN_PUSH] = "hidden_push",
	[DIFF_ENTRY] = "entry",
	[DIFF_WRONG] = "WRONG",
};

struct cause {
	enum difference kind;
	char text[CAUSE_BYTES];
	char example[EXAMPLE_BYTES];
	uint64_t bytes;
};

struct totals {
	uint64_t files, refused_files, rows, inline_rows, rules_most, fdes, refused_fdes;
	uint64_t covered, equal, by_kind[DIFF_CNT];
	uint64_t compared; /* pcs */
	uint64_t gap_wrong; /* pcs without FDE that got a rule, padding apart */
	uint64_t build_ns;
	struct cause causes[CAUSES_MAX];
	size_t causes_cnt;
};

struct file {
	const char *path;
	const struct cfi_arch *arch;
	struct unwind_table *table;
	struct cfi_sections sections;
	Dwarf *dwarf;
	Dwarf_CFI *cfi[2]; /* .eh_frame, .debug_frame; NULL: absent */
	uint64_t random;
};

static struct totals totals;
static unsigned int random_per_file = 2000;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Count @bytes bytes from @pc on as differing, by @text. */
static void note(const struct file *file, uint64_t pc, enum difference kind, const char *text,
		 uint64_t bytes)
{
	struct cause *cause;
	size_t i;

	totals.by_kind[kind] += bytes;
	for (i = 0; i < totals.causes_cnt; i++)
		if (totals.causes[i].kind == kind && !strcmp(totals.causes[i].text, text))
			break;
	if (i == CAUSES_MAX)
		return;
	cause = &totals.causes[i];
	cause->bytes += bytes;
	if (i < totals.causes_cnt)
		return;
	totals.causes_cnt++;
	cause->kind = kind;
	snprintf(cause->text, sizeof(cause->text), "%s", text);
	snprintf(cause->example, sizeof(cause->example), "%s 0x%lx", file->path, pc);
}

/* libdw's state at @pc: 1 and *@out, 0 when no FDE covers it, -1 when it refuses the CFI. */
static int libdw_frame(const struct file *file, uint64_t pc, Dwarf_Frame **out)
{
	for (int i = 0; i < 2; i++) {
		const char *why;

		if (!file->cfi[i])
			continue;
		if (!dwarf_cfi_addrframe(file->cfi[i], pc, out))
			return 1;
		why = dwarf_errmsg(-1);
		if (!why || !strstr(why, "no matching address range"))
			return -1;
	}
	return 0;
}

static uint64_t off_of(const struct elf_segment *segment, uint64_t vaddr)
{
	return vaddr - segment->vaddr + segment->file_off;
}

/* By libdw, is there no caller at @pc? */
static bool is_bottom(const struct file *file, uint64_t pc)
{
	struct step step = {.is_end = false};
	Dwarf_Frame *frame = NULL;

	if (libdw_frame(file, pc, &frame) <= 0)
		return false;
	step_by_libdw(file->arch, frame, pc, &step);
	free(frame);
	return step.is_end;
}

/* Compare at @pc; the answer stands for @bytes bytes. */
static void compare(const struct file *file, const struct elf_segment *segment, uint64_t pc,
		    Dwarf_Frame *frame, uint64_t bytes)
{
	enum difference kind = DIFF_WRONG;
	struct step ours, theirs;
	struct bp_rule rule;
	char text[CAUSE_BYTES];
	bool is_signal;
	int ra_reg;

	totals.compared++;
	totals.covered += bytes;
	unwind_table_find(file->table, off_of(segment, pc), &rule);
	step_by_rule(file->arch, &rule, pc, &ours);
	step_by_libdw(file->arch, frame, pc, &theirs);
	if (step_equal(&ours, &theirs)) {
		totals.equal += bytes;
		return;
	}
	ra_reg = dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (rule.kind == BP_RULE_UNSUPPORTED)
		kind = DIFF_UNSUPPORTED;
	else if (rule.kind == BP_RULE_SIGNAL && (file->arch == &cfi_arch_aarch64 || !is_signal))
		kind = DIFF_TRAMPOLINE;
	else if (!ours.is_unknown && !theirs.is_unknown && ours.cfa == theirs.cfa &&
		 ours.ra == theirs.ra && rule.fp_save == BP_SAVE_UNDEFINED)
		kind = DIFF_FP_LOST;
	else if (theirs.is_end && ra_reg != file->arch->ra_reg && rule.ra_save == BP_SAVE_REG &&
		 rule.ra_off == ra_reg)
		kind = DIFF_RA_COLUMN;
	else if (file->arch == &cfi_arch_aarch64 && ours.cfa == theirs.cfa + PLT_PUSH_BYTES &&
		 ours.ra == theirs.ra && ours.fp == theirs.fp && !ours.is_unknown)
		kind = DIFF_HIDDEN_PUSH;
	else if (ours.is_end && pc - file->sections.entry_vaddr < ENTRY_INSN_BYTES &&
		 is_bottom(file, file->sections.entry_vaddr + ENTRY_INSN_BYTES))
		kind = DIFF_ENTRY;
	frame_describe(file->arch, frame, text);
	note(file, pc, kind, text, bytes);
}

/* Whether libdw knows a byte of the @cnt ones before @pc. */
static bool covered_before(const struct file *file, uint64_t pc, uint64_t cnt)
{
	for (uint64_t back = 1; back <= cnt && back <= pc; back++) {
		Dwarf_Frame *frame;

		if (libdw_frame(file, pc - back, &frame) > 0) {
			free(frame);
			return true;
		}
	}
	return false;
}

/* aarch64's stubs have rows by their instructions. */
static bool is_stub(const struct file *file, uint64_t pc)
{
	for (size_t i = 0; i < file->sections.stubs_cnt; i++)
		if (pc - file->sections.stubs[i].vaddr < file->sections.stubs[i].len)
			return file->arch == &cfi_arch_aarch64;
	return false;
}

/*
 * No FDE covers @pc: ours is a gap too, or the rule of less than 16 bytes of padding, or the byte
 * before a trampoline, or the bottom at the entry point, or a stub.
 */
static void compare_gap(const struct file *file, const struct elf_segment *segment, uint64_t pc)
{
	struct bp_rule rule;

	unwind_table_find(file->table, off_of(segment, pc), &rule);
	/* Go's own tables cover what no FDE does. */
	if (file->sections.go_pclntab.data || rule.kind == BP_RULE_GAP || is_stub(file, pc) ||
	    rule.kind == BP_RULE_SIGNAL ||
	    (rule.kind == BP_RULE_END &&
	     pc + 1 - file->sections.entry_vaddr <= UNWIND_ENTRY_BYTES) ||
	    covered_before(file, pc, UNWIND_GAP_MIN_BYTES - 1))
		return;
	totals.gap_wrong++;
	note(file, pc, DIFF_WRONG, "no FDE, but a rule", 0);
}

static void compare_anew(const struct file *file, const struct elf_segment *segment, uint64_t pc,
			 uint64_t bytes)
{
	Dwarf_Frame *frame = NULL;
	int found;

	if (pc < segment->vaddr || pc - segment->vaddr >= segment->file_bytes)
		return;
	found = libdw_frame(file, pc, &frame);
	if (found > 0)
		compare(file, segment, pc, frame, bytes);
	else if (!found)
		compare_gap(file, segment, pc);
	if (found > 0)
		free(frame);
}

/* The first row boundary of ours behind @off, at most @end. */
static uint64_t next_boundary(const struct rows *rows, uint64_t off, uint64_t end)
{
	uint64_t page = off >> BP_ROW_PAGE_BITS;
	const struct row_page *at;
	uint64_t boundary = (page + 1) << BP_ROW_PAGE_BITS;
	size_t cnt;

	if (page - rows->first_page < rows->pages_cnt) {
		at = &rows->pages[page - rows->first_page];
		cnt = SEARCH_CNT(i, at->cnt,
				 row_key(rows->items[at->first + i]) <= row_key_of(off));
		if (cnt < at->cnt)
			boundary = page << BP_ROW_PAGE_BITS | row_key(rows->items[at->first + cnt]);
	}
	return boundary < end ? boundary : end;
}

/* The interval that starts at @pc: compare it, and what is around its start. Returns its end. */
static uint64_t compare_interval(struct file *file, const struct elf_segment *segment, uint64_t pc)
{
	uint64_t segment_end = segment->vaddr + segment->file_bytes, end;
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr row_end;
	int found = libdw_frame(file, pc, &frame);
	struct bp_rule rule;

	if (found <= 0) {
		if (found < 0)
			note(file, pc, DIFF_LIBDW_REFUSES, dwarf_errmsg(-1), 1);
		else
			compare_gap(file, segment, pc);
		return pc + 1;
	}
	dwarf_frame_info(frame, NULL, &row_end, NULL);
	end = next_boundary(&file->table->rows, off_of(segment, pc), off_of(segment, segment_end)) -
	      segment->file_off + segment->vaddr;
	if (row_end > pc && row_end < end)
		end = row_end;
	unwind_table_find(file->table, off_of(segment, pc), &rule);
	if (rule.kind == BP_RULE_PLT)
		end = pc + 1;
	compare(file, segment, pc, frame, end - pc);
	free(frame);
	compare_anew(file, segment, pc - 1, 0);
	compare_anew(file, segment, pc + 1, 0);
	return end;
}

static void compare_segment(struct file *file, const struct elf_segment *segment)
{
	uint64_t end = segment->vaddr + segment->file_bytes;

	for (uint64_t pc = segment->vaddr; pc < end;)
		pc = compare_interval(file, segment, pc);
	for (unsigned int i = 0; i < random_per_file; i++) {
		file->random = file->random * 6364136223846793005ULL + 1442695040888963407ULL;
		compare_anew(file, segment,
			     segment->vaddr + (file->random >> 16) % segment->file_bytes, 0);
	}
}

static void count_table(const struct file *file)
{
	struct unwind_stats stats;

	unwind_table_stats(file->table, &stats);
	totals.files++;
	totals.rows += stats.rows_cnt;
	totals.inline_rows += stats.inline_cnt;
	totals.fdes += file->table->fdes_cnt;
	totals.refused_fdes += file->table->refused_cnt;
	if (stats.rules_cnt > totals.rules_most)
		totals.rules_most = stats.rules_cnt;
}

static void file_close(struct file *file)
{
	if (file->dwarf) {
		dwarf_cfi_end(file->cfi[0]);
		dwarf_end(file->dwarf);
	} else if (file->cfi[0]) {
		dwarf_cfi_end(file->cfi[0]);
	}
	unwind_table_free(file->table);
	cfi_sections_deinit(&file->sections);
}

/* Load libdw's side of @file, whose own side is there, and compare. */
static void check_loaded(struct file *file, int fd)
{
	file->arch = cfi_arch_of(file->sections.machine);
	count_table(file);
	file->cfi[0] = dwarf_getcfi_elf((Elf *)file->sections.elf);
	if (file->table->has_debug_frame && fd >= 0) {
		file->dwarf = dwarf_begin(fd, DWARF_C_READ);
		file->cfi[1] = file->dwarf ? dwarf_getcfi(file->dwarf) : NULL;
	}
	if (!file->cfi[0] && !file->cfi[1])
		return;
	for (size_t i = 0; i < file->sections.segments.cnt; i++) {
		const struct elf_segment *segment = &file->sections.segments.items[i];

		if (segment->is_exec && segment->file_bytes)
			compare_segment(file, segment);
	}
}

/* Build the table of @path and count what is in it; with @is_compared hold it against libdw. */
static void check_file(const char *path, bool is_compared)
{
	_cleanup_(file_close) struct file file = {.path = path, .random = RANDOM_SEED};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t start_ns = now_ns();

	if (fd < 0)
		return;
	file.table = unwind_table_open(fd);
	if (!file.table) {
		totals.refused_files += errno != EBADMSG;
		return;
	}
	totals.build_ns += now_ns() - start_ns;
	if (!file.table->rows.pages_cnt)
		return;
	if (!is_compared)
		count_table(&file);
	else if (!cfi_sections_open(fd, &file.sections))
		check_loaded(&file, fd);
}

/* The vdso of this process; its section headers come last in it. */
static void check_vdso(void)
{
	_cleanup_(file_close) struct file file = {.path = "[vdso]", .random = RANDOM_SEED};
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t len;

	if (!ehdr)
		return;
	len = ehdr->e_shoff + (size_t)ehdr->e_shnum * ehdr->e_shentsize;
	file.table = unwind_table_from_memory(ehdr, len);
	if (file.table && !cfi_sections_from_memory(ehdr, len, &file.sections))
		check_loaded(&file, -1);
}

static bool is_candidate(const FTSENT *entry)
{
	char magic[SELFMAG];
	_cleanup_close_ int fd = -1;

	if (entry->fts_info != FTS_F || entry->fts_statp->st_size < (off_t)sizeof(Elf64_Ehdr))
		return false;
	fd = open(entry->fts_accpath, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

static int by_name(const FTSENT **left, const FTSENT **right)
{
	return strcmp((*left)->fts_name, (*right)->fts_name);
}

/* The ELF files below @paths, every @sample-th compared. */
static void check_paths(char *const *paths, unsigned int sample, bool list)
{
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
	unsigned int seen = 0;
	FTSENT *entry;

	while (fts && (entry = fts_read(fts))) {
		uint64_t start_ns = now_ns();

		bool is_compared;

		if (!is_candidate(entry))
			continue;
		is_compared = !(seen++ % sample) &&
			      (sample == 1 || entry->fts_statp->st_size <= SAMPLED_BYTES_MAX);
		check_file(entry->fts_path, is_compared);
		if (list && is_compared)
			fprintf(stderr, "%s %lu ms\n", entry->fts_path,
				(now_ns() - start_ns) / 1000000);
	}
	fts_close(fts);
}

static int report(void)
{
	uint64_t not_equal = totals.covered - totals.equal;

	printf("files %lu\nrefused_files %lu\nfdes %lu\nrefused_fdes %lu\n", totals.files,
	       totals.refused_files, totals.fdes, totals.refused_fdes);
	printf("rows %lu\ninline_percent %.3f\nrules_most %lu\n", totals.rows,
	       100.0 * totals.inline_rows / (totals.rows ? totals.rows : 1), totals.rules_most);
	printf("build_ms %.1f\nbuild_mrows_per_s %.2f\n", totals.build_ns / 1e6,
	       totals.rows * 1e3 / (totals.build_ns ? totals.build_ns : 1));
	printf("compared_pcs %lu\ncovered_bytes %lu\nequal_bytes %lu\nequal_percent %.5f\n",
	       totals.compared, totals.covered, totals.equal,
	       100.0 * totals.equal / (totals.covered ? totals.covered : 1));
	for (int kind = 0; kind < DIFF_CNT; kind++)
		printf("bytes_%s %lu\n", difference_names[kind], totals.by_kind[kind]);
	for (size_t i = 0; i < totals.causes_cnt; i++) {
		const struct cause *cause = &totals.causes[i];

		printf("cause %s %lu bytes: %s, as in %s\n", difference_names[cause->kind],
		       cause->bytes, cause->text, cause->example);
		if (cause->kind == DIFF_WRONG)
			totals.gap_wrong++;
	}
	return totals.gap_wrong || !totals.covered || not_equal > totals.covered / 10000;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"sample", required_argument, NULL, 's'},
		{"random", required_argument, NULL, 'r'},
		{"list", no_argument, NULL, 'l'},
		{0},
	};
	unsigned int sample = 1;
	bool list = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "s:r:l", options, NULL)) != -1) {
		if (opt == 's')
			sample = (unsigned int)strtoul(optarg, NULL, 10);
		else if (opt == 'r')
			random_per_file = (unsigned int)strtoul(optarg, NULL, 10);
		else if (opt == 'l')
			list = true;
		else
			return 2;
	}
	if (optind == argc || !sample)
		return 2;
	elf_version(EV_CURRENT);
	for (int i = optind; i < argc; i++)
		if (!strcmp(argv[i], "[vdso]"))
			check_vdso();
	check_paths(argv + optind, sample, list);
	return report();
}
