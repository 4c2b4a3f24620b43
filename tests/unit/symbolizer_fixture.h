/* SPDX-License-Identifier: Apache-2.0 */
/* A profile and the modules of its mappings, to be named; what of it has a name. Include it after
 * cmocka. */
#ifndef BPFPROF_TESTS_SYMBOLIZER_FIXTURE_H
#define BPFPROF_TESTS_SYMBOLIZER_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "elf_image.h"
#include "proc/module.h"
#include "symbol/symbolizer.h"

#define TEXT 0x1000

struct fixture {
	struct profile prof;
	struct module *modules[8];
	size_t module_cnt;
	struct ledger_frames frames;
};

static inline int setup(void **state)
{
	struct fixture *fix = calloc(1, sizeof(*fix));

	assert_non_null(fix);
	assert_int_equal(profile_init(&fix->prof), 0);
	*state = fix;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *fix = *state;

	for (size_t i = 0; i < fix->module_cnt; i++)
		module_free(fix->modules[i]);
	profile_deinit(&fix->prof);
	free(fix);
	return 0;
}

/* A mapping with its module; @module (taken) may be NULL. */
static inline uint32_t add_mapping(struct fixture *fix, const char *path, struct module *module)
{
	uint32_t mapping = profile_mapping(&fix->prof, path, "");

	assert_int_equal(mapping, fix->module_cnt);
	fix->modules[fix->module_cnt++] = module;
	return mapping;
}

static inline struct module *module_of_fd(const char *path, int fd, enum module_absence absence)
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
static inline struct module *module_with_symbols(const char *path)
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

static inline void run_with(struct fixture *fix, const struct symbolizer_opts *opts)
{
	assert_int_equal(
		symbolizer_run(&fix->prof, fix->modules, fix->module_cnt, opts, &fix->frames), 0);
}

static inline void run(struct fixture *fix, bool no_symbols)
{
	const struct symbolizer_opts opts = {.no_symbols = no_symbols};

	run_with(fix, &opts);
}

static inline void check_location(const struct fixture *fix, uint32_t location, const char *name,
				  const char *system_name)
{
	const struct profile_location *loc = &fix->prof.locations[location];
	const struct profile_function *function;

	assert_int_equal(loc->line_cnt, 1);
	function = &fix->prof.functions[fix->prof.lines[loc->first_line].function];
	assert_string_equal(profile_str(&fix->prof, function->name), name);
	assert_string_equal(profile_str(&fix->prof, function->system_name), system_name);
}

static inline uint64_t unnamed_cnt(const struct fixture *fix, const char *reason)
{
	const struct ledger_reasons *unnamed = &fix->frames.unnamed;

	for (uint32_t i = 0; i < unnamed->cnt; i++) {
		if (!strcmp(unnamed->items[i].name, reason))
			return unnamed->items[i].cnt;
	}
	return 0;
}

static inline void check_books(const struct fixture *fix)
{
	assert_int_equal(fix->frames.distinct,
			 fix->frames.named + ledger_reasons_sum(&fix->frames.unnamed));
}

#endif
