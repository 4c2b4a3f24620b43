/* SPDX-License-Identifier: Apache-2.0 */
/* Pyroscope's querier API: which series there are, and sums over time. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "web/querier.h"
#include "web/routes.h"

enum {
	POINTS_MAX = 11000, /* of a series, as Prometheus has it */
	TOTAL_POINTS_MAX = 1 << 22, /* of all series together */
	GROUP_KEYS_MAX = 16,
	VALUE_END = '\x01',
	NUMBER_BYTES = 24,
	STEPS_READ_MAX = 500, /* of a value that has to be read step by step */
};

#define AT(member) offsetof(struct querier_request, member)

static const struct message_field series_fields[] = {
	{1, "matchers", "matchers", MESSAGE_TEXTS, AT(matchers), NULL, NULL},
	{2, "labelNames", "label_names", MESSAGE_TEXTS, AT(labels), NULL, NULL},
	{3, "start", "start", MESSAGE_I64, AT(start_ms), NULL, NULL},
	{4, "end", "end", MESSAGE_I64, AT(end_ms), NULL, NULL},
	{0},
};

static const char *const aggregations[] = {
	"TIME_SERIES_AGGREGATION_TYPE_SUM",
	"TIME_SERIES_AGGREGATION_TYPE_AVERAGE",
	NULL,
};

static const struct message_field select_fields[] = {
	{1, "profileTypeID", "profile_typeID", MESSAGE_TEXT, AT(type_id), NULL, NULL},
	{2, "labelSelector", "label_selector", MESSAGE_TEXT, AT(selector), NULL, NULL},
	{3, "start", "start", MESSAGE_I64, AT(start_ms), NULL, NULL},
	{4, "end", "end", MESSAGE_I64, AT(end_ms), NULL, NULL},
	{5, "groupBy", "group_by", MESSAGE_TEXTS, AT(labels), NULL, NULL},
	{6, "step", "step", MESSAGE_SECONDS, AT(step_ns), NULL, NULL},
	{7, "aggregation", "aggregation", MESSAGE_ENUM, AT(aggregation), NULL, aggregations},
	{8, "stackTraceSelector", "stack_trace_selector", MESSAGE_IS_THERE, AT(has_stack_selector),
	 NULL, NULL},
	{9, "limit", "limit", MESSAGE_I64, AT(limit), NULL, NULL},
	{0},
};

static void add_pair(struct message *answer, const char *name, const char *value, size_t len)
{
	message_item_open(answer, 1);
	message_str(answer, 1, "name", name);
	message_strn(answer, 2, "value", value, len);
	message_close(answer);
}

/* A label's value; a number's into @number. */
static const char *text_of(const struct profile *prof, const struct profile_label *label,
			   char number[static NUMBER_BYTES])
{
	if (label->str != PROFILE_NONE)
		return profile_str(prof, label->str);
	snprintf(number, NUMBER_BYTES, "%" PRId64, label->num);
	return number;
}

/* --- Which there are --- */

struct listing {
	struct querier_call *call;
	const char *stored[GROUP_KEYS_MAX + 1]; /* labels of the store, NULL-terminated */
	size_t stored_cnt;
	const char *of_types[GROUP_KEYS_MAX]; /* and those that types have */
	size_t of_types_cnt;
	bool has_all; /* none were named: all */
	struct strtab known; /* series that are in the answer */
	const struct querier_where *where; /* of the kind that is being listed, as the next */
	const struct querier_types *types;
	size_t first;
	struct buf pairs; /* of the store's labels: name, value, ..., each with its NUL */
};

