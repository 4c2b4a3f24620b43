/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/fleet_fsck.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hmap.h"
#include "base/reader.h"
#include "clickhouse/rollup.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"

enum {
	FINDINGS_MAX = 1000, /* told of each question and day */
	CHAIN_ROWS = 4 << 20, /* of the ledger, in one answer */
	NAME_MAX_BYTES = 63, /* of hosts and kinds */
};

#define NSEC_PER_DAY (86400 * NSEC_PER_SEC)

/* Windows of a host each of which follows on the one before. */
struct run {
	uint64_t host, seq, prev_seq, last_seq; /* seq, prev_seq: of the first one */
};

/* The run that a host's latest window is of. */
struct link {
	uint64_t host;
	size_t run;
};

/* What numbers are called. */
struct names {
	struct named {
		uint64_t number;
		char name[NAME_MAX_BYTES + 1];
	} * items; /* owned */
	size_t cnt, cap;
	struct hmap index;
};

struct check {
	struct ch_client *client;
	struct names hosts, kinds;
	struct fleet_fsck *result;
	struct buf *out, sql, answer;
	uint32_t day; /* since 1970 */
	bool is_part; /* there may be other days than those that are looked at */
	struct run *runs; /* owned */
	size_t run_cnt, run_cap;
	struct link *links; /* owned */
	size_t link_cnt, link_cap;
	struct hmap by_host;
};

__attribute__((format(printf, 2, 3))) static void finding(struct check *check, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	buf_printf(check->out, "%s\n", line);
	check->result->findings++;
}

/* The hours of the day that is looked at. */
static void add_day(struct check *check)
{
	buf_printf(&check->sql, "h >= toDateTime(%" PRIu64 ") AND h < toDateTime(%" PRIu64 ")",
		   (uint64_t)check->day * 86400, ((uint64_t)check->day + 1) * 86400);
}

/* What check->sql asks for, as @rd. */
static int ask(struct check *check, struct reader *rd)
{
	int err;

	buf_add_str(&check->sql, " FORMAT RowBinary");
	buf_reset(&check->answer);
	err = check->sql.err
		      ? check->sql.err
		      : ch_client_query(check->client, buf_cstr(&check->sql), &check->answer);
	buf_reset(&check->sql);
	reader_init(rd, check->answer.data, check->answer.len);
	return err;
}

/* --- Names --- */

static bool is_number(const void *owner, uint32_t index, const void *key)
{
	return ((const struct named *)owner)[index].number == *(const uint64_t *)key;
}

static int add_name(struct names *names, uint64_t number, const char *text, size_t len)
{
	struct named *named;

	if (hmap_find(&names->index, number, is_number, names->items, &number) != HMAP_NONE)
		return 0;
	if (array_reserve(&names->items, &names->cap, names->cnt + 1, sizeof(*names->items)) ||
	    hmap_insert(&names->index, number, (uint32_t)names->cnt))
		return -ENOMEM;
	named = &names->items[names->cnt++];
	named->number = number;
	snprintf(named->name, sizeof(named->name), "%.*s", (int)len, text);
	/* It goes to a terminal. */
	for (char *chr = named->name; *chr; chr++)
		if ((unsigned char)*chr < ' ' || *chr == 0x7f)
			*chr = '?';
	return 0;
}

/* What @number is called, or itself as text. */
static const char *name_of(struct names *names, uint64_t number)
{
	uint32_t index = hmap_find(&names->index, number, is_number, names->items, &number);
	char text[24];

	if (index != HMAP_NONE)
		return names->items[index].name;
	snprintf(text, sizeof(text), "%" PRIu64, number);
	return add_name(names, number, text, strlen(text)) ? "?"
							   : names->items[names->cnt - 1].name;
}

/* @sql's SELECT answers numbers and names. */
static int read_names(struct check *check, const char *sql, struct names *out)
{
	struct reader rd;
	int err;

	buf_add_str(&check->sql, sql);
	err = ask(check, &rd);
	while (!err && !reader_done(&rd)) {
		const uint64_t number = reader_u64(&rd);
		size_t len;
		const char *text = rb_text(&rd, &len);

		if (text)
			err = add_name(out, number, text,
				       len < NAME_MAX_BYTES ? len : NAME_MAX_BYTES);
	}
	return err ? err : rd.err;
}

