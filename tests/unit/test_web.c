/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP without a server: targets, times, headers, addresses, routes, what a client may record. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/on_demand.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "web/listen.h"
#include "web/query.h"
#include "web/selection.h"
#include "web/site.h"

enum { UNTOUCHED = 0x5a5a };

static const uint64_t NOW_NS = 1800000000 * NSEC_PER_SEC;

static void test_target(void **state)
{
	struct web_target target;

	assert_int_equal(
		web_target_parse("/a?x=1&select=k%3Dv&y=a+b%2B&select=z&flag", &target, NULL), 0);
	assert_string_equal(target.path, "/a");
	assert_string_equal(web_target_get(&target, "x"), "1");
	assert_string_equal(web_target_get(&target, "y"), "a b+");
	assert_string_equal(web_target_get(&target, "flag"), "");
	assert_string_equal(web_target_get_nth(&target, "select", 0), "k=v");
	assert_string_equal(web_target_get_nth(&target, "select", 1), "z");
	assert_null(web_target_get_nth(&target, "select", 2));
	assert_null(web_target_get(&target, "z"));
	web_target_deinit(&target);
}

static void test_target_refused(void **state)
{
	static const struct {
		const char *text;
		int err;
	} cases[] = {
		{"", -EINVAL},	      {"a", -EINVAL},	      {"http://x/", -EINVAL},
		{"*", -EINVAL},	      {"/?a=%", -EINVAL},     {"/?a=%4", -EINVAL},
		{"/?a=%g0", -EINVAL}, {"/?a=%00", -EINVAL},   {"/?%00=1", -EINVAL},
		{"/?=1", -EINVAL},    {"/?a=1&a=2", -EINVAL}, {"/?a&%61", -EINVAL},
	};
	_cleanup_free_ char *longer = malloc(WEB_TARGET_BYTES_MAX + 2);
	struct web_target target;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_reset(&why);
		if (web_target_parse(cases[i].text, &target, &why) != cases[i].err || !why.len)
			fail_msg("'%s' was not refused", cases[i].text);
		assert_null(target.text);
	}
	memset(longer, '/', WEB_TARGET_BYTES_MAX + 1);
	longer[WEB_TARGET_BYTES_MAX + 1] = '\0';
	assert_int_equal(web_target_parse(longer, &target, NULL), -E2BIG);
	longer[WEB_TARGET_BYTES_MAX] = '\0';
	assert_int_equal(web_target_parse(longer, &target, NULL), 0);
	web_target_deinit(&target);
	buf_deinit(&why);
}

static void test_too_many_params(void **state)
{
	struct web_target target;
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	buf_add_str(&text, "/?");
	for (int i = 0; i < WEB_PARAMS_MAX; i++)
		buf_printf(&text, "p%d=1&", i);
	assert_int_equal(web_target_parse(buf_cstr(&text), &target, NULL), 0);
	assert_int_equal(target.param_cnt, WEB_PARAMS_MAX);
	web_target_deinit(&target);
	buf_add_str(&text, "more");
	assert_int_equal(web_target_parse(buf_cstr(&text), &target, NULL), -E2BIG);
	buf_deinit(&text);
}

static void test_accept(void **state)
{
	static const char html[] = "text/html";

	assert_true(web_accept_names("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", html));
	assert_true(web_accept_names("application/json , TEXT/HTML ; q=0.1", html));
	assert_true(web_accept_names("text/html;level=1", html));
	assert_false(web_accept_names("text/html;q=0", html));
	assert_false(web_accept_names("text/html; q=0.00", html));
	assert_false(web_accept_names("text/*, */*", html));
	assert_false(web_accept_names("text/htmlx", html));
	assert_false(web_accept_names("", html));
	assert_false(web_accept_names(",,;;,", html));
	assert_false(web_accept_names(NULL, html));
}

static void test_etag(void **state)
{
	assert_true(web_etag_matches("\"a\"", "\"a\""));
	assert_true(web_etag_matches("\"b\", W/\"a\"", "\"a\""));
	assert_true(web_etag_matches("*", "\"a\""));
	assert_false(web_etag_matches("\"b\"", "\"a\""));
	assert_false(web_etag_matches("a", "\"a\""));
	assert_false(web_etag_matches(NULL, "\"a\""));
}

static void check_token(const char *header, const char *wanted)
{
	struct buf token;
	bool found;

	buf_init(&token, BUF_NO_MAX);
	found = web_token_of(header, &token);
	if (found != (wanted != NULL) || (wanted && strcmp(buf_cstr(&token), wanted)))
		fail_msg("'%s' has '%s'", header ? header : "", buf_cstr(&token));
	buf_deinit(&token);
}

