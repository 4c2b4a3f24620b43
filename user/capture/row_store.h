/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which executables' unwind rows are in the kernel. Tables come from the builder; they are copied
 * into the mmap-ed arrays and then published. Room is bounded: when it runs out, the executable
 * whose rows have not been used for the longest time is withdrawn, and its room is reused only
 * after every running program has finished.
 */
#ifndef BPFPROF_CAPTURE_ROW_STORE_H
#define BPFPROF_CAPTURE_ROW_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "capture/extents.h"
#include "capture/loader.h"
#include "unwind/table.h"

struct resident {
	uint32_t exe_id;
	bool is_vdso;
	struct bp_exe_key key;
	struct bp_rows rows;
	/* Owned: where its rows are, over all blocks, in order. */
	struct extent *runs;
	size_t run_cnt, run_cap;
	uint64_t row_cnt;
	uint32_t rule_cnt;
	uint64_t last_used; /* number of the drain that last saw a frame of it */
};

struct row_store {
	struct loader *loader; /* borrowed */
	struct extents rows, pages, rules;
	struct resident *items; /* owned */
	size_t cnt, cap;
	uint64_t rows_resident, evictions, refused; /* refused: tables that found no room at all */
};

int row_store_init(struct row_store *store, struct loader *loader);
void row_store_deinit(struct row_store *store);

/*
 * Copy @table (borrowed) into the kernel and publish it for executable @exe_id with identity @key
 * (BP_EXE_VDSO: the vdso). @drain_nr: now, for the order of eviction. @may_evict: make room at the
 * cost of executables that were used before @drain_nr. 0; -ENOSPC: counted, stacks through it stay
 * truncated as no_rows; -ENOMEM.
 */
int row_store_add(struct row_store *store, uint32_t exe_id, const struct bp_exe_key *key,
		  const struct unwind_table *table, uint64_t drain_nr, bool may_evict);

/*
 * The rule in force at @file_off of executable @exe_id into *@out, as a stepper in the kernel would
 * find it; *@tracks_bx as in struct bp_rows. 0; -ENOENT: its rows are not in the store.
 */
int row_store_find(const struct row_store *store, uint32_t exe_id, uint64_t file_off,
		   struct bp_rule *out, bool *tracks_bx);

/* Tell the kernel that executable @exe_id gets no rows, and why (BP_ROWS_REFUSED, BP_ROWS_JIT): its
 * samples need not wait for them. */
void row_store_refuse(struct row_store *store, uint32_t exe_id, const struct bp_exe_key *key,
		      enum bp_rows_state why);

/* Are there rows of @exe_id? */
bool row_store_has(const struct row_store *store, uint32_t exe_id);

/* A frame of @exe_id was seen in drain @drain_nr. False: its rows are not in the store. */
bool row_store_used(struct row_store *store, uint32_t exe_id, uint64_t drain_nr);

#endif
