/* SPDX-License-Identifier: Apache-2.0 */
/* What the ledger of the fleet tells: kinds, what is covered and by which hosts, and its books. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/fleet_priv.h"

enum {
	LEDGERS_MAX = 20000, /* that are added up one by one */
	/* A host that was here a day before the range is missed when it is not here now. */
	MISSED_S = 86400,
	EXACT_S = 96 * 3600,
	/* Nobody is away for longer, and then tells what was lost meanwhile. */
	TOMBSTONE_S = 32 * 86400,
};

/* --- Kinds --- */

struct kind_sum {
	uint64_t batch_cnt;
	int64_t total;
};

/*
 * Longer than that nothing of the ledger is compared row by row: a window that was sent twice a
 * moment ago, and not merged yet, counts twice in what is covered and in the sums of kinds.
 */
static bool is_long(const struct fleet_ask *ask)
{
	return ask->last_hour - ask->first_hour > EXACT_S;
}

static void add_batches(const struct fleet_ask *ask, struct buf *sql)
{
	buf_printf(sql,
		   " FROM batches WHERE kind != %d AND h >= toDateTime(%u, 'UTC') AND h <= "
		   "toDateTime(%u, 'UTC')",
		   FLEET_WINDOW_KIND, ask->first_hour, ask->last_hour);
}

/* Rows of (kind, batches, n, v1, v2, v3, v). */
static void add_kinds(const struct fleet_ask *ask, struct buf *sql)
{
	if (is_long(ask)) {
		buf_add_str(sql, "SELECT kind, count(), sum(n), sum(v1), sum(v2), sum(v3), "
				 "sumForEach(v)");
		add_batches(ask, sql);
		buf_printf(sql,
			   " AND start_ns >= toUInt64(%" PRIu64 ") AND start_ns < "
			   "toUInt64(%" PRIu64 ") GROUP BY kind",
			   ask->from_ns, ask->to_ns);
		return;
	}
	buf_add_str(sql, "SELECT kind, count(), sum(a0), sum(a1), sum(a2), sum(a3), "
			 "sumForEach(a4) FROM (SELECT host, kind, seq, any(n) AS a0, any(v1) AS "
			 "a1, any(v2) AS a2, any(v3) AS a3, any(v) AS a4");
	add_batches(ask, sql);
	buf_add_str(sql, " AND (host, seq) IN (SELECT host, seq FROM ");
	fleet_add_windows(ask, ask->first_hour, ask->last_hour, sql);
	buf_add_str(sql, ") GROUP BY host, kind, seq) GROUP BY kind");
}

static void read_kind_sum(struct reader *rd, const struct kinds *kinds, struct kind_sum *sums)
{
	int64_t values[PROFILE_VALUES_MAX] = {0};
	const uint64_t id = reader_u64(rd), cnt = reader_u64(rd);

	for (int i = 0; i < FLEET_VALUE_COLUMNS; i++)
		values[i] = (int64_t)reader_u64(rd);
	rb_i64_array(rd, values + FLEET_VALUE_COLUMNS, PROFILE_VALUES_MAX - FLEET_VALUE_COLUMNS);
	for (size_t i = 0; i < kinds->cnt && !rd->err; i++) {
		if (kinds->items[i].id != id)
			continue;
		sums[i].batch_cnt += cnt;
		sums[i].total = profile_value_sum(sums[i].total,
						  values[kinds->items[i].types.default_value]);
	}
}

static int ask_kinds(const struct fleet_ask *ask, const struct kinds *kinds, struct kind_sum *sums)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	add_kinds(ask, &sql);
	err = fleet_query(ask->fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		read_kind_sum(&rd, kinds, sums);
	return err ? err : fleet_read_end(ask->fleet, &rd);
}

/* Kinds of one name are one. */
static int tell_kinds(const struct kinds *kinds, const struct kind_sum *sums, store_kind_fn *fn,
		      void *arg)
{
	int err = 0;

	for (size_t i = 0, next; i < kinds->cnt && !err; i = next) {
		const struct kind *kind = &kinds->items[i];
		struct kind_sum sum = {.batch_cnt = 0};

		for (next = i; next < kinds->cnt && !strcmp(kinds->items[next].name, kind->name);
		     next++) {
			sum.batch_cnt += sums[next].batch_cnt;
			sum.total = profile_value_sum(sum.total, sums[next].total);
		}
		if (sum.batch_cnt)
			err = fn(arg, kind->name, kind->types.value_types, &kind->types,
				 kind->types.value_type_cnt, kind->types.default_value, sum.total);
	}
	return err;
}

