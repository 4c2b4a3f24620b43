/* SPDX-License-Identifier: Apache-2.0 */
/* The process that records for a confined agent: what comes back, what it refuses, what ends it. A
 * script is in the place of the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/recording_helper.h"
#include "agent/recording_message.h"
#include "base/clock.h"

enum { FDS_MAX = 3 };

struct fixture {
	char script[64];
	struct recording_helper helper;
	int client[2]; /* ours, the client's */
	struct buf out, why;
};

static void begin(struct fixture *fix, const char *text)
{
	int fd;

	snprintf(fix->script, sizeof(fix->script), "/tmp/bpfprof-helper-XXXXXX");
	fd = mkstemp(fix->script);
	assert_true(fd >= 0);
	assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	buf_init(&fix->out, BUF_NO_MAX);
	buf_init(&fix->why, BUF_NO_MAX);
	assert_int_equal(recording_helper_start(fix->script, &fix->helper), 0);
	/* Not before: it would hold both. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fix->client), 0);
}

static void end(struct fixture *fix)
{
	recording_helper_stop(&fix->helper);
	assert_int_equal(fix->helper.fd, -1);
	unlink(fix->script);
	for (int i = 0; i < 2; i++)
		if (fix->client[i] >= 0)
			close(fix->client[i]);
	buf_deinit(&fix->out);
	buf_deinit(&fix->why);
}

static int ask(struct fixture *fix, struct web_capture request)
{
	request.client_fd = fix->client[0];
	request.duration_ns = request.duration_ns ? request.duration_ns : NSEC_PER_SEC;
	buf_reset(&fix->out);
	buf_reset(&fix->why);
	return recording_helper_capture(&fix->helper, &request, &fix->out, &fix->why);
}

static void test_what_it_writes_comes_back(void **state)
{
	struct fixture fix;

	begin(&fix, "#!/bin/sh\necho \"$@\"\n");
	for (int i = 0; i < 5; i++) {
		assert_int_equal(ask(&fix, (struct web_capture){.hz = 49, .comm = "a b"}), 0);
		assert_string_equal(buf_cstr(&fix.out),
				    "record -q --output=-.pb.gz --duration=1000ms --freq=49 "
				    "--comm=a b\n");
		assert_int_equal(fix.why.len, 0);
	}
	end(&fix);
}

static void test_much_comes_back_whole(void **state)
{
	struct fixture fix;

	begin(&fix, "#!/bin/sh\nhead -c 5000000 /dev/zero\n");
	assert_int_equal(ask(&fix, (struct web_capture){.pid = 1}), 0);
	assert_int_equal(fix.out.len, 5000000);
	end(&fix);
}

static void test_failures_have_their_line(void **state)
{
	struct fixture fix;
	char text[5000];

	begin(&fix, "#!/bin/sh\necho 'bpfprof: no such process' >&2\nexit 2\n");
	assert_int_equal(ask(&fix, (struct web_capture){.pid = 1}), -EINVAL);
	assert_string_equal(buf_cstr(&fix.why), "no such process");
	assert_int_equal(ask(&fix, (struct web_capture){.event = "kprobe:schedule"}), -EINVAL);
	assert_non_null(strstr(buf_cstr(&fix.why), "event"));
	memset(text, '/', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(ask(&fix, (struct web_capture){.cgroup = text}), -EINVAL);
	assert_string_equal(buf_cstr(&fix.why), "cgroup: too long");
	assert_int_equal(ask(&fix, (struct web_capture){.comm = ""}), -EINVAL);
	assert_string_equal(buf_cstr(&fix.why), "comm: empty");
	assert_int_equal(fix.out.len, 0);
	end(&fix);
}

/* What a process that has been taken over could send. */
static void test_what_is_no_request_is_passed_over(void **state)
{
	static const size_t sizes[] = {1,
				       100,
				       RECORDING_REQUEST_BYTES - 1,
				       RECORDING_REQUEST_BYTES,
				       RECORDING_REQUEST_BYTES + 1,
				       2 * RECORDING_REQUEST_BYTES};
	static char bytes[2 * RECORDING_REQUEST_BYTES];
	struct fixture fix;

	begin(&fix, "#!/bin/sh\necho good\n");
	memset(bytes, 0xff, sizeof(bytes));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		assert_true(send(fix.helper.fd, bytes, sizes[i], 0) == (ssize_t)sizes[i]);
	assert_int_equal(ask(&fix, (struct web_capture){.pid = 1}), 0);
	assert_string_equal(buf_cstr(&fix.out), "good\n");
	assert_int_equal(ask(&fix, (struct web_capture){.kind = (enum web_capture_kind)77}),
			 -EINVAL);
	assert_int_equal(ask(&fix, (struct web_capture){.hz = UINT32_MAX}), -EINVAL);
	assert_int_equal(ask(&fix, (struct web_capture){.duration_ns = UINT64_MAX}), -EINVAL);
	end(&fix);
}

/* @len bytes with @cnt copies of a descriptor of ours. */
static void send_with(const struct fixture *fix, const char *bytes, size_t len, size_t cnt)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec data = {(void *)bytes, len};
	struct msghdr msg = {.msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(cnt * sizeof(int))};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(cnt * sizeof(int));
	for (size_t i = 0; i < cnt; i++)
		memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fix->client[0], sizeof(int));
	assert_int_equal(sendmsg(fix->helper.fd, &msg, 0), len);
}

