/* SPDX-License-Identifier: Apache-2.0 */
/* What the page asks of samples: functions, what was covered, whole profiles and differences. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "encode/func_table.h"
#include "profile/ledger.h"
#include "web/render.h"
#include "web/routes.h"
#include "web/selection.h"

enum { FUNCTIONS_USUAL = 100, FUNCTIONS_MAX = 10000, SIDE_NAME_BYTES = 96 };

static void add_function(struct json *js, const struct func_table *table, uint32_t row,
			 const struct buf *name)
{
	_cleanup_(buf_deinit) struct buf label;

	buf_init(&label, BUF_NO_MAX);
	func_table_label(table, row, &label);
	json_object_begin(js);
	json_kv_str(js, "name", buf_cstr(name));
	json_kv_str(js, "label", buf_cstr(&label));
	json_kv_i64(js, "self", table->rows[row].self);
	json_kv_i64(js, "total", table->rows[row].total);
	json_object_end(js);
}

/* At most @limit rows of @table whose names contain @search, the hottest first. 0 or -ENOMEM. */
static int add_functions(struct json *js, const struct func_table *table, const char *search,
			 uint64_t limit)
{
	_cleanup_free_ uint32_t *order = func_table_order(table, FUNC_BY_SELF);
	_cleanup_(buf_deinit) struct buf name = {0};
	uint64_t cnt = 0;

	if (!order)
		return -ENOMEM;
	buf_init(&name, BUF_NO_MAX);
	for (size_t i = 0; i < table->row_cnt && cnt < limit; i++) {
		buf_reset(&name);
		func_table_name(table, order[i], &name);
		if (search && !strcasestr(buf_cstr(&name), search))
			continue;
		add_function(js, table, order[i], &name);
		cnt++;
	}
	return name.err;
}

static int show_functions(const struct profile *prof, const char *search, uint64_t limit,
			  struct web_reply *reply)
{
	_cleanup_(func_table_deinit) struct func_table table;
	uint32_t value = prof->default_value;
	int err = func_table_init(&table, prof, value);
	struct json js;

	if (err)
		return err;
	web_reply_begin_json(reply, &js);
	json_kv_str(&js, "unit",
		    value < prof->value_type_cnt ? profile_str(prof, prof->value_types[value].unit)
						 : "");
	json_kv_i64(&js, "total", table.total);
	json_kv_u64(&js, "function_cnt", table.row_cnt);
	json_key(&js, "functions");
	json_array_begin(&js);
	err = add_functions(&js, &table, search, limit);
	json_array_end(&js);
	web_reply_end_json(reply, &js);
	return err;
}

void web_answer_functions(struct web_site *site, const struct web_request *request,
			  struct web_reply *reply)
{
	_cleanup_(web_selection_deinit) struct web_selection selection = {0};
	struct profile prof;
	uint64_t limit;
	int err;

	if (web_selection_init(&selection, request, "from", "to", reply) ||
	    web_number_of(request, "limit", 1, FUNCTIONS_MAX, FUNCTIONS_USUAL, reply, &limit))
		return;
	/* Functions are told apart by nothing but themselves. */
	selection.query.by = no_keys;
	if (web_selection_read(&selection, site, &prof, reply))
		return;
	err = show_functions(&prof, web_target_get(request->target, "search"), limit, reply);
	profile_deinit(&prof);
	if (err)
		web_reply_fail(reply, 500, "%s", strerror(-err));
}

/* Sums over the events of a ledger. */
struct sums {
	uint64_t recorded, lost, never_ran;
};

static struct sums sums_of(const struct ledger *ledger)
{
	struct sums sums = {0};

	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		const struct ledger_row *row = &ledger->events[i].sum;

		sums.recorded += row->recorded;
		sums.lost += ledger_reasons_sum(&row->lost);
		sums.never_ran += row->never_ran_busy + row->never_ran_idle;
	}
	return sums;
}

static void show_coverage(const struct store_coverage *coverage, const struct ledger *ledger,
			  struct web_reply *reply)
{
	struct sums sums = sums_of(ledger);
	_cleanup_(buf_deinit) struct buf line;
	struct json js;

