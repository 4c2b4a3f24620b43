/* SPDX-License-Identifier: Apache-2.0 */
/* What the store answers, what of the range it covers, and why there may be nothing. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/query.h"

void query_answer_deinit(struct query_answer *answer)
{
	profile_deinit(&answer->prof);
	profile_calls_deinit(&answer->calls);
	ledger_deinit(&answer->ledger);
}

struct kind_names {
	struct buf text; /* "cpu, off-cpu" */
};

static int add_kind(void *arg, const char *name, const struct profile_value_type *types,
		    const struct profile *strings, uint32_t type_cnt, uint32_t default_type,
		    int64_t total)
{
	struct buf *out = &((struct kind_names *)arg)->text;

	buf_printf(out, "%s", out->len ? ", " : "");
	func_table_printable(name, out);
	return out->err;
}

int query_refuse_kind(const struct query *query)
{
	struct kind_names names;
	int err;

	buf_init(&names.text, BUF_NO_MAX);
	err = store_source_each_kind(query->store, 0, UINT64_MAX, add_kind, &names);
	if (!err && !names.text.len) {
		log_error("store '%s': nothing is stored yet (%s)", query->name,
			  *query->store->name ? "do agents ship to it? bpfprof store ship --to URL"
					      : "is the agent running? bpfprof agent");
		err = -ENODATA;
	} else if (!err) {
		log_error("store '%s' has no samples of kind '%s' (--kind); there are: %s",
			  query->name, query->kind, buf_cstr(&names.text));
		err = -ENOENT;
	}
	buf_deinit(&names.text);
	return err;
}

int query_read(const struct query *query, const struct query_range *range, const char *const *keep,
	       struct query_answer *out)
{
	const struct store_query question = query_for_store(query, range, keep);
	struct query_answer answer = {.range = *range};
	int err = store_source_read(query->store, &question, &answer.prof, &answer.ledger,
				    &answer.coverage);

	if (err == -ENOENT)
		return query_refuse_kind(query);
	if (!err)
		*out = answer;
	return err;
}

int query_read_calls(const struct query *query, const struct query_range *range,
		     const char *const *keep, struct query_answer *out)
{
	const struct store_query question = query_for_store(query, range, keep);
	struct query_answer answer = {.range = *range};
	int err = store_source_calls(query->store, &question, query->opts->render.value,
				     &answer.calls, &answer.ledger, &answer.coverage);

	if (!err)
		*out = answer;
	return err;
}

/* "45.0 s", "12.5 min", "30.0 h" */
static void add_span(uint64_t span_ns, struct buf *out)
{
	double seconds = (double)span_ns / NSEC_PER_SEC;

	if (seconds < 120)
		buf_printf(out, "%.1f s", seconds);
	else if (seconds < 7200)
		buf_printf(out, "%.1f min", seconds / 60);
	else
		buf_printf(out, "%.1f h", seconds / 3600);
}

static uint64_t minus(uint64_t left, uint64_t right)
{
	return left > right ? left - right : 0;
}

/* Not the window that is being filled, nor the one that began just before the range. */
static void add_edges(const struct query_range *range, const struct store_coverage *coverage,
		      struct buf *out)
{
	uint64_t window_ns = coverage->covered_ns / coverage->window_cnt;
	uint64_t head_ns = minus(coverage->first_ns, range->from_ns);
	uint64_t tail_ns = minus(range->to_ns, coverage->last_ns);

	if (head_ns > 2 * window_ns) {
		buf_add_str(out, "; nothing in the first ");
		add_span(head_ns, out);
	}
	if (tail_ns > 2 * window_ns) {
		buf_add_str(out, "; nothing in the last ");
		add_span(tail_ns, out);
	}
}

static void add_hosts(const struct store_hosts *hosts, struct buf *out)
{
	if (!hosts->is_fleet)
		return;
	buf_printf(out, ", by %llu", (unsigned long long)hosts->cnt);
	if (hosts->known_cnt > hosts->cnt)
		buf_printf(out, " of the %llu hosts that there were within a day before",
			   (unsigned long long)hosts->known_cnt);
	else
		buf_printf(out, " host%s", hosts->cnt == 1 ? "" : "s");
}

