/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges as a table, as a flame graph, and compared. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/query.h"
#include "encode/encoder.h"
#include "fleet/fleet.h"

/* --- top --- */

static int add_key(void *arg, const char *key, const char *value, int64_t total)
{
	struct buf *known = arg;
	size_t len = strlen(key);

	/* Keys come in order, each as often as it has values. */
	if (known->len >= len && !strcmp(buf_cstr(known) + known->len - len, key) &&
	    (known->len == len || buf_cstr(known)[known->len - len - 1] == ' '))
		return 0;
	buf_printf(known, "%s%s", known->len ? ", " : "", key);
	return known->err;
}

static int refuse_label(const struct query *query, const char *name)
{
	const struct store_query question = query_for_store(query, &query->range, NULL);
	_cleanup_(buf_deinit) struct buf known;
	int err;

	buf_init(&known, BUF_NO_MAX);
	err = store_source_each_label(query->store, &question, add_key, &known);
	if (err)
		return err;
	log_error("no sample has a label '%s' (--by); there are: %s", name,
		  known.len ? buf_cstr(&known) : "none");
	return -EINVAL;
}

static bool has_label(const struct profile *prof, const char *name)
{
	for (size_t i = 0; i < prof->label_cnt; i++)
		if (!strcmp(profile_str(prof, prof->labels[i].key), name))
			return true;
	return false;
}

/* --by: what each value of the labels has, with all that is in it. */
static int add_by(const struct query *query, const struct report *report, uint64_t limit,
		  struct buf *out)
{
	struct report_keys keys = {.cnt = query->by.cnt};

