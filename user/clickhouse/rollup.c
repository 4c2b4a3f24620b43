/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/rollup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/reader.h"
#include "clickhouse/rollup_trees.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"

/* --- Spans --- */

int rollup_spans_add(struct rollup_spans *spans, const struct rollup_span *span)
{
	int err = array_reserve(&spans->items, &spans->cap, spans->cnt + 1, sizeof(*spans->items));

	if (!err)
		spans->items[spans->cnt++] = *span;
	return err;
}

static int compare_start(const void *start_ptr, const void *span_ptr)
{
	const uint32_t wanted = *(const uint32_t *)start_ptr;
	const uint32_t start = ((const struct rollup_span *)span_ptr)->start_s;

	return (wanted > start) - (wanted < start);
}

const struct rollup_span *rollup_spans_find(const struct rollup_spans *spans, uint32_t start_s)
{
	return spans->cnt ? bsearch(&start_s, spans->items, spans->cnt, sizeof(*spans->items),
				    compare_start)
			  : NULL;
}

bool rollup_is_good(const struct rollup_span *sums, const struct rollup_span *ledger)
{
	return sums && sums->windows == ledger->windows && sums->state == ledger->state;
}

struct rollup_span rollup_day_of(const struct rollup_spans *hours, uint32_t day_s)
{
	struct rollup_span day = {.start_s = day_s, .length_s = ROLLUP_DAY_S};

	for (size_t i = 0; i < hours->cnt; i++) {
		const struct rollup_span *hour = &hours->items[i];

		if (hour->start_s < day_s || hour->start_s - day_s >= ROLLUP_DAY_S)
			continue;
		day.windows += hour->windows;
		day.state += hour->state;
	}
	return day;
}

const char *rollup_table(uint32_t length_s)
{
	return length_s == ROLLUP_DAY_S ? "rollup_1d" : "rollup_1h";
}

/* --- What is there --- */

int rollup_ask(struct ch_client *client, struct buf *sql, uint32_t length_s,
	       struct rollup_spans *out)
{
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&answer, CH_ANSWER_MAX_BYTES);
	buf_add_str(sql, " FORMAT RowBinary");
	log_debug("rollup: %s", buf_cstr(sql));
	err = sql->err ? sql->err : ch_client_query(client, buf_cstr(sql), &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd)) {
		struct rollup_span span = {.start_s = reader_u32(&rd), .length_s = length_s};

		span.windows = reader_u64(&rd);
		span.state = reader_u64(&rd);
		span.built = reader_u64(&rd);
		span.rows = reader_u64(&rd);
		if (!rd.err)
			err = rollup_spans_add(out, &span);
	}
	return err ? err : rd.err ? -EPROTO : 0;
}

static void add_range(uint32_t from_s, uint32_t to_s, struct buf *sql)
{
	buf_printf(sql, "h >= toDateTime(%u, 'UTC') AND h < toDateTime(%u, 'UTC')", from_s, to_s);
}

int rollup_ledger(struct ch_client *client, uint32_t from_s, uint32_t to_s, uint64_t from_ns,
		  uint64_t to_ns, struct rollup_spans *out)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	/* What was sent twice counts once: LIMIT BY takes a server half as long as DISTINCT. */
	buf_add_str(&sql, "SELECT toUInt32(h) AS start, count(), sum(cityHash64(host, seq)), "
			  "toUInt64(0), toUInt64(0) FROM (SELECT h, host, seq FROM batches WHERE ");
	add_range(from_s, to_s, &sql);
	buf_printf(&sql,
		   " AND kind = %d AND reason = '' AND start_ns >= toUInt64(%" PRIu64
		   ") AND start_ns < toUInt64(%" PRIu64
		   ") LIMIT 1 BY h, host, seq) GROUP BY start ORDER BY start",
		   FLEET_WINDOW_KIND, from_ns, to_ns);
	return rollup_ask(client, &sql, ROLLUP_HOUR_S, out);
}

