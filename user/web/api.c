/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON that the page reads: what there is, over time, by label. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "web/routes.h"
#include "web/selection.h"

#ifndef BPFPROF_VERSION
#define BPFPROF_VERSION "unknown"
#endif

enum {
	POINTS_USUAL = 200,
	POINTS_MAX = 2000,
	SERIES_MAX = 100, /* those with less are one */
	LABEL_VALUES_MAX = 1000,
	HOST_BYTES = 256,
};

static uint64_t msec_of(uint64_t ns)
{
	return ns / NSEC_PER_MSEC;
}

static int add_kind_name(void *arg, const char *name, const struct profile_value_type *types,
			 const struct profile *strings, uint32_t type_cnt, uint32_t default_type,
			 int64_t total)
{
	json_str(arg, name);
	return 0;
}

void web_answer_info(struct web_site *site, const struct web_request *request,
		     struct web_reply *reply)
{
	struct store_source *store = web_site_store(site, reply);
	struct store_coverage coverage = {0};
	char host[HOST_BYTES] = "";
	struct json js;
	int err;

	if (!store)
		return;
	err = store_source_coverage(store, 0, INT64_MAX, &coverage);
	if (!*store->name)
		gethostname(host, sizeof(host) - 1);
	web_reply_begin_json(reply, &js);
	json_kv_str(&js, "version", BPFPROF_VERSION);
	json_kv_str(&js, "host", *store->name ? store->name : host);
	json_kv_u64(&js, "first", msec_of(coverage.first_ns));
	json_kv_u64(&js, "last", msec_of(coverage.last_ns));
	json_key(&js, "kinds");
	json_array_begin(&js);
	if (!err)
		err = store_source_each_kind(store, 0, INT64_MAX, add_kind_name, &js);
	json_array_end(&js);
	web_reply_end_json(reply, &js);
	if (err)
		web_reply_fail_store(reply, store, "", err);
}

static int add_kind(void *arg, const char *name, const struct profile_value_type *types,
		    const struct profile *strings, uint32_t type_cnt, uint32_t default_type,
		    int64_t total)
{
	struct json *js = arg;

	json_object_begin(js);
	json_kv_str(js, "name", name);
	json_key(js, "values");
	json_array_begin(js);
	for (uint32_t i = 0; i < type_cnt; i++) {
		json_object_begin(js);
		json_kv_str(js, "type", profile_str(strings, types[i].type));
		json_kv_str(js, "unit", profile_str(strings, types[i].unit));
		json_object_end(js);
	}
	json_array_end(js);
	json_kv_u64(js, "default", default_type);
	json_kv_i64(js, "total", total);
	json_object_end(js);
	return 0;
}

void web_answer_kinds(struct web_site *site, const struct web_request *request,
		      struct web_reply *reply)
{
	_cleanup_(web_selection_deinit) struct web_selection selection = {0};
	struct store_source *store = web_site_store(site, reply);
	struct json js;
	int err;

	if (!store || web_selection_init(&selection, request, "from", "to", reply))
		return;
	web_reply_begin_json(reply, &js);
	json_key(&js, "kinds");
	json_array_begin(&js);
	err = store_source_each_kind(store, selection.query.from_ns, selection.query.to_ns,
				     add_kind, &js);
	json_array_end(&js);
	web_reply_end_json(reply, &js);
	if (err)
		web_reply_fail_store(reply, store, "", err);
}

/* The unit in which a kind is counted. */
struct unit {
	const char *kind;
	char name[STORE_NAME_MAX];
};

static int take_unit(void *arg, const char *name, const struct profile_value_type *types,
		     const struct profile *strings, uint32_t type_cnt, uint32_t default_type,
		     int64_t total)
{
	struct unit *unit = arg;

	if (!strcmp(name, unit->kind) && default_type < type_cnt)
		snprintf(unit->name, sizeof(unit->name), "%s",
			 profile_str(strings, types[default_type].unit));
	return 0;
}

struct series {
	struct json *js;
	size_t cnt;
	int64_t others[POINTS_MAX]; /* the sum of those that are not told */
	size_t other_cnt;
};

static void add_points(struct json *js, const int64_t *points, size_t cnt)
{
	json_array_begin(js);
	for (size_t i = 0; i < cnt; i++)
		json_i64(js, points[i]);
	json_array_end(js);
}

