/* SPDX-License-Identifier: Apache-2.0 */
/* Naming a profile's locations: what gets a name, what gets an address, and what is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/fs.h"
#include "elf/elf_file.h"
#include "elf/symtab.h"
#include "encode/decode.h"
#include "encode/encoder.h"
#include "go_fixture.h"
#include "proc/kallsyms.h"
#include "proc/module.h"
#include "symbol/symbolizer.h"

#define TEXT 0x1000

struct fixture {
	struct profile prof;
	struct module *modules[8];
	size_t module_cnt;
	struct ledger_frames frames;
};

static int setup(void **state)
{
	struct fixture *fix = calloc(1, sizeof(*fix));

	assert_non_null(fix);
	assert_int_equal(profile_init(&fix->prof), 0);
	*state = fix;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fix = *state;

	for (size_t i = 0; i < fix->module_cnt; i++)
		module_free(fix->modules[i]);
	profile_deinit(&fix->prof);
	free(fix);
	return 0;
}

/* A mapping with its module; @module (taken) may be NULL. */
static uint32_t add_mapping(struct fixture *fix, const char *path, struct module *module)
{
	uint32_t mapping = profile_mapping(&fix->prof, path, "");

	assert_int_equal(mapping, fix->module_cnt);
	fix->modules[fix->module_cnt++] = module;
	return mapping;
}

static struct module *module_of_fd(const char *path, int fd, enum module_absence absence)
{
	struct module *module = calloc(1, sizeof(*module));

	assert_non_null(module);
	module->kind = MODULE_FILE;
	module->path = strdup(path);
	module->fd = fd;
	module->root_fd = -1;
	module->absence = absence;
	return module;
}

/* [0x1000, 0x1010) a mangled name, [0x1010, 0x1020) plain_c, and an import's stub. */
static struct module *module_with_symbols(const char *path)
{
	static const struct image_symbol symbols[] = {
		{"_RNvC7mycrate3foo.cold", TEXT, 0x10, STT_FUNC, STB_GLOBAL, 1},
		{"plain_c", TEXT + 0x10, 0x10, STT_FUNC, STB_GLOBAL, 1},
	};
	static const struct image_symbol imports[] = {
		{"_RNvC5other4call", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF},
	};
	/* jmp *0x2ffa(%rip): the slot at 0x5000 */
	static const uint8_t stub[16] = {0xff, 0x25, 0xfa, 0x2f, 0, 0};
	const Elf64_Rela rela = {.r_offset = 0x5000,
				 .r_info = ELF64_R_INFO(1UL, R_X86_64_JUMP_SLOT)};
	Elf64_Shdr shdr = {.sh_type = SHT_RELA, .sh_entsize = sizeof(Elf64_Rela)};
	struct elf_image image;
	int fd;

	image_init(&image, EM_X86_64);
	image_text(&image, ".text", TEXT, NULL, 0x100);
	image_text(&image, ".plt", 0x2000, stub, sizeof(stub));
	shdr.sh_link = image_symbols(&image, SHT_DYNSYM, imports, 1);
	image_section(&image, ".rela.plt", shdr, &rela, sizeof(rela));
	image_symbols(&image, SHT_SYMTAB, symbols, 2);
	image_finish(&image);
	fd = bytes_to_fd(image.bytes, image.len);
	image_deinit(&image);
	return module_of_fd(path, fd, MODULE_PRESENT);
}

static void run_with(struct fixture *fix, const struct symbolizer_opts *opts)
{
	assert_int_equal(
		symbolizer_run(&fix->prof, fix->modules, fix->module_cnt, opts, &fix->frames), 0);
}

static void run(struct fixture *fix, bool no_symbols)
{
	const struct symbolizer_opts opts = {.no_symbols = no_symbols};

	run_with(fix, &opts);
}

static void check_location(const struct fixture *fix, uint32_t location, const char *name,
			   const char *system_name)
{
	const struct profile_location *loc = &fix->prof.locations[location];
	const struct profile_function *function;

	assert_int_equal(loc->line_cnt, 1);
	function = &fix->prof.functions[fix->prof.lines[loc->first_line].function];
	assert_string_equal(profile_str(&fix->prof, function->name), name);
	assert_string_equal(profile_str(&fix->prof, function->system_name), system_name);
}

static uint64_t unnamed_cnt(const struct fixture *fix, const char *reason)
{
	const struct ledger_reasons *unnamed = &fix->frames.unnamed;

	for (uint32_t i = 0; i < unnamed->cnt; i++) {
		if (!strcmp(unnamed->items[i].name, reason))
			return unnamed->items[i].cnt;
	}
	return 0;
}

static void check_books(const struct fixture *fix)
{
	assert_int_equal(fix->frames.distinct,
			 fix->frames.named + ledger_reasons_sum(&fix->frames.unnamed));
}