int rollup_done(struct ch_client *client, uint32_t length_s, uint32_t from_s, uint32_t to_s,
		struct rollup_spans *out)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_add_str(&sql, "SELECT toUInt32(h) AS start, argMaxIf(windows, built, done = 1), "
			  "argMaxIf(state, built, done = 1), maxIf(built, done = 1) AS made, "
			  "argMaxIf(rows, built, done = 1) FROM rollups WHERE ");
	add_range(from_s, to_s, &sql);
	buf_printf(&sql,
		   " AND span = %u GROUP BY start HAVING made = max(built) AND made != 0 ORDER BY "
		   "start",
		   length_s);
	return rollup_ask(client, &sql, length_s, out);
}

/* --- Making --- */

struct job {
	struct ch_client *client; /* borrowed */
	struct rollup_result *result;
	struct buf *out;
	struct rollup_spans ledger; /* of hours */
	struct rollup_spans hours, days; /* that are there */
	struct rollup_spans hour_trees, day_trees;
};

static void add_name(const struct rollup_span *span, struct buf *out)
{
	char text[17];

	clock_format_utc((uint64_t)span->start_s * NSEC_PER_SEC, text);
	buf_printf(out, "%s of %s: ", span->length_s == ROLLUP_DAY_S ? "day" : "hour", text);
}

/* The span is not made: a line says so. */
static void leave(struct job *job, const struct rollup_span *span, const char *why)
{
	add_name(span, job->out);
	buf_printf(job->out, "%s\n", why);
	job->result->left++;
}

static int note(struct job *job, const struct rollup_span *span, bool is_done)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "INSERT INTO rollups (span, h, done, built, windows, state, rows) SELECT "
		   "toUInt32(%u), toDateTime(%u, 'UTC'), toUInt8(%d), toUInt64(%" PRIu64
		   "), toUInt64(%" PRIu64 "), toUInt64(%" PRIu64 "), toUInt64(%" PRIu64 ")",
		   span->length_s, span->start_s, is_done, span->built, span->windows, span->state,
		   span->rows);
	return sql.err ? sql.err : ch_client_query(job->client, buf_cstr(&sql), NULL);
}

/* The samples of an hour whose windows the ledger has, or the hours of a day. */
static void add_from(const struct rollup_span *span, struct buf *sql)
{
	if (span->length_s == ROLLUP_DAY_S) {
		buf_add_str(sql, "rollup_1h FINAL WHERE ");
		add_range(span->start_s, span->start_s + ROLLUP_DAY_S, sql);
		return;
	}
	buf_printf(sql,
		   "samples FINAL WHERE h = toDateTime(%u, 'UTC') AND (host, " FLEET_SAMPLE_SEQ
		   ") IN (SELECT host, seq FROM batches WHERE h = "
		   "toDateTime(%u, 'UTC') AND kind = %d AND reason = '')",
		   span->start_s, span->start_s, FLEET_WINDOW_KIND);
}

/* Of what a span is made of. */
static const char *second_value(const struct rollup_span *span)
{
	return span->length_s == ROLLUP_DAY_S ? "v1" : FLEET_SECOND_VALUE;
}

static int insert_sums(struct job *job, const struct rollup_span *span)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "INSERT INTO %s (service, version, kind, h, stack, built, n, v1, v2, v3, v) "
		   "SELECT service, version, kind, toDateTime(%u, 'UTC') AS start, stack, "
		   "toUInt64(%" PRIu64 "), sum(n), sum(%s), sum(v2), sum(v3), sumForEach(v) FROM ",
		   rollup_table(span->length_s), span->start_s, span->built, second_value(span));
	add_from(span, &sql);
	buf_add_str(&sql, " GROUP BY service, version, kind, stack");
	log_debug("rollup: %s", buf_cstr(&sql));
	return sql.err ? sql.err : ch_client_query(job->client, buf_cstr(&sql), NULL);
}

/* Rows of the span's build into span->rows, and of others, which none has replaced, into *@old. */
static int count_rows(struct job *job, struct rollup_span *span, uint64_t *old)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, CH_ANSWER_MAX_BYTES);
	buf_printf(&sql,
		   "SELECT countIf(built = %" PRIu64 "), countIf(built != %" PRIu64
		   ") FROM %s FINAL WHERE h = toDateTime(%u, 'UTC') FORMAT RowBinary",
		   span->built, span->built, rollup_table(span->length_s), span->start_s);
	err = sql.err ? sql.err : ch_client_query(job->client, buf_cstr(&sql), &answer);
	if (err)
		return err;
	reader_init(&rd, answer.data, answer.len);
	span->rows = reader_u64(&rd);
	*old = reader_u64(&rd);
	return rd.err ? -EPROTO : 0;
}

