/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_ship.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "clickhouse/client.h"
#include "clickhouse/native_read.h"
#include "clickhouse/schema.h"
#include "encode/gzip.h"
#include "http/http.h"
#include "relay/relay_aside.h"
#include "relay/relay_known.h"
#include "relay/relay_ship_symbols.h"
#include "sink/relay_message.h"
#include "store/shipper.h"

enum {
	TIMEOUT_MS = 120000, /* of an insert: servers that merge take their time */
	LOOK_MS = 100, /* between two looks into the spool, and at the clock */
	MESSAGES_MAX = 20000, /* of an insert */
	TRIES = 3, /* of an insert, before it is made smaller */
	REFUSED_MAX = 3, /* hosts in a row of which messages are put aside */
};

struct relay_ship {
	struct relay *relay; /* borrowed */
	struct ch_client *client; /* owned */
	struct relay_known known;
	struct fleet_blocks blocks; /* of the insert that is gathered */
	struct fleet_blocks one; /* of a message */
	struct relay_record record; /* of the message that was read last */
	struct relay_head head;
	struct buf message;
	size_t message_cnt, message_max; /* in the insert; now at most */
	size_t table; /* of the insert, that comes next: those before it are there */
	bool is_gathered; /* the insert is not there yet: it goes on */
	bool is_checked; /* the store's schema is ours */
	bool is_gone; /* it has no tables: they may be made anew */
	uint32_t failures; /* in a row */
	uint64_t lost_nr; /* the last message that could not be read; 0: none */
	uint64_t refused_nr; /* the message that was refused alone; 0: none */
	uint64_t refused_hosts[REFUSED_MAX]; /* of messages in a row that were put aside */
	uint32_t refused_cnt; /* of those hosts */
	struct relay_ship_symbols symbols;
	struct buf why;
};

static bool is_over(const struct relay_ship *ship)
{
	const uint64_t end_ns = atomic_load(&ship->relay->end_ns);

	return end_ns && clock_monotonic_ns() >= end_ns;
}

/* A request that runs may go on until the time is over. */
static bool is_cancelled(void *arg)
{
	return is_over(arg);
}

int relay_ship_open(struct relay *relay, struct relay_ship **out)
{
	struct relay_ship *ship = calloc(1, sizeof(*ship));
	const struct http_opts http = {
		.timeout_ms = TIMEOUT_MS, .is_cancelled = is_cancelled, .arg = ship};
	const char *why = NULL;
	int err;

	if (!ship)
		return -ENOMEM;
	ship->relay = relay;
	ship->message_max = MESSAGES_MAX;
	relay_known_init(&ship->known);
	relay_ship_symbols_init(&ship->symbols, relay);
	buf_init(&ship->message, BUF_NO_MAX);
	buf_init(&ship->why, BUF_NO_MAX);
	err = fleet_blocks_init(&ship->blocks);
	if (!err)
		err = fleet_blocks_init(&ship->one);
	if (!err)
		err = ch_client_open(relay->opts->store, &http, &ship->client, &why);
	if (err) {
		log_error("relay: the store: %s", err == -ENOSYS ? http_missing()
						  : why		 ? why
								 : strerror(-err));
		relay_ship_close(ship);
		return err;
	}
	*out = ship;
	return 0;
}

void relay_ship_close(struct relay_ship *ship)
{
	if (!ship)
		return;
	ch_client_close(ship->client);
	fleet_blocks_deinit(&ship->blocks);
	fleet_blocks_deinit(&ship->one);
	relay_known_deinit(&ship->known);
	relay_ship_symbols_deinit(&ship->symbols);
	buf_deinit(&ship->message);
	buf_deinit(&ship->why);
	free(ship);
}

/* --- Gathering --- */

/* The message that was read, into the blocks of one. 0 or negative errno. */
static int unpack(struct relay_ship *ship)
{
	_cleanup_(buf_deinit) struct buf plain;
	int err = fleet_blocks_reset(&ship->one);

	buf_init(&plain, RELAY_MESSAGE_BYTES_MAX);
	if (!err)
		err = gzip_inflate(ship->message.data, ship->message.len, &plain);
	return err ? err : relay_message_read(plain.data, plain.len, &ship->head, &ship->one);
}

/* The blocks of one to those of the insert, without what of the dictionary is there. */
static int merge(struct relay_ship *ship)
{
	struct relay_counts *counts = &ship->relay->counts;
	int err = 0;

	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++) {
		const struct native_block *from = &ship->one.of[i];
		struct native_block *to = &ship->blocks.of[i];
		const uint64_t before = to->row_cnt;
		_cleanup_free_ bool *keep = NULL;

		err = relay_known_choose(&ship->known, (enum fleet_block)i, from, &keep);
		if (!err)
			err = native_append(to, from, keep);
		atomic_fetch_add(&counts->dict_known, from->row_cnt - (to->row_cnt - before));
	}
	return err;
}