static void test_file(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/usr/bin/demo", module_with_symbols("/usr/bin/demo"));
	uint32_t outside = profile_location(&fix->prof, mapping, 0x10ff, 0);
	uint32_t last = profile_location(&fix->prof, mapping, 0x101f, 0);
	uint32_t first = profile_location(&fix->prof, mapping, 0x1000, 0);
	uint32_t second = profile_location(&fix->prof, mapping, 0x100f, 0);
	uint32_t stub = profile_location(&fix->prof, mapping, 0x2005, 0);

	run(fix, false);
	check_location(fix, first, "mycrate::foo [clone .cold]", "_RNvC7mycrate3foo.cold");
	check_location(fix, second, "mycrate::foo [clone .cold]", "_RNvC7mycrate3foo.cold");
	check_location(fix, last, "plain_c", "plain_c");
	check_location(fix, stub, "other::call@plt", "_RNvC5other4call@plt");
	check_location(fix, outside, "[demo+0x10ff]", "[demo+0x10ff]");
	assert_int_equal(fix->frames.distinct, 5);
	assert_int_equal(fix->frames.named, 4);
	assert_int_equal(unnamed_cnt(fix, "no_symbol"), 1);
	assert_int_equal(fix->prof.mappings[mapping].flags, MAPPING_HAS_FUNCTIONS);
	assert_int_equal(fix->prof.function_cnt, 4);
	check_books(fix);
}

/* Each way in which a location can stay without a name; none disturbs the others. */
static void test_reasons(void **state)
{
	struct fixture *fix = *state;
	int garbage = bytes_to_fd("no ELF file", 11);
	struct module *anon = module_of_fd("//anon", -1, MODULE_PRESENT);
	uint32_t gone = add_mapping(fix, "/a/gone", module_of_fd("/a/gone", -1, MODULE_NO_FILE));
	uint32_t changed =
		add_mapping(fix, "/a/new", module_of_fd("/a/new", -1, MODULE_FILE_CHANGED));
	uint32_t refused = add_mapping(fix, "/a/refused",
				       module_of_fd("/a/refused", -1, MODULE_NOT_PERMITTED));
	uint32_t bad = add_mapping(fix, "/a/bad", module_of_fd("/a/bad", garbage, MODULE_PRESENT));
	uint32_t unknown = add_mapping(fix, "[unknown]", NULL);
	uint32_t good = add_mapping(fix, "/a/good", module_with_symbols("/a/good"));
	uint32_t jit, locations[8];

	anon->kind = MODULE_ANON;
	jit = add_mapping(fix, "//anon", anon);
	locations[0] = profile_location(&fix->prof, gone, 0x10, 0);
	locations[1] = profile_location(&fix->prof, changed, 0x20, 0);
	locations[2] = profile_location(&fix->prof, bad, 0x30, 0);
	locations[3] = profile_location(&fix->prof, unknown, 0x40, 0);
	locations[4] = profile_location(&fix->prof, jit, 0x7f0000001000, LOCATION_JIT);
	locations[5] = profile_location(&fix->prof, PROFILE_NONE, 0x60, 0);
	locations[6] = profile_location(&fix->prof, good, 0x1010, 0);
	locations[7] = profile_location(&fix->prof, refused, 0x70, 0);
	run(fix, false);
	check_location(fix, locations[0], "[gone+0x10]", "[gone+0x10]");
	check_location(fix, locations[1], "[new+0x20]", "[new+0x20]");
	check_location(fix, locations[2], "[bad+0x30]", "[bad+0x30]");
	check_location(fix, locations[3], "[unknown+0x40]", "[unknown+0x40]");
	check_location(fix, locations[4], "[anon+0x7f0000001000]", "[anon+0x7f0000001000]");
	check_location(fix, locations[5], "[unknown+0x60]", "[unknown+0x60]");
	check_location(fix, locations[6], "plain_c", "plain_c");
	check_location(fix, locations[7], "[refused+0x70]", "[refused+0x70]");
	assert_int_equal(unnamed_cnt(fix, "no_file"), 1);
	assert_int_equal(unnamed_cnt(fix, "file_changed"), 1);
	assert_int_equal(unnamed_cnt(fix, "not_permitted"), 1);
	assert_int_equal(unnamed_cnt(fix, "bad_elf"), 1);
	assert_int_equal(unnamed_cnt(fix, "unknown_mapping"), 2);
	assert_int_equal(unnamed_cnt(fix, "jit"), 1);
	assert_int_equal(fix->frames.named, 1);
	assert_int_equal(fix->prof.mappings[gone].flags, 0);
	assert_int_equal(fix->prof.mappings[good].flags, MAPPING_HAS_FUNCTIONS);
	check_books(fix);
}

/* Cuts the file short as soon as an address of it has no name. */
static bool cut_short(void *arg, uint32_t location)
{
	const struct module *module = arg;

	assert_int_equal(ftruncate(module->fd, 0), 0);
	return false;
}

static uint64_t same_address(void *arg, uint32_t mapping, uint64_t address)
{
	return address;
}

