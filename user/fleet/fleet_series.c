/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over time. A window counts in the step in which it starts, to the nanosecond; rows of
 * samples know the second. Where a second is within one step that is enough, and the server adds up
 * by step. A second in which a step ends is told window by window, and the ledger says when each
 * began.
 *
 * The step of moment t, d = t - from, of n steps of R = to - from nanoseconds: floor(d * n / R).
 * With q = R / n, r = R % n that is k = d / q, less 1 where step k begins after d, at k * q +
 * ceil(k * r / n): nothing of that leaves 63 bits. It holds for n <= q; below that d * n itself
 * does not leave them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/fleet_priv.h"

enum { TOTAL_POINTS_MAX = 1 << 24 /* of all series together */ };

struct window_start {
	uint64_t host, seq, start_ns;
};

struct series {
	uint32_t name; /* string */
	int64_t total;
	size_t nr; /* of its points */
};

struct summing {
	struct fleet_ask ask;
	const char *by; /* or NULL */
	const char *function; /* or NULL */
	size_t point_cnt;
	struct strtab names;
	int64_t *points; /* owned: point_cnt for each name */
	size_t series_cnt, point_cap;
	struct window_start *starts; /* owned: of one part of the range, sorted */
	size_t start_cnt, start_cap;
};

/* --- Steps --- */

/* floor(@delta * points / range), as SQL and as a number. */
static void add_step(const struct summing *summing, const char *delta, struct buf *sql)
{
	const uint64_t range = summing->ask.to_ns - summing->ask.from_ns, cnt = summing->point_cnt;
	const uint64_t quotient = range / cnt, rest = range % cnt;

	if (cnt == 1) {
		buf_add_str(sql, "toInt64(0)");
		return;
	}
	if (quotient < cnt) {
		buf_printf(sql, "intDiv(%s * %" PRIu64 ", %" PRIu64 ")", delta, cnt, range);
		return;
	}
	buf_printf(sql,
		   "intDiv(%s, %" PRIu64 ") - (intDiv(%s, %" PRIu64 ") * %" PRIu64
		   " + intDiv(intDiv(%s, %" PRIu64 ") * %" PRIu64 " + %" PRIu64 ", %" PRIu64
		   ") > %s)",
		   delta, quotient, delta, quotient, quotient, delta, quotient, rest, cnt - 1, cnt,
		   delta);
}

static size_t step_of(const struct summing *summing, uint64_t start_ns)
{
	const struct fleet_ask *ask = &summing->ask;

	return (size_t)((unsigned __int128)(start_ns - ask->from_ns) * summing->point_cnt /
			(ask->to_ns - ask->from_ns));
}

/* Nanoseconds behind @from of the first and the last moment of a row's second, within the range. */
static void add_moments(const struct summing *summing, struct buf *sql)
{
	const uint64_t from_ns = summing->ask.from_ns;
	const uint64_t range = summing->ask.to_ns - from_ns;

	buf_printf(sql,
		   "greatest((toInt64(toUInt32(h)) + ts) * 1000000000 - toInt64(%" PRIu64
		   "), toInt64(0)) AS d0, least((toInt64(toUInt32(h)) + ts) * 1000000000 + "
		   "999999999 - toInt64(%" PRIu64 "), toInt64(%" PRIu64 ")) AS d1",
		   from_ns, from_ns, range - 1);
}

/* --- SQL --- */

static void add_function(const struct summing *summing, struct buf *sql)
{
	if (!summing->function)
		return;
	buf_add_str(sql, " AND stack IN (SELECT stack FROM stacks ARRAY JOIN frames AS frame WHERE "
			 "1");
	fleet_add_days(&summing->ask, sql);
	buf_add_str(sql, buf_cstr(&summing->ask.services));
	buf_add_str(sql, " AND frame IN (SELECT frame FROM frames WHERE 1");
	fleet_add_days(&summing->ask, sql);
	buf_add_str(sql, " AND has(names, ");
	ch_add_quoted(sql, summing->function, strlen(summing->function));
	buf_add_str(sql, ")))");
}

/* The rows that are asked for, with the label, where it is a column. */
static void add_rows(const struct summing *summing, const struct fleet_hours *hours,
		     struct buf *sql)
{
	const bool is_column = summing->by && fleet_is_column(summing->by);

