/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent and its recording helper write to each other: it comes back as it was, and what
 * neither writes is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "agent/recording_message.h"
#include "base/clock.h"

enum { AT_KIND = 8, AT_HZ = 12, AT_COMM = 20, AT_CGROUP = AT_COMM + RECORDING_COMM_BYTES };

static const struct web_capture full = {
	.kind = WEB_CAPTURE_OFF_CPU,
	.duration_ns = WEB_CAPTURE_SECONDS_MAX * NSEC_PER_SEC,
	.hz = WEB_CAPTURE_HZ_MAX,
	.pid = UINT32_MAX,
	.comm = "a b",
	.cgroup = "/sys/fs/cgroup/a.slice",
	.event = "sched:sched_switch",
	.client_fd = 3,
};

/* @capture as a request; buf_deinit() it. */
static struct buf written(const struct web_capture *capture)
{
	struct buf out, why;

	buf_init(&out, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(recording_request_write(capture, &out, &why), 0);
	assert_int_equal(out.len, RECORDING_REQUEST_BYTES);
	assert_int_equal(why.len, 0);
	return out;
}

static void check_text(const char *text, const char *wanted)
{
	if (wanted)
		assert_string_equal(text, wanted);
	else
		assert_null(text);
}

static void check_comes_back(const struct web_capture *capture)
{
	struct buf request = written(capture);
	struct web_capture read;

	assert_int_equal(recording_request_read(request.data, request.len, &read), 0);
	assert_int_equal(read.kind, capture->kind);
	assert_true(read.duration_ns == capture->duration_ns);
	assert_int_equal(read.hz, capture->hz);
	assert_int_equal(read.pid, capture->pid);
	check_text(read.comm, capture->comm);
	check_text(read.cgroup, capture->cgroup);
	check_text(read.event, capture->event);
	/* That one has come beside it, or not at all. */
	assert_int_equal(read.client_fd, -1);
	buf_deinit(&request);
}

static void test_requests(void **state)
{
	char comm[RECORDING_COMM_BYTES], cgroup[RECORDING_CGROUP_BYTES];
	struct web_capture longest = {.comm = comm, .cgroup = cgroup};

	check_comes_back(&full);
	check_comes_back(&(struct web_capture){0});
	memset(comm, 'c', sizeof(comm));
	memset(cgroup, '/', sizeof(cgroup));
	comm[sizeof(comm) - 1] = cgroup[sizeof(cgroup) - 1] = '\0';
	check_comes_back(&longest);
}

static void test_what_cannot_be_asked_for(void **state)
{
	char text[RECORDING_COMM_BYTES + 1];
	struct buf out, why;

	memset(text, 'c', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	buf_init(&out, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(recording_request_write(&(struct web_capture){.comm = text}, &out, &why),
			 -EINVAL);
	assert_string_equal(buf_cstr(&why), "comm: too long");
	buf_reset(&why);
	/* It would be read as one that is not given, and everything recorded. */
	assert_int_equal(recording_request_write(&(struct web_capture){.event = ""}, &out, &why),
			 -EINVAL);
	assert_string_equal(buf_cstr(&why), "event: empty");
	buf_deinit(&out);
	buf_deinit(&why);
}

static void check_is_none(const void *data, size_t len)
{
	struct web_capture read = {.hz = 77};

	assert_int_equal(recording_request_read(data, len, &read), -EINVAL);
	assert_int_equal(read.hz, 77);
}

static void test_what_is_no_request(void **state)
{
	static const struct {
		size_t at, len;
	} spoiled[] = {
		{7, 1}, /* duration */
		{AT_KIND, 1},
		{AT_HZ + 1, 1},
		{AT_COMM, RECORDING_COMM_BYTES}, /* without an end */
		{AT_CGROUP, RECORDING_CGROUP_BYTES},
		{AT_CGROUP + RECORDING_CGROUP_BYTES, RECORDING_EVENT_BYTES},
	};
	struct buf request = written(&full);
	char copy[RECORDING_REQUEST_BYTES + 1] = {0};

	memcpy(copy, request.data, request.len);
	check_is_none(NULL, 0);
	check_is_none(copy, 1);
	check_is_none(copy, request.len - 1);
	check_is_none(copy, request.len + 1);
	for (size_t i = 0; i < sizeof(spoiled) / sizeof(*spoiled); i++) {
		memcpy(copy, request.data, request.len);
		memset(copy + spoiled[i].at, 0xff, spoiled[i].len);
		check_is_none(copy, request.len);
	}
	buf_deinit(&request);
}

struct answer {
	struct buf bytes, out, line;
};

static void begin(struct answer *answer, int err, const char *line, const char *data)
{
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	buf_init(&answer->bytes, BUF_NO_MAX);
	buf_init(&answer->out, BUF_NO_MAX);
	buf_init(&answer->line, BUF_NO_MAX);
	buf_add_str(&text, line);
	recording_answer_write(err, &text, &answer->bytes);
	buf_add_str(&answer->bytes, data);
	buf_deinit(&text);
}

static void end(struct answer *answer)
{
	buf_deinit(&answer->bytes);
	buf_deinit(&answer->out);
	buf_deinit(&answer->line);
}

static int read_answer(struct answer *answer, size_t len)
{
	return recording_answer_read(answer->bytes.data, len, &answer->out, &answer->line);
}

static void test_answers(void **state)
{
	struct answer answer;

	begin(&answer, 0, "", "pprof");
	assert_int_equal(read_answer(&answer, answer.bytes.len), 0);
	assert_string_equal(buf_cstr(&answer.out), "pprof");
	assert_int_equal(answer.line.len, 0);
	end(&answer);
	begin(&answer, -EINVAL, "no such pid", "");
	assert_int_equal(read_answer(&answer, answer.bytes.len), -EINVAL);
	assert_string_equal(buf_cstr(&answer.line), "no such pid");
	end(&answer);
	/* What follows a failure is no profile. */
	begin(&answer, -EIO, "late", "pprof");
	assert_int_equal(read_answer(&answer, answer.bytes.len), -EIO);
	assert_int_equal(answer.out.len, 0);
	end(&answer);
	/* More than there is room for. */
	begin(&answer, 0, "", "pprof");
	answer.out.max_bytes = 4;
	assert_int_equal(read_answer(&answer, answer.bytes.len), -EFBIG);
	end(&answer);
}

static void test_what_is_no_answer(void **state)
{
	static const int errors[] = {1, INT32_MAX, -4096, INT32_MIN};
	char text[RECORDING_LINE_BYTES_MAX + 2];
	struct answer answer;

	begin(&answer, -EIO, "line", "");
	for (size_t len = 0; len < answer.bytes.len; len++)
		assert_int_equal(read_answer(&answer, len), -EBADMSG);
	assert_int_equal(read_answer(&answer, answer.bytes.len), -EIO);
	end(&answer);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		begin(&answer, errors[i], "line", "pprof");
		assert_int_equal(read_answer(&answer, answer.bytes.len), -EBADMSG);
		assert_int_equal(answer.line.len + answer.out.len, 0);
		end(&answer);
	}
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	begin(&answer, -EIO, text, "");
	assert_int_equal(read_answer(&answer, answer.bytes.len), -EBADMSG);
	end(&answer);
	begin(&answer, -EIO, text + 1, "");
	assert_int_equal(read_answer(&answer, answer.bytes.len), -EIO);
	end(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_what_cannot_be_asked_for),
		cmocka_unit_test(test_what_is_no_request),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_what_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