static size_t descriptors_of(pid_t pid)
{
	char path[64];
	size_t cnt = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

/* Of the wrong size or number, they are closed; so many would be seen. */
static void test_descriptors_are_closed(void **state)
{
	static char bytes[2 * RECORDING_REQUEST_BYTES];
	struct fixture fix;

	begin(&fix, "#!/bin/sh\necho good\n");
	for (size_t i = 0; i < 100; i++) {
		send_with(&fix, bytes, RECORDING_REQUEST_BYTES, 1);
		send_with(&fix, bytes, RECORDING_REQUEST_BYTES, FDS_MAX);
		send_with(&fix, bytes, RECORDING_REQUEST_BYTES - 1, 2);
		send_with(&fix, bytes, RECORDING_REQUEST_BYTES + 1, 2);
	}
	assert_int_equal(ask(&fix, (struct web_capture){.pid = 1}), 0);
	assert_string_equal(buf_cstr(&fix.out), "good\n");
	assert_true(descriptors_of(fix.helper.pid) < 100);
	end(&fix);
}

static void test_who_hangs_up_has_nothing_recorded(void **state)
{
	uint64_t before_ns = clock_monotonic_ns();
	struct fixture fix;

	begin(&fix, "#!/bin/sh\nexec sleep 60\n");
	close(fix.client[1]);
	fix.client[1] = -1;
	assert_int_equal(ask(&fix, (struct web_capture){.duration_ns = 60 * NSEC_PER_SEC}),
			 -ECANCELED);
	assert_true(clock_monotonic_ns() - before_ns < 30 * NSEC_PER_SEC);
	end(&fix);
}

static void test_nobody_there(void **state)
{
	struct fixture fix;

	begin(&fix, "#!/bin/sh\necho good\n");
	kill(fix.helper.pid, SIGKILL);
	for (int i = 0; i < 1000 && !ask(&fix, (struct web_capture){.pid = 1}); i++)
		usleep(1000);
	assert_int_equal(ask(&fix, (struct web_capture){.pid = 1}), -EIO);
	assert_true(fix.why.len > 0);
	end(&fix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_writes_comes_back),
		cmocka_unit_test(test_much_comes_back_whole),
		cmocka_unit_test(test_failures_have_their_line),
		cmocka_unit_test(test_what_is_no_request_is_passed_over),
		cmocka_unit_test(test_descriptors_are_closed),
		cmocka_unit_test(test_who_hangs_up_has_nothing_recorded),
		cmocka_unit_test(test_nobody_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