/* Is what the span was to be made of what is there still? */
static int is_unchanged(struct job *job, const struct rollup_span *span, bool *out)
{
	const uint32_t end_s = span->start_s + span->length_s;
	struct rollup_spans ledger = {.cnt = 0}, hours = {.cnt = 0};
	int err = rollup_ledger(job->client, span->start_s, end_s, 0, UINT64_MAX, &ledger);
	struct rollup_span now = {.windows = 0};

	if (!err && span->length_s == ROLLUP_DAY_S)
		err = rollup_done(job->client, ROLLUP_HOUR_S, span->start_s, end_s, &hours);
	for (size_t i = 0; i < ledger.cnt; i++) {
		now.windows += ledger.items[i].windows;
		now.state += ledger.items[i].state;
	}
	*out = rollup_is_good(span, &now);
	/* The hours of a day: another job may have begun one of them. */
	for (size_t i = 0; i < ledger.cnt && span->length_s == ROLLUP_DAY_S; i++)
		*out &= rollup_is_good(rollup_spans_find(&hours, ledger.items[i].start_s),
				       &ledger.items[i]);
	free(ledger.items);
	free(hours.items);
	return err;
}

/* @span says what it is to be made of. */
static int make(struct job *job, struct rollup_span *span, bool *is_made)
{
	bool is_whole = false;
	uint64_t old = 0;
	int err;

	span->built = clock_realtime_ns();
	err = note(job, span, false);
	if (!err)
		err = insert_sums(job, span);
	if (!err)
		err = is_unchanged(job, span, &is_whole);
	if (!err)
		err = count_rows(job, span, &old);
	if (err)
		return err;
	if (!is_whole) {
		leave(job, span, "windows came meanwhile: the next run has them");
		return 0;
	}
	if (old) {
		leave(job, span,
		      "it has sums of stacks that none of its samples has any more: it is read "
		      "from "
		      "samples");
		return 0;
	}
	err = note(job, span, true);
	*is_made = !err;
	job->result->rows += err ? 0 : span->rows;
	return err;
}

/* The trees of @span, whose sums are done, where they are not there. Without them the sums are
 * read. */
static int bring_up_trees(struct job *job, const struct rollup_span *span)
{
	const bool is_day = span->length_s == ROLLUP_DAY_S;
	const struct rollup_span *known =
		rollup_spans_find(is_day ? &job->day_trees : &job->hour_trees, span->start_s);
	int err;

	if (known && known->built == span->built)
		return 0;
	err = rollup_trees_make(job->client, span);
	job->result->trees += !err;
	return err == -ENODATA ? 0 : err;
}

/* Bring the span, of which @known is there (or NULL), up to what the ledger has. */
static int bring_up(struct job *job, const struct rollup_span *ledger,
		    const struct rollup_span *known, uint64_t *made, uint64_t *good)
{
	struct rollup_span span = *ledger;
	bool is_made = false;
	int err;

	if (rollup_is_good(known, ledger)) {
		++*good;
		return bring_up_trees(job, known);
	}
	if (known && known->windows > ledger->windows) {
		leave(job, ledger, "it was made of more windows than the ledger has now: it stays");
		return 0;
	}
	err = make(job, &span, &is_made);
	*made += is_made;
	return err || !is_made ? err : bring_up_trees(job, &span);
}

static int make_hours(struct job *job, uint32_t end_s)
{
	int err = 0;

	for (size_t i = 0; i < job->ledger.cnt && !err; i++) {
		const struct rollup_span *hour = &job->ledger.items[i];

		if (hour->start_s <= end_s && end_s - hour->start_s >= ROLLUP_HOUR_S)
			err = bring_up(job, hour, rollup_spans_find(&job->hours, hour->start_s),
				       &job->result->hours_made, &job->result->hours_good);
	}
	return err;
}

