/* SPDX-License-Identifier: Apache-2.0 */
/* Relays as a sink, without one: what they were told is known, and what they were not told is told.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "encode/gzip.h"
#include "fake_http.h"
#include "relay_fixture.h"
#include "sink/relay.h"

static int set_up(void **state)
{
	static struct relay_fixture relay;

	unsetenv("RELAY_USER");
	unsetenv("RELAY_PASSWORD");
	relay_fixture_init(&relay);
	fake_begin(NULL, 0);
	*state = &relay;
	return 0;
}

static int tear_down(void **state)
{
	relay_fixture_deinit(*state);
	fake_begin(NULL, 0);
	return 0;
}

static struct sink *must_open(const char *url)
{
	return fixture_open(url, RELAY_HOST_ID);
}

/* Sends @window; @text (may be NULL) is in the reason. */
static int send_one(struct sink *sink, const struct sink_window *window, const char *text)
{
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = sink->ops->send(sink, window, 1, &why);
	if (text && !strstr(buf_cstr(&why), text))
		fail_msg("'%s' is not in '%s'", text, buf_cstr(&why));
	buf_deinit(&why);
	return err;
}

/* What request @nr said. */
static struct relay_head posted(struct relay_fixture *relay, size_t nr)
{
	struct relay_head head = {.epoch = 0};
	struct buf plain;

	assert_true(nr < fake.cnt);
	buf_init(&plain, BUF_NO_MAX);
	assert_int_equal(gzip_inflate(fake.bodies[nr].data, fake.bodies[nr].len, &plain), 0);
	assert_int_equal(fleet_blocks_reset(&relay->read), 0);
	assert_int_equal(relay_message_read(plain.data, plain.len, &head, &relay->read), 0);
	buf_deinit(&plain);
	return head;
}

static bool tells_stacks(const struct relay_fixture *relay)
{
	return relay->read.of[FLEET_STACKS].row_cnt && relay->read.of[FLEET_FRAMES].row_cnt &&
	       relay->read.of[FLEET_SOURCES].row_cnt && relay->read.of[FLEET_KINDS].row_cnt;
}

static void next_window(struct relay_fixture *relay)
{
	relay->fix.window.prev_seq = relay->fix.window.last_seq;
	relay->fix.window.seq = ++relay->fix.window.last_seq;
	relay->fix.window.start_ns += NSEC_PER_SEC;
}