/* Of what cannot be read nothing more can be known than that it was there. */
static void give_up(struct relay_ship *ship, int err)
{
	/* It may be read again for the sake of those before it. */
	if (ship->record.nr <= ship->lost_nr)
		return;
	ship->lost_nr = ship->record.nr;
	log_error("relay: a message of host %016" PRIx64 ", windows %" PRIu64 " to %" PRIu64
		  ", cannot be read any more (%s): it is put aside",
		  ship->record.host, ship->record.first_seq, ship->record.last_seq, strerror(-err));
	relay_aside_keep(ship->relay, &ship->record, &ship->message);
}

/* As many messages as an insert has. 0, with how many in message_cnt; or negative errno. */
static int gather(struct relay_ship *ship)
{
	struct relay_spool *spool = ship->relay->spool;
	int got = 1, err = fleet_blocks_reset(&ship->blocks);

	ship->message_cnt = 0;
	ship->table = 0;
	while (!err && ship->message_cnt < ship->message_max &&
	       ship->blocks.of[FLEET_SAMPLES].row_cnt < ship->relay->opts->max_rows) {
		got = relay_spool_next(spool, &ship->record, &ship->message);
		if (got <= 0)
			break;
		err = unpack(ship);
		if (!err) {
			err = merge(ship);
			ship->message_cnt += !err;
		} else if (err != -ENOMEM) {
			give_up(ship, err);
			err = 0;
		}
	}
	return err ? err : got < 0 ? got : 0;
}

/* --- Inserting --- */

/* Are its tables there, and ours? */
static int check_store(struct relay_ship *ship)
{
	int err = ship->is_checked ? 0 : fleet_schema_check(ship->client, &ship->why);

	ship->is_checked = !err;
	/* Whatever it is, messages are not to blame. */
	return err == -EINVAL ? -EPROTO : err;
}

static int insert(struct relay_ship *ship)
{
	struct relay_counts *counts = &ship->relay->counts;
	const uint64_t begin_ns = clock_monotonic_ns();
	const size_t before = ship->table;
	uint64_t dict_rows = 0;
	int err = check_store(ship);

	if (err)
		return err;
	err = fleet_blocks_insert_rest(&ship->blocks, ship->client, &ship->table, &dict_rows);
	atomic_fetch_add(&counts->dict_rows, dict_rows);
	/* Something works: it need not be waited for longer and longer. */
	if (ship->table > before && ship->failures > 1)
		ship->failures = 1;
	if (err == -ENOMEM)
		buf_add_str(&ship->why, "no memory");
	else if (err)
		ch_client_explain(ship->client, &ship->why);
	if (err)
		return err;
	atomic_store(&counts->insert_ns, clock_monotonic_ns() - begin_ns);
	atomic_fetch_add(&counts->inserts, 1);
	return 0;
}

static void take_success(struct relay_ship *ship)
{
	struct relay *relay = ship->relay;

	ship->is_gathered = false;
	relay_spool_done(relay->spool);
	atomic_fetch_add(&relay->counts.shipped, ship->message_cnt);
	atomic_fetch_add(&relay->counts.shipped_rows, ship->blocks.of[FLEET_SAMPLES].row_cnt);
	atomic_store(&relay->failing_ns, 0);
	if (ship->failures)
		log_info("relay: store '%s': works again", ch_client_name(ship->client));
	ship->failures = 0;
	ship->refused_cnt = 0;
	if (ship->message_max < MESSAGES_MAX)
		ship->message_max *= 2;
}

/* May a message of @host be put aside? Where those of ever more hosts are refused, and nothing is
 * taken between them, it is not for what they are. */
static bool may_put_aside(struct relay_ship *ship, uint64_t host)
{
	for (size_t i = 0; i < ship->refused_cnt; i++)
		if (ship->refused_hosts[i] == host)
			return true;
	if (ship->refused_cnt == REFUSED_MAX)
		return false;
	ship->refused_hosts[ship->refused_cnt++] = host;
	return true;
}

/* Something of the insert is refused for what it is. 0: it is put aside, and the rest goes on. */
static int take_refusal(struct relay_ship *ship)
{
	int err;

	if (ship->message_cnt > 1) {
		ship->message_max = ship->message_cnt / 2;
		return 0;
	}
	if (ship->refused_nr != ship->record.nr) {
		ship->refused_nr = ship->record.nr;
		return 0;
	}
	if (!may_put_aside(ship, ship->record.host))
		return -EINVAL;
	err = relay_aside_tell(ship->client, &ship->one, &ship->why);
	if (err)
		return err;
	log_error("relay: store '%s' refuses a message of host '%s', windows %" PRIu64
		  " to %" PRIu64 ": %s; it is put aside, and the ledger says so",
		  ch_client_name(ship->client), ship->head.name, ship->record.first_seq,
		  ship->record.last_seq, buf_cstr(&ship->why));
	relay_aside_keep(ship->relay, &ship->record, &ship->message);
	relay_spool_done(ship->relay->spool);
	return 0;
}

