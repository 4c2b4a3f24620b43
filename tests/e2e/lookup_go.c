/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver of test_go_frames.sh: the calls at addresses of a Go program, from its own tables.
 *
 *	lookup_go FILE < ADDRESSES   per hex address a line "address", then per frame, innermost
 *	                             first, a tab and "name file:line"
 *	lookup_go --time FILE        how long open takes, how long a lookup, and the functions
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
#include "elf/elf_file.h"
#include "elf/go_symbols.h"

static void print_chain(uint64_t vaddr, const struct go_symbols *syms)
{
	struct go_chain chain;

	printf("%" PRIx64, vaddr);
	if (!go_symbols_find(syms, vaddr, &chain)) {
		for (size_t i = 0; i < chain.cnt; i++)
			printf("\t%s %s:%" PRIu32, chain.frames[i].name, chain.frames[i].file,
			       chain.frames[i].line);
	}
	printf("\n");
}

/* Returns how many lookups there were. */
static size_t lookup_all(const struct go_symbols *syms, bool is_timed)
{
	struct go_chain chain;
	size_t cnt = 0;
	uint64_t vaddr;

	while (scanf("%" SCNx64, &vaddr) == 1) {
		if (is_timed)
			go_symbols_find(syms, vaddr, &chain);
		else
			print_chain(vaddr, syms);
		cnt++;
	}
	return cnt;
}

int main(int argc, char **argv)
{
	bool is_timed = argc == 3 && !strcmp(argv[1], "--time");
	const char *path = argv[argc - 1];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t begin_ns = clock_monotonic_ns(), open_ns;
	struct elf_file *elf = fd < 0 ? NULL : elf_file_open(fd);
	struct go_symbols *syms;
	size_t cnt;

	if (!elf || go_symbols_from_elf(elf, &syms)) {
		fprintf(stderr, "lookup_go: open '%s': %s\n", path,
			elf ? "no Go program" : strerror(errno));
		elf_file_free(elf);
		return 1;
	}
	open_ns = clock_monotonic_ns() - begin_ns;
	begin_ns = clock_monotonic_ns();
	cnt = lookup_all(syms, is_timed);
	if (is_timed)
		printf("%s: %zu functions, open %.2f ms, %zu lookups in %.2f ms\n", path,
		       go_symbols_func_cnt(syms), (double)open_ns / 1e6, cnt,
		       (double)(clock_monotonic_ns() - begin_ns) / 1e6);
	go_symbols_free(syms);
	elf_file_free(elf);
	return 0;
}
