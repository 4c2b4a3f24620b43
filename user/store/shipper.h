/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the store to one sink: rounds of windows, each of which is there, or is sent again. What a
 * sink refuses for what it is, is sent alone; where it is refused then, too, it is put aside
 * (quarantine), counted, and told as lost. Where nearly everything is refused, that is no answer
 * about windows: then nothing is put aside.
 */
#ifndef BPFPROF_STORE_SHIPPER_H
#define BPFPROF_STORE_SHIPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/ship.h"
#include "store/store.h"

struct shipper;

struct shipper_opts {
	const char *url; /* of the sink */
	const char *name; /* of its cursor; NULL: the URL without its password */
	uint64_t bytes_per_s; /* sent at most; 0: no bound */
	/* struct sink_opts' */
	bool (*is_cancelled)(void *arg);
	void *arg;
};

struct shipper_status {
	uint64_t windows, samples; /* shipped since it was opened; windows as recorded */
	uint64_t batches; /* of them: those of a minute are one */
	uint64_t rows, dict_rows, sent_bytes; /* struct sink_counts' */
	uint64_t rejected; /* struct sink_counts' */
	uint64_t failures; /* rounds that were not taken */
	uint64_t retry_after_ns; /* the last one: the sink asks to be left alone for that long */
	uint64_t quarantined, tombstones; /* windows of either */
	struct store_lag lag; /* what is left */
};

/* A shipper of @store (borrowed; STORE_SHIP or STORE_WRITE). *@out is *owned* (shipper_close()).
 * Nothing is connected yet. 0 or negative errno, with the reason in @why. */
int shipper_open(struct store *store, const struct shipper_opts *opts, struct shipper **out,
		 struct buf *why);
void shipper_close(struct shipper *shipper); /* NULL is fine */

/* The same to @sink, which is *taken* in any case. */
int shipper_open_sink(struct store *store, struct sink *sink, const char *name,
		      struct shipper **out, struct buf *why);

/* The cursor's name. Borrowed. */
const char *shipper_name(const struct shipper *shipper);

/*
 * Ship one round. @is_last: also the minute that may still grow. 1: some of it is there, and there
 * may be more; 0: nothing is left; negative errno with the reason in @why: nothing was lost, try
 * again.
 */
int shipper_step(struct shipper *shipper, bool is_last, struct buf *why);

/* How long to wait after @failures in a row: longer and longer, up to a minute, and not as long as
 * others wait. */
uint64_t shipper_backoff_ns(uint32_t failures);

/* Where the sink tells of windows that are lost. Borrowed. */
const char *shipper_lost_told(const struct shipper *shipper);

const struct shipper_status *shipper_status(const struct shipper *shipper);

#endif