static void take_failure(struct relay_ship *ship, int err)
{
	struct relay *relay = ship->relay;
	uint64_t none = 0;

	atomic_fetch_add(&relay->counts.failures, 1);
	atomic_compare_exchange_strong(&relay->failing_ns, &none, clock_monotonic_ns());
	ship->is_checked = false;
	if (err == -ENOENT && !ship->is_gone)
		relay_spool_renew_epoch(relay->spool);
	ship->is_gone = err == -ENOENT;
	if (!ship->failures++)
		log_warn("relay: store '%s': %s; messages stay in the spool, and are tried again",
			 ch_client_name(ship->client), buf_cstr(&ship->why));
}

/* The insert is not there, and will not be as it is: what it consists of is gathered anew. */
static int give_back(struct relay_ship *ship, int err)
{
	relay_known_forget(&ship->known);
	ship->is_gathered = false;
	if (err == -EINVAL)
		err = take_refusal(ship);
	relay_spool_rewind(ship->relay->spool);
	return err;
}

/* After a failure: may the rest of the insert follow? Not where the server may not have what it
 * had, or where all of it may be too much for its memory. */
static bool goes_on(struct relay_ship *ship, int err)
{
	if (err != -EAGAIN || ship->failures < TRIES || ship->message_cnt <= 1)
		return http_is_gone(err) || err == -EAGAIN || err == -ECANCELED;
	ship->message_max = ship->message_cnt / 2;
	return false;
}

/* One insert. 1: there may be more to do at once; 0: nothing is left; negative errno: it failed. */
static int step(struct relay_ship *ship)
{
	int err = 0;

	buf_reset(&ship->why);
	if (!ship->is_gathered)
		err = gather(ship);
	if (!err && !ship->message_cnt) {
		/* What could not be read is behind us. */
		relay_spool_done(ship->relay->spool);
		return 0;
	}
	ship->is_gathered = !err;
	if (err)
		buf_printf(&ship->why, "the spool: %s", strerror(-err));
	else
		err = insert(ship);
	if (!err) {
		take_success(ship);
		return 1;
	}
	if (!goes_on(ship, err))
		err = give_back(ship, err);
	if (err)
		take_failure(ship, err);
	return err ? err : 1;
}

/* One table of symbols, or the question which ones are wanted. 1: there may be more to do at once;
 * 0: nothing is left, or it has to wait; negative errno: it failed. */
static int step_symbols(struct relay_ship *ship)
{
	int err;

	if (!relay_ship_symbols_is_due(&ship->symbols))
		return 0;
	buf_reset(&ship->why);
	err = check_store(ship);
	if (!err)
		err = relay_ship_symbols_step(&ship->symbols, ship->client, &ship->why);
	if (err >= 0)
		return err;
	ship->is_checked = false;
	relay_ship_symbols_fail(&ship->symbols, ship->client, &ship->why);
	return err;
}

/* --- Running --- */

/* Up to @wait_ns, or to the end. */
static void wait_for(const struct relay_ship *ship, uint64_t wait_ns, bool ends_early)
{
	const uint64_t until_ns = clock_monotonic_ns() + wait_ns;

	while (clock_monotonic_ns() < until_ns && !is_over(ship) &&
	       !(ends_early && atomic_load(&ship->relay->end_ns)))
		poll(NULL, 0, LOOK_MS);
}

static bool is_full(const struct relay_ship *ship)
{
	return ship->message_cnt >= ship->message_max ||
	       ship->blocks.of[FLEET_SAMPLES].row_cnt >= ship->relay->opts->max_rows;
}

void relay_ship_run(struct relay_ship *ship)
{
	while (!is_over(ship)) {
		const bool is_last = atomic_load(&ship->relay->end_ns);
		const uint64_t begin_ns = clock_monotonic_ns();
		const int got = step(ship);
		/* Windows come first, and symbols not at all where they are not taken. */
		const int tables = got < 0 ? 0 : step_symbols(ship);
		const uint64_t took_ns = clock_monotonic_ns() - begin_ns;

		/* At the end what is there, and once. */
		if (is_last && got <= 0 && tables <= 0)
			return;
		if (got < 0)
			wait_for(ship, shipper_backoff_ns(ship->failures), true);
		else if (!is_full(ship) && tables <= 0 && took_ns < ship->relay->opts->every_ns)
			wait_for(ship, ship->relay->opts->every_ns - took_ns, true);
	}
}