/* One series: @pairs and the labels of @type; once. */
static int show_series(struct listing *listing, const struct querier_type *type)
{
	struct message *answer = &listing->call->answer;
	_cleanup_(buf_deinit) struct buf key;
	size_t known = listing->known.cnt;
	const char *at = listing->pairs.data, *end = at + listing->pairs.len;

	buf_init(&key, BUF_NO_MAX);
	for (size_t i = 0; i < listing->pairs.len; i++)
		buf_add_char(&key, at[i] ? at[i] : '\x01');
	for (size_t i = 0; i < listing->of_types_cnt; i++)
		buf_printf(&key, "%s\x01", querier_type_label(type, listing->of_types[i]));
	if (!key.len) /* a series without any label */
		buf_add_char(&key, '\x02');
	if (key.err || strtab_add(&listing->known, key.data, key.len) == STRTAB_NONE)
		return -ENOMEM;
	if (listing->known.cnt == known)
		return 0;
	message_item_open(answer, 2);
	message_list_begin(answer, "labels");
	while (at < end) {
		const char *value = at + strlen(at) + 1;

		add_pair(answer, at, value, strlen(value));
		at = value + strlen(value) + 1;
	}
	for (size_t i = 0; i < listing->of_types_cnt; i++) {
		const char *value = querier_type_label(type, listing->of_types[i]);

		add_pair(answer, listing->of_types[i], value, strlen(value));
	}
	message_list_end(answer);
	message_close(answer);
	return 0;
}

static int show_types(struct listing *listing)
{
	const struct querier_type *types = listing->types->items;
	int err = listing->pairs.err;

	for (size_t i = listing->first; i < listing->types->cnt && !err; i++)
		if (!strcmp(types[i].kind, types[listing->first].kind) &&
		    querier_where_takes(listing->where, &types[i]))
			err = show_series(listing, &types[i]);
	return err;
}

static void add_text(struct listing *listing, const char *name, const char *value)
{
	if (!*value)
		return;
	buf_add(&listing->pairs, name, strlen(name) + 1);
	buf_add(&listing->pairs, value, strlen(value) + 1);
}

/* A value of the one label, or the sum of all. */
static int list_one(void *arg, const char *name, const int64_t *points, size_t point_cnt)
{
	struct listing *listing = arg;

	buf_reset(&listing->pairs);
	if (listing->stored_cnt)
		add_text(listing, querier_shown_label(listing->stored[0]), name);
	return points[0] > 0 ? show_types(listing) : 0;
}

static int list_sets(struct listing *listing, const struct profile *prof)
{
	int err = 0;

	for (size_t i = 0; i < prof->label_set_cnt && !err; i++) {
		const struct profile_label_set *set = &prof->label_sets[i];

		buf_reset(&listing->pairs);
		for (uint32_t j = 0; j < set->cnt; j++) {
			const struct profile_label *label = &prof->labels[set->first + j];
			char number[NUMBER_BYTES];

			add_text(listing, querier_shown_label(profile_str(prof, label->key)),
				 text_of(prof, label, number));
		}
		err = show_types(listing);
	}
	return err;
}

static int list_kind(void *arg, const struct querier_where *where,
		     const struct querier_types *types, size_t first)
{
	struct listing *listing = arg;
	struct store_source *store = listing->call->store;
	struct store_query query = where->query;
	struct profile prof;
	int err;

	query.kind = types->items[first].kind;
	listing->where = where;
	listing->types = types;
	listing->first = first;
	if (!listing->has_all && listing->stored_cnt <= 1)
		return store_source_timeline(store, &query, listing->stored[0], NULL, 1, list_one,
					     listing);
	query.by = listing->has_all ? NULL : listing->stored;
	err = store_source_read(store, &query, &prof, NULL, NULL);
	if (err)
		return err;
	err = list_sets(listing, &prof);
	profile_deinit(&prof);
	return err;
}

/* The labels that are asked for, by who has them. */
static int take_labels(struct listing *listing, const struct message_texts *labels)
{
	const struct querier_type none = {.id = ""};

	listing->has_all = !labels->cnt;
	for (size_t i = 0; i < labels->cnt; i++) {
		if (i == GROUP_KEYS_MAX)
			return querier_refuse(listing->call, "labelNames: more than %d",
					      GROUP_KEYS_MAX);
		if (querier_type_label(&none, labels->items[i]))
			listing->of_types[listing->of_types_cnt++] = labels->items[i];
		else
			listing->stored[listing->stored_cnt++] =
				querier_stored_label(labels->items[i]);
	}
	for (size_t i = 0; listing->has_all && querier_type_labels[i]; i++)
		listing->of_types[listing->of_types_cnt++] = querier_type_labels[i];
	return 0;
}

