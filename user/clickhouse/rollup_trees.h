/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roll-ups as trees: the sums of an hour or a day (rollup.h) by what calls what, so that a flame
 * graph needs neither the stacks nor a sum for each of them. There is one tree for each (service,
 * version, kind) of a span. Its nodes are frames by number, as stacks have them: names may come
 * later. They lie in pre-order, each with its depth and what ends in it:
 *
 *	stacks, root first	depths	frames	selfs
 *	1 2 3	n = 5		0 1 2 1	1 2 3 4	0 1 5 2
 *	1 2	n = 1
 *	1 4	n = 2
 *
 * A row is at most ROLLUP_NODES of them, as arrays: part 0 of a tree, part 1 and so on. With value
 * 0 it has depths, frames and the selfs of n; with value i the selfs of the kind's i-th value, of
 * the same nodes, where these are no multiple of n. factors, of value 0, says which are: a factor
 * for each value, that of n being 1; 0 where there are rows of it, or it is 0. The rows of value 0
 * say in `nodes` how many the tree has.
 *
 * When all rows of a span are there, a last one follows, of tree 0: `nodes` is what its trees have
 * in sum. Without it, or where its build is not that of the span's sums, they are not read, and the
 * next job makes them. Nor are there any where a stack of the sums is in no table. A stack without
 * frames is a node of frame 0.
 */
#ifndef BPFPROF_CLICKHOUSE_ROLLUP_TREES_H
#define BPFPROF_CLICKHOUSE_ROLLUP_TREES_H

#include <stdint.h>

#include "base/buf.h"
#include "clickhouse/client.h"
#include "clickhouse/rollup.h"

enum {
	ROLLUP_NODES = 256, /* of a row */
	ROLLUP_DEPTH_MAX = 1 << 16, /* of a stack; what is deeper was never recorded */
};

/*
 * Append to @out the spans of that length in [@from_s, @to_s) whose trees are all there, sorted:
 * `built` of which sums, `rows` how many nodes. 0 or negative errno as ch_client_query().
 */
int rollup_trees_done(struct ch_client *client, uint32_t length_s, uint32_t from_s, uint32_t to_s,
		      struct rollup_spans *out);

/* Make the trees of @span, whose sums are done. 0; -ENODATA: a stack is in no table, so that there
 * will be none; or negative errno as ch_client_query(). */
int rollup_trees_make(struct ch_client *client, const struct rollup_span *span);

/* How many sums of (service, version, kind, value) the trees of @span have that are not those of
 * @table, into *@out. 0 or negative errno. */
int rollup_trees_check(struct ch_client *client, const struct rollup_span *span, const char *table,
		       uint64_t *out);

#endif