static void test_urls(void **state)
{
	static const struct {
		const char *url, *name; /* NULL: it is none */
	} cases[] = {
		{"relay+http://host", "relay+http://host:7711"},
		{"relay+https://:token@a,b:1,[::1]/?ca=/x", "relay+https://a:7711,b:1,[::1]:7711"},
		{"relay://host", NULL},
		{"relay+http://a,", NULL},
		{"relay+http://1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h", NULL},
		{"otlp+http://a,b", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf name, why;

		buf_init(&name, BUF_NO_MAX);
		buf_init(&why, BUF_NO_MAX);
		assert_int_equal(sink_name(cases[i].url, &name, &why), cases[i].name ? 0 : -EINVAL);
		if (cases[i].name)
			assert_string_equal(buf_cstr(&name), cases[i].name);
		buf_deinit(&name);
		buf_deinit(&why);
	}
}

static void test_token(void **state)
{
	struct relay_fixture *relay = *state;
	static const struct fake_answer answers[] = {{200, .body = "stored 00000000000000a1\n"}};
	struct sink *sink;

	fake_begin(answers, 1);
	setenv("RELAY_PASSWORD", "token-of-the-environment", 1);
	sink = must_open("relay+http://host");
	assert_int_equal(send_one(sink, &relay->fix.window, NULL), 0);
	assert_string_equal(fake.target, "http://host:7711" RELAY_PATH);
	assert_non_null(strstr(buf_cstr(&fake.headers),
			       "Authorization: Bearer token-of-the-environment\n"));
	assert_non_null(strstr(buf_cstr(&fake.headers), "Content-Encoding: gzip\n"));
	sink_close(sink);
}

/* All at first, then what is new; all again when it is not sure what has arrived. */
static void test_told_once(void **state)
{
	struct relay_fixture *relay = *state;
	static const struct fake_answer answers[] = {
		{200, .body = "stored 00000000000000a1\n"},
		{200, .body = "stored 00000000000000a1\n"},
		{.err = -ECONNRESET},
		{200, .body = "stored 00000000000000a1\n"},
	};
	struct sink *sink = must_open("relay+http://host");

	fake_begin(answers, 4);
	assert_int_equal(send_one(sink, &relay->fix.window, NULL), 0);
	assert_int_equal(posted(relay, 0).epoch, 0);
	assert_string_equal(posted(relay, 0).name, "alpha");
	assert_true(tells_stacks(relay));
	assert_true(relay->read.of[FLEET_BATCHES].row_cnt == 3);
	next_window(relay);
	assert_int_equal(send_one(sink, &relay->fix.window, NULL), 0);
	assert_int_equal(posted(relay, 1).epoch, 0xa1);
	assert_false(tells_stacks(relay));
	assert_int_equal(relay->read.of[FLEET_SAMPLES].row_cnt, 4 * SINK_THREADS);
	next_window(relay);
	assert_int_equal(send_one(sink, &relay->fix.window, "it is gone"), -ECONNRESET);
	assert_int_equal(send_one(sink, &relay->fix.window, NULL), 0);
	assert_int_equal(posted(relay, 3).epoch, 0);
	assert_true(tells_stacks(relay));
	assert_int_equal(sink->counts.windows, 3);
	sink_close(sink);
}

/* A relay that lost its disk. */
static void test_conflict(void **state)
{
	struct relay_fixture *relay = *state;
	static const struct fake_answer answers[] = {
		{200, .body = "stored 00000000000000a1\n"},
		{409, .body = "not told\n"},
		{200, .body = "stored 00000000000000b2\n"},
		{200, .body = "stored 00000000000000b2\n"},
	};
	struct sink *sink = must_open("relay+http://host");

	fake_begin(answers, 4);
	assert_int_equal(send_one(sink, &relay->fix.window, NULL), 0);
	next_window(relay);
	assert_int_equal(send_one(sink, &relay->fix.window, NULL), 0);
	assert_int_equal(fake.cnt, 3);
	assert_int_equal(posted(relay, 1).epoch, 0xa1);
	assert_int_equal(posted(relay, 2).epoch, 0);
	assert_true(tells_stacks(relay));
	next_window(relay);
	assert_int_equal(send_one(sink, &relay->fix.window, NULL), 0);
	assert_int_equal(posted(relay, 3).epoch, 0xb2);
	sink_close(sink);
}

/* One that is gone, one that is full; the one that takes something is kept. */
static void test_failover(void **state)
{
	struct relay_fixture *relay = *state;
	static const struct fake_answer answers[] = {
		{.err = -ECONNREFUSED},
		{503, .retry_after_s = 15, .body = "full\n"},
		{200, .body = "stored 00000000000000c3\n"},
		{200, .body = "stored 00000000000000c3\n"},
		{503, .body = "full\n"},
		{.err = -ECONNREFUSED},
		{503, .retry_after_s = 15, .body = "the spool is full\n"},
	};
	struct sink *sink = must_open("relay+http://a,b,c");

	fake_begin(answers, 7);
	assert_int_equal(send_one(sink, &relay->fix.window, NULL), 0);
	assert_string_equal(fake.target, "http://c:7711" RELAY_PATH);
	next_window(relay);
	assert_int_equal(send_one(sink, &relay->fix.window, NULL), 0);
	assert_string_equal(fake.target, "http://c:7711" RELAY_PATH);
	assert_int_equal(fake.cnt, 4);
	next_window(relay);
	assert_int_equal(send_one(sink, &relay->fix.window,
				  "b:7711: HTTP status 503: the spool is"),
			 -EAGAIN);
	assert_int_equal(fake.cnt, 7);
	assert_int_equal(sink->retry_after_ns, 15 * NSEC_PER_SEC);
	sink_close(sink);
}

/* Answers that no window is given up for. */
static void test_kept(void **state)
{
	struct relay_fixture *relay = *state;
	static const struct {
		struct fake_answer answer;
		int err;
		const char *text;
	} cases[] = {
		{{401, .body = "a token is needed\n"}, -EACCES, "a token is needed"},
		{{403, .body = "this token may not\n"}, -EACCES, "this token may not"},
		{{404, .body = "nothing\n"}, -EACCES, "is that a receiver of relay"},
		{{413, .body = "too large\n"}, -EACCES, "too large"},
		{{415, .body = "of another version\n"}, -EACCES, "of another version"},
		{{503, .body = "damaged\n"}, -EAGAIN, "damaged"},
		{{500, .body = "odd\n"}, -EAGAIN, "odd"},
		{{200, .body = "<html>\n"}, -EPROTO, "no relay of bpfprof"},
		{{200, .body = "stored 0\n"}, -EPROTO, "no relay of bpfprof"},
		{{200}, -EPROTO, "no relay of bpfprof"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct fake_answer answers[] = {cases[i].answer, cases[i].answer};
		struct sink *sink = must_open("relay+http://host");

		fake_begin(answers, 2);
		assert_int_equal(send_one(sink, &relay->fix.window, cases[i].text), cases[i].err);
		sink_close(sink);
	}
}

static void test_refused(void **state)
{
	struct relay_fixture *relay = *state;
	static const struct fake_answer answers[] = {{400, .body = "no message\n"}};
	struct sink *sink = must_open("relay+http://host");

	fake_begin(answers, 1);
	assert_int_equal(send_one(sink, &relay->fix.window, "no message"), -EINVAL);
	sink_close(sink);
}

/* Several windows are one message; where that is too large, each is one. */
static void test_too_large(void **state)
{
	struct relay_fixture *relay = *state;
	static const struct fake_answer answers[] = {
		{413, .body = "too large\n"},
		{200, .body = "stored 00000000000000a1\n"},
		{200, .body = "stored 00000000000000a1\n"},
	};
	struct sink_window windows[2];
	struct sink *sink = must_open("relay+http://host");
	struct buf why;

	fake_begin(answers, 3);
	buf_init(&why, BUF_NO_MAX);
	windows[0] = relay->fix.window;
	next_window(relay);
	windows[1] = relay->fix.window;
	assert_int_equal(sink->ops->send(sink, windows, 2, &why), 0);
	assert_int_equal(fake.cnt, 3);
	assert_int_equal(posted(relay, 0).last_seq, 18);
	assert_int_equal(posted(relay, 1).last_seq, 17);
	assert_int_equal(posted(relay, 2).first_seq, 18);
	/* Both are there: only what is behind them is sent. */
	assert_int_equal(sink->ops->send(sink, windows, 2, &why), 0);
	assert_int_equal(fake.cnt, 3);
	buf_deinit(&why);
	sink_close(sink);
}

static void test_lost(void **state)
{
	struct relay_fixture *relay = *state;
	static const struct fake_answer answers[] = {{200, .body = "stored 00000000000000a1\n"}};
	const struct sink_window lost = fixture_lost(18);
	struct sink *sink = must_open("relay+http://host");

	fake_begin(answers, 1);
	assert_int_equal(send_one(sink, &lost, NULL), 0);
	posted(relay, 0);
	assert_int_equal(relay->read.of[FLEET_BATCHES].row_cnt, 1);
	assert_int_equal(relay->read.of[FLEET_SAMPLES].row_cnt, 0);
	sink_close(sink);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_urls),     CASE(test_token),	   CASE(test_told_once),
		CASE(test_conflict), CASE(test_failover),  CASE(test_kept),
		CASE(test_refused),  CASE(test_too_large), CASE(test_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