static void names_deinit(struct names *names)
{
	free(names->items);
	hmap_deinit(&names->index);
}

/* --- Ledger and samples --- */

/*
 * Each batch once from the ledger, and once, negative, from the samples: where both are the same
 * all sums are 0, and there is one row of the ledger.
 */
static void ask_for_differences(struct check *check)
{
	struct buf *sql = &check->sql;

	buf_add_str(
		sql,
		"SELECT host, kind, toUInt64(seq), toInt64(sum(ledger)) AS "
		"of_ledger, toInt64(sum(of_ledger_rows)) AS l_rows, toInt64(sum(of_rows)) AS "
		"s_rows, toInt64(sum(s0)) AS d_n, toInt64(sum(s1)) AS d1, toInt64(sum(s2)) AS d2, "
		"toInt64(sum(s3)) AS d3, arrayExists(x -> x != 0, sumForEach(s4)) AS d_v FROM "
		"(SELECT host, kind, seq, toInt64(1) AS ledger, toInt64(rows) AS "
		"of_ledger_rows, toInt64(0) AS of_rows, n AS s0, v1 AS s1, v2 AS s2, v3 "
		"AS s3, v AS s4 FROM batches FINAL "
		"WHERE kind != 0 AND ");
	add_day(check);
	buf_add_str(sql,
		    " UNION ALL SELECT host, kind, " FLEET_SAMPLE_SEQ " AS seq, "
		    "toInt64(0) AS ledger, toInt64(0) AS of_ledger_rows, toInt64(count()) AS "
		    "of_rows, -sum(n) AS s0, -sum" FLEET_SECOND_VALUE " AS s1, -sum(v2) AS s2, "
		    "-sum(v3) AS s3, arrayMap(x -> -x, sumForEach(v)) AS s4 FROM samples FINAL "
		    "WHERE ");
	add_day(check);
	buf_printf(sql,
		   " GROUP BY host, kind, seq) GROUP BY host, kind, seq HAVING of_ledger != 1 OR "
		   "l_rows != s_rows OR d_n != 0 OR d1 != 0 OR d2 != 0 OR d3 != 0 OR d_v ORDER BY "
		   "host, kind, seq LIMIT %d",
		   FINDINGS_MAX);
}

static void tell_difference(struct check *check, struct reader *rd)
{
	const uint64_t host = reader_u64(rd), kind = reader_u64(rd);
	const uint64_t seq = reader_u64(rd), of_ledger = reader_u64(rd);
	const int64_t l_rows = (int64_t)reader_u64(rd), s_rows = (int64_t)reader_u64(rd);
	bool differ = false;
	char batch[160];

	for (int i = 0; i < FLEET_VALUE_COLUMNS; i++)
		differ |= reader_u64(rd) != 0;
	differ |= reader_u8(rd) != 0;
	if (rd->err)
		return;
	snprintf(batch, sizeof(batch), "batch %s/%" PRIu64 " of %s", name_of(&check->hosts, host),
		 seq, name_of(&check->kinds, kind));
	if (!of_ledger)
		finding(check, "%s: %" PRId64 " rows of samples, which the ledger does not have",
			batch, s_rows);
	else if (l_rows != s_rows)
		finding(check, "%s: %" PRId64 " rows of samples, but the ledger has %" PRId64,
			batch, s_rows, l_rows);
	else if (differ)
		finding(check, "%s: the sums of its samples are not those of the ledger", batch);
	else
		finding(check, "%s: %" PRIu64 " times in the ledger", batch, of_ledger);
}

static int check_samples(struct check *check)
{
	struct reader rd;
	int err;

	ask_for_differences(check);
	err = ask(check, &rd);
	while (!err && !reader_done(&rd))
		tell_difference(check, &rd);
	return err ? err : rd.err;
}