int fleet_each_kind(struct fleet *fleet, uint64_t from_ns, uint64_t to_ns, store_kind_fn *fn,
		    void *arg)
{
	_cleanup_(kinds_deinit) struct kinds kinds = {.cnt = 0};
	_cleanup_free_ struct kind_sum *sums = NULL;
	/* Which kinds there are, the table of them says: nobody waits for years to be added up. */
	const bool is_everything = !from_ns && to_ns >= INT64_MAX;
	struct fleet_ask ask;
	int err;

	fleet_ask_range(&ask, fleet, from_ns, to_ns);
	err = fleet_read_kinds(fleet, NULL, &kinds);
	if (!err) {
		sums = calloc(kinds.cnt + 1, sizeof(*sums));
		err = sums ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < kinds.cnt && !err; i++)
		sums[i].batch_cnt = is_everything;
	if (!err && !is_everything)
		err = ask_kinds(&ask, &kinds, sums);
	return err ? fleet_fail(fleet, err) : tell_kinds(&kinds, sums, fn, arg);
}

/* --- What is covered --- */

static int ask_one(const struct fleet_ask *ask, struct buf *sql, struct buf *answer,
		   struct reader *out)
{
	int err = fleet_query(ask->fleet, sql, answer);

	reader_init(out, answer->data, answer->len);
	return err;
}

/* A row of (start, end, windows, covered, hosts). */
static void add_covered(const struct fleet_ask *ask, struct buf *sql)
{
	if (is_long(ask)) {
		buf_add_str(sql, "SELECT min(start_ns), max(end_ns), sum(windows), "
				 "sum(covered_ns), uniqExact(host) FROM ");
		fleet_add_windows(ask, ask->first_hour, ask->last_hour, sql);
		return;
	}
	/* Rows that were sent twice are the same: LIMIT BY takes a server half as long as any() of
	 * each column. */
	buf_add_str(sql, "SELECT min(start_ns), max(end_ns), sum(windows), sum(covered_ns), "
			 "uniqExact(host) FROM (SELECT host, seq, start_ns, end_ns, windows, "
			 "covered_ns FROM ");
	fleet_add_windows(ask, ask->first_hour, ask->last_hour, sql);
	buf_add_str(sql, " LIMIT 1 BY host, seq)");
}

static int ask_windows(const struct fleet_ask *ask, struct store_coverage *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	add_covered(ask, &sql);
	err = ask_one(ask, &sql, &answer, &rd);
	if (err || !answer.len) /* of nothing there may be no row */
		return err;
	out->first_ns = reader_u64(&rd);
	out->last_ns = reader_u64(&rd);
	out->window_cnt = reader_u64(&rd);
	out->covered_ns = reader_u64(&rd);
	out->hosts.cnt = reader_u64(&rd);
	return fleet_read_end(ask->fleet, &rd);
}

static int ask_tombstones(const struct fleet_ask *ask, struct store_coverage *out)
{
	const uint32_t first = ask->first_hour > TOMBSTONE_S ? ask->first_hour - TOMBSTONE_S : 0;
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_printf(&sql,
		   "SELECT count(), sum(l) FROM (SELECT host, seq, any(lost_samples) AS l FROM "
		   "batches WHERE kind = %d AND reason != '' AND h >= toDateTime(%u, 'UTC') AND h "
		   "<= toDateTime(%u, 'UTC') AND end_ns > toUInt64(%" PRIu64
		   ") AND start_ns < toUInt64(%" PRIu64 ") GROUP BY host, seq)",
		   FLEET_WINDOW_KIND, first, ask->last_hour, ask->from_ns, ask->to_ns);
	err = ask_one(ask, &sql, &answer, &rd);
	if (err || !answer.len)
		return err;
	out->tombstone_cnt = reader_u64(&rd);
	out->tombstone_samples = reader_u64(&rd);
	return fleet_read_end(ask->fleet, &rd);
}

static int ask_hosts(const struct fleet_ask *ask, struct store_coverage *out)
{
	const uint32_t first = ask->first_hour > MISSED_S ? ask->first_hour - MISSED_S : 0;
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_printf(&sql,
		   "SELECT uniqExact(host) FROM batches WHERE kind = %d AND h >= toDateTime(%u, "
		   "'UTC') AND h <= toDateTime(%u, 'UTC') AND start_ns < toUInt64(%" PRIu64 ")",
		   FLEET_WINDOW_KIND, first, ask->last_hour, ask->to_ns);
	err = ask_one(ask, &sql, &answer, &rd);
	if (err || !answer.len)
		return err;
	out->hosts.known_cnt = reader_u64(&rd);
	return fleet_read_end(ask->fleet, &rd);
}

int fleet_coverage(const struct fleet_ask *ask, struct store_coverage *out)
{
	struct store_coverage coverage = {.hosts.is_fleet = true};
	int err = ask_windows(ask, &coverage);

	if (!err)
		err = ask_tombstones(ask, &coverage);
	if (!err)
		err = ask_hosts(ask, &coverage);
	if (!err)
		*out = coverage;
	return err;
}

