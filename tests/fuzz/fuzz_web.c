/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what clients write. Lines: a target, then headers: Accept, Authorization, Host,
 * If-None-Match, and an address to listen on. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/on_demand.h"
#include "web/listen.h"
#include "web/query.h"
#include "web/selection.h"
#include "web/site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { LINES = 6 };

static const uint64_t NOW_NS = 1800000000000000000;

static void check_event(const char *text)
{
	struct web_capture request = {.event = text};
	struct on_demand_args args;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (!on_demand_args_make(&request, &args, &why) && strstr(text, "probe:"))
		if (!strncmp(text, "uprobe:", 7) || !strncmp(text, "kprobe:", 7))
			abort();
	on_demand_args_deinit(&args);
	buf_deinit(&why);
}

/* Any target has an answer, and a failure has a text. */
static void check_answer(const struct web_target *target, const char *accept)
{
	const struct web_route *route = web_route_find(target->path);
	struct web_request request = {.method = WEB_GET,
				      .target = target,
				      .accept = accept,
				      .client_fd = -1,
				      .now_ns = NOW_NS};
	struct web_site site;
	struct web_reply reply;

	if (!route)
		return;
	web_site_init(&site, NULL, NULL);
	web_reply_init(&reply);
	web_route_answer(route, &site, &request, &reply);
	if (!reply.body.len || reply.status < 200)
		abort();
	web_reply_deinit(&reply);
	web_site_deinit(&site);
}

static void check_selection(const struct web_target *target)
{
	struct web_request request = {.target = target, .now_ns = NOW_NS};
	struct web_selection selection;
	struct web_reply reply;
	int err;

	web_reply_init(&reply);
	err = web_selection_init(&selection, &request, "from", "to", &reply);
	if (!err && selection.query.from_ns >= selection.query.to_ns)
		abort();
	if (err && reply.status < 400)
		abort();
	web_selection_deinit(&selection);
	web_reply_deinit(&reply);
}

static void check_target(const char *text, const char *accept)
{
	struct web_target target;
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = web_target_parse(text, &target, &why);
	if (err && (target.text || (err != -EINVAL && err != -E2BIG) || !why.len))
		abort();
	if (!err) {
		check_answer(&target, accept);
		check_selection(&target);
		for (size_t i = 0; i < target.param_cnt; i++)
			check_event(target.params[i].value);
	}
	web_target_deinit(&target);
	buf_deinit(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = strndup((const char *)data, len), *rest = text;
	const char *lines[LINES] = {"", "", "", "", "", ""};
	struct web_place place;
	struct buf token;

	for (size_t i = 0; i < LINES && rest; i++)
		lines[i] = strsep(&rest, "\n");
	buf_init(&token, BUF_NO_MAX);
	check_target(lines[0], lines[1]);
	if (web_token_of(lines[2], &token) && !token.len)
		abort();
	web_host_is_plain(lines[3]);
	web_etag_matches(lines[4], "\"tag\"");
	if (!web_place_parse(lines[5], &place) && !place.address_len)
		abort();
	buf_deinit(&token);
	free(text);
	return 0;
}