/* Each window has a row of its own, and as many rows as its batches. */
static int check_windows(struct check *check)
{
	struct reader rd;
	int err;

	buf_add_str(&check->sql,
		    "SELECT host, seq, countIf(kind = 0) AS windows, sumIf(rows, kind = 0) AS "
		    "window_rows, sumIf(rows, kind != 0) AS batch_rows FROM batches FINAL WHERE ");
	add_day(check);
	buf_printf(&check->sql,
		   " GROUP BY host, seq HAVING windows != 1 OR window_rows != batch_rows ORDER BY "
		   "host, seq LIMIT %d",
		   FINDINGS_MAX);
	err = ask(check, &rd);
	while (!err && !reader_done(&rd)) {
		const uint64_t host = reader_u64(&rd), seq = reader_u64(&rd);
		const uint64_t windows = reader_u64(&rd), window_rows = reader_u64(&rd);
		const uint64_t batch_rows = reader_u64(&rd);

		if (rd.err)
			break;
		if (windows != 1)
			finding(check,
				"window %s/%" PRIu64 ": it has batches in the ledger, but no row "
				"of its own",
				name_of(&check->hosts, host), seq);
		else
			finding(check,
				"window %s/%" PRIu64 ": its batches have %" PRIu64
				" rows in the ledger, it says %" PRIu64,
				name_of(&check->hosts, host), seq, batch_rows, window_rows);
	}
	return err ? err : rd.err;
}

/* --- Dictionary --- */

/* @sql's SELECT answers how many of something are named, but not there. */
static int check_names(struct check *check, const char *what)
{
	struct reader rd;
	uint64_t cnt;
	int err = ask(check, &rd);

	if (err)
		return err;
	cnt = reader_u64(&rd);
	if (!rd.err && cnt)
		finding(check, "day %u: %" PRIu64 " %s, but are not in the dictionary", check->day,
			cnt, what);
	return rd.err;
}

static int check_dictionary(struct check *check)
{
	struct buf *sql = &check->sql;
	int err;

	buf_add_str(sql, "SELECT count() FROM (SELECT DISTINCT stack FROM samples WHERE ");
	add_day(check);
	buf_printf(sql, ") WHERE stack NOT IN (SELECT stack FROM stacks WHERE day = toDate(%u))",
		   check->day);
	err = check_names(check, "stacks are named by samples");
	if (err)
		return err;
	buf_add_str(sql, "SELECT count() FROM (SELECT DISTINCT host, src FROM samples WHERE ");
	add_day(check);
	buf_printf(sql,
		   ") WHERE (host, src) NOT IN (SELECT host, src FROM sources WHERE day = "
		   "toDate(%u))",
		   check->day);
	err = check_names(check, "sources are named by samples");
	if (err)
		return err;
	buf_printf(sql,
		   "SELECT count() FROM (SELECT DISTINCT arrayJoin(frames) AS frame FROM stacks "
		   "WHERE day = toDate(%u)) WHERE frame NOT IN (SELECT frame FROM frames WHERE day "
		   "= toDate(%u))",
		   check->day, check->day);
	return check_names(check, "frames are named by stacks");
}

/* --- Chains --- */

/*
 * A day has its windows in their order, but a clock that was set back over midnight goes on in a
 * day that was read before: so runs are put together when all days were read.
 *
 *	20th	..199		208..214, the first of which follows on 207
 *	21st	200..207, the first of which follows on 199
 */
static bool is_link(const void *owner, uint32_t index, const void *key)
{
	return ((const struct link *)owner)[index].host == *(const uint64_t *)key;
}

/* The link of @host; NULL: no memory. */
static struct link *find_link(struct check *check, uint64_t host, bool *is_new)
{
	uint32_t index = hmap_find(&check->by_host, host, is_link, check->links, &host);

	*is_new = index == HMAP_NONE;
	if (!*is_new)
		return &check->links[index];
	if (array_reserve(&check->links, &check->link_cap, check->link_cnt + 1,
			  sizeof(*check->links)) ||
	    hmap_insert(&check->by_host, host, (uint32_t)check->link_cnt))
		return NULL;
	check->links[check->link_cnt] = (struct link){.host = host};
	return &check->links[check->link_cnt++];
}

