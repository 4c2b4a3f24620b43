/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/notify.h"
#include "base/cleanup.h"

/* A manager that listens at @name, a path or '@' and an abstract name. */
static int listen_at(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(addr.sun_path, name, strlen(name));
	if (name[0] == '@')
		addr.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&addr,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
			 0);
	return fd;
}

static void assert_told(const char *name)
{
	_cleanup_close_ int fd = listen_at(name);
	struct notify notify;
	char text[600];
	ssize_t len;

	assert_int_equal(notify_open(name, NULL, NULL, &notify), 0);
	assert_int_equal(notify.watchdog_ns, 0);
	notify_send(&notify, "READY=1\nSTATUS=%d Hz", 19);
	len = recv(fd, text, sizeof(text), 0);
	assert_int_equal(len, 20);
	assert_memory_equal(text, "READY=1\nSTATUS=19 Hz", 20);
	/* A manager that reads nothing holds nobody up. */
	for (int i = 0; i < 10000; i++)
		notify_send(&notify, "WATCHDOG=1");
	notify_close(&notify);
}

static void test_path(void **state)
{
	char folder[] = "/tmp/bpfprof-notify-XXXXXX", path[64];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/socket", folder);
	assert_told(path);
	unlink(path);
	rmdir(folder);
}

static void test_abstract(void **state)
{
	char name[64];

	snprintf(name, sizeof(name), "@bpfprof-notify-%d", getpid());
	assert_told(name);
}

static void test_watchdog(void **state)
{
	char name[64], pid[16];
	struct notify notify;
	int fd;

	snprintf(name, sizeof(name), "@bpfprof-watchdog-%d", getpid());
	snprintf(pid, sizeof(pid), "%d", getpid());
	fd = listen_at(name);
	assert_int_equal(notify_open(name, "30000000", pid, &notify), 0);
	assert_int_equal(notify.watchdog_ns, 15000000000ULL);
	notify_close(&notify);
	assert_int_equal(notify_open(name, "30000000", "1", &notify), 0);
	assert_int_equal(notify.watchdog_ns, 0);
	notify_close(&notify);
	assert_int_equal(notify_open(name, "x", NULL, &notify), 0);
	assert_int_equal(notify.watchdog_ns, 0);
	notify_close(&notify);
	close(fd);
}

static void test_nobody_listens(void **state)
{
	char name[200];
	struct notify notify;

	assert_int_equal(notify_open(NULL, "1", NULL, &notify), 0);
	notify_send(&notify, "READY=1");
	assert_int_equal(notify_open("relative", NULL, NULL, &notify), -EINVAL);
	assert_int_equal(notify_open("/", NULL, NULL, &notify), -EINVAL);
	assert_int_equal(notify_open("/tmp/bpfprof-nobody", NULL, NULL, &notify), -ENOENT);
	notify_send(&notify, "READY=1");
	memset(name, 'x', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(notify_open(name, NULL, NULL, &notify), -EINVAL);
	notify_close(&notify);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_abstract),
		cmocka_unit_test(test_watchdog),
		cmocka_unit_test(test_nobody_listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
