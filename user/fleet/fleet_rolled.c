/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hours of a question are read as sums (clickhouse/rollup.h): those that lie in its range as
 * a whole and whose sums are made of what the ledger has in the range, windows for windows; days
 * where all of a day does. What is left, the hours at the edges and those that windows came late
 * for, is read from samples.
 *
 * A job may begin to replace sums while they are read. It notes that first: so sums are good if
 * none of their spans has been begun anew when all of them have been read (fleet_rolled_check()).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/fleet_priv.h"

static bool is_usable(const struct fleet_ask *ask)
{
	return ask->fleet->version >= FLEET_SCHEMA_ROLLUPS && !ask->needs_sources;
}

/* The whole spans of @length_s in the range: false, there is none. */
static bool whole_spans(const struct fleet_ask *ask, uint32_t length_s, uint32_t *from_s,
			uint32_t *to_s)
{
	const uint64_t length_ns = length_s * NSEC_PER_SEC;
	const uint64_t first = ask->from_ns / length_ns + (ask->from_ns % length_ns != 0);
	uint64_t last = ask->to_ns / length_ns;

	/* What a DateTime holds. */
	if (last > UINT32_MAX / length_s)
		last = UINT32_MAX / length_s;
	if (first >= last)
		return false;
	*from_s = (uint32_t)first * length_s;
	*to_s = (uint32_t)last * length_s;
	return true;
}

/* Each day of @days whose sums are good into @out. */
static int take_days(const struct rollup_spans *ledger, const struct rollup_spans *days,
		     struct rollup_spans *out)
{
	int err = 0;

	for (size_t i = 0; i < days->cnt && !err; i++) {
		const struct rollup_span day = rollup_day_of(ledger, days->items[i].start_s);

		if (rollup_is_good(&days->items[i], &day))
			err = rollup_spans_add(out, &days->items[i]);
	}
	return err;
}

/* Each good hour that is in no day that was taken. */
static int take_hours(const struct rollup_spans *ledger, const struct rollup_spans *hours,
		      const struct rollup_spans *days, struct rollup_spans *out)
{
	int err = 0;

	for (size_t i = 0; i < ledger->cnt && !err; i++) {
		const uint32_t start_s = ledger->items[i].start_s;
		const struct rollup_span *hour = rollup_spans_find(hours, start_s);

		if (rollup_is_good(hour, &ledger->items[i]) &&
		    !rollup_spans_find(days, start_s / ROLLUP_DAY_S * ROLLUP_DAY_S))
			err = rollup_spans_add(out, hour);
	}
	return err;
}

/* What is done of the range: its whole hours, and days where there are any. */
static int find_done(const struct fleet_ask *ask, struct rollup_spans *hours,
		     struct rollup_spans *days)
{
	struct ch_client *client = ask->fleet->client;
	uint32_t from_s, to_s;
	int err;

	if (!is_usable(ask) || !whole_spans(ask, ROLLUP_HOUR_S, &from_s, &to_s))
		return 0;
	err = rollup_done(client, ROLLUP_HOUR_S, from_s, to_s, hours);
	if (!err && hours->cnt && whole_spans(ask, ROLLUP_DAY_S, &from_s, &to_s))
		err = rollup_done(client, ROLLUP_DAY_S, from_s, to_s, days);
	return err;
}

/* What the ledger has of whole hours. */
static int find_windows(const struct fleet_ask *ask, struct rollup_spans *out)
{
	uint32_t from_s, to_s;

	if (!whole_spans(ask, ROLLUP_HOUR_S, &from_s, &to_s))
		return 0;
	return rollup_ledger(ask->fleet->client, from_s, to_s, ask->from_ns, ask->to_ns, out);
}

int fleet_rolled_init(struct fleet_rolled *rolled, const struct fleet_ask *ask)
{
	struct rollup_spans ledger = {.cnt = 0}, hours = {.cnt = 0}, days = {.cnt = 0};
	int err = find_done(ask, &hours, &days);

	*rolled = (struct fleet_rolled){.hours = {.cnt = 0}};
	/* Where nobody rolls up the ledger need not be asked. */
	if (!err && hours.cnt)
		err = find_windows(ask, &ledger);
	if (!err)
		err = take_days(&ledger, &days, &rolled->days);
	if (!err)
		err = take_hours(&ledger, &hours, &rolled->days, &rolled->hours);
	free(ledger.items);
	free(hours.items);
	free(days.items);
	return err;
}

/* --- The same without asking the ledger first --- */