static int follow(struct check *check, uint64_t host, uint64_t seq, uint64_t last_seq,
		  uint64_t prev_seq)
{
	bool is_new;
	struct link *link = find_link(check, host, &is_new);

	if (!link)
		return -ENOMEM;
	if (!is_new && check->runs[link->run].last_seq == prev_seq) {
		check->runs[link->run].last_seq = last_seq;
		return 0;
	}
	if (array_reserve(&check->runs, &check->run_cap, check->run_cnt + 1, sizeof(*check->runs)))
		return -ENOMEM;
	link->run = check->run_cnt++;
	check->runs[link->run] = (struct run){host, seq, prev_seq, last_seq};
	return 0;
}

static int compare_runs(const void *left_ptr, const void *right_ptr)
{
	const struct run *left = left_ptr, *right = right_ptr;

	if (left->host != right->host)
		return left->host < right->host ? -1 : 1;
	return left->seq < right->seq ? -1 : left->seq > right->seq;
}

/* Do windows of days that are not looked at lead from seq @from of @host to @to? */
static int lead_elsewhere(struct check *check, uint64_t host, uint64_t from, uint64_t to, bool *out)
{
	struct reader rd;
	uint64_t length;
	int err;

	buf_printf(&check->sql,
		   "SELECT toUInt64(sum(last_seq - prev_seq)) FROM batches FINAL WHERE kind = 0 "
		   "AND host = %" PRIu64 " AND prev_seq >= %" PRIu64 " AND last_seq <= %" PRIu64,
		   host, from, to);
	err = ask(check, &rd);
	if (err)
		return err;
	length = reader_u64(&rd);
	*out = length == to - from;
	return rd.err;
}

/* @run begins behind @last_seq, which is the largest of its host before it. */
static int check_joint(struct check *check, const struct run *run, uint64_t last_seq)
{
	bool is_elsewhere = false;
	int err = 0;

	if (run->prev_seq > last_seq && check->is_part)
		err = lead_elsewhere(check, run->host, last_seq, run->prev_seq, &is_elsewhere);
	if (!err && !is_elsewhere && run->prev_seq != last_seq)
		finding(check,
			"window %s/%" PRIu64 ": follows on %" PRIu64 ", but %" PRIu64
			" is before it: windows are %s",
			name_of(&check->hosts, run->host), run->seq, run->prev_seq, last_seq,
			run->prev_seq > last_seq ? "missing" : "there twice");
	return err;
}

/* What was before a host's first window is not looked at. */
static int check_joints(struct check *check)
{
	uint64_t last_seq = 0;
	int err = 0;

	if (check->run_cnt)
		qsort(check->runs, check->run_cnt, sizeof(*check->runs), compare_runs);
	for (size_t i = 0; i < check->run_cnt && !err; i++) {
		const struct run *run = &check->runs[i];

		if (!i || run[-1].host != run->host)
			last_seq = 0;
		else
			err = check_joint(check, run, last_seq);
		if (run->last_seq > last_seq)
			last_seq = run->last_seq;
	}
	return err;
}

/* The chains of the hosts whose number modulo @of is @part. */
static int check_chains_of(struct check *check, uint64_t part, uint64_t of)
{
	struct fleet_fsck *result = check->result;
	struct reader rd;
	int err;

	buf_add_str(&check->sql, "SELECT host, seq, last_seq, prev_seq, windows, lost_samples, "
				 "reason != '' FROM batches FINAL WHERE kind = 0 AND ");
	add_day(check);
	buf_printf(&check->sql, " AND host %% %" PRIu64 " = %" PRIu64 " ORDER BY host, seq", of,
		   part);
	err = ask(check, &rd);
	while (!err && !reader_done(&rd)) {
		const uint64_t host = reader_u64(&rd), seq = reader_u64(&rd);
		const uint64_t last_seq = reader_u64(&rd), prev_seq = reader_u64(&rd);
		const uint64_t windows = reader_u64(&rd), samples = reader_u64(&rd);
		const bool is_lost = reader_u8(&rd);

		if (rd.err)
			break;
		result->windows += is_lost ? 0 : windows;
		result->tombstones += is_lost;
		result->lost_windows += is_lost ? windows : 0;
		result->lost_samples += samples;
		err = follow(check, host, seq, last_seq, prev_seq);
	}
	return err ? err : rd.err;
}

