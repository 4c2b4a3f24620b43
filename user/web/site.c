/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes, and what all answers have in common. */
#include "web/site.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "fleet/fleet.h"
#include "web/routes.h"

enum { READS = WEB_GET | WEB_HEAD, ERROR_BYTES_MAX = 4096 };

#define QUERIER "/querier.v1.QuerierService/"

static const struct web_route routes[] = {
	{"/metrics", READS, WEB_LANE_QUICK, WEB_ERRORS_TEXT, web_answer_metrics, false},
	{"/healthz", READS, WEB_LANE_QUICK, WEB_ERRORS_TEXT, web_answer_health, false},
	{"/debug/pprof", READS, WEB_LANE_QUICK, WEB_ERRORS_PPROF, web_answer_pprof_index, false},
	{"/debug/pprof/", READS, WEB_LANE_QUICK, WEB_ERRORS_PPROF, web_answer_pprof_index, false},
	{"/debug/pprof/profile", WEB_GET, WEB_LANE_CAPTURE, WEB_ERRORS_PPROF, web_answer_pprof_cpu,
	 false},
	{"/debug/pprof/allocs", WEB_GET, WEB_LANE_CAPTURE, WEB_ERRORS_PPROF,
	 web_answer_pprof_allocs, false},
	{"/debug/pprof/heap", WEB_GET, WEB_LANE_CAPTURE, WEB_ERRORS_PPROF, web_answer_pprof_heap,
	 false},
	{"/debug/pprof/block", WEB_GET, WEB_LANE_CAPTURE, WEB_ERRORS_PPROF, web_answer_pprof_block,
	 false},
	{"/debug/pprof/mutex", WEB_GET, WEB_LANE_CAPTURE, WEB_ERRORS_PPROF, web_answer_pprof_mutex,
	 false},
	{"/debug/pprof/symbol", READS | WEB_POST, WEB_LANE_QUICK, WEB_ERRORS_PPROF,
	 web_answer_pprof_symbol, false},
	{"/debug/pprof/cmdline", READS, WEB_LANE_QUICK, WEB_ERRORS_PPROF, web_answer_pprof_cmdline,
	 false},
	{"/api/info", READS, WEB_LANE_STORE, WEB_ERRORS_JSON, web_answer_info, false},
	{"/api/kinds", READS, WEB_LANE_STORE, WEB_ERRORS_JSON, web_answer_kinds, false},
	{"/api/timeline", READS, WEB_LANE_STORE, WEB_ERRORS_JSON, web_answer_timeline, false},
	{"/api/labels", READS, WEB_LANE_STORE, WEB_ERRORS_JSON, web_answer_labels, false},
	{"/api/functions", READS, WEB_LANE_STORE, WEB_ERRORS_JSON, web_answer_functions, false},
	{"/api/coverage", READS, WEB_LANE_STORE, WEB_ERRORS_JSON, web_answer_coverage, false},
	{"/api/profile", READS, WEB_LANE_STORE, WEB_ERRORS_JSON, web_answer_profile, false},
	{QUERIER "ProfileTypes", WEB_POST, WEB_LANE_STORE, WEB_ERRORS_CONNECT,
	 querier_answer_profile_types, false},
	{QUERIER "LabelNames", WEB_POST, WEB_LANE_STORE, WEB_ERRORS_CONNECT,
	 querier_answer_label_names, false},
	{QUERIER "LabelValues", WEB_POST, WEB_LANE_STORE, WEB_ERRORS_CONNECT,
	 querier_answer_label_values, false},
	{QUERIER "Series", WEB_POST, WEB_LANE_STORE, WEB_ERRORS_CONNECT, querier_answer_series,
	 false},
	{QUERIER "SelectMergeStacktraces", WEB_POST, WEB_LANE_STORE, WEB_ERRORS_CONNECT,
	 querier_answer_stacktraces, false},
	{QUERIER "SelectMergeProfile", WEB_POST, WEB_LANE_STORE, WEB_ERRORS_CONNECT,
	 querier_answer_profile, false},
	{QUERIER "SelectSeries", WEB_POST, WEB_LANE_STORE, WEB_ERRORS_CONNECT,
	 querier_answer_select_series, false},
	{QUERIER "Diff", WEB_POST, WEB_LANE_STORE, WEB_ERRORS_CONNECT, querier_answer_diff, false},
	{QUERIER "GetProfileStats", WEB_POST, WEB_LANE_STORE, WEB_ERRORS_CONNECT,
	 querier_answer_stats, false},
};

/* Of each of the page's files. They tell nothing of this host, and ask for the token themselves. */
static const struct web_route page_route = {.methods = READS,
					    .lane = WEB_LANE_QUICK,
					    .errors = WEB_ERRORS_TEXT,
					    .is_public = true,
					    .answer = web_answer_page};

const struct web_route *web_route_find(const char *path)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (!strcmp(routes[i].path, path))
			return &routes[i];
	return web_page_has(path) ? &page_route : NULL;
}