/* What was named before the file was cut short is no better than the rest of it. */
static void test_cut_short(void **state)
{
	struct fixture *fix = *state;
	struct module *module = module_with_symbols("/usr/bin/demo");
	uint32_t mapping = add_mapping(fix, "/usr/bin/demo", module);
	uint32_t other = add_mapping(fix, "/usr/bin/other", module_with_symbols("/usr/bin/other"));
	uint32_t before = profile_location(&fix->prof, mapping, 0x1004, 0);
	uint32_t outside = profile_location(&fix->prof, mapping, 0x10ff, 0);
	uint32_t after = profile_location(&fix->prof, mapping, 0x2005, 0);
	uint32_t safe = profile_location(&fix->prof, other, 0x1010, 0);
	const struct symbolizer_elsewhere elsewhere = {module, same_address, cut_short};
	const struct symbolizer_opts opts = {.elsewhere = &elsewhere};

	assert_int_equal(fchmod(module->fd, S_IRUSR | S_IWUSR), 0);
	run_with(fix, &opts);
	check_location(fix, before, "[demo+0x1004]", "[demo+0x1004]");
	check_location(fix, outside, "[demo+0x10ff]", "[demo+0x10ff]");
	check_location(fix, after, "[demo+0x2005]", "[demo+0x2005]");
	check_location(fix, safe, "plain_c", "plain_c");
	assert_int_equal(unnamed_cnt(fix, "file_changed"), 3);
	assert_int_equal(unnamed_cnt(fix, "no_symbol"), 0);
	assert_int_equal(fix->frames.named, 1);
	assert_int_equal(fix->prof.mappings[mapping].flags, 0);
	assert_int_equal(fix->prof.mappings[other].flags, MAPPING_HAS_FUNCTIONS);
	check_books(fix);
}

static void test_named_and_synthetic(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/good", module_with_symbols("/a/good"));
	uint32_t synthetic =
		profile_named_location(&fix->prof, "[truncated: x]", LOCATION_SYNTHETIC);
	uint32_t named = profile_named_location(&fix->prof, "from_a_file", 0);
	uint32_t fresh = profile_location(&fix->prof, mapping, 0x1010, 0);

	run(fix, false);
	check_location(fix, synthetic, "[truncated: x]", "[truncated: x]");
	check_location(fix, named, "from_a_file", "from_a_file");
	check_location(fix, fresh, "plain_c", "plain_c");
	assert_int_equal(fix->frames.distinct, 2);
	assert_int_equal(fix->frames.named, 2);
	check_books(fix);
}

static void test_no_symbols(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/good", module_with_symbols("/a/good"));
	uint32_t location = profile_location(&fix->prof, mapping, 0x1010, 0);

	run(fix, true);
	check_location(fix, location, "[good+0x1010]", "[good+0x1010]");
	assert_int_equal(unnamed_cnt(fix, "not_wanted"), 1);
	assert_int_equal(fix->prof.mappings[mapping].flags, 0);
	check_books(fix);
}

static struct module *module_of_go(const char *path, bool has_symtab)
{
	struct go_fixture go = {.version = GO_1_20, .has_symtab = has_symtab};
	struct elf_image image;
	int fd;

	go_fixture_fill(&go);
	image = go_fixture_image(&go);
	fd = bytes_to_fd(image.bytes, image.len);
	image_deinit(&image);
	return module_of_fd(path, fd, MODULE_PRESENT);
}

/* The only location of @prof: main.leaf in main.mid in main.main. */
static void check_go_lines(const struct profile *prof)
{
	static const uint32_t lines[] = {30, 20, 10}, start_lines[] = {28, 18, 8};
	static const char *const names[] = {"main.leaf", "main.mid", "main.main"};
	const struct profile_location *loc = &prof->locations[0];

	assert_int_equal(prof->location_cnt, 1);
	assert_int_equal(loc->line_cnt, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct profile_line *line = &prof->lines[loc->first_line + i];
		const struct profile_function *function = &prof->functions[line->function];

		assert_int_equal(line->line, lines[i]);
		assert_int_equal(function->start_line, start_lines[i]);
		assert_string_equal(profile_str(prof, function->name), names[i]);
		assert_string_equal(profile_str(prof, function->system_name), names[i]);
		assert_string_equal(profile_str(prof, function->file), i ? "main.go" : "leaf.go");
	}
	assert_int_equal(prof->mappings[0].flags, MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES |
							  MAPPING_HAS_LINES | MAPPING_HAS_INLINES);
}

