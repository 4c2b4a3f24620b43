/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about symbols between a host and a relay, and the host's side of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/seal.h"
#include "fake_http.h"
#include "sink/relay_symbols.h"

#define BUILD_ID "00112233aabb"

static const struct relay_symbols table = {
	.step = RELAY_SYMBOLS_TABLE,
	.host = 7,
	.format = "names 2.2",
	.build_id = BUILD_ID,
	.path = "/bin/a",
	.table = "bytes\0of it",
	.table_len = 11,
};

static int reads(const struct relay_symbols *symbols)
{
	struct relay_symbols read;
	struct buf message;
	int err;

	buf_init(&message, BUF_NO_MAX);
	assert_int_equal(relay_symbols_write(symbols, &message), 0);
	err = relay_symbols_read(message.data, message.len, &read);
	if (!err) {
		assert_int_equal(read.step, symbols->step);
		assert_int_equal(read.host, symbols->host);
		assert_string_equal(read.format, symbols->format);
		assert_string_equal(read.build_id, symbols->build_id);
		assert_string_equal(read.path, symbols->path);
		assert_int_equal(read.table_len, symbols->table_len);
		if (read.table_len)
			assert_memory_equal(read.table, symbols->table, read.table_len);
	}
	buf_deinit(&message);
	return err;
}

static void test_read_is_written(void **state)
{
	const struct relay_symbols ask = {
		.step = RELAY_SYMBOLS_ASK, .host = 1, .format = "names 2.2"};
	struct relay_symbols claim = table;

	claim.step = RELAY_SYMBOLS_CLAIM;
	claim.table_len = 0;
	assert_int_equal(reads(&ask), 0);
	assert_int_equal(reads(&claim), 0);
	assert_int_equal(reads(&table), 0);
}

static void test_lacks(void **state)
{
	struct relay_symbols wrong = table;

	wrong.host = 0;
	assert_int_equal(reads(&wrong), -EBADMSG);
	wrong.host = UINT64_MAX;
	assert_int_equal(reads(&wrong), -EBADMSG);
	wrong = table;
	wrong.step = RELAY_SYMBOLS_ASK;
	assert_int_equal(reads(&wrong), -EBADMSG);
	wrong.step = RELAY_SYMBOLS_CLAIM;
	assert_int_equal(reads(&wrong), -EBADMSG);
	wrong.step = 4;
	assert_int_equal(reads(&wrong), -EBADMSG);
	wrong = table;
	wrong.table_len = 0;
	assert_int_equal(reads(&wrong), -EBADMSG);
	wrong = table;
	wrong.format[0] = '\0';
	assert_int_equal(reads(&wrong), -EBADMSG);
	/* It becomes a file's name. */
	for (size_t i = 0; i < 4; i++) {
		static const char *const ids[] = {"", "../../etc/x", "ABCD", "00112233aab"};

		wrong = table;
		snprintf(wrong.build_id, sizeof(wrong.build_id), "%s", ids[i]);
		assert_int_equal(reads(&wrong), -EBADMSG);
	}
}

/* Exactly as long as it is told, so that a sanitizer sees what is read beyond. */
static void test_cut_and_changed(void **state)
{
	struct relay_symbols read;
	struct buf message;

	buf_init(&message, BUF_NO_MAX);
	assert_int_equal(relay_symbols_write(&table, &message), 0);
	for (size_t len = 0; len < message.len; len++) {
		char *cut = malloc(len ? len : 1);

		memcpy(cut, message.data, len);
		assert_int_equal(relay_symbols_read(cut, len, &read),
				 len < sizeof(struct seal) ? -EBADMSG : -EILSEQ);
		free(cut);
	}
	for (size_t i = sizeof(struct seal); i < message.len; i++) {
		message.data[i] ^= 0x41;
		assert_int_equal(relay_symbols_read(message.data, message.len, &read), -EILSEQ);
		message.data[i] ^= 0x41;
	}
	message.data[offsetof(struct seal, format)] ^= 1;
	assert_int_equal(relay_symbols_read(message.data, message.len, &read), -ESTALE);
	buf_deinit(&message);
}

/* --- The host's side --- */

static struct buf answer; /* of the relay */

