/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver of test_dwarf.sh: inline chains of addresses of one ELF file through the DWARF index, in
 * the words of llvm-symbolizer --inlines: for each hex address a line with the function and one
 * with file:line:column per level, innermost first, then an empty line.
 *
 *	lookup_lines [--time] [--alt FILE] [--budget BYTES] FILE < ADDRESSES
 *
 * --time: instead, how long opening and all lookups took, and the largest anonymous memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "../unit/dwarf_chain.h"

enum { FRAMES_MAX = 600 };

struct options {
	const char *path, *alt_path;
	size_t budget_bytes;
	bool is_timed;
};

static void print_chain(const struct dwarf_frame *frames, int cnt)
{
	for (int i = 0; i < cnt && i < FRAMES_MAX; i++)
		printf("%s\n%s:%u:%u\n", frames[i].name ? frames[i].name : "??",
		       frames[i].file ? frames[i].file : "??", frames[i].line, frames[i].column);
	if (cnt <= 0)
		printf("??\n??:0:0\n");
	putchar('\n');
}

/* The process's resident memory that is no file's, in kilobytes. */
static long anon_kb(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long kb = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			break;
	return kb;
}

static int lookup_all(struct dwarf_index *index, const struct options *options, uint64_t begin_ns)
{
	struct dwarf_frame frames[FRAMES_MAX];
	uint64_t vaddr;
	long most_kb = 0;
	int lookups_cnt = 0;

	while (scanf("%" SCNx64, &vaddr) == 1) {
		int cnt = chain_find(index, vaddr, frames, FRAMES_MAX);

		if (!options->is_timed) {
			print_chain(frames, cnt);
		} else if (lookups_cnt++ % 64 == 0) {
			long kb = anon_kb();

			most_kb = kb > most_kb ? kb : most_kb;
		}
	}
	if (options->is_timed)
		printf("%d addresses in %.3f s, %.1f MB anonymous, %.1f MB held\n", lookups_cnt,
		       (double)(clock_monotonic_ns() - begin_ns) / 1e9, (double)most_kb / 1e3,
		       (double)dwarf_index_bytes(index) / 1e6);
	return 0;
}

static int run(const struct options *options)
{
	_cleanup_close_ int fd = open(options->path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int alt_fd =
		options->alt_path ? open(options->alt_path, O_RDONLY | O_CLOEXEC) : -1;
	char path[PATH_MAX];
	struct dwarf_index_opts opts = {
		.alt_fd = alt_fd,
		.root_fd = -1,
		.path = realpath(options->path, path),
		.budget_bytes = options->budget_bytes,
	};
	uint64_t begin_ns = clock_monotonic_ns();
	struct dwarf_index *index;
	int err = fd < 0 ? -errno : dwarf_index_open(fd, &opts, &index);

	if (err) {
		fprintf(stderr, "lookup_lines: open '%s': %s\n", options->path, strerror(-err));
		return 1;
	}
	err = lookup_all(index, options, begin_ns);
	dwarf_index_free(index);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = {0};

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--time"))
			options.is_timed = true;
		else if (!strcmp(argv[i], "--alt") && i + 1 < argc)
			options.alt_path = argv[++i];
		else if (!strcmp(argv[i], "--budget") && i + 1 < argc)
			options.budget_bytes = strtoul(argv[++i], NULL, 10);
		else
			options.path = argv[i];
	}
	if (!options.path) {
		fprintf(stderr,
			"usage: lookup_lines [--time] [--alt FILE] [--budget BYTES] FILE\n");
		return 2;
	}
	return run(&options);
}