	buf_add_str(sql, "SELECT kind, host, src, h, ts, lead");
	fleet_add_columns(&summing->ask, FLEET_STORED, sql);
	buf_add_str(sql, ", ");
	if (is_column)
		fleet_add_label(summing->by, sql);
	buf_add_str(sql, is_column ? " AS label, " : summing->by ? "" : "'' AS label, ");
	add_moments(summing, sql);
	buf_add_str(sql, " FROM ");
	fleet_add_samples(&summing->ask, hours->first, hours->last, sql);
	add_function(summing, sql);
}

/* Rows of (label, step, host or 0, seq or 0, sum): the latter where the step is not sure. */
static void add_question(const struct summing *summing, const struct fleet_hours *hours,
			 struct buf *sql)
{
	buf_add_str(sql, "SELECT label, toUInt64(");
	add_step(summing, "d0", sql);
	buf_add_str(sql, ") AS step, toUInt64(");
	add_step(summing, "d1", sql);
	buf_add_str(sql, ") != step AS is_open, if(is_open, host, toUInt64(0)) AS whose, "
			 "if(is_open, " FLEET_SAMPLE_SEQ ", toUInt64(0)) AS which, ");
	fleet_add_default_sum(&summing->ask, FLEET_SELECTED, sql);
	buf_add_str(sql, " FROM (");
	add_rows(summing, hours, sql);
	buf_add_str(sql, ") AS a");
	if (summing->by && !fleet_is_column(summing->by)) {
		buf_add_str(sql, " ANY LEFT JOIN (SELECT host, src, ");
		fleet_add_label(summing->by, sql);
		buf_add_str(sql, " AS label FROM sources WHERE 1");
		fleet_add_days(&summing->ask, sql);
		buf_add_str(sql, buf_cstr(&summing->ask.services));
		buf_add_str(sql, ") AS s USING (host, src)");
	}
	buf_add_str(sql, " GROUP BY label, step, is_open, whose, which");
}

/* --- Starts of windows --- */

static int compare_starts(const void *left_ptr, const void *right_ptr)
{
	const struct window_start *left = left_ptr, *right = right_ptr;

	if (left->host != right->host)
		return left->host < right->host ? -1 : 1;
	return (left->seq > right->seq) - (left->seq < right->seq);
}

/* Of those that began in a second in which a step ends. */
static int ask_starts(struct summing *summing, const struct fleet_hours *hours)
{
	const struct fleet_ask *ask = &summing->ask;
	_cleanup_(buf_deinit) struct buf sql = {0};
	_cleanup_(buf_deinit) struct buf answer = {0};
	struct reader rd;
	int err;

	summing->start_cnt = 0;
	if (summing->point_cnt == 1)
		return 0;
	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_printf(&sql, "SELECT host, seq, start_ns, toUInt16(least(intDiv(start_ns, "
			 "1000000000), seq) - toUInt32(h)) AS "
			 "ts, ");
	add_moments(summing, &sql);
	buf_add_str(&sql, " FROM ");
	fleet_add_windows(ask, hours->first, hours->last, &sql);
	buf_add_str(&sql, " AND (");
	add_step(summing, "d0", &sql);
	buf_add_str(&sql, ") != (");
	add_step(summing, "d1", &sql);
	buf_add_str(&sql, ") LIMIT 1 BY host, seq");
	err = fleet_query(ask->fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd)) {
		err = array_reserve(&summing->starts, &summing->start_cap, summing->start_cnt + 1,
				    sizeof(*summing->starts));
		if (err)
			return err;
		summing->starts[summing->start_cnt++] = (struct window_start){
			.host = reader_u64(&rd),
			.seq = reader_u64(&rd),
			.start_ns = reader_u64(&rd),
		};
		reader_skip(&rd, 2 + 8 + 8);
	}
	if (summing->start_cnt)
		qsort(summing->starts, summing->start_cnt, sizeof(*summing->starts),
		      compare_starts);
	return err ? err : fleet_read_end(ask->fleet, &rd);
}

static const struct window_start *find_start(const struct summing *summing, uint64_t host,
					     uint64_t seq)
{
	const struct window_start wanted = {.host = host, .seq = seq};

	return summing->start_cnt ? bsearch(&wanted, summing->starts, summing->start_cnt,
					    sizeof(wanted), compare_starts)
				  : NULL;
}

/* --- Answers --- */

/* The points of the series of that name: "" of none, else '=' and its text. */
static int points_of(struct summing *summing, const char *name, size_t len, int64_t **out)
{
	uint32_t nr = strtab_add(&summing->names, name, len);
	size_t need = ((size_t)nr + 1) * summing->point_cnt;
	int err;

	if (nr == STRTAB_NONE)
		return -ENOMEM;
	if (need > TOTAL_POINTS_MAX)
		return -E2BIG;
	err = array_reserve(&summing->points, &summing->point_cap, need, sizeof(*summing->points));
	if (err)
		return err;
	if (nr >= summing->series_cnt)
		summing->series_cnt = (size_t)nr + 1;
	*out = summing->points + nr * summing->point_cnt;
	return 0;
}

