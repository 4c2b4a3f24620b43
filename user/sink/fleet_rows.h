/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the fleet store's tables (clickhouse/schema.h), as blocks to insert. */
#ifndef BPFPROF_SINK_FLEET_ROWS_H
#define BPFPROF_SINK_FLEET_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "clickhouse/native.h"
#include "sink/fleet_names.h"
#include "sink/sink.h"

/* In the order in which they are inserted: what names another one comes behind it. */
enum fleet_block {
	FLEET_KINDS,
	FLEET_HOSTS,
	FLEET_FRAMES,
	FLEET_STACKS,
	FLEET_SOURCES,
	FLEET_SAMPLES,
	FLEET_BATCHES,
	FLEET_BLOCK_CNT,
};

/* What each block's rows consist of. */
extern const struct native_table fleet_row_tables[FLEET_BLOCK_CNT];

/* When a window is: h + 60 * minute + second + lead is its seq. */
struct fleet_time {
	uint32_t h; /* seconds since 1970 */
	uint8_t minute, second;
	uint32_t lead;
};

/* 0; -ERANGE: the table has no room for such a seq or time (2106). */
int fleet_time_of(const struct sink_window *window, struct fleet_time *out);

/* Days since 1970 (UTC). */
static inline uint16_t fleet_day(const struct fleet_time *time)
{
	return (uint16_t)(time->h / 86400);
}

/* A row of samples. */
struct fleet_sample {
	uint32_t service, version; /* strings of the dictionary */
	uint64_t stack, src;
	uint32_t local_stack, label_set; /* of which they were made */
	size_t row; /* of the batch: the first that became part of it */
};

/*
 * The rows of @batch as those of the table, sorted by its key, those that have become equal added
 * up: rows with numbers that differ here may be one there. *@out (owned, free()) has *@cnt of them,
 * *@values_out (owned) their values. 0 or -ENOMEM.
 */
int fleet_samples(struct fleet_names *names, const struct sink_batch *batch,
		  struct fleet_sample **out, int64_t **values_out, size_t *cnt);

/* Add one row; @values are as many as @types has. */
void fleet_add_sample(struct native_block *block, const struct fleet_names *names, uint64_t kind,
		      const struct fleet_time *time, const struct fleet_sample *sample,
		      const int64_t *values, const struct profile *types);
void fleet_add_stack(struct native_block *block, struct fleet_names *names, uint16_t day,
		     const struct fleet_sample *sample);
void fleet_add_frame(struct native_block *block, struct fleet_names *names, uint16_t day,
		     uint32_t location);
void fleet_add_source(struct native_block *block, struct fleet_names *names, uint16_t day,
		      uint32_t label_set);
void fleet_add_kind(struct native_block *block, uint64_t kind, const struct sink_batch *batch);
void fleet_add_host(struct native_block *block, uint64_t host, const char *id, const char *name,
		    uint64_t seen_s);

/* What the ledger says of a batch. */
struct fleet_sums {
	uint64_t rows;
	uint64_t values[PROFILE_VALUES_MAX]; /* modulo 2^64, as the server adds */
	uint32_t value_cnt;
};

/* @batch: NULL for the window itself. */
void fleet_add_batch(struct native_block *block, uint64_t host, const struct fleet_time *time,
		     const struct sink_window *window, const struct sink_batch *batch,
		     uint64_t kind, const struct fleet_sums *sums);

#endif