static void list_all(struct listing *listing, const struct querier_request *asked)
{
	struct querier_call *call = listing->call;
	size_t cnt = asked->matchers.cnt ? asked->matchers.cnt : 1;
	int err = strtab_init(&listing->known);

	querier_answer_begin(call);
	message_list_begin(&call->answer, "labelsSet");
	for (size_t i = 0; i < cnt && !err; i++) {
		_cleanup_(querier_where_deinit) struct querier_where where = {0};
		const char *selector = asked->matchers.cnt ? asked->matchers.items[i] : NULL;

		if (querier_where_init(&where, call, asked, selector, true))
			return;
		err = querier_each_kind(call, &where, list_kind, listing);
	}
	if (err) {
		querier_fail(call, "", err);
		return;
	}
	message_list_end(&call->answer);
	querier_answer_end(call);
}

void querier_answer_series(struct web_site *site, const struct web_request *request,
			   struct web_reply *reply)
{
	struct querier_call call = {.site = site, .request = request, .reply = reply};
	_cleanup_(querier_request_deinit) struct querier_request asked = {0};
	struct listing listing = {.call = &call};

	buf_init(&listing.pairs, BUF_NO_MAX);
	if (!querier_call_read(&call, series_fields, &asked) &&
	    !take_labels(&listing, &asked.labels))
		list_all(&listing, &asked);
	strtab_deinit(&listing.known);
	buf_deinit(&listing.pairs);
}

/* --- Over time --- */

struct series {
	uint32_t name; /* in names */
	size_t first; /* of its points */
	double total;
};

struct summing {
	struct querier_call *call;
	const struct querier_type *type;
	struct store_query query;
	const char *by[GROUP_KEYS_MAX + 1]; /* labels of the store, NULL-terminated */
	const struct message_texts *shown_by; /* as they were asked for */
	uint64_t step_ns;
	size_t point_cnt;
	size_t point; /* that what is told begins at */
	struct strtab names; /* the labels' values, VALUE_END behind each where there are several */
	struct series *series; /* owned: by string of names */
	size_t series_cnt, series_cap;
	double *points; /* owned */
	size_t cap;
};

static int add_points(void *arg, const char *name, const int64_t *points, size_t point_cnt)
{
	struct summing *summing = arg;
	uint32_t id = strtab_add(&summing->names, name, strlen(name));
	double *to;
	int err = 0;

	if (id == STRTAB_NONE)
		return -ENOMEM;
	if (summing->names.cnt * summing->point_cnt > TOTAL_POINTS_MAX)
		return -E2BIG;
	err = array_reserve(&summing->series, &summing->series_cap, summing->names.cnt,
			    sizeof(*summing->series));
	if (!err)
		err = array_reserve(&summing->points, &summing->cap,
				    summing->names.cnt * summing->point_cnt,
				    sizeof(*summing->points));
	if (err)
		return err;
	summing->series[id].name = id;
	summing->series[id].first = id * summing->point_cnt;
	to = summing->points + summing->series[id].first + summing->point;
	for (size_t i = 0; i < point_cnt; i++) {
		to[i] += (double)points[i];
		summing->series[id].total += (double)points[i];
	}
	return 0;
}

/* The values of the labels that make the series of @label_set. */
static void add_name(const struct summing *summing, const struct profile *prof, uint32_t label_set,
		     struct buf *out)
{
	const struct profile_label_set *set = &prof->label_sets[label_set];
	char number[NUMBER_BYTES];

