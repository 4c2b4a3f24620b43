/* SPDX-License-Identifier: Apache-2.0 */
/* From the options of a query to what the store is asked. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse_time.h"
#include "cli/query.h"
#include "cli/store_arg.h"

#define SINCE_DEFAULT "1h"

static int parse(const char *option, const char *text, uint64_t now_ns, uint64_t *out,
		 struct buf *why)
{
	int err = parse_time_ns(text, now_ns, out);

	if (err)
		buf_printf(why, "option '%s': '%s' is %s (wanted: %s)", option, text,
			   err == -ERANGE ? "not between 1970 and 2554" : "not a time",
			   PARSE_TIME_FORMS);
	return err ? -EINVAL : 0;
}

static int check_order(const char *first, const char *second, const struct query_range *range,
		       struct buf *why)
{
	if (range->from_ns < range->to_ns)
		return 0;
	buf_printf(why, "option '%s': not before %s: ", first, second);
	query_add_range(range, why);
	return -EINVAL;
}

static int set_range(struct query *query, uint64_t now_ns, struct buf *why)
{
	const struct query_opts *opts = query->opts;
	struct query_range *range = &query->range;
	int err = parse("--since", opts->since ? opts->since : SINCE_DEFAULT, now_ns,
			&range->from_ns, why);

	range->to_ns = now_ns;
	if (!err && opts->until)
		err = parse("--until", opts->until, now_ns, &range->to_ns, why);
	return err ? err
		   : check_order("--since", opts->until ? "--until" : "the present", range, why);
}

static uint64_t minus(uint64_t left, uint64_t right)
{
	return left > right ? left - right : 0;
}

/* As long as the range, and just before it where nothing else is said; the same where other samples
 * of it are. */
static int set_before(struct query *query, uint64_t now_ns, struct buf *why)
{
	const struct query_opts *opts = query->opts;
	const struct query_range *range = &query->range;
	struct query_range *before = &query->before;
	uint64_t len_ns = range->to_ns - range->from_ns;
	bool selects = opts->before_select.cnt > 0;
	int err = 0;

	before->to_ns = range->from_ns;
	if (selects && !opts->before_since && !opts->before_until) {
		*before = *range;
		return 0;
	}
	if (opts->before_until)
		err = parse("--before-until", opts->before_until, now_ns, &before->to_ns, why);
	before->from_ns = minus(before->to_ns, len_ns);
	if (!err && opts->before_since)
		err = parse("--before-since", opts->before_since, now_ns, &before->from_ns, why);
	if (!err && opts->before_since && !opts->before_until &&
	    len_ns < minus(before->to_ns, before->from_ns))
		before->to_ns = before->from_ns + len_ns;
	if (!err)
		err = check_order("--before-since", "--before-until", before, why);
	if (err || selects || before->to_ns <= range->from_ns || range->to_ns <= before->from_ns)
		return err;
	buf_add_str(why, "the two ranges overlap: ");
	query_add_range(before, why);
	buf_add_str(why, ", and ");
	query_add_range(range, why);
	return -EINVAL;
}

static int set_where(struct match_list *where, const char *option, const struct opts_list *texts,
		     struct buf *why)
{
	_cleanup_(buf_deinit) struct buf what;
	int err = 0;

	buf_init(&what, BUF_NO_MAX);
	for (size_t i = 0; i < texts->cnt && !err; i++)
		err = match_list_parse(where, texts->items[i], &what);
	if (!what.len)
		return err;
	buf_printf(why, "option '%s': %s (wanted: 'service=web*,host=a')", option, buf_cstr(&what));
	return -EINVAL;
}

static int set_by(struct query *query, struct buf *why)
{
	const char *by = query->opts->render.by;
	int err = key_list_parse(&query->by, by);

	if (err == -EINVAL)
		buf_printf(why, "option '--by': a label in '%s' has no name", by);
	return err;
}

int query_init(struct query *query, const struct query_opts *opts, struct buf *why)
{
	uint64_t now_ns = clock_realtime_ns();
	int err;

	*query = (struct query){.opts = opts, .kind = opts->kind ? opts->kind : "cpu"};
	err = store_arg_url(opts->store, &query->url);
	if (!err) {
		query->name = store_arg_name(query->url);
		err = query->name ? 0 : -ENOMEM;
	}
	if (!err)
		err = set_range(query, now_ns, why);
	if (!err)
		err = set_before(query, now_ns, why);
	if (!err)
		err = set_where(&query->where, "--select", &opts->select, why);
	if (!err)
		err = set_where(&query->before_where, "--before-select", &opts->before_select, why);
	return err ? err : set_by(query, why);
}

void query_deinit(struct query *query)
{
	store_source_close(query->store);
	match_list_deinit(&query->where);
	match_list_deinit(&query->before_where);
	key_list_deinit(&query->by);
	free(query->name);
	query->store = NULL;
	query->name = NULL;
}

const struct match_list *query_where(const struct query *query, const struct query_range *range)
{
	return range == &query->before && query->before_where.cnt ? &query->before_where
								  : &query->where;
}

struct store_query query_for_store(const struct query *query, const struct query_range *range,
				   const char *const *keep)
{
	const struct match_list *where = query_where(query, range);

	return (struct store_query){
		.from_ns = range->from_ns,
		.to_ns = range->to_ns,
		.kind = query->kind,
		.where = where->items,
		.where_cnt = where->cnt,
		.by = keep,
	};
}

static void add_time(uint64_t utc_ns, const char *format, struct buf *out)
{
	time_t seconds = (time_t)(utc_ns / NSEC_PER_SEC);
	char text[32];
	struct tm utc;

	if (gmtime_r(&seconds, &utc) && strftime(text, sizeof(text), format, &utc))
		buf_add_str(out, text);
}

void query_add_range(const struct query_range *range, struct buf *out)
{
	const uint64_t minute_ns = 60 * NSEC_PER_SEC, day_ns = 1440 * minute_ns;
	bool is_same_day = range->from_ns / day_ns == range->to_ns / day_ns;
	const char *of_day =
		range->from_ns % minute_ns || range->to_ns % minute_ns ? "%H:%M:%S" : "%H:%M";

	add_time(range->from_ns, "%Y-%m-%d ", out);
	add_time(range->from_ns, of_day, out);
	buf_add_str(out, " to ");
	if (!is_same_day)
		add_time(range->to_ns, "%Y-%m-%d ", out);
	add_time(range->to_ns, of_day, out);
	buf_add_str(out, " UTC");
}

void query_add_selection(const struct match_list *where, struct buf *out)
{
	for (size_t i = 0; i < where->cnt; i++)
		buf_printf(out, "%s%s=%s", i ? "," : "", where->items[i].key, where->items[i].glob);
}