const struct web_route *web_service_route(const struct web_service *service, const char *path)
{
	for (const struct web_route *route = service->routes; route->path; route++)
		if (!strcmp(route->path, path))
			return route;
	return NULL;
}

enum web_lane web_route_lane(const struct web_route *route, const struct web_target *target)
{
	if (route->lane == WEB_LANE_CAPTURE &&
	    (web_target_get(target, "from") || web_target_get(target, "to")))
		return WEB_LANE_STORE;
	return route->lane;
}

const char *web_route_allow(const struct web_route *route)
{
	if (route->methods == WEB_POST)
		return "POST";
	if (route->methods & WEB_POST)
		return "GET, HEAD, POST";
	return route->methods & WEB_HEAD ? "GET, HEAD" : "GET";
}

void web_site_init(struct web_site *site, const struct web_host *host, const char *store_url)
{
	*site = (struct web_site){.host = host, .store_url = store_url};
}

void web_site_deinit(struct web_site *site)
{
	store_source_close(site->store);
	*site = (struct web_site){0};
}

struct store_source *web_site_store(struct web_site *site, struct web_reply *reply)
{
	_cleanup_(buf_deinit) struct buf why;
	int err = 0;

	buf_init(&why, BUF_NO_MAX);
	if (!site->store_url) {
		web_reply_fail(reply, 404, "there is no store here");
		return NULL;
	}
	if (site->store && !store_source_is_current(site->store)) {
		store_source_close(site->store);
		site->store = NULL;
	}
	if (!site->store)
		err = fleet_or_file_open(site->store_url, &site->store, &why);
	if (err)
		web_reply_fail(reply, 503, "the store cannot be opened: %s",
			       buf_error_text(&why, err));
	return site->store;
}

void web_reply_init(struct web_reply *reply)
{
	*reply = (struct web_reply){.status = 200, .type = "text/plain; charset=utf-8"};
	buf_init(&reply->body, WEB_REPLY_BYTES_MAX);
}

void web_reply_deinit(struct web_reply *reply)
{
	buf_deinit(&reply->body);
}

/* @text without what could end a line. */
static void add_line(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_add_char(out, (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
}

void web_reply_fail(struct web_reply *reply, int status, const char *fmt, ...)
{
	uint32_t piece_cnt = reply->piece_cnt;
	char text[ERROR_BYTES_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	buf_deinit(&reply->body);
	web_reply_init(reply);
	reply->status = status;
	reply->piece_cnt = piece_cnt;
	if (status == 429 || status == 503)
		reply->retry_after_s = WEB_RETRY_AFTER_S;
	add_line(&reply->body, text);
}

void web_reply_begin_json(struct web_reply *reply, struct json *js)
{
	reply->type = "application/json";
	json_init(js, &reply->body);
	json_object_begin(js);
}

void web_reply_end_json(struct web_reply *reply, struct json *js)
{
	json_object_end(js);
	buf_add_char(&reply->body, '\n');
}

/* What a status means in the Connect protocol. */
static const char *connect_code(int status)
{
	static const struct {
		int status;
		const char *code;
	} codes[] = {
		{400, "invalid_argument"}, {401, "unauthenticated"},	{403, "permission_denied"},
		{404, "not_found"},	   {405, "invalid_argument"},	{413, "resource_exhausted"},
		{415, "invalid_argument"}, {429, "resource_exhausted"}, {501, "unimplemented"},
		{503, "unavailable"},
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].status == status)
			return codes[i].code;
	return "internal";
}

void web_reply_finish(struct web_reply *reply, const struct web_route *route)
{
	_cleanup_(buf_deinit) struct buf text = reply->body;
	struct json js;

	buf_init(&reply->body, WEB_REPLY_BYTES_MAX);
	if (!route || (route->errors != WEB_ERRORS_JSON && route->errors != WEB_ERRORS_CONNECT)) {
		buf_printf(&reply->body, "%s\n", buf_cstr(&text));
		return;
	}
	web_reply_begin_json(reply, &js);
	if (route->errors == WEB_ERRORS_CONNECT) {
		json_kv_str(&js, "code", connect_code(reply->status));
		json_kv_str(&js, "message", buf_cstr(&text));
	} else {
		json_kv_str(&js, "error", buf_cstr(&text));
	}
	web_reply_end_json(reply, &js);
}

void web_route_answer(const struct web_route *route, struct web_site *site,
		      const struct web_request *request, struct web_reply *reply)
{
	route->answer(site, request, reply);
	if (reply->body.err == -EFBIG)
		web_reply_fail(reply, 413, "the answer would be larger than %d MiB: ask for less",
			       WEB_REPLY_BYTES_MAX >> 20);
	else if (reply->body.err)
		web_reply_fail(reply, 500, "%s", strerror(-reply->body.err));
	if (reply->status >= 400 && !reply->piece_cnt)
		web_reply_finish(reply, route);
}