/* --- Its books --- */

static struct ledger_event *event_of(struct ledger *ledger, const char *name)
{
	struct ledger_event *event;
	uint32_t i = 0;

	while (i < ledger->event_cnt && strcmp(ledger->events[i].name, name) != 0)
		i++;
	if (i == LEDGER_EVENTS_MAX)
		return NULL;
	event = &ledger->events[i];
	if (i == ledger->event_cnt) {
		ledger->event_cnt++;
		ledger_copy_name(event->name, sizeof(event->name), name);
		event->sum.cpu = -1;
	}
	return event;
}

/* Rows of (event, recorded, lost, never_ran). */
static void read_event(struct reader *rd, struct ledger *out)
{
	char name[LEDGER_NAME_MAX] = "";
	size_t len;
	const char *text = rb_text(rd, &len);
	const uint64_t recorded = reader_u64(rd), lost = reader_u64(rd), never_ran = reader_u64(rd);
	struct ledger_event *event;

	if (rd->err || !len)
		return;
	memcpy(name, text, len < sizeof(name) ? len : sizeof(name) - 1);
	event = event_of(out, name);
	if (!event)
		return;
	event->sum.recorded = recorded;
	if (lost)
		ledger_reason_add(&event->sum.lost, "lost", lost);
	event->sum.never_ran_busy = never_ran;
	event->sum.ran = recorded + lost;
	event->sum.ticks = event->sum.ran + never_ran;
}

/* Kinds that one event counts for have the same numbers. */
static void add_events(const struct fleet_ask *ask, struct buf *sql)
{
	if (is_long(ask)) {
		buf_add_str(sql, "SELECT event, max(r), max(l), max(nr) FROM (SELECT name, event, "
				 "sum(recorded) AS r, sum(lost) AS l, sum(never_ran) AS nr FROM "
				 "(SELECT kind, recorded, lost, never_ran");
		add_batches(ask, sql);
		buf_add_str(sql,
			    ") AS b ANY LEFT JOIN (SELECT kind, name, event FROM kinds) AS k "
			    "USING (kind) GROUP BY name, event) GROUP BY event ORDER BY event");
		return;
	}
	buf_add_str(sql, "SELECT event, sum(recorded), sum(lost), sum(never_ran) FROM (SELECT "
			 "host, seq, event, recorded, lost, never_ran FROM (SELECT host, seq, "
			 "kind, recorded, lost, never_ran");
	add_batches(ask, sql);
	buf_add_str(sql, " AND (host, seq) IN (SELECT host, seq FROM ");
	fleet_add_windows(ask, ask->first_hour, ask->last_hour, sql);
	buf_add_str(sql, ")) AS b ANY LEFT JOIN (SELECT kind, event FROM kinds) AS k USING "
			 "(kind) LIMIT 1 BY host, seq, event) GROUP BY event ORDER BY event");
}

/*
 * Of so many windows that their ledgers are not read one by one: the sums that the rows of their
 * batches have as columns. What was filtered is not among them, nor is idle time.
 */
static int ask_sums(const struct fleet_ask *ask, struct ledger *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	add_events(ask, &sql);
	err = fleet_query(ask->fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		read_event(&rd, out);
	return err ? err : fleet_read_end(ask->fleet, &rd);
}

static int add_ledger(struct reader *rd, struct ledger *sum, uint64_t *damaged)
{
	_cleanup_(ledger_deinit) struct ledger one;
	size_t len;
	const char *text = rb_text(rd, &len);
	int err;

	ledger_init(&one);
	if (!text)
		return 0;
	err = ledger_from_json(text, len, &one);
	if (err == -EBADMSG) {
		++*damaged;
		return 0;
	}
	return err ? err : ledger_merge(sum, &one);
}

int fleet_ledgers(const struct fleet_ask *ask, struct store_coverage *coverage, struct ledger *out)
{
	_cleanup_(buf_deinit) struct buf sql = {0};
	_cleanup_(buf_deinit) struct buf answer = {0};
	struct reader rd;
	int err;

	if (!coverage->window_cnt)
		return 0;
	if (coverage->window_cnt > LEDGERS_MAX) {
		out->duration_s = (double)coverage->covered_ns / 1e9;
		return ask_sums(ask, out);
	}
	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_add_str(&sql, "SELECT ledger FROM ");
	fleet_add_windows(ask, ask->first_hour, ask->last_hour, &sql);
	buf_add_str(&sql, " LIMIT 1 BY host, seq");
	err = fleet_query(ask->fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		err = add_ledger(&rd, out, &coverage->damaged_cnt);
	return err ? err : fleet_read_end(ask->fleet, &rd);
}