/* Inlined calls are frames in all that is written. */
static void check_go_encoded(const struct profile *prof)
{
	const struct encoder_opts opts = {.annotate = true};
	struct profile copy;
	struct buf bytes;

	buf_init(&bytes, BUF_NO_MAX);
	assert_int_equal(encoder_folded.encode(prof, &opts, &bytes), 0);
	assert_string_equal(buf_cstr(&bytes), "main.main;main.mid_[i];main.leaf_[i] 1\n");
	buf_reset(&bytes);
	assert_int_equal(encoder_svg.encode(prof, &opts, &bytes), 0);
	assert_non_null(strstr(buf_cstr(&bytes), "main.main"));
	assert_non_null(strstr(buf_cstr(&bytes), "main.mid"));
	assert_non_null(strstr(buf_cstr(&bytes), "main.leaf"));
	buf_reset(&bytes);
	assert_int_equal(encoder_pprof.encode(prof, &opts, &bytes), 0);
	assert_int_equal(profile_init(&copy), 0);
	assert_int_equal(profile_decode(bytes.data, bytes.len, &copy, NULL), 0);
	check_go_lines(&copy);
	profile_deinit(&copy);
	buf_deinit(&bytes);
}

static void test_go(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/go", module_of_go("/a/go", false));
	uint32_t location = profile_location(&fix->prof, mapping, GO_TEXT + 0x20, 0);

	profile_add_value_type(&fix->prof, "samples", "count");
	profile_sample(&fix->prof, profile_stack(&fix->prof, &location, 1),
		       profile_labels(&fix->prof, NULL, 0), &(int64_t){1});
	run(fix, false);
	check_go_lines(&fix->prof);
	check_go_encoded(&fix->prof);
	check_books(fix);
}

/* What Go's tables do not know is no claim of lines; a .symtab beside them takes nothing away. */
static void test_go_partly(void **state)
{
	struct fixture *fix = *state;
	uint32_t stripped = add_mapping(fix, "/a/go", module_of_go("/a/go", false));
	uint32_t full = add_mapping(fix, "/a/full", module_of_go("/a/full", true));
	uint32_t inside = profile_location(&fix->prof, stripped, GO_TEXT, 0);
	uint32_t outside = profile_location(&fix->prof, stripped, GO_TEXT + 0x60, 0);
	uint32_t inlined = profile_location(&fix->prof, full, GO_TEXT + 0x20, 0);

	run(fix, false);
	check_location(fix, inside, "main.main", "main.main");
	check_location(fix, outside, "[go+0x401060]", "[go+0x401060]");
	assert_int_equal(fix->prof.locations[inlined].line_cnt, 3);
	assert_int_equal(fix->prof.mappings[stripped].flags, MAPPING_HAS_FUNCTIONS);
	assert_int_equal(fix->prof.mappings[full].flags,
			 MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES |
				 MAPPING_HAS_INLINES);
	assert_int_equal(unnamed_cnt(fix, "no_symbol"), 1);
	check_books(fix);
}

/* Without inlined calls the function itself is left, at the line of the call in it. */
static void test_go_no_inline(void **state)
{
	const struct symbolizer_opts opts = {.no_inline = true};
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/go", module_of_go("/a/go", false));
	uint32_t location = profile_location(&fix->prof, mapping, GO_TEXT + 0x20, 0);

	run_with(fix, &opts);
	check_location(fix, location, "main.main", "main.main");
	assert_int_equal(fix->prof.lines[fix->prof.locations[location].first_line].line, 10);
	assert_int_equal(fix->prof.mappings[mapping].flags,
			 MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES);
	check_books(fix);
}

static void test_empty_profile(void **state)
{
	struct fixture *fix = *state;

	run(fix, false);
	assert_int_equal(fix->frames.distinct, 0);
}

__attribute__((noinline)) int symbolizer_test_target(int value);

int symbolizer_test_target(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

/* The address of an instruction of a function that is inlined here, and the lines of both. */
extern const uint64_t symbolizer_test_spot;
int symbolizer_test_outer(int value);

enum { INLINED_LINE = __LINE__ + 2 };

static inline __attribute__((always_inline)) int symbolizer_test_inlined(int value)
{
	__asm__ volatile("1: nop\n\t"
			 ".pushsection .data.rel.local,\"aw\"\n\t"
			 ".balign 8\n"
			 "symbolizer_test_spot: .quad 1b\n\t"
			 ".popsection"
			 : "+r"(value));
	return value;
}

enum { OUTER_LINE = __LINE__ + 2 };

__attribute__((noinline)) int symbolizer_test_outer(int value)
{
	return symbolizer_test_inlined(value);
}

static int own_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the first is the program */
}

/* This program itself, and the vdso, as they are mapped. */
static void test_own_process(void **state)
{
	struct fixture *fix = *state;
	struct module *vdso = module_vdso();
	struct symtab *symtab;
	struct elf_file *elf;
	struct symtab_name name = {0};
	uint32_t self, target, in_vdso;
	uint64_t base = 0, vaddr;
	char text[64];

	dl_iterate_phdr(own_base, &base);
	self = add_mapping(fix, "/proc/self/exe",
			   module_of_fd("/proc/self/exe",
					open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
					MODULE_PRESENT));
	vaddr = (uint64_t)(uintptr_t)symbolizer_test_target - base;
	target = profile_location(&fix->prof, self, vaddr + 1, 0);
	assert_non_null(vdso);
	elf = elf_file_open(vdso->fd);
	assert_non_null(elf);
	assert_int_equal(symtab_from_elf(elf, NULL, &symtab), 0);
	for (vaddr = 0; vaddr < 16384 && symtab_find(symtab, vaddr, &name); vaddr++)
		;
	assert_true(name.len > 0);
	snprintf(text, sizeof(text), "%.*s", (int)name.len, name.str);
	in_vdso = profile_location(&fix->prof, add_mapping(fix, "[vdso]", vdso), vaddr, 0);
	run(fix, false);
	check_location(fix, target, "symbolizer_test_target", "symbolizer_test_target");
	check_location(fix, in_vdso, text, text);
	symtab_free(symtab);
	elf_file_free(elf);
}