	buf_init(&line, BUF_NO_MAX);
	if (ledger->event_cnt)
		ledger_format_line(ledger, &line);
	web_reply_begin_json(reply, &js);
	json_kv_u64(&js, "windows", coverage->window_cnt);
	json_kv_u64(&js, "covered_ms", coverage->covered_ns / NSEC_PER_MSEC);
	json_kv_u64(&js, "first", coverage->first_ns / NSEC_PER_MSEC);
	json_kv_u64(&js, "last", coverage->last_ns / NSEC_PER_MSEC);
	json_kv_u64(&js, "tombstones", coverage->tombstone_cnt);
	json_kv_u64(&js, "tombstone_samples", coverage->tombstone_samples);
	json_kv_u64(&js, "lost", sums.lost);
	json_kv_u64(&js, "recorded", sums.recorded);
	json_kv_u64(&js, "never_ran", sums.never_ran);
	if (coverage->hosts.is_fleet) {
		json_kv_u64(&js, "hosts", coverage->hosts.cnt);
		json_kv_u64(&js, "hosts_known", coverage->hosts.known_cnt);
	}
	json_kv_str(&js, "ledger", buf_cstr(&line));
	web_reply_end_json(reply, &js);
}

void web_answer_coverage(struct web_site *site, const struct web_request *request,
			 struct web_reply *reply)
{
	_cleanup_(web_selection_deinit) struct web_selection selection = {0};
	struct store_source *store = web_site_store(site, reply);
	struct store_coverage coverage = {0};
	struct ledger ledger;
	int err;

	if (!store || web_selection_init(&selection, request, "from", "to", reply))
		return;
	err = store_source_ledger(store, &selection.query, &ledger, &coverage);
	if (err) {
		web_reply_fail_store(reply, store, selection.query.kind, err);
		return;
	}
	show_coverage(&coverage, &ledger, reply);
	ledger_deinit(&ledger);
}

/* "20261124T100000Z to 20261124T101500Z" */
static void name_side(const struct web_selection *selection, char out[static SIDE_NAME_BYTES])
{
	char from[17], to[17];

	clock_format_utc(selection->query.from_ns, from);
	clock_format_utc(selection->query.to_ns, to);
	snprintf(out, SIDE_NAME_BYTES, "%s to %s", from, to);
}

static void show_difference(struct web_site *site, const struct web_request *request,
			    const struct web_selection *after_selection,
			    const struct profile *after, const struct web_format *format,
			    struct web_reply *reply)
{
	_cleanup_(web_selection_deinit) struct web_selection selection = {0};
	char names[2][SIDE_NAME_BYTES];
	struct profile before;
	struct web_side sides[2] = {{&before, names[0]}, {after, names[1]}};

	if (web_selection_init(&selection, request, "before_from", "before_to", reply) ||
	    web_selection_read(&selection, site, &before, reply))
		return;
	name_side(&selection, names[0]);
	name_side(after_selection, names[1]);
	web_render_difference(sides, format, request, reply);
	profile_deinit(&before);
}

/* Behind the head of a report its picture, where the store has that sooner than the rest. 0, or
 * negative errno: @reply says why. */
static int show_first(struct web_site *site, const struct web_request *request,
		      const struct web_selection *selection, const struct web_format *format,
		      struct web_reply *reply)
{
	struct profile_calls calls;
	int err;

	if (!reply->piece_cnt ||
	    web_selection_read_calls(selection, site, web_target_get(request->target, "value"),
				     &calls))
		return 0;
	err = web_render_first(&calls, format, request, reply);
	profile_calls_deinit(&calls);
	return err;
}

static void show_profile(struct web_site *site, const struct web_request *request,
			 const struct web_format *format, struct web_reply *reply)
{
	_cleanup_(web_selection_deinit) struct web_selection selection = {0};
	bool is_difference = web_target_get(request->target, "before_from") ||
			     web_target_get(request->target, "before_to");
	struct profile prof;

	if (web_selection_init(&selection, request, "from", "to", reply) ||
	    !web_site_store(site, reply) || web_render_begin(format, request, reply) ||
	    (!is_difference && show_first(site, request, &selection, format, reply)) ||
	    web_selection_read(&selection, site, &prof, reply))
		return;
	if (is_difference)
		show_difference(site, request, &selection, &prof, format, reply);
	else
		web_render(&prof, format, request, reply);
	profile_deinit(&prof);
}

void web_answer_profile(struct web_site *site, const struct web_request *request,
			struct web_reply *reply)
{
	const struct web_format *format = web_format_of(request, "pprof", reply);

	if (!format)
		return;
	show_profile(site, request, format, reply);
	web_render_failure(request, reply);
}