static int add_series(void *arg, const char *name, const int64_t *points, size_t point_cnt)
{
	struct series *series = arg;

	if (series->cnt == SERIES_MAX) {
		series->other_cnt++;
		for (size_t i = 0; i < point_cnt; i++)
			series->others[i] = profile_value_sum(series->others[i], points[i]);
		return 0;
	}
	series->cnt++;
	json_object_begin(series->js);
	json_kv_str(series->js, "name", name);
	json_key(series->js, "values");
	add_points(series->js, points, point_cnt);
	json_object_end(series->js);
	return 0;
}

/* To the microsecond. */
static void add_msec(double ns, struct json *js)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%.3f", ns / NSEC_PER_MSEC);

	json_encoded(js, text, (size_t)len);
}

/* The whole timeline. 0, or what the store says. */
static int add_timeline(struct store_source *store, const struct web_request *request,
			const struct store_query *query, size_t point_cnt, struct json *js)
{
	const char *by = web_target_get(request->target, "by");
	_cleanup_free_ struct series *series = calloc(1, sizeof(*series));
	struct unit unit = {.kind = query->kind};
	int err = series ? store_source_each_kind(store, 0, INT64_MAX, take_unit, &unit) : -ENOMEM;

	if (err)
		return err;
	series->js = js;
	json_kv_u64(js, "from", msec_of(query->from_ns));
	json_kv_u64(js, "to", msec_of(query->to_ns));
	json_key(js, "step");
	add_msec((double)(query->to_ns - query->from_ns) / (double)point_cnt, js);
	json_kv_str(js, "unit", unit.name);
	json_key(js, "series");
	json_array_begin(js);
	err = store_source_timeline(store, query, by && *by ? by : NULL,
				    web_target_get(request->target, "function"), point_cnt,
				    add_series, series);
	json_array_end(js);
	if (series->other_cnt) {
		json_kv_u64(js, "others_cnt", series->other_cnt);
		json_key(js, "others");
		add_points(js, series->others, point_cnt);
	}
	return err;
}

void web_answer_timeline(struct web_site *site, const struct web_request *request,
			 struct web_reply *reply)
{
	_cleanup_(web_selection_deinit) struct web_selection selection = {0};
	struct store_source *store = web_site_store(site, reply);
	uint64_t point_cnt;
	struct json js;
	int err;

	if (!store || web_selection_init(&selection, request, "from", "to", reply) ||
	    web_number_of(request, "points", 1, POINTS_MAX, POINTS_USUAL, reply, &point_cnt))
		return;
	/* Here by= is what makes the series. */
	selection.query.by = NULL;
	web_reply_begin_json(reply, &js);
	err = add_timeline(store, request, &selection.query, point_cnt, &js);
	web_reply_end_json(reply, &js);
	if (err)
		web_reply_fail_store(reply, store, selection.query.kind, err);
}

struct labels {
	struct json *js;
	char *key; /* owned: whose values are being told; NULL: none yet */
	size_t value_cnt;
};

static void end_key(struct labels *labels)
{
	if (!labels->key)
		return;
	json_array_end(labels->js);
	json_kv_u64(labels->js, "value_cnt", labels->value_cnt);
	json_object_end(labels->js);
	free(labels->key);
	labels->key = NULL;
}

static int add_label(void *arg, const char *key, const char *value, int64_t total)
{
	struct labels *labels = arg;
	struct json *js = labels->js;

	if (!labels->key || strcmp(labels->key, key)) {
		end_key(labels);
		labels->key = strdup(key);
		if (!labels->key)
			return -ENOMEM;
		labels->value_cnt = 0;
		json_object_begin(js);
		json_kv_str(js, "key", key);
		json_key(js, "values");
		json_array_begin(js);
	}
	if (labels->value_cnt++ >= LABEL_VALUES_MAX)
		return 0;
	json_object_begin(js);
	json_kv_str(js, "value", value);
	json_kv_i64(js, "total", total);
	json_object_end(js);
	return 0;
}

void web_answer_labels(struct web_site *site, const struct web_request *request,
		       struct web_reply *reply)
{
	_cleanup_(web_selection_deinit) struct web_selection selection = {0};
	struct store_source *store = web_site_store(site, reply);
	struct labels labels = {0};
	struct json js;
	int err;

	if (!store || web_selection_init(&selection, request, "from", "to", reply))
		return;
	web_reply_begin_json(reply, &js);
	labels.js = &js;
	json_key(&js, "labels");
	json_array_begin(&js);
	err = store_source_each_label(store, &selection.query, add_label, &labels);
	end_key(&labels);
	json_array_end(&js);
	web_reply_end_json(reply, &js);
	if (err)
		web_reply_fail_store(reply, store, selection.query.kind, err);
}