static uint32_t add_spot(struct fixture *fix)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t base = 0;
	uint32_t self = add_mapping(fix, "/proc/self/exe",
				    module_of_fd("/proc/self/exe", fd, MODULE_PRESENT));

	dl_iterate_phdr(own_base, &base);
	symbolizer_test_outer(0);
	return profile_location(&fix->prof, self, symbolizer_test_spot - base, 0);
}

static void check_line(const struct fixture *fix, const struct profile_line *line, const char *name,
		       uint32_t start_line)
{
	const struct profile_function *function = &fix->prof.functions[line->function];
	const char *file = profile_str(&fix->prof, function->file);

	assert_string_equal(profile_str(&fix->prof, function->name), name);
	assert_string_equal(profile_str(&fix->prof, function->system_name), name);
	assert_int_equal(function->start_line, start_line);
	assert_non_null(strstr(file, "test_symbolizer.c"));
	/* The statement is one or two lines below, behind the brace. */
	assert_in_range(line->line, start_line + 1, start_line + 2);
}

/* This program's own debugging information: a call that is inlined is a line of its own. */
static void test_dwarf(void **state)
{
	struct fixture *fix = *state;
	uint32_t spot = add_spot(fix);
	const struct profile_location *loc = &fix->prof.locations[spot];

	run(fix, false);
	if (loc->line_cnt == 1 && !fix->prof.lines[loc->first_line].line)
		skip(); /* built without -g */
	assert_int_equal(loc->line_cnt, 2);
	check_line(fix, &fix->prof.lines[loc->first_line], "symbolizer_test_inlined", INLINED_LINE);
	check_line(fix, &fix->prof.lines[loc->first_line + 1], "symbolizer_test_outer", OUTER_LINE);
	assert_int_equal(fix->prof.mappings[loc->mapping].flags,
			 MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES |
				 MAPPING_HAS_INLINES);
	assert_int_equal(fix->frames.lines_cut, 0);
	check_books(fix);
}

static void check_plain(const struct fixture *fix, uint32_t location)
{
	const struct profile_location *loc = &fix->prof.locations[location];
	const struct profile_line *line = &fix->prof.lines[loc->first_line];

	check_location(fix, location, "symbolizer_test_outer", "symbolizer_test_outer");
	assert_int_equal(line->line, 0);
	assert_int_equal(fix->prof.functions[line->function].start_line, 0);
	assert_int_equal(fix->prof.mappings[loc->mapping].flags, MAPPING_HAS_FUNCTIONS);
	check_books(fix);
}

static void test_no_inline(void **state)
{
	const struct symbolizer_opts opts = {.no_inline = true};
	struct fixture *fix = *state;
	uint32_t spot = add_spot(fix);

	run_with(fix, &opts);
	check_plain(fix, spot);
	assert_int_equal(fix->frames.lines_cut, 0);
}

/* A nanosecond is over before the first lookup: symbols, and a count of what was not looked at. */
static void test_budget(void **state)
{
	const struct symbolizer_opts opts = {.lines_budget_ns = 1};
	struct fixture *fix = *state;
	uint32_t spot = add_spot(fix);

	run_with(fix, &opts);
	check_plain(fix, spot);
	if (!fix->frames.lines_cut)
		skip(); /* built without -g */
	assert_int_equal(fix->frames.lines_cut, 1);
}

/* Time that is over for all names. */
static void test_names_budget(void **state)
{
	const struct symbolizer_opts opts = {.names_budget_ns = 1};
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/demo", module_with_symbols("/a/demo"));
	uint32_t location = profile_location(&fix->prof, mapping, 0x1010, 0);

	run_with(fix, &opts);
	check_location(fix, location, "[demo+0x1010]", "[demo+0x1010]");
	assert_int_equal(unnamed_cnt(fix, "no_time"), 1);
	check_books(fix);
}

/* The time goes first to what most samples are of. */
static void test_order(void **state)
{
	struct fixture *fix = *state;
	uint32_t cold = add_mapping(fix, "/a/cold", module_with_symbols("/a/cold"));
	uint32_t hot = add_mapping(fix, "/a/hot", module_with_symbols("/a/hot"));
	const uint32_t stacks[][2] = {
		{profile_location(&fix->prof, cold, 0x1010, 0)},
		{profile_location(&fix->prof, hot, 0x2000, 0)},
	};

	profile_add_value_type(&fix->prof, "samples", "count");
	for (int i = 0; i < 2; i++)
		profile_sample(&fix->prof, profile_stack(&fix->prof, stacks[i], 1),
			       profile_labels(&fix->prof, NULL, 0), &(int64_t){i + 1});
	run(fix, false);
	assert_int_equal(fix->prof.function_cnt, 2);
	assert_string_equal(profile_str(&fix->prof, fix->prof.functions[0].name),
			    "other::call@plt");
}

