/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers that compile unwind tables beside the recording: one for executables that were
 * sampled, one for those that are only mapped on the host, whose large ones take seconds. They know
 * files and tables, not the kernel: finished tables wait until the recording takes them. Tables of
 * earlier recordings are read back (unwind/table_cache.h).
 */
#ifndef BPFPROF_CAPTURE_ROW_BUILDER_H
#define BPFPROF_CAPTURE_ROW_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/module.h"
#include "unwind/table.h"

struct row_builder;

/* *owned*; NULL + errno. */
struct row_builder *row_builder_start(void);

/* Ends the threads (after the tables they are at) and forgets what waits. NULL is fine. */
void row_builder_stop(struct row_builder *builder);

/* Ask for the table of @exe_id, which is @module (its descriptor is duplicated; without one it is
 * the vdso of this process). 0 or negative errno. */
int row_builder_ask(struct row_builder *builder, uint32_t exe_id, const struct module *module,
		    bool is_urgent);

/* What was asked for @exe_id is urgent after all. Nothing when it does not wait any more. */
void row_builder_hurry(struct row_builder *builder, uint32_t exe_id);

/* Readable when a table is finished. Borrowed. */
int row_builder_fd(const struct row_builder *builder);

/*
 * Take one finished table: true, *@exe_id, *@is_urgent as asked, and *@table *owned* by the caller
 * (NULL: the file has none we can read). False when there is none; the descriptor is then not
 * readable any more.
 */
bool row_builder_take(struct row_builder *builder, uint32_t *exe_id, bool *is_urgent,
		      struct unwind_table **table);

#endif
