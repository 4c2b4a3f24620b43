/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/symbol_files.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/progress.h"
#include "elf/debuginfod.h"

/* How often the line that says what is waited for is painted anew. */
#define LOOK_NS (100 * NSEC_PER_MSEC)

void symbol_files_wait(struct debuginfod *client)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct progress progress;
	size_t left_cnt;

	progress_start(&progress, now_ns);
	while ((left_cnt = debuginfod_wait(client, now_ns + LOOK_NS))) {
		now_ns = clock_monotonic_ns();
		progress_wait(&progress, now_ns, left_cnt, 0);
	}
	progress_clear(&progress);
}

int symbol_files_open(const struct debug_dirs *dirs, struct symbol_sources *out)
{
	*out = (struct symbol_sources){.debug_dirs = dirs->items};
	if (!debuginfod_is_configured())
		return 0;
	out->debuginfod = debuginfod_new();
	if (out->debuginfod)
		return 0;
	log_error("debuginfod: %s", strerror(errno));
	return -errno;
}