/* A process's root with one file; remove_tree(). @folder is mkdtemp()'s template. */
static void make_root(char *folder, const char *name, const void *bytes, size_t len)
{
	char path[64];
	int fd;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

/* A stripped image that links to a debug file, which lies in its process's root. */
static void test_debug_file(void **state)
{
	static const struct image_symbol symbol = {"local", TEXT, 0x10, STT_FUNC, STB_LOCAL, 1};
	struct {
		char name[12];
		uint32_t crc;
	} link = {.name = "demo.debug"};
	struct fixture *fix = *state;
	char folder[] = "/tmp/test_symbolizer.XXXXXX";
	struct elf_image stripped, debug;
	struct module *module;
	uint32_t mapping, local;

	image_init(&debug, EM_X86_64);
	image_text(&debug, ".text", TEXT, NULL, 0x100);
	image_symbols(&debug, SHT_SYMTAB, &symbol, 1);
	image_finish(&debug);
	link.crc = (uint32_t)crc32(0, debug.bytes, (uInt)debug.len);
	image_init(&stripped, EM_X86_64);
	image_text(&stripped, ".text", TEXT, NULL, 0x100);
	image_section(&stripped, ".gnu_debuglink", (Elf64_Shdr){.sh_type = SHT_PROGBITS}, &link,
		      sizeof(link));
	image_finish(&stripped);

	make_root(folder, link.name, debug.bytes, debug.len);
	module = module_of_fd("/demo", bytes_to_fd(stripped.bytes, stripped.len), MODULE_PRESENT);
	module->root_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mapping = add_mapping(fix, "/demo", module);
	local = profile_location(&fix->prof, mapping, TEXT + 8, 0);
	run(fix, false);
	assert_int_equal(remove_tree(folder), 0);
	check_location(fix, local, "local", "local");
	image_deinit(&stripped);
	image_deinit(&debug);
}

enum { SEED_CODE_AT = 0x401000, SEED_CODE_BYTES = 0x62 };

static void read_seed(struct buf *out)
{
	buf_init(out, BUF_NO_MAX);
	assert_int_equal(fs_read_file("tests/fuzz/corpus/dwarf/gcc5", out), 0);
}

/* twice() in both() in the function, which is @outer. */
static void check_seed_chain(const struct fixture *fix, const struct profile_location *loc,
			     const char *outer)
{
	const char *names[] = {"twice", "both", outer};

	assert_int_equal(loc->line_cnt, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct profile_line *line = &fix->prof.lines[loc->first_line + i];
		const struct profile_function *function = &fix->prof.functions[line->function];

		assert_string_equal(profile_str(&fix->prof, function->name), names[i]);
		assert_string_equal(profile_str(&fix->prof, function->file), "/src/t.c");
		assert_int_equal(function->start_line, i + 1);
		assert_int_equal(line->line, i + 1);
	}
}

/* All addresses of the seed's code; how many of them are twice() in both() in @outer? */
static int count_seed_chains(struct fixture *fix, struct module *module, const char *outer)
{
	uint32_t mapping = add_mapping(fix, module->path, module), first = 0;
	int cnt = 0;

	for (uint32_t i = 0; i < SEED_CODE_BYTES; i++) {
		uint32_t location = profile_location(&fix->prof, mapping, SEED_CODE_AT + i, 0);

		first = i ? first : location;
	}
	run(fix, false);
	for (uint32_t i = 0; i < SEED_CODE_BYTES; i++) {
		const struct profile_location *loc = &fix->prof.locations[first + i];

		if (loc->line_cnt < 3)
			continue;
		if (!strcmp(profile_location_name(&fix->prof, first + i, 2), outer)) {
			check_seed_chain(fix, loc, outer);
			cnt++;
		}
	}
	check_books(fix);
	return cnt;
}

/* Where there are no symbols the function's name is DWARF's as well. */
static void test_dwarf_alone(void **state)
{
	struct fixture *fix = *state;
	struct buf seed;

	read_seed(&seed);
	assert_true(count_seed_chains(fix,
				      module_of_fd("/seed", bytes_to_fd(seed.data, seed.len),
						   MODULE_PRESENT),
				      "shared") > 3);
	buf_deinit(&seed);
}

/* `strip -g`: symbols in the image, which say what the function is, lines in a file beside it. */
static void test_lines_file(void **state)
{
	static const struct image_symbol symbol = {
		"_RNvC7mycrate3foo.cold", SEED_CODE_AT, SEED_CODE_BYTES, STT_FUNC, STB_LOCAL, 1,
	};
	struct {
		char name[12];
		uint32_t crc;
	} link = {.name = "seed.debug"};
	char folder[] = "/tmp/test_symbolizer.XXXXXX";
	struct fixture *fix = *state;
	struct elf_image image;
	struct module *module;
	struct buf seed;
	int cnt;

	read_seed(&seed);
	link.crc = (uint32_t)crc32(0, (const uint8_t *)seed.data, (uInt)seed.len);
	image_init(&image, EM_X86_64);
	image_text(&image, ".text", SEED_CODE_AT, NULL, SEED_CODE_BYTES);
	image_symbols(&image, SHT_SYMTAB, &symbol, 1);
	image_section(&image, ".gnu_debuglink", (Elf64_Shdr){.sh_type = SHT_PROGBITS}, &link,
		      sizeof(link));
	image_finish(&image);

	make_root(folder, link.name, seed.data, seed.len);
	module = module_of_fd("/seed", bytes_to_fd(image.bytes, image.len), MODULE_PRESENT);
	module->root_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cnt = count_seed_chains(fix, module, "mycrate::foo [clone .cold]");
	assert_int_equal(remove_tree(folder), 0);
	assert_true(cnt > 3);
	buf_deinit(&seed);
	image_deinit(&image);
}

/* A part of a function is called as the function, if that is wanted; its symbol stays known. */
static void test_merge_clones(void **state)
{
	const struct symbolizer_opts opts = {.merge_clones = true};
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/usr/bin/demo", module_with_symbols("/usr/bin/demo"));
	uint32_t part = profile_location(&fix->prof, mapping, TEXT + 4, 0);

	run_with(fix, &opts);
	check_location(fix, part, "mycrate::foo", "_RNvC7mycrate3foo.cold");
}

/* Functions at TEXT and, with a byte between, at TEXT + 0x11. */
static struct module *module_with_gap(const char *second)
{
	const struct image_symbol symbols[] = {
		{"first", TEXT, 0x10, STT_FUNC, STB_GLOBAL, 1},
		{second, TEXT + 0x11, 9, STT_FUNC, STB_LOCAL, 1},
	};
	struct elf_image image;
	int fd;

	image_init(&image, EM_X86_64);
	image_text(&image, ".text", TEXT, NULL, 0x100);
	image_symbols(&image, SHT_SYMTAB, symbols, 2);
	image_finish(&image);
	fd = bytes_to_fd(image.bytes, image.len);
	image_deinit(&image);
	return module_of_fd("/lib/c.so", fd, MODULE_PRESENT);
}

/* What a signal handler returns to, moved back onto a call that is none. */
static void test_signal_return(void **state)
{
	struct fixture *fix = *state;
	uint32_t libc = add_mapping(fix, "/lib/c.so", module_with_gap("__restore_rt"));
	uint32_t other = add_mapping(fix, "/lib/d.so", module_with_gap("second"));
	uint32_t returns = profile_location(&fix->prof, libc, TEXT + 0x10, 0);
	uint32_t between = profile_location(&fix->prof, other, TEXT + 0x10, 0);

	run(fix, false);
	check_location(fix, returns, "__restore_rt", "__restore_rt");
	check_location(fix, between, "[d.so+0x1010]", "[d.so+0x1010]");
}

static void *main_return; /* in the C library: who called main() */

/* What calls main() has no exported name: it needs the package with the library's symbols. */
static void test_libc(void **state)
{
	struct fixture *fix = *state;
	char path[PATH_MAX], debug_path[PATH_MAX] = "/usr/lib/debug/.build-id/";
	size_t len = strlen(debug_path);
	struct module *module;
	uint32_t caller;
	Dl_info info;
	int fd;

	assert_true(dladdr(main_return, &info));
	assert_non_null(realpath(info.dli_fname, path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	module = module_of_fd(path, fd, MODULE_PRESENT);
	module->build_id_len = (uint32_t)elf_build_id_fd(fd, module->build_id, BUILD_ID_MAX);
	caller = profile_location(&fix->prof, add_mapping(fix, path, module),
				  (uint64_t)((char *)main_return - (char *)info.dli_fbase) - 1, 0);
	for (uint32_t i = 0; i < module->build_id_len; i++)
		len += (size_t)snprintf(debug_path + len, sizeof(debug_path) - len,
					i == 1 ? "/%02x" : "%02x", module->build_id[i]);
	snprintf(debug_path + len, sizeof(debug_path) - len, ".debug");
	if (access(debug_path, R_OK))
		skip();
	run(fix, false);
	check_location(fix, caller, "__libc_start_call_main", "__libc_start_call_main");
}

/* Against the kernel that runs: its own first system call, and an address that is none. */
static void test_kernel(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "[kernel.kallsyms]", NULL);
	FILE *file = fopen("/proc/kallsyms", "re");
	uint64_t ip = 0, line_ip;
	char name[128], type;
	uint32_t known, unknown;

	assert_non_null(file);
	while (fscanf(file, "%" SCNx64 " %c %127s%*[^\n]", &line_ip, &type, name) == 3 && !ip) {
		if (!strcmp(name, "schedule"))
			ip = line_ip;
	}
	fclose(file);
	known = profile_location(&fix->prof, mapping, ip + 1, LOCATION_KERNEL);
	unknown = profile_location(&fix->prof, mapping, UINT64_MAX - 5, LOCATION_KERNEL);
	run(fix, false);
	if (ip) {
		check_location(fix, known, "schedule", "schedule");
		check_location(fix, unknown, "[kernel+0xfffffffffffffffa]",
			       "[kernel+0xfffffffffffffffa]");
		assert_int_equal(unnamed_cnt(fix, "no_kernel_symbol"), 1);
		assert_int_equal(fix->prof.mappings[mapping].flags, MAPPING_HAS_FUNCTIONS);
	} else {
		assert_int_equal(unnamed_cnt(fix, "kptr_restrict"), 2);
	}
	check_books(fix);
}

static struct kernel_map *map_of(const char *text)
{
	struct kernel_map *map = kernel_map_new();

	assert_non_null(map);
	assert_int_equal(kernel_map_add(map, kallsyms_parse(text, strlen(text)), 0), 0);
	return map;
}

static void check_mapping(const struct fixture *fix, uint32_t location, const char *path)
{
	uint32_t mapping = fix->prof.locations[location].mapping;

	assert_string_equal(profile_str(&fix->prof, fix->prof.mappings[mapping].path), path);
	assert_int_equal(fix->prof.mappings[mapping].flags, MAPPING_HAS_FUNCTIONS);
}

/* What was told apart when it was sampled has its owner's name; what was not, its module's. */
static void test_kernel_owners(void **state)
{
	struct fixture *fix = *state;
	uint32_t kernel = add_mapping(fix, "[kernel.kallsyms]", NULL);
	uint32_t program = add_mapping(fix, "[bpf_prog_a]", NULL);
	struct kernel_map *map = map_of("ffffffff81000000 T schedule\n"
					"ffffffff81000100 T _etext\n"
					"ffffffffc0000000 t nft_do_chain\t[nf_tables]\n");
	const struct symbolizer_opts opts = {.kernel = map};
	const struct ksym_record came = {
		.ip = 0xffffffffc0000000, .code_bytes = 0x100, .time_ns = 50, .name = "bpf_prog_a"};
	uint32_t core, module, owned, unknown;

	kernel_map_came(map, &came, 0);
	core = profile_location(&fix->prof, kernel, 0xffffffff81000010, LOCATION_KERNEL);
	module = profile_location(&fix->prof, kernel, 0xffffffffc0000010, LOCATION_KERNEL);
	owned = profile_location(&fix->prof, program, 0xffffffffc0000010, LOCATION_KERNEL);
	unknown = profile_location(&fix->prof, program, 0xffffffffc0000110, LOCATION_KERNEL);
	run_with(fix, &opts);
	check_location(fix, core, "schedule", "schedule");
	check_mapping(fix, core, "[kernel.kallsyms]");
	check_location(fix, module, "nft_do_chain", "nft_do_chain");
	check_mapping(fix, module, "[nf_tables]");
	check_location(fix, owned, "bpf_prog_a", "bpf_prog_a");
	check_mapping(fix, owned, "[bpf_prog_a]");
	check_location(fix, unknown, "[bpf_prog_a+0xffffffffc0000110]",
		       "[bpf_prog_a+0xffffffffc0000110]");
	assert_int_equal(unnamed_cnt(fix, "no_kernel_symbol"), 1);
	check_books(fix);
	kernel_map_free(map);
}

static void test_kernel_hidden(void **state)
{
	struct fixture *fix = *state;
	uint32_t kernel = add_mapping(fix, "[kernel.kallsyms]", NULL);
	struct kernel_map *map = map_of("0000000000000000 T schedule\n");
	const struct symbolizer_opts opts = {.kernel = map};

	profile_location(&fix->prof, kernel, 0xffffffff81000010, LOCATION_KERNEL);
	profile_location(&fix->prof, kernel, 0xffffffffc0000010, LOCATION_KERNEL);
	run_with(fix, &opts);
	assert_int_equal(unnamed_cnt(fix, "kptr_restrict"), 2);
	/* It has been said. */
	assert_false(kernel_map_say_once(map));
	check_books(fix);
	kernel_map_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reasons, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_short, setup, teardown),
		cmocka_unit_test_setup_teardown(test_named_and_synthetic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_symbols, setup, teardown),
		cmocka_unit_test_setup_teardown(test_go, setup, teardown),
		cmocka_unit_test_setup_teardown(test_go_partly, setup, teardown),
		cmocka_unit_test_setup_teardown(test_go_no_inline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_profile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dwarf, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_inline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dwarf_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_merge_clones, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal_return, setup, teardown),
		cmocka_unit_test_setup_teardown(test_libc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_hidden, setup, teardown),
	};

	main_return = __builtin_return_address(0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
