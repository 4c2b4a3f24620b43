/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver of test_symbols_nm.sh: names addresses of one ELF file through the symbol index.
 *
 *	lookup_symbols FILE < ADDRESSES           a line "address name" for each hex address, "-"
 *	                                          for none
 *	lookup_symbols --debug FILE < ADDRESSES   the same with its debug file
 *	lookup_symbols --time FILE                how long open and index take, and what they hold
 *	lookup_symbols --time /proc/kallsyms
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "elf/debug_file.h"
#include "elf/elf_file.h"
#include "elf/symtab.h"
#include "proc/kallsyms.h"

static void lookup_lines(const struct symtab *symtab)
{
	uint64_t vaddr;

	while (scanf("%" SCNx64, &vaddr) == 1) {
		struct symtab_name name;

		if (symtab_find(symtab, vaddr, &name))
			printf("%" PRIx64 " -\n", vaddr);
		else
			printf("%" PRIx64 " %.*s%s\n", vaddr, (int)name.len, name.str,
			       name.is_plt ? "@plt" : "");
	}
}

static void find_debug_file(const struct elf_file *elf, const char *path, struct debug_file *out)
{
	uint8_t build_id[64];
	const struct debug_query query = {
		.elf = elf,
		.path = path,
		.build_id = build_id,
		.build_id_len = elf_build_id(elf, build_id, sizeof(build_id)),
		.root_fd = -1,
	};

	debug_file_find(&query, DEBUG_WANT_SYMBOLS, out);
}

static int run_file(const char *path, const char *option)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t begin_ns = clock_monotonic_ns();
	struct elf_file *elf = fd < 0 ? NULL : elf_file_open(fd);
	struct debug_file debug = {0};
	struct symtab *symtab;

	if (elf && !strcmp(option, "--debug"))
		find_debug_file(elf, path, &debug);
	if (!elf || symtab_from_elf(elf, &debug, &symtab)) {
		fprintf(stderr, "lookup_symbols: open '%s': %s\n", path, strerror(errno));
		elf_file_free(elf);
		return 1;
	}
	if (!strcmp(option, "--time"))
		printf("%s: %zu ranges, %.1f ms\n", path, symtab_range_cnt(symtab),
		       (double)(clock_monotonic_ns() - begin_ns) / 1e6);
	else
		lookup_lines(symtab);
	symtab_free(symtab);
	debug_file_deinit(&debug);
	elf_file_free(elf);
	return 0;
}

static int time_kallsyms(const char *path)
{
	uint64_t begin_ns = clock_monotonic_ns();
	struct kallsyms *syms = kallsyms_open(path);

	if (!syms) {
		fprintf(stderr, "lookup_symbols: open '%s': %s\n", path, strerror(errno));
		return 1;
	}
	printf("%s: %zu addresses, %.1f ms\n", path, kallsyms_cnt(syms),
	       (double)(clock_monotonic_ns() - begin_ns) / 1e6);
	kallsyms_free(syms);
	return 0;
}

int main(int argc, char **argv)
{
	const char *option = argc == 3 ? argv[1] : "";

	if (argc < 2 || argc > 3 || (argc == 3 && strncmp(option, "--", 2) != 0)) {
		fprintf(stderr, "usage: lookup_symbols [--debug | --time] FILE\n");
		return 2;
	}
	if (!strcmp(option, "--time") && !strcmp(argv[2], "/proc/kallsyms"))
		return time_kallsyms(argv[2]);
	return run_file(argv[argc - 1], option);
}
