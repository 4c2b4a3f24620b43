/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_ship_symbols.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fleet/fleet_symbols.h"
#include "sink/relay_symbols.h"
#include "store/shipper.h"
#include "symbol/symbol_table.h"

void relay_ship_symbols_init(struct relay_ship_symbols *ship, struct relay *relay)
{
	*ship = (struct relay_ship_symbols){.relay = relay};
	buf_init(&ship->message, BUF_NO_MAX);
}

void relay_ship_symbols_deinit(struct relay_ship_symbols *ship)
{
	buf_deinit(&ship->message);
}

bool relay_ship_symbols_is_due(const struct relay_ship_symbols *ship)
{
	struct relay_tables *tables = ship->relay->tables;
	const uint64_t now_ns = clock_monotonic_ns();

	return now_ns >= ship->next_ns &&
	       (relay_tables_is_due(tables, now_ns) || relay_tables_state(tables).cnt);
}

/* --- What is wanted --- */

static int ask(struct relay_ship_symbols *ship, struct ch_client *client)
{
	char format[SYMBOL_TABLE_FORMAT_BYTES];
	struct fleet_modules wanted;
	int err;

	symbol_table_format(format);
	err = fleet_symbols_wanted(client, format, &wanted);
	if (!err)
		relay_tables_want(ship->relay->tables, &wanted, clock_monotonic_ns());
	fleet_modules_deinit(&wanted);
	return err;
}

/* --- Shipping --- */

/* Why it goes without being in the store. */
static void drop(struct relay_ship_symbols *ship, const char *build_id, const char *reason,
		 bool is_refused)
{
	log_error("relay: the symbols of build-id %s are given up: %s", build_id, reason);
	relay_tables_done(ship->relay->tables, build_id, is_refused);
	atomic_fetch_add(&ship->relay->counts.symbols_dropped, 1);
}

/* 0: the store has it, *@is_known: and had it before. */
static int put(struct ch_client *client, const struct relay_symbols *symbols, bool *is_known)
{
	const struct fleet_table_key key = {
		.build_id = symbols->build_id,
		.path = symbols->path,
		.format = symbols->format,
		.host = symbols->host,
	};
	int err = fleet_symbols_has(client, &key, is_known);

	return err || *is_known
		       ? err
		       : fleet_symbols_put(client, &key, symbols->table, symbols->table_len);
}

static int ship_table(struct relay_ship_symbols *ship, struct ch_client *client,
		      const char *build_id, struct buf *why)
{
	struct relay *relay = ship->relay;
	struct relay_symbols symbols;
	bool is_known = false;
	int err = relay_symbols_read(ship->message.data, ship->message.len, &symbols);

	/* It was looked through when it came. */
	if (err || strcmp(symbols.build_id, build_id) != 0) {
		drop(ship, build_id, "its file is damaged, or of another version", false);
		return 1;
	}
	err = put(client, &symbols, &is_known);
	if (err)
		ch_client_explain(client, why);
	if (err == -EINVAL) {
		drop(ship, build_id, buf_cstr(why), true);
		return 1;
	}
	if (err)
		return err;
	relay_tables_done(relay->tables, build_id, false);
	atomic_fetch_add(is_known ? &relay->counts.symbols_known : &relay->counts.symbols_shipped,
			 1);
	log_info("relay: symbols of '%s' (build-id %s) %s, %zu bytes", symbols.path, build_id,
		 is_known ? "were in the store already" : "shipped", symbols.table_len);
	return 1;
}

int relay_ship_symbols_step(struct relay_ship_symbols *ship, struct ch_client *client,
			    struct buf *why)
{
	struct relay_tables *tables = ship->relay->tables;
	char build_id[RELAY_BUILD_ID_MAX];
	int got;

	if (relay_tables_is_due(tables, clock_monotonic_ns())) {
		got = ask(ship, client);
		if (got) {
			ch_client_explain(client, why);
			return got;
		}
	}
	got = relay_tables_next(tables, build_id, &ship->message);
	if (got == -ENOENT) {
		drop(ship, build_id, "its file is gone", false);
		return 1;
	}
	if (got < 0)
		buf_printf(why, "the spool: symbols of build-id %s: %s", build_id, strerror(-got));
	if (got > 0)
		got = ship_table(ship, client, build_id, why);
	if (got >= 0)
		ship->failures = 0;
	return got;
}

void relay_ship_symbols_fail(struct relay_ship_symbols *ship, const struct ch_client *client,
			     const struct buf *why)
{
	if (!ship->failures++)
		log_warn("relay: store '%s': symbols: %s; they stay on the disk, and are tried "
			 "again",
			 ch_client_name(client), buf_cstr(why));
	ship->next_ns = clock_monotonic_ns() + shipper_backoff_ns(ship->failures);
}
