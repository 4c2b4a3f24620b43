/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_counts.h"

#include <stddef.h>

#include "base/clock.h"
#include "web/metrics_text.h"

static const char *const refusals[RELAY_REFUSAL_CNT] = {
	[RELAY_REFUSED_FORM] = "form",	     [RELAY_REFUSED_VERSION] = "version",
	[RELAY_REFUSED_DAMAGED] = "damaged", [RELAY_REFUSED_HOST] = "host",
	[RELAY_REFUSED_EPOCH] = "epoch",     [RELAY_REFUSED_TOO_LARGE] = "too_large",
	[RELAY_REFUSED_FULL] = "spool_full", [RELAY_REFUSED_OLD] = "spool_old",
	[RELAY_REFUSED_DISK] = "disk",	     [RELAY_REFUSED_MEMORY] = "memory",
	[RELAY_REFUSED_STORE] = "store",
};

static const struct {
	const char *name, *help;
	size_t offset; /* in struct relay_counts */
} counters[] = {
#define AT(member) offsetof(struct relay_counts, member)
	{"relay_received_total", "Messages of hosts that were let in.", AT(received)},
	{"relay_received_bytes_total", "Bytes of them, compressed.", AT(received_bytes)},
	{"relay_unauthorized_total", "Requests without a token that is known.", AT(unknown)},
	{"relay_stored_total", "Messages that are on the disk.", AT(stored)},
	{"relay_stored_rows_total", "Rows of samples in them.", AT(rows)},
	{"relay_shipped_total", "Messages that the fleet's store has.", AT(shipped)},
	{"relay_shipped_rows_total", "Rows of samples in them.", AT(shipped_rows)},
	{"relay_inserts_total", "Inserts of many messages that were taken.", AT(inserts)},
	{"relay_insert_failures_total", "Inserts that were not, and were made again.",
	 AT(failures)},
	{"relay_dict_rows_sent_total", "Stacks, frames and sources that were inserted.",
	 AT(dict_rows)},
	{"relay_dict_rows_known_total", "Those that were not, as they were before.",
	 AT(dict_known)},
	{"relay_quarantined_total", "Messages that the fleet's store refused.", AT(quarantined)},
	{"relay_quarantined_unkept_total", "Those that the quarantine had no room for.",
	 AT(unkept)},
	{"relay_symbols_received_total", "Messages about symbols of hosts that were let in.",
	 AT(symbols_received)},
	{"relay_symbols_asked_total", "Those that asked for what is wanted, or claimed a file.",
	 AT(symbols_asked)},
	{"relay_symbols_stored_total", "Symbol tables that are on the disk.", AT(symbols_stored)},
	{"relay_symbols_again_total", "Those that were there already.", AT(symbols_again)},
	{"relay_symbols_shipped_total", "Symbol tables that the fleet's store has from here.",
	 AT(symbols_shipped)},
	{"relay_symbols_known_total", "Those that it had already.", AT(symbols_known)},
	{"relay_symbols_dropped_total", "Those that it refused, or that were damaged here.",
	 AT(symbols_dropped)},
#undef AT
};

static void add_number(struct buf *out, const char *name, const char *type, const char *help,
		       uint64_t value)
{
	metrics_add_head(out, name, type, help);
	metrics_add_u64(out, name, NULL, NULL, value);
}

static void add_seconds(struct buf *out, const char *name, const char *help, uint64_t ns)
{
	metrics_add_head(out, name, "gauge", help);
	metrics_add_seconds(out, name, (double)ns / (double)NSEC_PER_SEC);
}

static void add_refusals(const _Atomic uint64_t counts[RELAY_REFUSAL_CNT], const char *name,
			 const char *help, struct buf *out)
{
	metrics_add_head(out, name, "counter", help);
	for (size_t i = 0; i < RELAY_REFUSAL_CNT; i++)
		metrics_add_u64(out, name, "reason", refusals[i], atomic_load(&counts[i]));
}

int relay_counts_format(const struct relay_counts *counts, const struct relay_spool_state *spool,
			const struct relay_tables_state *tables, uint64_t now_ns, struct buf *out)
{
	const uint64_t age_ns =
		spool->oldest_ns && now_ns > spool->oldest_ns ? now_ns - spool->oldest_ns : 0;

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		const _Atomic uint64_t *count =
			(const void *)((const char *)counts + counters[i].offset);

		add_number(out, counters[i].name, "counter", counters[i].help, atomic_load(count));
	}
	add_refusals(counts->refused, "relay_refused_total", "Messages that were not stored.", out);
	add_refusals(counts->symbols_refused, "relay_symbols_refused_total",
		     "Messages about symbols that were not taken.", out);
	add_number(out, "relay_spool_bytes", "gauge", "Size of the spool.", spool->bytes);
	add_number(out, "relay_spool_messages", "gauge", "Messages that wait in it.",
		   spool->records);
	add_seconds(out, "relay_spool_oldest_seconds",
		    "Age of the oldest of them: how far it lags.", age_ns);
	add_number(out, "relay_spool_damaged_bytes_total", "counter",
		   "Bytes of it that were damaged: what was in them is lost.",
		   spool->damaged_bytes);
	add_number(out, "relay_spool_torn_bytes_total", "counter",
		   "Bytes that were being written when a relay ended; nobody was told of them.",
		   spool->torn_bytes);
	add_number(out, "relay_symbols_waiting", "gauge", "Symbol tables that wait.", tables->cnt);
	add_number(out, "relay_symbols_bytes", "gauge", "Bytes of them.", tables->bytes);
	add_seconds(out, "relay_insert_seconds", "Time that the last insert took.",
		    atomic_load(&counts->insert_ns));
	metrics_add_build(out, "relay_build_info");
	return out->err;
}
