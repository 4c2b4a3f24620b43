/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what clients of the querier API send. The first byte is which call and in which
 * form; the rest is its body, and a label selector, too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/match_list.h"
#include "store/selector.h"
#include "web/site.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const paths[] = {
	"/querier.v1.QuerierService/ProfileTypes",
	"/querier.v1.QuerierService/LabelNames",
	"/querier.v1.QuerierService/LabelValues",
	"/querier.v1.QuerierService/Series",
	"/querier.v1.QuerierService/SelectMergeStacktraces",
	"/querier.v1.QuerierService/SelectMergeProfile",
	"/querier.v1.QuerierService/SelectSeries",
	"/querier.v1.QuerierService/Diff",
	"/querier.v1.QuerierService/GetProfileStats",
};

enum { PATH_CNT = sizeof(paths) / sizeof(*paths), IS_JSON = 16, IS_GZIP = 32 };

/* A text matches what it was parsed from in any case or not at all: the two of a pair differ. */
static const char *value_of(void *arg, const char *key)
{
	return key[0] == 'n' ? NULL : arg;
}

static void check_selector(char *text)
{
	struct selector selector = {0};
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = selector_parse(text, &selector, &why);
	if (!err == (why.len > 0) || selector.cnt > SELECTOR_MATCHES_MAX)
		abort();
	for (size_t i = 0; i < selector.cnt && !err; i++) {
		struct store_match match = selector.items[i];
		bool takes = match_labels(&match, 1, value_of, text);

		match.how = match.how == STORE_MATCH_EQUAL     ? STORE_MATCH_UNEQUAL
			    : match.how == STORE_MATCH_UNEQUAL ? STORE_MATCH_EQUAL
			    : match.how == STORE_MATCH_REGEX   ? STORE_MATCH_NOT_REGEX
							       : STORE_MATCH_REGEX;
		if (takes == match_labels(&match, 1, value_of, text))
			abort();
	}
	selector_deinit(&selector);
	buf_deinit(&why);
}

/* There is no store: a request that is understood is told so, any other what is wrong with it. */
static void check_call(uint8_t which, const char *body, size_t len)
{
	struct web_target target = {.path = paths[which % PATH_CNT]};
	struct web_request request = {
		.method = WEB_POST,
		.target = &target,
		.content_type = which & IS_JSON ? "application/json" : "application/proto",
		.content_encoding = which & IS_GZIP ? "gzip" : NULL,
		.body = body,
		.body_len = len,
		.client_fd = -1,
	};
	const struct web_route *route = web_route_find(target.path);
	struct web_site site;
	struct web_reply reply;

	if (!route)
		abort();
	web_site_init(&site, NULL, NULL);
	web_reply_init(&reply);
	web_route_answer(route, &site, &request, &reply);
	if (!strstr(buf_cstr(&reply.body),
		    reply.status == 404 ? "\"code\":\"not_found\"" : "\"code\""))
		abort();
	web_reply_deinit(&reply);
	web_site_deinit(&site);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *body;

	if (!len)
		return 0;
	body = strndup((const char *)data + 1, len - 1);
	check_selector(body);
	free(body);
	body = malloc(len);
	memcpy(body, data + 1, len - 1);
	body[len - 1] = '\0';
	check_call(data[0], body, len - 1);
	free(body);
	return 0;
}