static void test_token(void **state)
{
	check_token("Bearer secret", "secret");
	check_token("bearer  secret", "secret");
	check_token("Basic dXNlcjpzZWNyZXQ=", "secret");
	check_token("Basic OnNlY3JldA==", "secret");
	check_token("Basic c2VjcmV0", NULL); /* no colon */
	check_token("Basic dXNlcjpzZWNyZXQ", NULL);
	check_token("Basic !!!!", NULL);
	check_token("Basic ", NULL);
	check_token("Bearer ", NULL);
	check_token("Bearersecret", NULL);
	check_token("", NULL);
	check_token(NULL, NULL);
}

static void test_base64(void **state)
{
	static const char *const texts[] = {"", "a", "ab", "abc", "abcd"};
	struct buf coded, decoded;

	buf_init(&coded, BUF_NO_MAX);
	buf_init(&decoded, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		buf_reset(&coded);
		buf_reset(&decoded);
		base64_add(&coded, texts[i], strlen(texts[i]));
		assert_int_equal(base64_decode(buf_cstr(&coded), &decoded), 0);
		assert_string_equal(buf_cstr(&decoded), texts[i]);
	}
	assert_int_equal(base64_decode("====", &decoded), -EINVAL);
	assert_int_equal(base64_decode("A===", &decoded), -EINVAL);
	assert_int_equal(base64_decode("AA=A", &decoded), -EINVAL);
	buf_deinit(&coded);
	buf_deinit(&decoded);
}

static void test_host(void **state)
{
	assert_true(web_host_is_plain("localhost"));
	assert_true(web_host_is_plain("LOCALHOST:7710"));
	assert_true(web_host_is_plain("127.0.0.1:7710"));
	assert_true(web_host_is_plain("[::1]:7710"));
	assert_true(web_host_is_plain("[::1]"));
	assert_false(web_host_is_plain("example.org"));
	assert_false(web_host_is_plain("localhost.example.org:7710"));
	assert_false(web_host_is_plain("127.0.0.1.example.org"));
	assert_false(web_host_is_plain("[evil]:1"));
	assert_false(web_host_is_plain(""));
	assert_false(web_host_is_plain(NULL));
}

static void test_place(void **state)
{
	static const char *const refused[] = {
		"",	  ":",	     "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "example.org:80",
		"::1:80", "[::1:80", "[::1]x:80", "unix:",	"unix:relative",   "1.2.3:80",
		"-1"};
	struct web_place place;
	struct buf text;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (web_place_parse(refused[i], &place) != -EINVAL)
			fail_msg("'%s' was taken", refused[i]);
	buf_init(&text, BUF_NO_MAX);
	assert_int_equal(web_place_parse("7710", &place), 0);
	assert_false(place.is_wide);
	web_place_format(&place, false, &text);
	assert_string_equal(buf_cstr(&text), "http://127.0.0.1:7710/");
	buf_reset(&text);
	assert_int_equal(web_place_parse("[::1]:7710", &place), 0);
	assert_false(place.is_wide);
	web_place_format(&place, true, &text);
	assert_string_equal(buf_cstr(&text), "https://[::1]:7710/");
	assert_int_equal(web_place_parse("127.9.9.9:1", &place), 0);
	assert_false(place.is_wide);
	assert_int_equal(web_place_parse("0.0.0.0:1", &place), 0);
	assert_true(place.is_wide);
	assert_int_equal(web_place_parse("[::]:1", &place), 0);
	assert_true(place.is_wide);
	assert_int_equal(web_place_parse("unix:/run/x.sock", &place), 0);
	assert_true(place.is_unix && !place.is_wide);
	buf_deinit(&text);
}

static void test_routes(void **state)
{
	static const char *const none[] = {"",
					   "//",
					   "/api",
					   "/api/",
					   "/api/info/",
					   "/api//info",
					   "/./api/info",
					   "/api/../api/info",
					   "/api/%69nfo",
					   "/API/info",
					   "/debug/pprof//",
					   "/page.html"};
	const struct web_route *route = web_route_find("/debug/pprof/profile");
	struct web_target target;

	assert_non_null(route);
	assert_string_equal(web_route_allow(route), "GET");
	assert_string_equal(
		web_route_allow(web_route_find("/querier.v1.QuerierService/SelectSeries")), "POST");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (web_route_find(none[i]))
			fail_msg("'%s' has a route", none[i]);
	assert_int_equal(web_target_parse("/debug/pprof/profile?seconds=1", &target, NULL), 0);
	assert_int_equal(web_route_lane(route, &target), WEB_LANE_CAPTURE);
	web_target_deinit(&target);
	assert_int_equal(web_target_parse("/debug/pprof/profile?from=-1h", &target, NULL), 0);
	assert_int_equal(web_route_lane(route, &target), WEB_LANE_STORE);
	web_target_deinit(&target);
}