	for (size_t i = 0; summing->by[i]; i++) {
		for (uint32_t j = 0; j < set->cnt; j++) {
			const struct profile_label *label = &prof->labels[set->first + j];
			const char *text = text_of(prof, label, number);

			if (strcmp(profile_str(prof, label->key), summing->by[i]) != 0)
				continue;
			for (; *text; text++)
				buf_add_char(out, *text == VALUE_END ? '?' : *text);
		}
		if (summing->by[1])
			buf_add_char(out, VALUE_END);
	}
}

/* Sums that the store does not make by itself: read step by step. */
static int add_step(struct summing *summing, struct store_query query)
{
	_cleanup_(buf_deinit) struct buf name;
	struct profile prof;
	uint32_t value;
	int err;

	buf_init(&name, BUF_NO_MAX);
	query.by = summing->by;
	err = store_source_read(summing->call->store, &query, &prof, NULL, NULL);
	if (err)
		return err;
	value = querier_type_value(summing->type, &prof);
	for (size_t i = 0; i < prof.sample_cnt && value != PROFILE_NONE && !err; i++) {
		buf_reset(&name);
		add_name(summing, &prof, prof.samples[i].label_set, &name);
		err = name.err ? name.err
			       : add_points(summing, buf_cstr(&name),
					    &prof.values[i * prof.value_type_cnt + value], 1);
	}
	profile_deinit(&prof);
	return err;
}

/* Does the store add up what is asked for? */
static bool is_timeline(const struct summing *summing)
{
	return summing->type->is_default && (!summing->by[0] || !summing->by[1]);
}

static int add_range(struct summing *summing, const struct store_query *query, size_t point_cnt)
{
	struct store_query step = *query;
	int err = 0;

	if (is_timeline(summing))
		return store_source_timeline(summing->call->store, query, summing->by[0], NULL,
					     point_cnt, add_points, summing);
	for (size_t i = 0; i < point_cnt && !err; i++, summing->point++) {
		step.from_ns = query->from_ns + i * summing->step_ns;
		step.to_ns = point_cnt == 1 ? query->to_ns : step.from_ns + summing->step_ns;
		err = add_step(summing, step);
	}
	return err;
}

/* Whole steps, then what is left of the range. */
static int sum_up(struct summing *summing)
{
	const struct store_query *all = &summing->query;
	uint64_t range_ns = all->to_ns - all->from_ns;
	size_t whole = range_ns / summing->step_ns;
	struct store_query part = *all;
	int err = strtab_init(&summing->names);

	summing->point_cnt = whole + (range_ns % summing->step_ns ? 1 : 0);
	part.to_ns = all->from_ns + whole * summing->step_ns;
	if (!err && whole)
		err = add_range(summing, &part, whole);
	part.from_ns = part.to_ns;
	part.to_ns = all->to_ns;
	summing->point = whole;
	if (!err && summing->point_cnt > whole)
		err = add_range(summing, &part, 1);
	return err;
}

static int compare_series(const void *left, const void *right)
{
	const struct series *one = left, *other = right;

	if (one->total != other->total)
		return one->total > other->total ? -1 : 1;
	return one->name < other->name ? -1 : 1;
}

static void show_sums(struct summing *summing, const struct series *series)
{
	struct message *answer = &summing->call->answer;
	const char *name = strtab_get(&summing->names, series->name);
	const double *points = summing->points + series->first;

	message_item_open(answer, 1);
	message_list_begin(answer, "labels");
	for (size_t i = 0; i < summing->shown_by->cnt; i++) {
		size_t len = strcspn(name, (char[]){VALUE_END, '\0'});

		if (len)
			add_pair(answer, summing->shown_by->items[i], name, len);
		name += len + (name[len] ? 1 : 0);
	}
	message_list_end(answer);
	message_list_begin(answer, "points");
	for (size_t i = 0; i < summing->point_cnt; i++) {
		uint64_t end_ns = summing->query.from_ns + (i + 1) * summing->step_ns;

		if (points[i] == 0)
			continue;
		message_item_open(answer, 2);
		message_double(answer, 1, "value", points[i]);
		message_i64(answer, 2, "timestamp", (int64_t)(end_ns / NSEC_PER_MSEC));
		message_close(answer);
	}
	message_list_end(answer);
	message_close(answer);
}

