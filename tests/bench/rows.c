/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unwind rows cost: building them from each FILE's call frame information, and copying them
 * into the kernel's arrays. A table in Markdown; building is the median of RUNS.
 *
 *	rows FILE...
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/loader.h"
#include "capture/samplers.h"
#include "capture/row_store.h"
#include "unwind/table.h"

enum { RUNS = 7 };

static int compare_ns(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static double median_ms(uint64_t *ns)
{
	qsort(ns, RUNS, sizeof(*ns), compare_ns);
	return (double)ns[RUNS / 2] / 1e6;
}

/* Copy @table into an empty store whose pages nobody has touched yet: ms; negative when it does not
 * fit. */
static double copy_ms(const struct unwind_table *table)
{
	struct capture_opts opts = {.no_kernel_stacks = true};
	struct bp_exe_key key = {.ino = 1};
	const struct samplers samplers = {.cnt = 1};
	struct row_store store;
	struct loader loader;
	double ms = -1;

	if (!loader_open(&loader, &opts, &samplers, NULL) && !row_store_init(&store, &loader)) {
		uint64_t from = clock_monotonic_ns();

		if (!row_store_add(&store, BP_EXE_FIRST, &key, table, 0, true))
			ms = (double)(clock_monotonic_ns() - from) / 1e6;
		row_store_deinit(&store);
	}
	loader_close(&loader);
	return ms;
}

static int measure(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct unwind_stats stats;
	uint64_t ns[RUNS];
	double build, copy = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (int i = 0; i < RUNS; i++) {
		uint64_t from = clock_monotonic_ns();
		struct unwind_table *table = unwind_table_open(fd);

		ns[i] = clock_monotonic_ns() - from;
		if (!table) {
			close(fd);
			return -errno;
		}
		if (i == RUNS - 1) {
			unwind_table_stats(table, &stats);
			copy = copy_ms(table);
		}
		unwind_table_free(table);
	}
	close(fd);
	build = median_ms(ns);
	printf("| %s | %zu | %.2f | %.1f | %.2f | %.2f %% | %.3f |\n", name, stats.rows_cnt, build,
	       (double)stats.rows_cnt / build / 1e3, copy,
	       100.0 * (double)stats.inline_cnt / (double)stats.rows_cnt,
	       4 + (double)sizeof(struct bp_rule) * (double)stats.rules_cnt /
			       (double)stats.rows_cnt);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	printf("| unwind rows | rows | build, ms | M rows/s | into the kernel, ms | in 4 bytes | "
	       "bytes a row |\n"
	       "|---|---:|---:|---:|---:|---:|---:|\n");
	for (int i = 1; i < argc; i++) {
		int err = measure(argv[i]);

		if (err) {
			fprintf(stderr, "rows: %s: %s\n", argv[i], strerror(-err));
			status = 1;
		}
	}
	return status;
}
