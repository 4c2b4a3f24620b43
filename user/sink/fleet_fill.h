/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From windows to rows of the fleet store: what a host's windows are as blocks to insert, with as
 * much of the dictionary as the server has not got. One host's sink has one filler and its blocks;
 * who speaks for several hosts has a filler for each, and may let them share the blocks, and what
 * the server is known to have of what hosts have in common.
 */
#ifndef BPFPROF_SINK_FLEET_FILL_H
#define BPFPROF_SINK_FLEET_FILL_H

#include "clickhouse/client.h"
#include "sink/fleet_known.h"
#include "sink/fleet_names.h"
#include "sink/fleet_rows.h"

enum { FLEET_HOST_ID_MAX = 64 };

/* Rows of all tables. */
struct fleet_blocks {
	struct native_block of[FLEET_BLOCK_CNT];
};

/* 0 or -ENOMEM; release with fleet_blocks_deinit() in either case. */
int fleet_blocks_init(struct fleet_blocks *blocks);
void fleet_blocks_deinit(struct fleet_blocks *blocks);

/* Forget the rows. 0 or -ENOMEM. */
int fleet_blocks_reset(struct fleet_blocks *blocks);

/* Insert them, the ledger last; what of them was the dictionary's is added to *@dict_rows. 0 or
 * negative errno as ch_client_insert(): then it is not known what has arrived. */
int fleet_blocks_insert(const struct fleet_blocks *blocks, struct ch_client *client,
			uint64_t *dict_rows);

/* The same from table *@at on (0: all), which is the first that is not there yet afterwards: what
 * was taken before a failure need not be sent again. */
int fleet_blocks_insert_rest(const struct fleet_blocks *blocks, struct ch_client *client,
			     size_t *at, uint64_t *dict_rows);

struct fleet_candidate;

/* Of one host: its names, and what the server is known to have of them. */
struct fleet_filler {
	char id[FLEET_HOST_ID_MAX];
	struct fleet_names names;
	struct fleet_known known;
	struct fleet_known *shared; /* borrowed: of stacks and frames; NULL: known is */
	struct hmap kinds; /* that the server has */
	/*
	 * What the server says it has of the dictionary, it keeps. Of replicas only what was
	 * acknowledged is sure: one may show what an insert left there that came no further, and
	 * be lost. So nothing is asked until all that the filler's owner sends has arrived once:
	 * each host that had a part in such a thing tells it again.
	 */
	bool tells_all;
	uint16_t host_day; /* on which the host was told last */
	uint64_t late_generation, late_done; /* of the dictionary's late names: sent */
	struct fleet_candidate *candidates; /* owned */
	size_t candidate_cnt, candidate_cap;
	struct ch_client *client; /* borrowed, as blocks, during fleet_fill() */
	struct fleet_blocks *blocks;
	uint64_t rows; /* of samples, added so far */
};

/* @host_id is copied. */
void fleet_filler_init(struct fleet_filler *filler, const char *host_id);
void fleet_filler_deinit(struct fleet_filler *filler);

/* An insert of its rows failed: what the server was told is not sure any more. */
void fleet_filler_forget(struct fleet_filler *filler);

/*
 * Add the rows of @windows, which are of one generation, to @blocks; @client is asked which stacks
 * it has. 0, -ENOMEM, -ERANGE (a time after 2106) or negative errno as ch_client_query(); after a
 * failure the filler has to forget.
 */
int fleet_fill(struct fleet_filler *filler, struct ch_client *client,
	       const struct sink_window *windows, size_t cnt, struct fleet_blocks *blocks);

#endif