static void show_all(struct summing *summing, int64_t limit)
{
	struct querier_call *call = summing->call;
	size_t cnt = summing->names.cnt, shown = 0;

	/* "" is in every table, and may have no points */
	if (array_reserve(&summing->series, &summing->series_cap, cnt, sizeof(*summing->series))) {
		querier_fail(call, "", -ENOMEM);
		return;
	}
	if (cnt)
		qsort(summing->series, cnt, sizeof(*summing->series), compare_series);
	querier_answer_begin(call);
	message_list_begin(&call->answer, "series");
	for (size_t i = 0; i < cnt && (!limit || shown < (uint64_t)limit); i++) {
		if (summing->series[i].total == 0)
			continue;
		show_sums(summing, &summing->series[i]);
		shown++;
	}
	message_list_end(&call->answer);
	querier_answer_end(call);
}

static int check_series(struct summing *summing, const struct querier_request *asked)
{
	struct querier_call *call = summing->call;
	uint64_t range_ns = summing->query.to_ns - summing->query.from_ns;

	if (asked->step_ns < (int64_t)NSEC_PER_MSEC) {
		querier_refuse(call, "step: seconds are wanted, a millisecond or more");
		return -EINVAL;
	}
	summing->step_ns = (uint64_t)asked->step_ns;
	if (range_ns / summing->step_ns >= POINTS_MAX)
		return querier_refuse(call, "step: more than %d points", POINTS_MAX);
	if (asked->labels.cnt > GROUP_KEYS_MAX || asked->limit < 0)
		return querier_refuse(call, "groupBy, limit: at most %d labels, 0 or more series",
				      GROUP_KEYS_MAX);
	if (asked->aggregation || asked->has_stack_selector) {
		web_reply_fail(call->reply, 501,
			       "sums are what there is: not averages, nor of stacks that are "
			       "selected");
		return -EINVAL;
	}
	summing->shown_by = &asked->labels;
	for (size_t i = 0; i < asked->labels.cnt; i++)
		summing->by[i] = querier_stored_label(asked->labels.items[i]);
	return 0;
}

static void answer_sums(struct summing *summing, const struct querier_request *asked)
{
	struct querier_call *call = summing->call;
	_cleanup_(querier_types_deinit) struct querier_types types = {0};
	_cleanup_(querier_where_deinit) struct querier_where where = {0};
	int err;

	if (!asked->type_id || !querier_type_is_id(asked->type_id)) {
		querier_refuse(call, "profileTypeID: name:type:unit:period_type:period_unit is "
				     "wanted");
		return;
	}
	if (querier_where_init(&where, call, asked, asked->selector, false))
		return;
	summing->query = where.query;
	if (check_series(summing, asked))
		return;
	err = querier_types_read(call->store, 0, INT64_MAX, &types);
	summing->type = querier_type_find(&types, asked->type_id);
	if (summing->type && !is_timeline(summing) &&
	    (where.query.to_ns - where.query.from_ns) / summing->step_ns >= STEPS_READ_MAX) {
		querier_refuse(call,
			       "step: more than %d points by several labels, or of a value that is "
			       "not the kind's own",
			       STEPS_READ_MAX);
		return;
	}
	if (!err && summing->type && querier_where_takes(&where, summing->type)) {
		summing->query.kind = summing->type->kind;
		err = sum_up(summing);
	}
	if (err)
		querier_fail(call, asked->type_id, err);
	else
		show_all(summing, asked->limit);
}

void querier_answer_select_series(struct web_site *site, const struct web_request *request,
				  struct web_reply *reply)
{
	struct querier_call call = {.site = site, .request = request, .reply = reply};
	_cleanup_(querier_request_deinit) struct querier_request asked = {0};
	struct summing summing = {.call = &call};

	if (!querier_call_read(&call, select_fields, &asked))
		answer_sums(&summing, &asked);
	strtab_deinit(&summing.names);
	free(summing.series);
	free(summing.points);
}