	if (keys.cnt > REPORT_KEYS_MAX) {
		log_error("option '--by': at most %d labels", REPORT_KEYS_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < keys.cnt; i++) {
		struct report_key *key = &keys.items[i];
		int len = snprintf(key->name, sizeof(key->name), "%s", query->by.items[i]);

		if (len >= (int)sizeof(key->name) || !has_label(report->prof, key->name))
			return refuse_label(query, query->by.items[i]);
		key->kind = REPORT_LABEL;
	}
	return report_by_keys(report, &keys, (enum report_format)query->opts->format.bits, limit, 0,
			      out);
}

static int add_top(const struct query *query, const struct report *report, struct buf *out)
{
	const struct query_opts *opts = query->opts;
	const enum report_format format = (enum report_format)opts->format.bits;
	const uint64_t limit = opts->limit ? opts->limit : REPORT_LIMIT_DEFAULT;

	if (format != REPORT_JSON) {
		report_header(report, out);
		buf_add_char(out, '\n');
	}
	if (query->by.cnt)
		return add_by(query, report, limit, out);
	return report_table(report, opts->sort, format, limit, 0, out);
}

static int print_top(const struct query *query, const struct profile *prof)
{
	_cleanup_(func_table_deinit) struct func_table table = {0};
	_cleanup_(buf_deinit) struct buf out;
	struct report report = {.prof = prof, .table = &table};
	int err;

	buf_init(&out, BUF_NO_MAX);
	report.value = profile_pick_value(prof, query->opts->render.value);
	if (report.value == PROFILE_NONE)
		return CLI_FAILED;
	report.unit = profile_str(prof, prof->value_types[report.value].unit);
	err = func_table_init(&table, prof, report.value);
	if (!err)
		err = add_top(query, &report, &out);
	if (!err)
		return cli_print(&out);
	if (err != -EINVAL)
		log_error("query: %s", strerror(-err));
	return query_status(err);
}

int query_top(const struct query *query)
{
	_cleanup_(query_answer_deinit) struct query_answer answer = {0};
	enum func_sort order;
	const char *const *keep = query->by.cnt				    ? query->by.items
				  : report_order(query->opts->sort, &order) ? no_keys
									    : NULL;
	int err = query_read(query, &query->range, keep, &answer);

	if (err)
		return query_status(err);
	query_summarize(&query->range, &answer.coverage, &answer.ledger);
	return answer.prof.sample_cnt ? print_top(query, &answer.prof)
				      : query_refuse_empty(query, &query->range);
}

/* --- flame --- */

enum { HOSTS_SHOWN = 3 };

/* Where the samples are from, by their label; else how many of a fleet, or who this is, if the
 * store is the agent's. */
static void add_hosts(const struct query *query, struct query_answer *answer, struct buf *out)
{
	const struct profile *prof = query_profile(answer);
	const struct store_hosts *hosts = &answer->coverage.hosts;
	char name[256] = "";
	size_t start = out->len, cnt = 0;

	for (size_t i = 0; i < prof->label_cnt; i++) {
		const char *host = profile_str(prof, prof->labels[i].str);
		bool is_known = strcmp(profile_str(prof, prof->labels[i].key), "host") != 0;

		for (size_t j = 0; j < i && !is_known; j++)
			is_known = prof->labels[j].key == prof->labels[i].key &&
				   prof->labels[j].str == prof->labels[i].str;
		if (is_known || cnt++ >= HOSTS_SHOWN)
			continue;
		buf_printf(out, "%s%s", out->len > start ? ", " : "", host);
	}
	if (cnt > HOSTS_SHOWN)
		buf_printf(out, " and %zu more hosts", cnt - HOSTS_SHOWN);
	if (cnt)
		return;
	if (hosts->is_fleet)
		buf_printf(out, "%llu host%s", (unsigned long long)hosts->cnt,
			   hosts->cnt == 1 ? "" : "s");
	else if (strcmp(query->url, STORE_DEFAULT_PATH) || gethostname(name, sizeof(name) - 1))
		buf_add_str(out, query->name);
	else
		buf_add_str(out, name);
}

static void add_title(const struct query *query, struct query_answer *answer, struct buf *out)
{
	buf_printf(out, "%s flame graph: ", strcmp(query->kind, "cpu") ? query->kind : "CPU");
	add_hosts(query, answer, out);
	buf_add_str(out, ", ");
	query_add_range(&query->range, out);
	if (!query->where.cnt)
		return;
	buf_add_str(out, ", ");
	query_add_selection(&query->where, out);
}

static void add_subtitle(const struct query_answer *answer, struct buf *out)
{
	const struct store_coverage *coverage = &answer->coverage;
	const struct query_range covered = {coverage->first_ns, coverage->last_ns};

	buf_printf(out, "%.1f s in %llu windows", (double)coverage->covered_ns / NSEC_PER_SEC,
		   (unsigned long long)coverage->window_cnt);
	if (coverage->window_cnt) {
		buf_add_str(out, ", ");
		query_add_range(&covered, out);
	}
	if (*answer->ledger.kernel)
		buf_printf(out, ", Linux %s", answer->ledger.kernel);
}

/* What makes the first frame: NULL where it is the encoders' default. Of a fleet services, by which
 * its roll-ups are; processes of hosts are not. */
static const char *first_frame(const struct query *query)
{
	const char *by = query->opts->render.by;

	return by || !fleet_is_url(query->url) ? by : "service";
}

/* Formats of one value show no labels but those of --by, nor does the page of a fleet: the store
 * adds up over the others. */
static bool needs_labels(const struct query *query, const struct output_set *outputs)
{
	for (size_t i = 0; i < outputs->output_cnt; i++) {
		const struct encoder *encoder = outputs->outputs[i].encoder;

		if (!encoder->is_one_value &&
		    !(encoder == &encoder_html && fleet_is_url(query->url)))
			return true;
	}
	return false;
}

/* One flame graph shows one value of calls that are merged. */
static bool needs_stacks(const struct output_set *outputs)
{
	for (size_t i = 0; i < outputs->output_cnt; i++)
		if (outputs->outputs[i].encoder != &encoder_svg || outputs->outputs[i].per_value)
			return true;
	return false;
}

/* The labels that are kept where not all are; calloc(): the caller's to free. */
static const char **kept_labels(const struct query *query)
{
	const char **keep = calloc(query->by.cnt + 3, sizeof(*keep));
	size_t cnt = query->by.cnt;

	if (!keep)
		return NULL;
	memcpy(keep, query->by.items, cnt * sizeof(*keep));
	if (!cnt)
		keep[cnt++] = first_frame(query) ? first_frame(query) : "comm";
	/* A host's own store names it in the title. */
	if (!fleet_is_url(query->url))
		keep[cnt] = "host";
	return keep;
}

static int read_for_flame(const struct query *query, const struct output_set *outputs,
			  struct query_answer *out)
{
	const char **keep = NULL;
	int err = 0;

	if (!needs_labels(query, outputs)) {
		keep = kept_labels(query);
		if (!keep)
			return -ENOMEM;
	}
	err = needs_stacks(outputs) ? -ENOTSUP : query_read_calls(query, &query->range, keep, out);
	if (err == -ENOTSUP)
		err = query_read(query, &query->range, keep, out);
	free(keep);
	if (err || !out->coverage.window_cnt)
		return err;
	err = profile_set_ledger(query_profile(out), &out->ledger);
	if (err)
		log_error("query: %s", strerror(-err));
	return err;
}

static int write_flame(const struct query *query, struct query_answer *answer,
		       struct output_set *outputs, struct viewer *viewer)
{
	const bool is_empty = !answer->prof.sample_cnt && !answer->calls.node_cnt;
	const struct profile *prof = query_profile(answer);
	_cleanup_(buf_deinit) struct buf title, subtitle, empty;
	struct rendering render = query->opts->render;
	uint32_t value;

