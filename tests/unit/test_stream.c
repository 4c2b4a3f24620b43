/* SPDX-License-Identifier: Apache-2.0 */
/* A reply on its way between two threads: order, ends, bounds, who sleeps and who has left. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "web/stream.h"

enum { ALL_BYTES = 1000, ONE_BYTES = 600 };

/* A sender that sleeps until it is woken. */
struct sleeper {
	pthread_mutex_t lock;
	pthread_cond_t woken;
	bool is_asleep;
	unsigned int wait_cnt, wake_cnt;
};

static void fall_asleep(void *arg)
{
	struct sleeper *sleeper = arg;

	pthread_mutex_lock(&sleeper->lock);
	assert_false(sleeper->is_asleep);
	sleeper->is_asleep = true;
	sleeper->wait_cnt++;
	pthread_mutex_unlock(&sleeper->lock);
}

static void wake_up(void *arg)
{
	struct sleeper *sleeper = arg;

	pthread_mutex_lock(&sleeper->lock);
	assert_true(sleeper->is_asleep);
	sleeper->is_asleep = false;
	sleeper->wake_cnt++;
	pthread_cond_signal(&sleeper->woken);
	pthread_mutex_unlock(&sleeper->lock);
}

static void sleep_on(struct sleeper *sleeper)
{
	pthread_mutex_lock(&sleeper->lock);
	while (sleeper->is_asleep)
		pthread_cond_wait(&sleeper->woken, &sleeper->lock);
	pthread_mutex_unlock(&sleeper->lock);
}

struct fixture {
	struct stream_room room;
	struct sleeper sleeper;
	struct stream stream;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->room.max_bytes = ALL_BYTES;
	pthread_mutex_init(&fixture->sleeper.lock, NULL);
	pthread_cond_init(&fixture->sleeper.woken, NULL);
	stream_init(&fixture->stream, ONE_BYTES, &fixture->room,
		    &(struct stream_sleep){fall_asleep, wake_up, &fixture->sleeper});
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	stream_deinit(&fixture->stream);
	assert_int_equal(fixture->room.held_bytes, 0);
	pthread_cond_destroy(&fixture->sleeper.woken);
	pthread_mutex_destroy(&fixture->sleeper.lock);
	free(fixture);
	return 0;
}

static int add_text(struct stream *stream, const char *text)
{
	struct buf piece;
	int err;

	buf_init(&piece, BUF_NO_MAX);
	buf_add_str(&piece, text);
	err = stream_add(stream, &piece);
	assert_int_equal(piece.len, 0);
	buf_deinit(&piece);
	return err;
}

static int add_bytes(struct stream *stream, size_t len)
{
	struct buf piece;
	int err;

	buf_init(&piece, BUF_NO_MAX);
	for (size_t i = 0; i < len; i++)
		buf_add_char(&piece, 'x');
	err = stream_add(stream, &piece);
	buf_deinit(&piece);
	return err;
}

static void expect_text(struct stream *stream, size_t max, const char *text)
{
	char out[64] = "";

	assert_int_equal(stream_read(stream, out, max), strlen(text));
	assert_string_equal(out, text);
}

static void keeps_order(void **state)
{
	struct stream *stream = &((struct fixture *)*state)->stream;
	size_t added, held;

	assert_int_equal(add_text(stream, "abcd"), 0);
	assert_int_equal(add_text(stream, ""), 0);
	assert_int_equal(add_text(stream, "efg"), 0);
	expect_text(stream, 2, "ab");
	stream_sizes(stream, &added, &held);
	assert_int_equal(added, 7);
	assert_int_equal(held, 5);
	expect_text(stream, 4, "cdef");
	assert_true(stream_end(stream, 0));
	expect_text(stream, 9, "g");
	assert_int_equal(stream_read(stream, (char[1]){0}, 1), STREAM_END);
	assert_int_equal(stream_read(stream, (char[1]){0}, 1), STREAM_END);
}

static void wakes_who_sleeps(void **state)
{
	struct fixture *fixture = *state;
	struct stream *stream = &fixture->stream;

	assert_int_equal(add_text(stream, "a"), 0);
	expect_text(stream, 9, "a");
	assert_int_equal(fixture->sleeper.wait_cnt, 0);
	expect_text(stream, 9, "");
	assert_int_equal(fixture->sleeper.wait_cnt, 1);
	assert_int_equal(add_text(stream, "b"), 0);
	assert_int_equal(add_text(stream, "c"), 0);
	assert_int_equal(fixture->sleeper.wake_cnt, 1);
	expect_text(stream, 9, "bc");
	expect_text(stream, 9, "");
	assert_true(stream_end(stream, 0));
	assert_int_equal(fixture->sleeper.wake_cnt, 2);
	assert_int_equal(stream_read(stream, (char[1]){0}, 1), STREAM_END);
}

/* What was sent before is taken; then it is known that it is not whole. */
static void tells_failures(void **state)
{
	struct stream *stream = &((struct fixture *)*state)->stream;

	assert_int_equal(add_text(stream, "a"), 0);
	assert_true(stream_end(stream, -EIO));
	assert_int_equal(add_text(stream, "b"), -EIO);
	expect_text(stream, 9, "a");
	assert_int_equal(stream_read(stream, (char[1]){0}, 1), -EIO);
}

