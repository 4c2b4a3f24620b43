/* SPDX-License-Identifier: Apache-2.0 */
#include "store/shipper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sink/sink.h"

enum {
	ROUND_WINDOWS = 64, /* put together ones: of an hour */
	ROUND_ROWS = 200000, /* no window is begun behind them */
	REFUSED_MAX = 3, /* windows in a row that are put aside */
	BACKOFF_FIRST_MS = 500,
	BACKOFF_LAST_MS = 60000,
};

#define TELL_USE_NS (3600 * NSEC_PER_SEC)

struct round {
	struct store_shipment *shipments[ROUND_WINDOWS]; /* owned */
	struct sink_window windows[ROUND_WINDOWS];
	size_t cnt;
};

struct shipper {
	struct store *store; /* borrowed */
	struct sink *sink; /* owned */
	struct buf name;
	uint64_t cursor;
	struct store_shipment *pending; /* owned: of another generation than the round before it */
	uint64_t alone_seq; /* one window after the other up to here: something of it was refused */
	uint64_t used_ns; /* CLOCK_MONOTONIC at which the store was told that the sink is in use */
	uint64_t refused_seq; /* the window that was refused alone; 0: none */
	uint32_t refused_cnt; /* windows in a row that were put aside */
	struct shipper_status status;
};

int shipper_open_sink(struct store *store, struct sink *sink, const char *name,
		      struct shipper **out, struct buf *why)
{
	struct shipper *shipper = calloc(1, sizeof(*shipper));
	struct store_sink known;
	int err = -ENOMEM;

	if (shipper) {
		shipper->store = store;
		shipper->sink = sink;
		buf_init(&shipper->name, BUF_NO_MAX);
		buf_add_str(&shipper->name, name);
		err = shipper->name.err;
	} else {
		sink_close(sink);
	}
	if (!err)
		err = store_sink_use(store, name, clock_realtime_ns(), &known);
	if (err) {
		buf_add_str(why, strerror(-err));
		shipper_close(shipper);
		return err;
	}
	shipper->cursor = known.seq;
	*out = shipper;
	return 0;
}

int shipper_open(struct store *store, const struct shipper_opts *opts, struct shipper **out,
		 struct buf *why)
{
	_cleanup_(buf_deinit) struct buf name;
	char host_id[STORE_BOOT_ID_BYTES];
	const struct sink_opts sink_opts = {
		.host_id = host_id,
		.bytes_per_s = opts->bytes_per_s,
		.is_cancelled = opts->is_cancelled,
		.arg = opts->arg,
	};
	struct sink *sink;
	int err = store_host_id(store, host_id);

	buf_init(&name, BUF_NO_MAX);
	if (err) {
		buf_add_str(why, err == -ENOENT ? "the store has no host's id" : strerror(-err));
		return err;
	}
	if (opts->name)
		buf_add_str(&name, opts->name);
	else
		err = sink_name(opts->url, &name, why);
	if (!err)
		err = sink_open(opts->url, &sink_opts, &sink, why);
	return err ? err : shipper_open_sink(store, sink, buf_cstr(&name), out, why);
}

void shipper_close(struct shipper *shipper)
{
	if (!shipper)
		return;
	store_shipment_free(shipper->pending);
	sink_close(shipper->sink);
	buf_deinit(&shipper->name);
	free(shipper);
}

const char *shipper_name(const struct shipper *shipper)
{
	return buf_cstr(&shipper->name);
}

const char *shipper_lost_told(const struct shipper *shipper)
{
	return shipper->sink->ops->lost_told;
}

const struct shipper_status *shipper_status(const struct shipper *shipper)
{
	return &shipper->status;
}

uint64_t shipper_backoff_ns(uint32_t failures)
{
	uint64_t wait_ms = BACKOFF_FIRST_MS;
	uint32_t chance;

	for (uint32_t i = 1; i < failures && wait_ms < BACKOFF_LAST_MS; i++)
		wait_ms *= 2;
	if (wait_ms > BACKOFF_LAST_MS)
		wait_ms = BACKOFF_LAST_MS;
	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		chance = UINT32_MAX / 2;
	/* From half of it to all of it: who failed together does not come back together. */
	return (wait_ms / 2 + wait_ms / 2 * chance / UINT32_MAX) * NSEC_PER_MSEC;
}

static void round_deinit(struct round *round)
{
	for (size_t i = 0; i < round->cnt; i++)
		store_shipment_free(round->shipments[i]);
}

static size_t rows_of(const struct sink_window *window)
{
	size_t rows = 0;

	for (size_t i = 0; i < window->batch_cnt; i++)
		rows += window->batches[i].row_cnt;
	return rows;
}

/* The next shipment after @cursor: 1, 0: there is none; or negative errno. */
static int next_shipment(struct shipper *shipper, uint64_t cursor, bool is_last,
			 struct store_shipment **out)
{
	if (!shipper->pending)
		return store_ship_next(shipper->store, cursor, is_last, out);
	*out = take_ptr(shipper->pending);
	return 1;
}

