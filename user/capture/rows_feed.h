/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side loop: executables that were met get their unwind rows. Joins preload (meets what is
 * mapped on the host), builder (compiles) and store (puts into the kernel).
 */
#ifndef BPFPROF_CAPTURE_ROWS_FEED_H
#define BPFPROF_CAPTURE_ROWS_FEED_H

#include "capture/exes.h"
#include "capture/preload.h"
#include "capture/row_builder.h"
#include "capture/row_store.h"

struct rows_feed {
	struct exes *exes; /* borrowed */
	struct row_store store;
	struct row_builder *builder; /* owned */
	struct preload *preload; /* owned */
	size_t taken_cnt; /* tables that were asked for and have come, or will not */
	size_t asked_cnt; /* exes->items[0 .. asked_cnt) have been given to the builder */
	uint32_t *expected; /* executables, by id; owned */
	size_t expected_cnt, expected_cap;
};

int rows_feed_init(struct rows_feed *feed, struct loader *loader, struct exes *exes);
void rows_feed_deinit(struct rows_feed *feed);

/* Begin to meet what is mapped on the host, unless that has begun; after the events are enabled, so
 * that it delays nothing. */
void rows_feed_preload(struct rows_feed *feed);

/* Meet the file at @path, which is going to be sampled: its rows come before those of what is only
 * mapped. Nothing when it cannot be met. After rows_feed_preload(). */
void rows_feed_expect(struct rows_feed *feed, const char *path);

/* Has all been met that was mapped? What is read of the ring after that has all of it. */
bool rows_feed_is_preloaded(const struct rows_feed *feed);

/* Are the rows of all that has been read of the ring in the kernel, or not to be had? */
bool rows_feed_is_settled(const struct rows_feed *feed);

/* The same of what is expected alone, all of it. */
bool rows_feed_has_expected(const struct rows_feed *feed);

/* Give executables met since the last call to the builder. 0 or negative errno. */
int rows_feed_ask(struct rows_feed *feed);

/* Readable when a table is finished; then rows_feed_take() in drain @drain_nr. */
int rows_feed_fd(const struct rows_feed *feed);
void rows_feed_take(struct rows_feed *feed, uint64_t drain_nr);

/* After drain @drain_nr: what it saw is the last to be evicted, and asked for again where it has
 * been. */
void rows_feed_mark_used(struct rows_feed *feed, uint64_t drain_nr);

#endif