static void make_answer(enum relay_symbols_answer what, size_t wanted_cnt)
{
	buf_reset(&answer);
	relay_answer_begin(what, &answer);
	for (size_t i = 0; i < wanted_cnt; i++)
		relay_answer_add(i ? "ee" : BUILD_ID, i ? "/bin/b" : "/bin/a", i > 0, &answer);
	assert_int_equal(relay_answer_end(&answer), 0);
}

static int count_wanted(void *arg, const struct relay_wanted *wanted)
{
	size_t *cnt = arg;

	assert_string_equal(wanted->build_id, *cnt ? "ee" : BUILD_ID);
	assert_string_equal(wanted->path, *cnt ? "/bin/b" : "/bin/a");
	assert_int_equal(wanted->needs_lines, *cnt > 0);
	++*cnt;
	return 0;
}

/* The table, to a relay that answers with @status, and @text or what was made. */
static int send_one(uint32_t status, const char *text, enum relay_symbols_answer *out, size_t *cnt)
{
	const struct fake_answer answers[] = {{
		.status = status,
		.body = text ? text : answer.data,
		.body_len = text ? 0 : answer.len,
	}};
	const struct sink_opts opts = {.host_id = "", .bytes_per_s = 1};
	struct remote *relay;
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(relay_symbols_open("relay+http://:token@host", &opts, &relay, &why), 0);
	fake_begin(answers, 1);
	err = relay_symbols_send(relay, &table, out, cnt ? count_wanted : NULL, cnt, &why);
	assert_string_equal(fake.target, "http://host:7711" RELAY_SYMBOLS_PATH);
	assert_non_null(strstr(buf_cstr(&fake.headers), "Authorization: Bearer token\n"));
	assert_null(strstr(buf_cstr(&fake.headers), "Content-Encoding"));
	assert_int_equal(!err, !why.len);
	remote_close(&relay->sink);
	fake_begin(NULL, 0);
	buf_deinit(&why);
	return err;
}

static void test_answers(void **state)
{
	enum relay_symbols_answer got;
	size_t cnt = 0;

	make_answer(RELAY_SYMBOLS_WANTED, 2);
	assert_int_equal(send_one(200, NULL, &got, &cnt), 0);
	assert_int_equal(got, RELAY_SYMBOLS_WANTED);
	assert_int_equal(cnt, 2);
	assert_int_equal(send_one(200, NULL, &got, NULL), 0);
	make_answer(RELAY_SYMBOLS_STORED, 0);
	assert_int_equal(send_one(200, NULL, &got, NULL), 0);
	assert_int_equal(got, RELAY_SYMBOLS_STORED);
	/* Answers that wants belong to no more than others. */
	make_answer(RELAY_SYMBOLS_OURS, 1);
	assert_int_equal(send_one(200, NULL, &got, NULL), -EPROTO);
	make_answer(9, 0);
	assert_int_equal(send_one(200, NULL, &got, NULL), -EPROTO);
	make_answer(RELAY_SYMBOLS_WANTED, 2);
	answer.data[answer.len - 1] ^= 1;
	assert_int_equal(send_one(200, NULL, &got, NULL), -EPROTO);
	answer.len -= 3;
	assert_int_equal(send_one(200, NULL, &got, NULL), -EPROTO);
	assert_int_equal(send_one(200, "<html>", &got, NULL), -EPROTO);
}

static void test_refusals(void **state)
{
	static const struct {
		uint32_t status;
		int err;
	} cases[] = {
		{400, -EINVAL}, {401, -EACCES}, {404, -EACCES},
		{413, -EFBIG},	{415, -EACCES}, {503, -EAGAIN},
	};
	enum relay_symbols_answer got;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(send_one(cases[i].status, "no", &got, NULL), cases[i].err);
}

static int stop(void *arg, const struct relay_wanted *wanted)
{
	return -ENOMEM;
}

static void test_taker_fails(void **state)
{
	enum relay_symbols_answer got;

	make_answer(RELAY_SYMBOLS_WANTED, 2);
	assert_int_equal(relay_answer_read(answer.data, answer.len, &got, stop, NULL), -ENOMEM);
}

static int set_up(void **state)
{
	unsetenv("RELAY_USER");
	unsetenv("RELAY_PASSWORD");
	buf_init(&answer, BUF_NO_MAX);
	return 0;
}

static int tear_down(void **state)
{
	buf_deinit(&answer);
	return 0;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_read_is_written), CASE(test_lacks),	 CASE(test_cut_and_changed),
		CASE(test_answers),	    CASE(test_refusals), CASE(test_taker_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