/* Those of a fleet do not begin and end at the same time: up to a window of each is none. */
static uint64_t gaps_of(const struct store_coverage *coverage)
{
	const uint64_t host_cnt = coverage->hosts.cnt > 1 ? coverage->hosts.cnt : 1;
	const unsigned __int128 span_ns =
		(unsigned __int128)minus(coverage->last_ns, coverage->first_ns) * host_cnt;
	uint64_t gaps_ns = 0;

	if (span_ns > coverage->covered_ns && span_ns <= UINT64_MAX)
		gaps_ns = (uint64_t)span_ns - coverage->covered_ns;
	if (host_cnt > 1 && gaps_ns < host_cnt * (coverage->covered_ns / coverage->window_cnt))
		return 0;
	return gaps_ns;
}

static void add_missing(const struct query_range *range, const struct store_coverage *coverage,
			struct buf *out)
{
	uint64_t gaps_ns = coverage->window_cnt ? gaps_of(coverage) : 0;

	if (coverage->window_cnt)
		add_edges(range, coverage, out);
	/* Between two windows there is the time that it takes to begin the next one. */
	if (gaps_ns >= NSEC_PER_SEC / 10) {
		buf_add_str(out, "; gaps of ");
		add_span(gaps_ns, out);
		buf_add_str(out, " in sum");
	}
	if (coverage->tombstone_cnt)
		buf_printf(out,
			   "; %llu samples were dropped or could not be stored (%llu tombstone%s)",
			   (unsigned long long)coverage->tombstone_samples,
			   (unsigned long long)coverage->tombstone_cnt,
			   coverage->tombstone_cnt == 1 ? "" : "s");
	if (coverage->damaged_cnt)
		buf_printf(out, "; %llu parts are damaged and left out (bpfprof store fsck)",
			   (unsigned long long)coverage->damaged_cnt);
}

void query_summarize(const struct query_range *range, const struct store_coverage *coverage,
		     const struct ledger *ledger)
{
	_cleanup_(buf_deinit) struct buf line;

	buf_init(&line, BUF_NO_MAX);
	query_add_range(range, &line);
	buf_printf(&line, ": %llu window%s", (unsigned long long)coverage->window_cnt,
		   coverage->window_cnt == 1 ? "" : "s");
	if (coverage->window_cnt) {
		buf_add_str(&line, " of ");
		add_span(coverage->covered_ns, &line);
		buf_add_str(&line, " in sum");
	}
	add_hosts(&coverage->hosts, &line);
	add_missing(range, coverage, &line);
	log_info("%s", buf_cstr(&line));
	if (!ledger || !coverage->window_cnt)
		return;
	buf_reset(&line);
	ledger_format_line(ledger, &line);
	log_info("%s", buf_cstr(&line));
}

void query_explain_empty(const struct query *query, const struct query_range *range,
			 struct buf *out)
{
	struct store_coverage here, all;
	struct query_range stored;

	buf_printf(out, "store '%s': no samples of kind '%s' from ", query->name, query->kind);
	query_add_range(range, out);
	if (store_source_coverage(query->store, range->from_ns, range->to_ns, &here) ||
	    store_source_coverage(query->store, 0, UINT64_MAX, &all))
		return;
	if (here.window_cnt && query_where(query, range)->cnt) {
		buf_add_str(out, " that match '");
		query_add_selection(query_where(query, range), out);
		buf_add_str(out, "' (bpfprof query labels shows what there is)");
	} else if (here.window_cnt) {
		buf_printf(out, " in %llu windows", (unsigned long long)here.window_cnt);
	} else if (all.window_cnt) {
		stored = (struct query_range){all.first_ns, all.last_ns};
		buf_add_str(out, "; it has some from ");
		query_add_range(&stored, out);
	} else {
		buf_add_str(out, ", nor of any other time");
	}
	if (here.tombstone_cnt)
		add_missing(range,
			    &(struct store_coverage){.tombstone_cnt = here.tombstone_cnt,
						     .tombstone_samples = here.tombstone_samples},
			    out);
}

int query_refuse_empty(const struct query *query, const struct query_range *range)
{
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	query_explain_empty(query, range, &why);
	log_error("%s", buf_cstr(&why));
	return CLI_NOTHING_SAMPLED;
}

int query_status(int err)
{
	switch (err) {
	case 0:
		return CLI_OK;
	case -ENODATA:
		return CLI_NOTHING_SAMPLED;
	case -EINVAL:
		return CLI_USAGE;
	default:
		return CLI_FAILED;
	}
}