/* Are all hours of @day good? */
static bool has_hours(const struct job *job, uint32_t day_s)
{
	for (size_t i = 0; i < job->ledger.cnt; i++) {
		const struct rollup_span *hour = &job->ledger.items[i];

		if (hour->start_s / ROLLUP_DAY_S == day_s / ROLLUP_DAY_S &&
		    !rollup_is_good(rollup_spans_find(&job->hours, hour->start_s), hour))
			return false;
	}
	return true;
}

static int make_days(struct job *job, uint32_t end_s)
{
	uint32_t last_s = UINT32_MAX;
	int err = 0;

	for (size_t i = 0; i < job->ledger.cnt && !err; i++) {
		const uint32_t day_s = job->ledger.items[i].start_s / ROLLUP_DAY_S * ROLLUP_DAY_S;
		const struct rollup_span day = rollup_day_of(&job->ledger, day_s);

		if (day_s == last_s || day_s > end_s || end_s - day_s < ROLLUP_DAY_S)
			continue;
		last_s = day_s;
		if (has_hours(job, day_s))
			err = bring_up(job, &day, rollup_spans_find(&job->days, day_s),
				       &job->result->days_made, &job->result->days_good);
	}
	return err;
}

/* Where the day of @ns begins, as far as a DateTime holds it. */
static uint32_t day_start(uint64_t ns)
{
	const uint64_t seconds = ns / NSEC_PER_SEC;

	return (uint32_t)(seconds < UINT32_MAX ? seconds / ROLLUP_DAY_S * ROLLUP_DAY_S
					       : UINT32_MAX / ROLLUP_DAY_S * ROLLUP_DAY_S);
}

static int run(struct job *job, uint32_t from_s, uint32_t to_s, uint32_t end_s)
{
	int err = rollup_ledger(job->client, from_s, to_s, 0, UINT64_MAX, &job->ledger);

	if (!err)
		err = rollup_done(job->client, ROLLUP_HOUR_S, from_s, to_s, &job->hours);
	if (!err)
		err = rollup_done(job->client, ROLLUP_DAY_S, from_s, to_s, &job->days);
	if (!err)
		err = rollup_trees_done(job->client, ROLLUP_HOUR_S, from_s, to_s, &job->hour_trees);
	if (!err)
		err = rollup_trees_done(job->client, ROLLUP_DAY_S, from_s, to_s, &job->day_trees);
	if (!err)
		err = make_hours(job, end_s);
	job->hours.cnt = 0;
	if (!err)
		err = rollup_done(job->client, ROLLUP_HOUR_S, from_s, to_s, &job->hours);
	return err ? err : make_days(job, end_s);
}

int rollup_run(struct ch_client *client, uint64_t from_ns, uint64_t to_ns, uint64_t now_ns,
	       struct rollup_result *result, struct buf *out)
{
	struct job job = {.client = client, .result = result, .out = out};
	const uint32_t last_s = day_start(to_ns);
	const uint64_t now_s = now_ns / NSEC_PER_SEC;
	int err;

	*result = (struct rollup_result){.rows = 0};
	err = run(&job, day_start(from_ns),
		  last_s < UINT32_MAX - ROLLUP_DAY_S ? last_s + ROLLUP_DAY_S : UINT32_MAX,
		  now_s < UINT32_MAX ? (uint32_t)now_s : UINT32_MAX);
	free(job.ledger.items);
	free(job.hours.items);
	free(job.days.items);
	free(job.hour_trees.items);
	free(job.day_trees.items);
	return err ? err : out->err;
}

/* --- Checking --- */