/* The reply to "GET @text" of a site without store and host. */
static void ask(const char *text, struct web_reply *reply)
{
	const struct web_route *route;
	struct web_request request = {.method = WEB_GET, .client_fd = -1, .now_ns = NOW_NS};
	struct web_target target;
	struct web_site site;

	web_site_init(&site, NULL, NULL);
	assert_int_equal(web_target_parse(text, &target, NULL), 0);
	request.target = &target;
	route = web_route_find(target.path);
	assert_non_null(route);
	web_reply_init(reply);
	web_route_answer(route, &site, &request, reply);
	web_target_deinit(&target);
	web_site_deinit(&site);
}

/* A call of the Connect protocol to a site without a store. */
static void check_call(const char *call, const char *type, const char *body, int status,
		       const char *said)
{
	struct web_target target;
	struct web_request request = {.method = WEB_POST,
				      .target = &target,
				      .content_type = type,
				      .body = body,
				      .body_len = strlen(body),
				      .client_fd = -1};
	struct web_site site;
	struct web_reply reply;

	web_site_init(&site, NULL, NULL);
	web_reply_init(&reply);
	assert_int_equal(web_target_parse(call, &target, NULL), 0);
	web_route_answer(web_route_find(call), &site, &request, &reply);
	if (reply.status != status || !strstr(buf_cstr(&reply.body), said))
		fail_msg("%s: %d, '%s'", call, reply.status, buf_cstr(&reply.body));
	assert_string_equal(reply.type, "application/json");
	web_target_deinit(&target);
	web_reply_deinit(&reply);
	web_site_deinit(&site);
}

static void test_calls(void **state)
{
	static const char call[] = "/querier.v1.QuerierService/ProfileTypes";

	check_call(call, "application/json", "{}", 404,
		   "{\"code\":\"not_found\",\"message\":\"there is no store here\"}\n");
	check_call(call, "application/proto", "", 404, "not_found");
	check_call(call, "Application/JSON; charset=utf-8", "{", 400, "\"invalid_argument\"");
	check_call(call, "application/proto", "{", 400, "is no protobuf");
	check_call(call, "application/jsonp", "{}", 415, "\"invalid_argument\"");
	check_call(call, NULL, "{}", 415, "application/proto");
	check_call("/querier.v1.QuerierService/LabelValues", "application/json", "{}", 404,
		   "no store");
}

static void check_reply(const char *text, int status, const char *body)
{
	struct web_reply reply;

	ask(text, &reply);
	if (reply.status != status || !strstr(buf_cstr(&reply.body), body))
		fail_msg("%s: %d, '%s'", text, reply.status, buf_cstr(&reply.body));
	web_reply_deinit(&reply);
}

static void test_replies(void **state)
{
	check_reply("/healthz", 200, "ok\n");
	check_reply("/metrics", 404, "no agent");
	check_reply("/", 200, "<html");
	check_reply("/debug/pprof/", 200, "profile");
	check_reply("/debug/pprof/symbol", 200, "num_symbols: 1\n");
	check_reply("/debug/pprof/cmdline", 200, "test_web");
	check_reply("/debug/pprof/profile?seconds=1", 404, "a store alone");
	check_reply("/debug/pprof/profile?format=pdf", 400, "none of pprof");
	check_reply("/debug/pprof/profile?from=-1h", 404, "no store");
	check_reply("/api/info", 404, "{\"error\":\"there is no store here\"}\n");
	check_reply("/api/profile?from=x", 400, "{\"error\":\"from: 'x' is no time");
	check_reply("/api/profile?from=now&to=-1h", 400, "from is not before to");
	check_reply("/api/profile?select=x", 400,
		    "'x' is not of the form KEY=GLOB (wanted: key=glob");
	check_reply("/api/profile?select=x%3Dy%5C", 400, "'x=y\\\\' ends in a backslash");
	check_reply("/api/profile?by=a,", 400, "by: 'a,' (wanted: label,label)");
	check_reply("/api/profile?by=1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h", 400,
		    "(wanted: label,label)");
	check_reply("/api/functions?limit=0", 400, "limit: '0' is no number");
}