static void tells_what_could_not_be_made(void **state)
{
	struct stream *stream = &((struct fixture *)*state)->stream;
	struct buf piece;

	buf_init(&piece, 2);
	buf_add_str(&piece, "abc");
	assert_int_equal(stream_add(stream, &piece), -EFBIG);
	assert_true(stream_end(stream, 0));
	assert_int_equal(stream_read(stream, (char[1]){0}, 1), -EFBIG);
	buf_deinit(&piece);
}

static void is_bounded(void **state)
{
	struct stream *stream = &((struct fixture *)*state)->stream;
	char out[ONE_BYTES];

	assert_int_equal(add_bytes(stream, ONE_BYTES), 0);
	assert_int_equal(stream_read(stream, out, 100), 100);
	assert_int_equal(add_bytes(stream, 100), 0);
	assert_int_equal(add_bytes(stream, 1), -EFBIG);
	assert_int_equal(stream_read(stream, out, ONE_BYTES), ONE_BYTES);
	assert_int_equal(stream_read(stream, out, ONE_BYTES), -EFBIG);
	assert_int_equal(add_bytes(stream, 1), -EFBIG);
}

static void all_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	struct stream other;

	stream_init(&other, ONE_BYTES, &fixture->room,
		    &(struct stream_sleep){fall_asleep, wake_up, &fixture->sleeper});
	assert_int_equal(add_bytes(&fixture->stream, ONE_BYTES), 0);
	assert_int_equal(add_bytes(&other, ALL_BYTES - ONE_BYTES), 0);
	assert_int_equal(add_bytes(&other, 1), -ENOBUFS);
	assert_int_equal(fixture->room.held_bytes, ALL_BYTES);
	stream_deinit(&other);
	assert_int_equal(fixture->room.held_bytes, ONE_BYTES);
}

/* Nobody is woken who has left, and nothing is kept for them. */
static void forgets_who_leaves(void **state)
{
	struct fixture *fixture = *state;
	struct stream *stream = &fixture->stream;

	expect_text(stream, 9, "");
	stream_leave(stream);
	assert_int_equal(add_text(stream, "a"), -EPIPE);
	assert_int_equal(fixture->room.held_bytes, 0);
	assert_false(stream_end(stream, 0));
	assert_int_equal(fixture->sleeper.wake_cnt, 0);
}

/* --- Two threads --- */

enum { PIECES = 20000, PIECE_MAX = 7 };

static void *make_pieces(void *stream)
{
	uint8_t next = 0;

	for (size_t i = 0; i < PIECES; i++) {
		struct buf piece;
		int err;

		buf_init(&piece, BUF_NO_MAX);
		for (size_t j = 0; j < i % PIECE_MAX; j++)
			buf_add_char(&piece, (char)next++);
		err = stream_add(stream, &piece);
		buf_deinit(&piece);
		if (err)
			return (void *)(intptr_t)err;
	}
	stream_end(stream, 0);
	return NULL;
}

static void passes_between_threads(void **state)
{
	struct fixture *fixture = *state;
	struct stream *stream = &fixture->stream;
	size_t total = 0, expected = 0;
	pthread_t maker;
	ssize_t len;
	void *err;

	stream->max_bytes = fixture->room.max_bytes = PIECES * PIECE_MAX;
	for (size_t i = 0; i < PIECES; i++)
		expected += i % PIECE_MAX;
	assert_int_equal(pthread_create(&maker, NULL, make_pieces, stream), 0);
	do {
		char out[13];

		len = stream_read(stream, out, sizeof(out));
		for (ssize_t i = 0; i < len; i++, total++)
			assert_int_equal((uint8_t)out[i], (uint8_t)total);
		if (!len)
			sleep_on(&fixture->sleeper);
	} while (len >= 0);
	pthread_join(maker, &err);
	assert_null(err);
	assert_int_equal(len, STREAM_END);
	assert_int_equal(total, expected);
}

static void ends_when_the_reader_leaves(void **state)
{
	struct fixture *fixture = *state;
	struct stream *stream = &fixture->stream;
	pthread_t maker;
	char out[13];
	void *err;

	stream->max_bytes = fixture->room.max_bytes = PIECES * PIECE_MAX;
	assert_int_equal(pthread_create(&maker, NULL, make_pieces, stream), 0);
	while (!stream_read(stream, out, sizeof(out)))
		sleep_on(&fixture->sleeper);
	stream_leave(stream);
	pthread_join(maker, &err);
	assert_true(!err || (intptr_t)err == -EPIPE);
	assert_int_equal(fixture->room.held_bytes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(keeps_order),
		TEST(wakes_who_sleeps),
		TEST(tells_failures),
		TEST(tells_what_could_not_be_made),
		TEST(is_bounded),
		TEST(all_are_bounded),
		TEST(forgets_who_leaves),
		TEST(passes_between_threads),
		TEST(ends_when_the_reader_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