/* How much there is, and from that into how many parts it is cut. */
static int count_day(struct check *check, uint64_t *parts)
{
	struct reader rd;
	uint64_t windows, hosts;
	int err;

	buf_add_str(&check->sql,
		    "SELECT countIf(kind = 0), uniqExact(host), countIf(kind != 0), sumIf(rows, "
		    "kind != 0), toInt64(sumIf(n, kind != 0)) FROM batches FINAL WHERE ");
	add_day(check);
	err = ask(check, &rd);
	if (err)
		return err;
	windows = reader_u64(&rd);
	hosts = reader_u64(&rd);
	check->result->batches += reader_u64(&rd);
	check->result->rows += reader_u64(&rd);
	check->result->samples += reader_u64(&rd);
	if (hosts > check->result->hosts)
		check->result->hosts = hosts;
	*parts = windows / CHAIN_ROWS + 1;
	return rd.err;
}

static int check_rollups(struct check *check)
{
	const uint64_t from_s = (uint64_t)check->day * ROLLUP_DAY_S;

	if (from_s + ROLLUP_DAY_S > UINT32_MAX)
		return 0;
	return rollup_check(check->client, (uint32_t)from_s, (uint32_t)from_s + ROLLUP_DAY_S,
			    check->out, &check->result->rolled, &check->result->findings);
}

static int check_day(struct check *check)
{
	uint64_t parts = 0;
	int err = count_day(check, &parts);

	for (uint64_t i = 0; i < parts && !err; i++)
		err = check_chains_of(check, i, parts);
	if (!err)
		err = check_windows(check);
	if (!err)
		err = check_samples(check);
	if (!err)
		err = check_dictionary(check);
	if (!err)
		err = check_rollups(check);
	check->result->days++;
	return err;
}

/* --- Days --- */

/* The days on which there is anything, in order. */
static int list_days(struct check *check, uint64_t from_day, uint64_t to_day, uint16_t **out,
		     size_t *cnt)
{
	_cleanup_free_ uint16_t *days = NULL;
	struct reader rd;
	size_t cap = 0;
	int err;

	*cnt = 0;
	buf_printf(&check->sql,
		   "SELECT DISTINCT toUInt16(toDate(h)) AS day FROM (SELECT h FROM batches UNION "
		   "ALL SELECT h FROM samples) WHERE day >= %" PRIu64 " AND day <= %" PRIu64
		   " ORDER BY day",
		   from_day, to_day);
	err = ask(check, &rd);
	while (!err && !reader_done(&rd)) {
		err = array_reserve(&days, &cap, *cnt + 1, sizeof(*days));
		if (!err)
			days[(*cnt)++] = reader_u16(&rd);
	}
	if (err || rd.err)
		return err ? err : rd.err;
	*out = take_ptr(days);
	return 0;
}

int fleet_fsck(struct ch_client *client, uint64_t from_ns, uint64_t to_ns,
	       struct fleet_fsck *result, struct buf *out)
{
	struct check check = {.client = client,
			      .result = result,
			      .out = out,
			      .is_part = from_ns > 0 || to_ns != UINT64_MAX};
	_cleanup_free_ uint16_t *days = NULL;
	const uint64_t last_day = to_ns / NSEC_PER_DAY;
	size_t cnt = 0;
	int err;

	*result = (struct fleet_fsck){.days = 0};
	buf_init(&check.sql, BUF_NO_MAX);
	buf_init(&check.answer, CH_ANSWER_MAX_BYTES);
	hmap_init(&check.by_host);
	err = read_names(&check, "SELECT host, if(name = '', id, name) FROM hosts FINAL",
			 &check.hosts);
	if (!err)
		err = read_names(&check, "SELECT kind, name FROM kinds", &check.kinds);
	if (!err)
		err = list_days(&check, from_ns / NSEC_PER_DAY,
				last_day < UINT16_MAX ? last_day : UINT16_MAX, &days, &cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		check.day = days[i];
		err = check_day(&check);
	}
	if (!err)
		err = check_joints(&check);
	free(check.runs);
	free(check.links);
	hmap_deinit(&check.by_host);
	names_deinit(&check.hosts);
	names_deinit(&check.kinds);
	buf_deinit(&check.sql);
	buf_deinit(&check.answer);
	return err == -EBADMSG ? -EPROTO : err ? err : out->err;
}