	buf_init(&title, BUF_NO_MAX);
	buf_init(&subtitle, BUF_NO_MAX);
	buf_init(&empty, BUF_NO_MAX);
	add_title(query, answer, &title);
	add_subtitle(answer, &subtitle);
	render.by = first_frame(query);
	if (!render.title)
		render.title = buf_cstr(&title);
	render.subtitle = buf_cstr(&subtitle);
	if (answer->calls.node_cnt)
		render.calls = &answer->calls;
	if (is_empty) {
		query_explain_empty(query, &query->range, &empty);
		render.ledger_line = buf_cstr(&empty);
	}
	if (rendering_open(&render, outputs, prof, &value) ||
	    rendering_write(&render, outputs, prof, value, viewer))
		return CLI_FAILED;
	if (strcmp(buf_cstr(&outputs->written), "standard output"))
		log_info("wrote %s", buf_cstr(&outputs->written));
	if (!is_empty)
		return CLI_OK;
	log_error("%s", buf_cstr(&empty));
	return CLI_NOTHING_SAMPLED;
}

int query_flame(const struct query *query, struct output_set *outputs, struct viewer *viewer)
{
	_cleanup_(query_answer_deinit) struct query_answer answer = {0};
	int err = read_for_flame(query, outputs, &answer);

	if (err)
		return query_status(err);
	query_summarize(&query->range, &answer.coverage, &answer.ledger);
	return write_flame(query, &answer, outputs, viewer);
}

/* --- diff --- */

static int read_sides(const struct query *query, struct query_answer answers[DIFF_SIDE_CNT])
{
	const struct query_range *ranges[DIFF_SIDE_CNT] = {&query->before, &query->range};
	static const char *const comm[] = {"comm", NULL};
	const char *const *keep = query->opts->render.by ? query->by.items : comm;

	for (enum diff_side side = DIFF_BEFORE; side <= DIFF_AFTER; side++) {
		struct query_answer *answer = &answers[side];
		int err = query_read(query, ranges[side], keep, answer);

		if (err)
			return query_status(err);
		query_summarize(ranges[side], &answer->coverage, &answer->ledger);
		if (!answer->prof.sample_cnt)
			return query_refuse_empty(query, ranges[side]);
		err = profile_set_ledger(&answer->prof, &answer->ledger);
		if (err) {
			log_error("query: %s", strerror(-err));
			return CLI_FAILED;
		}
	}
	return CLI_OK;
}

/* What is told of @range, with what was selected where the sides differ in it. */
static void add_side_name(const struct query *query, const struct query_range *range,
			  struct buf *out)
{
	query_add_range(range, out);
	if (!query->before_where.cnt || !query_where(query, range)->cnt)
		return;
	buf_add_str(out, ", ");
	query_add_selection(query_where(query, range), out);
}

static int show_sides(const struct query *query, const struct diff_opts *opts,
		      struct diff_outputs *outputs, struct query_answer answers[DIFF_SIDE_CNT])
{
	_cleanup_(buf_deinit) struct buf before, after;
	const struct profile profiles[DIFF_SIDE_CNT] = {answers[DIFF_BEFORE].prof,
							answers[DIFF_AFTER].prof};
	const char *names[DIFF_SIDE_CNT];

	buf_init(&before, BUF_NO_MAX);
	buf_init(&after, BUF_NO_MAX);
	add_side_name(query, &query->before, &before);
	add_side_name(query, &query->range, &after);
	names[DIFF_BEFORE] = buf_cstr(&before);
	names[DIFF_AFTER] = buf_cstr(&after);
	return diff_sides_show(opts, outputs, profiles, names);
}

int query_diff(const struct query *query, const struct diff_opts *opts,
	       struct diff_outputs *outputs)
{
	struct query_answer answers[DIFF_SIDE_CNT] = {0};
	int status = read_sides(query, answers);

	if (status == CLI_OK)
		status = show_sides(query, opts, outputs, answers);
	query_answer_deinit(&answers[DIFF_BEFORE]);
	query_answer_deinit(&answers[DIFF_AFTER]);
	return status;
}