static int take_done(struct fleet_rolled *rolled, const struct rollup_spans *hours,
		     const struct rollup_spans *days)
{
	int err = 0;

	for (size_t i = 0; i < days->cnt && !err; i++)
		err = rollup_spans_add(&rolled->days, &days->items[i]);
	for (size_t i = 0; i < hours->cnt && !err; i++)
		if (!fleet_rolled_has(rolled, hours->items[i].start_s))
			err = rollup_spans_add(&rolled->hours, &hours->items[i]);
	return err;
}

int fleet_rolled_expect(struct fleet_rolled *rolled, const struct fleet_ask *ask)
{
	struct rollup_spans hours = {.cnt = 0}, days = {.cnt = 0};
	int err = find_done(ask, &hours, &days);

	*rolled = (struct fleet_rolled){.hours = {.cnt = 0}};
	if (!err)
		err = take_done(rolled, &hours, &days);
	free(hours.items);
	free(days.items);
	return err;
}

/* Is each of @rolled made of what @ledger has, and all that this has in one of them? */
static bool is_confirmed(const struct fleet_rolled *rolled, const struct rollup_spans *ledger)
{
	static const struct rollup_span nothing;
	bool is_good = true;

	for (size_t i = 0; i < rolled->days.cnt && is_good; i++) {
		const struct rollup_span day = rollup_day_of(ledger, rolled->days.items[i].start_s);

		is_good = rollup_is_good(&rolled->days.items[i], &day);
	}
	for (size_t i = 0; i < rolled->hours.cnt && is_good; i++) {
		const struct rollup_span *hour = &rolled->hours.items[i];
		const struct rollup_span *found = rollup_spans_find(ledger, hour->start_s);

		is_good = rollup_is_good(hour, found ? found : &nothing);
	}
	for (size_t i = 0; i < ledger->cnt && is_good; i++)
		is_good = fleet_rolled_has(rolled, ledger->items[i].start_s);
	return is_good;
}

int fleet_rolled_confirm(const struct fleet_rolled *rolled, const struct fleet_ask *ask,
			 bool *is_good)
{
	struct rollup_spans ledger = {.cnt = 0};
	int err = find_windows(ask, &ledger);

	*is_good = !err && is_confirmed(rolled, &ledger);
	free(ledger.items);
	return err;
}

void fleet_rolled_deinit(struct fleet_rolled *rolled)
{
	free(rolled->hours.items);
	free(rolled->days.items);
	*rolled = (struct fleet_rolled){.hours = {.cnt = 0}};
}

bool fleet_rolled_has(const struct fleet_rolled *rolled, uint32_t hour_s)
{
	return rollup_spans_find(&rolled->hours, hour_s) ||
	       rollup_spans_find(&rolled->days, hour_s / ROLLUP_DAY_S * ROLLUP_DAY_S);
}

void fleet_add_spans(const struct fleet_ask *ask, const struct rollup_span *spans, size_t cnt,
		     struct buf *sql)
{
	const struct rollup_span *last = &spans[cnt - 1];

	fleet_add_kinds(ask, sql);
	buf_printf(sql,
		   " AND h >= toDateTime(%u, 'UTC') AND h <= toDateTime(%u, 'UTC') AND "
		   "(toUInt32(h), built) IN (",
		   spans->start_s, last->start_s);
	for (size_t i = 0; i < cnt; i++)
		buf_printf(sql, "%s(%u, %" PRIu64 ")", i ? ", " : "", spans[i].start_s,
			   spans[i].built);
	buf_add_char(sql, ')');
	buf_add_str(sql, buf_cstr(&ask->services));
	buf_add_str(sql, buf_cstr(&ask->sources));
}

void fleet_add_rolled(const struct fleet_ask *ask, const struct rollup_span *spans, size_t cnt,
		      struct buf *sql)
{
	buf_printf(sql, "%s FINAL WHERE ", rollup_table(spans->length_s));
	fleet_add_spans(ask, spans, cnt, sql);
}

/* Is the last build of each of @spans the one that was read? */
static int check_spans(const struct fleet_ask *ask, const struct rollup_spans *spans, bool *is_good)
{
	struct rollup_spans now = {.cnt = 0};
	int err;

	if (!spans->cnt)
		return 0;
	err = rollup_done(ask->fleet->client, spans->items->length_s, spans->items->start_s,
			  spans->items[spans->cnt - 1].start_s + spans->items->length_s, &now);
	for (size_t i = 0; i < spans->cnt && !err; i++) {
		const struct rollup_span *found = rollup_spans_find(&now, spans->items[i].start_s);

		*is_good &= found && found->built == spans->items[i].built;
	}
	free(now.items);
	return err;
}

int fleet_rolled_check(const struct fleet_rolled *rolled, const struct fleet_ask *ask,
		       bool *is_good)
{
	int err;

	*is_good = true;
	err = check_spans(ask, &rolled->days, is_good);
	return err ? err : check_spans(ask, &rolled->hours, is_good);
}
