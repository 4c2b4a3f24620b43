/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_aside.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "clickhouse/native_read.h"
#include "clickhouse/schema.h"

static const char REASON[] = "refused by the store, behind a relay";

/* What stays of a window's row: when it is, and its place in the chain. */
static const char *const kept[] = {"h",	       "host",	   "kind",   "seq",	   "last_seq",
				   "prev_seq", "start_ns", "end_ns", "covered_ns", "windows"};

static bool is_kept(const char *name)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (!strcmp(kept[i], name))
			return true;
	return false;
}

/* The row of @ledger as that of windows that are lost, with @samples. */
static void add_tombstone(const struct native_block *ledger, uint64_t row, uint64_t samples,
			  struct native_block *out)
{
	const struct native_table *table = ledger->table;

	for (size_t i = 0; i < table->column_cnt; i++) {
		const struct native_column *column = &table->columns[i];

		if (is_kept(column->name))
			native_add(out, native_number(ledger, i, row));
		else if (!strcmp(column->name, "lost_samples"))
			native_add(out, samples);
		else if (!strcmp(column->name, "reason"))
			native_add_str(out, REASON);
		else if (column->type == NATIVE_TEXT)
			native_add_str(out, "");
		else if (native_type_is_array(column->type))
			native_end_array(out);
		else
			native_add(out, 0);
	}
}

/* A window's row comes behind those of its batches (relay_message_check()). What was lost before
 * stays as it was told. */
int relay_aside_tombstones(const struct native_block *ledger, struct native_block *out)
{
	const size_t kind_column = native_column_of(ledger->table, "kind");
	const size_t n_column = native_column_of(ledger->table, "n");
	const size_t lost_column = native_column_of(ledger->table, "lost_samples");
	uint64_t samples = 0;

	for (uint64_t i = 0; i < ledger->row_cnt; i++) {
		if (native_number(ledger, kind_column, i) != FLEET_WINDOW_KIND) {
			samples += native_number(ledger, n_column, i);
			continue;
		}
		add_tombstone(ledger, i, samples + native_number(ledger, lost_column, i), out);
		samples = 0;
	}
	for (size_t i = 0; i < out->table->column_cnt; i++)
		if (out->data[i].err || out->ends[i].err)
			return -ENOMEM;
	return 0;
}

int relay_aside_tell(struct ch_client *client, const struct fleet_blocks *blocks, struct buf *why)
{
	struct native_block ledger;
	int err = native_init(&ledger, &fleet_row_tables[FLEET_BATCHES]);

	if (!err)
		err = relay_aside_tombstones(&blocks->of[FLEET_BATCHES], &ledger);
	for (size_t i = 0; i < FLEET_SAMPLES && !err; i++) {
		err = native_insert(&blocks->of[i], client);
		if (err != -EINVAL)
			continue;
		log_error("relay: %llu rows of table %s are refused with it: %s",
			  (unsigned long long)blocks->of[i].row_cnt, fleet_row_tables[i].name,
			  ch_client_error(client)->text);
		err = 0;
	}
	if (!err)
		err = native_insert(&ledger, client);
	if (err == -ENOMEM) {
		buf_add_str(why, "no memory");
	} else if (err) {
		buf_reset(why);
		ch_client_explain(client, why);
	}
	native_deinit(&ledger);
	return err;
}

void relay_aside_keep(struct relay *relay, const struct relay_record *record,
		      const struct buf *message)
{
	int err = relay_spool_put_aside(relay->spool, record, message);

	atomic_fetch_add(&relay->counts.quarantined, 1);
	if (!err)
		return;
	atomic_fetch_add(&relay->counts.unkept, 1);
	log_error("relay: the quarantine takes nothing (%s): the message is gone",
		  err == -EDQUOT ? "it is full" : strerror(-err));
}
