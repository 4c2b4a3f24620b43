/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window taken apart, for receivers of whole profiles: a piece has the samples of one batch whose
 * labels agree in what the receiver tells apart. What comes out depends on the window alone, so
 * that it is the same when it is sent again; but frames have the names that they have by now.
 */
#ifndef BPFPROF_SINK_PIECES_H
#define BPFPROF_SINK_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "sink/sink.h"

typedef bool sink_label_fn(const struct profile *dict, const struct profile_label *label);

/* Is it the service? */
sink_label_fn sink_label_is_service;

/* Is it a text that all of a program's samples have on this host, as service, version, container
 * and what the user gives? Not those of threads, calls and waits. */
sink_label_fn sink_label_is_series;

/* The text of @label_set's label @key; "" without one. Borrowed from @dict. */
const char *sink_label_str(const struct profile *dict, uint32_t label_set, const char *key);

struct sink_piece {
	const struct sink_batch *batch; /* borrowed */
	uint32_t label_set; /* of its first sample */
	const uint32_t *rows; /* borrowed: of the batch, ascending */
	size_t row_cnt; /* > 0 */
	size_t place; /* how many rows other pieces have before them: another one in each piece */
};

struct sink_pieces {
	/* What the pieces are of: the window with a dictionary of what it uses, as that of its
	 * generation is large, and a profile of each piece would be looked for in all of it. */
	struct sink_window window;
	struct profile dict;
	struct sink_batch *batches; /* owned, as window.batches; values are borrowed */
	struct sink_row *window_rows; /* owned: all batches' */
	struct sink_piece *items; /* owned */
	size_t cnt, cap;
	uint32_t *rows; /* owned: all pieces' */
};

/* Halve @piece, of more than one row: *@first gets the first rows, @piece keeps the others. */
void sink_piece_halve(struct sink_piece *piece, struct sink_piece *first);

/*
 * The pieces of @window (borrowed as long as @out is used), of at most @max_rows rows each: batch
 * by batch, in the order of their first rows. They refer to @out->window, and @out stays where it
 * is. 0 or negative errno; sink_pieces_deinit() in any case.
 */
int sink_pieces_init(struct sink_pieces *out, const struct sink_window *window,
		     sink_label_fn *tells_apart, size_t max_rows);
void sink_pieces_deinit(struct sink_pieces *pieces);

/*
 * @piece of @window as a profile of its own, with those labels of its samples that @keeps (NULL:
 * all). It has a period where that is one of its values'. @out is *owned* (profile_deinit()) on
 * success. 0 or negative errno.
 */
int sink_piece_profile(const struct sink_window *window, const struct sink_piece *piece,
		       sink_label_fn *keeps, struct profile *out);

/* The value of @types that its period is about: "cpu", of which each sample stands for a period.
 * PROFILE_NONE: it has no period. */
uint32_t sink_period_value(const struct profile *types);

/* @name in the characters of labels' and metrics' names ([a-zA-Z0-9_], no digit first). */
void sink_add_name(struct buf *out, const char *name);

#endif