/* How many sums are not those of what they were made of. */
static int count_differences(struct ch_client *client, const struct rollup_span *span,
			     uint64_t *out)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "SELECT count() FROM (SELECT service, version, kind, stack, sum(s0) AS d_n, "
		   "sum(s1) AS d1, sum(s2) AS d2, sum(s3) AS d3, arrayExists(x -> x != 0, "
		   "sumForEach(s4)) AS d_v FROM (SELECT service, version, kind, stack, n AS s0, v1 "
		   "AS s1, v2 AS s2, v3 AS s3, v AS s4 FROM %s FINAL WHERE h = toDateTime(%u, "
		   "'UTC') UNION ALL SELECT service, version, kind, stack, -n AS s0, -%s AS s1, "
		   "-v2 AS s2, -v3 AS s3, arrayMap(x -> -x, v) AS s4 FROM ",
		   rollup_table(span->length_s), span->start_s, second_value(span));
	add_from(span, &sql);
	buf_add_str(&sql, ") GROUP BY service, version, kind, stack HAVING d_n != 0 OR d1 != 0 OR "
			  "d2 != 0 OR d3 != 0 OR d_v)");
	return sql.err ? sql.err : ch_client_number(client, buf_cstr(&sql), out);
}

static bool has_trees(const struct rollup_spans *trees, const struct rollup_span *span)
{
	const struct rollup_span *known = rollup_spans_find(trees, span->start_s);

	return known && known->built == span->built;
}

static int check_span(struct ch_client *client, const struct rollup_span *span,
		      const struct rollup_spans *trees, struct buf *out, uint64_t *checked,
		      uint64_t *differ)
{
	uint64_t cnt = 0, tree_cnt = 0;
	int err = count_differences(client, span, &cnt);

	if (!err && has_trees(trees, span))
		err = rollup_trees_check(client, span, rollup_table(span->length_s), &tree_cnt);
	*checked += !err;
	if (err || !(cnt || tree_cnt))
		return err;
	++*differ;
	if (cnt) {
		add_name(span, out);
		buf_printf(out, "%" PRIu64 " of its sums are not those of its %s\n", cnt,
			   span->length_s == ROLLUP_DAY_S ? "hours" : "samples");
	}
	if (tree_cnt) {
		add_name(span, out);
		buf_printf(out, "%" PRIu64 " totals of its trees are not those of its sums\n",
			   tree_cnt);
	}
	return 0;
}

/* Is @span made of what @ledger has? */
static bool is_of_ledger(const struct rollup_span *span, const struct rollup_spans *ledger)
{
	const struct rollup_span *hour;
	struct rollup_span day;

	if (span->length_s == ROLLUP_DAY_S) {
		day = rollup_day_of(ledger, span->start_s);
		return rollup_is_good(span, &day);
	}
	hour = rollup_spans_find(ledger, span->start_s);
	return hour && rollup_is_good(span, hour);
}

/* Each of @spans that is made of what @ledger has. */
static int check_spans(struct ch_client *client, const struct rollup_spans *spans,
		       const struct rollup_spans *ledger, uint32_t from_s, uint32_t to_s,
		       struct buf *out, uint64_t *checked, uint64_t *differ)
{
	struct rollup_spans trees = {.cnt = 0};
	int err = 0;

	if (spans->cnt)
		err = rollup_trees_done(client, spans->items->length_s, from_s, to_s, &trees);
	for (size_t i = 0; i < spans->cnt && !err; i++) {
		const struct rollup_span *span = &spans->items[i];

		if (is_of_ledger(span, ledger))
			err = check_span(client, span, &trees, out, checked, differ);
	}
	free(trees.items);
	return err;
}

int rollup_check(struct ch_client *client, uint32_t from_s, uint32_t to_s, struct buf *out,
		 uint64_t *checked, uint64_t *differ)
{
	struct rollup_spans ledger = {.cnt = 0}, hours = {.cnt = 0}, days = {.cnt = 0};
	int err = rollup_done(client, ROLLUP_HOUR_S, from_s, to_s, &hours);

	if (!err && hours.cnt)
		err = rollup_ledger(client, from_s, to_s, 0, UINT64_MAX, &ledger);
	if (!err)
		err = rollup_done(client, ROLLUP_DAY_S, from_s, to_s, &days);
	if (!err)
		err = check_spans(client, &hours, &ledger, from_s, to_s, out, checked, differ);
	if (!err)
		err = check_spans(client, &days, &ledger, from_s, to_s, out, checked, differ);
	free(ledger.items);
	free(hours.items);
	free(days.items);
	return err;
}
