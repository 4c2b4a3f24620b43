/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP without a server: what is posted is kept, and answered as fake_answers says, one after the
 * other, then by 200. A test that includes this is linked without the real one.
 */
#ifndef BPFPROF_TESTS_FAKE_HTTP_H
#define BPFPROF_TESTS_FAKE_HTTP_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"

enum { FAKE_REQUESTS_MAX = 64 };

struct fake_answer {
	uint32_t status;
	int err; /* of http_send(): no answer arrives */
	uint64_t retry_after_s;
	const char *wanted; /* the header that was wanted; NULL: it has none */
	const char *body; /* NULL: none */
	size_t body_len;
};

static struct {
	const struct fake_answer *answers;
	size_t answer_cnt;
	struct buf bodies[FAKE_REQUESTS_MAX];
	size_t cnt; /* requests */
	char target[2048], method[16]; /* of the last one */
	struct buf headers; /* of the last one, a line each */
	uint64_t retry_after_s;
	const char *wanted;
} fake;

struct http {
	char unused;
};

/* Forget what was posted; the next are answered by @answers. */
static inline void fake_begin(const struct fake_answer *answers, size_t cnt)
{
	for (size_t i = 0; i < fake.cnt; i++)
		buf_deinit(&fake.bodies[i]);
	buf_deinit(&fake.headers);
	memset(&fake, 0, sizeof(fake));
	fake.answers = answers;
	fake.answer_cnt = cnt;
}

int http_open(const struct http_opts *opts, struct http **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void http_close(struct http *http)
{
	free(http);
}

const char *http_missing(void)
{
	return "";
}

const char *http_error(const struct http *http)
{
	return "it is gone";
}

struct http_traffic http_traffic(const struct http *http)
{
	return (struct http_traffic){.sent_bytes = fake.cnt};
}

const char *http_wanted(const struct http *http)
{
	return fake.wanted ? fake.wanted : "";
}

uint64_t http_retry_after_s(const struct http *http)
{
	return fake.retry_after_s;
}

int http_send(struct http *http, const struct http_request *request, struct buf *answer,
	      uint32_t *status)
{
	static const struct fake_answer fine = {.status = 200};
	const struct fake_answer *next =
		fake.cnt < fake.answer_cnt ? &fake.answers[fake.cnt] : &fine;

	assert_true(fake.cnt < FAKE_REQUESTS_MAX);
	snprintf(fake.target, sizeof(fake.target), "%s", request->url);
	snprintf(fake.method, sizeof(fake.method), "%s",
		 request->method ? request->method : "POST");
	buf_reset(&fake.headers);
	for (const char *const *header = request->headers; *header; header++)
		buf_printf(&fake.headers, "%s\n", *header);
	buf_init(&fake.bodies[fake.cnt], BUF_NO_MAX);
	buf_add(&fake.bodies[fake.cnt++], request->body, request->body_len);
	fake.retry_after_s = next->err ? 0 : next->retry_after_s;
	fake.wanted = next->err ? NULL : next->wanted;
	if (next->err)
		return next->err;
	if (next->body)
		buf_add(answer, next->body, next->body_len ? next->body_len : strlen(next->body));
	*status = next->status;
	return 0;
}

#endif