static void test_selection(void **state)
{
	struct web_request request = {.now_ns = NOW_NS};
	struct web_selection selection;
	struct web_target target;
	struct web_reply reply;

	web_reply_init(&reply);
	assert_int_equal(
		web_target_parse(
			"/?kind=off-cpu&from=-15m&to=1799999999.5&select=a=x*,b=y\\,z&select="
			"&select=c=%5C%5B%5C%5C&by=p,q",
			&target, NULL),
		0);
	request.target = &target;
	assert_int_equal(web_selection_init(&selection, &request, "from", "to", &reply), 0);
	assert_string_equal(selection.query.kind, "off-cpu");
	assert_true(selection.query.from_ns == NOW_NS - 900 * NSEC_PER_SEC);
	assert_true(selection.query.to_ns == NOW_NS - NSEC_PER_SEC / 2);
	assert_int_equal(selection.query.where_cnt, 3);
	assert_string_equal(selection.query.where[0].key, "a");
	assert_string_equal(selection.query.where[0].glob, "x*");
	assert_string_equal(selection.query.where[1].glob, "y\\,z");
	assert_string_equal(selection.query.where[2].glob, "\\[\\\\");
	assert_string_equal(selection.query.by[1], "q");
	assert_null(selection.query.by[2]);
	web_selection_deinit(&selection);
	web_target_deinit(&target);
	assert_int_equal(web_target_parse("/?by=none", &target, NULL), 0);
	assert_int_equal(web_selection_init(&selection, &request, "from", "to", &reply), 0);
	assert_string_equal(selection.query.kind, "cpu");
	assert_true(selection.query.from_ns == NOW_NS - 3600 * NSEC_PER_SEC);
	assert_true(selection.query.to_ns == NOW_NS);
	assert_int_equal(selection.query.where_cnt, 0);
	assert_non_null(selection.query.by);
	assert_null(selection.query.by[0]);
	web_selection_deinit(&selection);
	web_target_deinit(&target);
	web_reply_deinit(&reply);
}

/* The arguments that @request becomes, with spaces between them; "" and @why where it is refused.
 */
static void make_args(const struct web_capture *request, struct buf *out, struct buf *why)
{
	struct on_demand_args args;

	buf_reset(out);
	buf_reset(why);
	if (!on_demand_args_make(request, &args, why))
		for (size_t i = 0; i < args.cnt; i++)
			buf_printf(out, "%s%s", i ? " " : "", args.items[i]);
	on_demand_args_deinit(&args);
}

static void test_on_demand_args(void **state)
{
	struct web_capture request = {.duration_ns = 2 * NSEC_PER_SEC, .hz = 50, .pid = 7};
	struct buf args, why;

	buf_init(&args, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	make_args(&request, &args, &why);
	assert_string_equal(buf_cstr(&args), "bpfprof record -q --output=-.pb.gz --duration=2000ms "
					     "--freq=50 --pid=7");
	request = (struct web_capture){.kind = WEB_CAPTURE_OFF_CPU, .comm = "--help; reboot"};
	make_args(&request, &args, &why);
	assert_non_null(strstr(buf_cstr(&args), "--off-cpu --comm=--help; reboot"));
	request = (struct web_capture){.event = "sched:sched_switch", .cgroup = "/sys/fs/cgroup/a"};
	make_args(&request, &args, &why);
	assert_non_null(strstr(buf_cstr(&args), "--cgroup=/sys/fs/cgroup/a "
						"--event=sched:sched_switch"));
	buf_deinit(&args);
	buf_deinit(&why);
}

static void test_on_demand_refused(void **state)
{
	static const struct web_capture refused[] = {
		{.comm = ""},
		{.comm = "a\nb"},
		{.cgroup = "relative"},
		{.cgroup = "/sys/../etc"},
		{.event = "uprobe:/bin/true:main"},
		{.event = "kprobe:schedule"},
		{.event = "usdt:libc:libc:x"},
		{.event = "tracepoint:sched:sched_switch"},
		{.event = "cycles,instructions"},
		{.event = "-e"},
		{.event = ""},
		{.event = "cycles", .kind = WEB_CAPTURE_OFF_CPU},
		{.hz = 1, .kind = WEB_CAPTURE_ALLOCS, .pid = 1},
		{.kind = WEB_CAPTURE_ALLOCS},
	};
	struct buf args, why;

	buf_init(&args, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		make_args(&refused[i], &args, &why);
		if (args.len || !why.len)
			fail_msg("%zu became '%s'", i, buf_cstr(&args));
	}
	buf_deinit(&args);
	buf_deinit(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_target_refused),
		cmocka_unit_test(test_too_many_params),
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_etag),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_on_demand_args),
		cmocka_unit_test(test_on_demand_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