/* Windows of one generation, as many as a round may have. */
static int gather(struct shipper *shipper, bool is_last, struct round *round)
{
	const size_t limit = shipper->cursor < shipper->alone_seq ? 1 : ROUND_WINDOWS;
	uint64_t cursor = shipper->cursor, generation = 0;
	struct store_shipment *shipment;
	const struct sink_window *window;
	size_t rows = 0;
	int got = 0;

	while (round->cnt < limit && rows < ROUND_ROWS &&
	       (got = next_shipment(shipper, cursor, is_last, &shipment)) > 0) {
		window = store_shipment_window(shipment);
		if (generation && window->generation && window->generation != generation) {
			shipper->pending = shipment;
			break;
		}
		generation = window->generation ? window->generation : generation;
		cursor = window->last_seq;
		rows += rows_of(window);
		round->shipments[round->cnt] = shipment;
		round->windows[round->cnt++] = *window;
	}
	/* The list of late names may have moved when more of the dictionary was read. */
	for (size_t i = 0; i < round->cnt; i++)
		for (size_t k = i + 1; k < round->cnt; k++)
			if (round->windows[k].generation == round->windows[i].generation) {
				round->windows[i].named = round->windows[k].named;
				round->windows[i].named_cnt = round->windows[k].named_cnt;
			}
	return got < 0 ? got : 0;
}

/* All of @round is there. */
static int take_ack(struct shipper *shipper, const struct round *round)
{
	const struct sink_window *last = &round->windows[round->cnt - 1];
	struct shipper_status *status = &shipper->status;
	uint64_t windows = 0;
	int err;

	for (size_t i = 0; i < round->cnt; i++)
		if (!round->windows[i].lost)
			windows += round->windows[i].window_cnt;
	err = store_sink_acked(shipper->store, shipper_name(shipper), last, windows);
	if (err)
		return err;
	shipper->cursor = last->last_seq;
	for (size_t i = 0; i < round->cnt; i++) {
		const struct sink_window *window = &round->windows[i];

		if (window->lost)
			status->tombstones += window->window_cnt;
		else
			status->samples += store_shipment_samples(round->shipments[i]);
	}
	status->windows += windows;
	status->batches += round->cnt;
	status->rows = shipper->sink->counts.rows;
	status->dict_rows = shipper->sink->counts.dict_rows;
	status->sent_bytes = shipper->sink->counts.sent_bytes;
	return 0;
}

/* The one window of @round is given up: what is left of it is that it is lost. */
static int put_aside(struct shipper *shipper, struct round *round, const char *reason)
{
	struct sink_window *window = &round->windows[0];
	const uint64_t samples = store_shipment_samples(round->shipments[0]);
	int is_new = store_sink_quarantine(shipper->store, shipper_name(shipper), window, samples,
					   reason);

	shipper->status.quarantined += is_new > 0 ? window->window_cnt : 0;
	window->lost = "refused by the sink";
	window->lost_samples = samples;
	window->batch_cnt = 0;
	return is_new < 0 ? is_new : 0;
}

/* What is damaged here is lost to every sink. */
static int note_damage(struct shipper *shipper, struct round *round)
{
	int is_new = 0;

	for (size_t i = 0; i < round->cnt && is_new >= 0; i++) {
		const struct sink_window *window = &round->windows[i];

		/* A tombstone is of no generation. */
		if (!window->lost || !window->generation)
			continue;
		is_new = store_sink_quarantine(shipper->store, shipper_name(shipper), window,
					       window->lost_samples, window->lost);
		shipper->status.quarantined += is_new > 0 ? window->window_cnt : 0;
	}
	return is_new < 0 ? is_new : 0;
}

/* @round was refused for what it is. 0: it was put aside, and may be sent again as lost. */
static int take_refusal(struct shipper *shipper, struct round *round, struct buf *why)
{
	const uint64_t seq = round->windows[0].seq;

	if (round->cnt > 1) {
		shipper->alone_seq = round->windows[round->cnt - 1].last_seq;
		return -EINVAL;
	}
	if (shipper->refused_seq != seq) {
		shipper->refused_seq = seq;
		return -EINVAL;
	}
	if (shipper->refused_cnt >= REFUSED_MAX || round->windows[0].lost)
		return -EINVAL;
	shipper->refused_cnt++;
	return put_aside(shipper, round, buf_cstr(why));
}

static int send_round(struct shipper *shipper, struct round *round, struct buf *why)
{
	const struct sink_ops *ops = shipper->sink->ops;
	int err = note_damage(shipper, round);

	if (!err)
		err = ops->send(shipper->sink, round->windows, round->cnt, why);
	if (!err && !round->windows[0].lost)
		shipper->refused_cnt = 0;
	if (err == -EINVAL) {
		err = take_refusal(shipper, round, why);
		if (!err)
			err = ops->send(shipper->sink, round->windows, round->cnt, why);
	}
	return err ? err : take_ack(shipper, round);
}

/* So that retention waits for it. */
static int tell_use(struct shipper *shipper)
{
	const uint64_t now_ns = clock_monotonic_ns();
	int err;

	if (shipper->used_ns && now_ns - shipper->used_ns < TELL_USE_NS)
		return 0;
	err = store_sink_use(shipper->store, shipper_name(shipper), clock_realtime_ns(), NULL);
	if (!err)
		shipper->used_ns = now_ns;
	return err;
}

int shipper_step(struct shipper *shipper, bool is_last, struct buf *why)
{
	_cleanup_(round_deinit) struct round round = {.cnt = 0};
	int err = tell_use(shipper);

	if (!err)
		err = gather(shipper, is_last, &round);
	if (err) {
		buf_printf(why, "the local store: %s", strerror(-err));
		return err;
	}
	if (!round.cnt)
		return store_sink_lag(shipper->store, shipper->cursor, &shipper->status.lag);
	err = send_round(shipper, &round, why);
	shipper->status.failures += err != 0;
	shipper->status.rejected = shipper->sink->counts.rejected;
	shipper->status.retry_after_ns = err ? shipper->sink->retry_after_ns : 0;
	if (err) {
		/* It is read again after what comes before it. */
		store_shipment_free(shipper->pending);
		shipper->pending = NULL;
	}
	store_sink_lag(shipper->store, shipper->cursor, &shipper->status.lag);
	return err ? err : 1;
}