static int read_row(struct summing *summing, struct reader *rd)
{
	size_t len;
	const char *name = rb_text(rd, &len);
	uint64_t step = reader_u64(rd), host, seq;
	bool is_open = reader_u8(rd);
	const struct window_start *start = NULL;
	int64_t *points, value;
	int err;

	host = reader_u64(rd);
	seq = reader_u64(rd);
	value = (int64_t)reader_u64(rd);
	if (is_open)
		start = find_start(summing, host, seq);
	if (start && start->start_ns >= summing->ask.from_ns &&
	    start->start_ns < summing->ask.to_ns)
		step = step_of(summing, start->start_ns);
	if (rd->err || step >= summing->point_cnt) {
		reader_fail(rd);
		return 0;
	}
	err = points_of(summing, name, len, &points);
	if (!err)
		points[step] = profile_value_sum(points[step], value);
	return err;
}

static int ask_hours(void *arg, const struct fleet_hours *hours)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct summing *summing = arg;
	struct reader rd;
	int err = ask_starts(summing, hours);

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	if (err)
		return err;
	add_question(summing, hours, &sql);
	err = fleet_query(summing->ask.fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		err = read_row(summing, &rd);
	return err ? err : fleet_read_end(summing->ask.fleet, &rd);
}

static void forget_points(void *arg)
{
	struct summing *summing = arg;

	for (size_t i = 0; i < summing->series_cnt * summing->point_cnt; i++)
		summing->points[i] = 0;
}

static int ask_points(struct summing *summing)
{
	struct fleet_plan plan;
	int err = fleet_plan_init(&plan, &summing->ask, NULL);

	if (!err)
		err = fleet_parts_read(&summing->ask, &plan, ask_hours, forget_points, summing);
	free(plan.items);
	return err;
}

static int compare_series(const void *left_ptr, const void *right_ptr)
{
	const struct series *left = left_ptr, *right = right_ptr;

	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	return (left->nr > right->nr) - (left->nr < right->nr);
}

/* Of "", which every table of strings has, only where samples have no such label. */
static bool is_there(const struct summing *summing, size_t nr)
{
	if (nr)
		return true;
	for (size_t i = 0; i < summing->point_cnt; i++)
		if (summing->points[i])
			return true;
	return false;
}

static int tell_series(const struct summing *summing, store_series_fn *fn, void *arg)
{
	_cleanup_free_ struct series *order = calloc(summing->series_cnt + 1, sizeof(*order));
	size_t cnt = 0;
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (size_t nr = 0; nr < summing->series_cnt; nr++) {
		const int64_t *points = summing->points + nr * summing->point_cnt;

		if (!is_there(summing, nr))
			continue;
		order[cnt].nr = nr;
		for (size_t i = 0; i < summing->point_cnt; i++)
			order[cnt].total = profile_value_sum(order[cnt].total, points[i]);
		cnt++;
	}
	if (cnt)
		qsort(order, cnt, sizeof(*order), compare_series);
	for (size_t i = 0; i < cnt && !err; i++) {
		const char *name = strtab_get(&summing->names, (uint32_t)order[i].nr);

		err = fn(arg, *name ? name + 1 : "",
			 summing->points + order[i].nr * summing->point_cnt, summing->point_cnt);
	}
	return err;
}

static void summing_deinit(struct summing *summing)
{
	fleet_ask_deinit(&summing->ask);
	strtab_deinit(&summing->names);
	free(summing->points);
	free(summing->starts);
}

int fleet_timeline(struct fleet *fleet, const struct store_query *query, const char *by,
		   const char *function, size_t point_cnt, store_series_fn *fn, void *arg)
{
	struct summing summing = {.by = by, .function = function, .point_cnt = point_cnt};
	int err;

	if (!point_cnt || point_cnt > FLEET_POINTS_MAX || query->from_ns >= query->to_ns)
		return -EINVAL;
	err = strtab_init(&summing.names);
	if (err)
		return err;
	err = fleet_ask_init(&summing.ask, fleet, query);
	if (!err && !summing.ask.is_empty)
		err = ask_points(&summing);
	if (err && err != -ENOENT)
		fleet_fail(fleet, err);
	if (!err)
		err = tell_series(&summing, fn, arg);
	summing_deinit(&summing);
	return err;
}
