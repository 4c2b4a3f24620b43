/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of a server: what stands under their names before and after, and who is there already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "scratch.h"
#include "web/listen.h"

struct folder {
	char path[64];
	char name[96]; /* of a socket in it */
	struct web_place place; /* the same */
};

static int set_up(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));
	char text[128];

	assert_non_null(folder);
	snprintf(folder->path, sizeof(folder->path), "/tmp/bpfprof-listen-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	snprintf(folder->name, sizeof(folder->name), "%s/socket", folder->path);
	snprintf(text, sizeof(text), "unix:%s", folder->name);
	assert_int_equal(web_place_parse(text, &folder->place), 0);
	*state = folder;
	return 0;
}

static int tear_down(void **state)
{
	struct folder *folder = *state;

	remove_tree(folder->path);
	free(folder);
	return 0;
}

/* Can one connect to where @listener is? */
static bool answers(const struct web_listener *listener)
{
	const struct sockaddr *address = (const struct sockaddr *)&listener->place.address;
	_cleanup_close_ int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return !connect(fd, address, listener->place.address_len);
}

static void test_unix(void **state)
{
	const struct folder *folder = *state;
	struct web_listener listener, second;
	struct stat st;
	struct buf text;

	assert_int_equal(web_listener_open(&folder->place, &listener), 0);
	assert_true(answers(&listener));
	assert_int_equal(lstat(folder->name, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	buf_init(&text, BUF_NO_MAX);
	web_place_format(&listener.place, false, &text);
	assert_memory_equal(buf_cstr(&text), "unix:/", 6);
	assert_string_equal(buf_cstr(&text) + 5, folder->name);
	buf_deinit(&text);

	/* Who listens keeps its name. */
	assert_int_equal(web_listener_open(&folder->place, &second), -EADDRINUSE);
	assert_true(answers(&listener));
	web_listener_close(&listener);
	assert_int_equal(listener.fd, -1);
	assert_int_equal(lstat(folder->name, &st), -1);
	assert_int_equal(errno, ENOENT);
}

/* What a process that was killed has left makes room. */
static void test_stale(void **state)
{
	const struct folder *folder = *state;
	struct web_listener listener;

	assert_int_equal(web_listener_open(&folder->place, &listener), 0);
	close(listener.fd);
	assert_int_equal(web_listener_open(&folder->place, &listener), 0);
	assert_true(answers(&listener));
	web_listener_close(&listener);
}

/* Whatever else is there stays. */
static void test_no_socket(void **state)
{
	const struct folder *folder = *state;
	struct web_listener listener;
	struct stat st;

	close(open(folder->name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(web_listener_open(&folder->place, &listener), -EEXIST);
	assert_int_equal(lstat(folder->name, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(unlink(folder->name), 0);

	assert_int_equal(symlink("/nowhere", folder->name), 0);
	assert_int_equal(web_listener_open(&folder->place, &listener), -EEXIST);
	assert_int_equal(lstat(folder->name, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void test_no_folder(void **state)
{
	const struct folder *folder = *state;
	struct web_listener listener;

	assert_int_equal(rmdir(folder->path), 0);
	assert_int_equal(web_listener_open(&folder->place, &listener), -ENOENT);
	close(open(folder->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(web_listener_open(&folder->place, &listener), -ENOTDIR);
}

/* The name goes only as long as it is that of our socket. */
static void test_replaced(void **state)
{
	const struct folder *folder = *state;
	struct web_listener listener;
	struct stat st;

	assert_int_equal(web_listener_open(&folder->place, &listener), 0);
	assert_int_equal(unlink(folder->name), 0);
	close(open(folder->name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	web_listener_close(&listener);
	assert_int_equal(lstat(folder->name, &st), 0);
}

static void test_long_name(void **state)
{
	char text[sizeof(((struct sockaddr_un *)0)->sun_path) + 8] = "unix:/";
	struct web_place place;

	memset(text + 6, 'x', sizeof(text) - 7);
	assert_int_equal(web_place_parse(text, &place), -EINVAL);
}

/* Port 0 becomes one that is free, and then is not. */
static void check_port(const char *text, int family)
{
	struct web_place place;
	struct web_listener listener, second;
	uint16_t port;

	assert_int_equal(web_place_parse(text, &place), 0);
	assert_int_equal(web_listener_open(&place, &listener), 0);
	assert_int_equal(listener.place.address.ss_family, family);
	port = family == AF_INET
		       ? ((const struct sockaddr_in *)&listener.place.address)->sin_port
		       : ((const struct sockaddr_in6 *)&listener.place.address)->sin6_port;
	assert_int_not_equal(port, 0);
	assert_true(answers(&listener));
	assert_int_equal(web_listener_open(&listener.place, &second), -EADDRINUSE);
	web_listener_close(&listener);
	/* Closing twice does no harm. */
	web_listener_close(&listener);
}

static void test_ports(void **state)
{
	_cleanup_close_ int ipv6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	check_port("127.0.0.1:0", AF_INET);
	/* A container may be without. */
	if (ipv6 >= 0 && !bind(ipv6, (const struct sockaddr *)&address, sizeof(address)))
		check_port("[::1]:0", AF_INET6);
}

static void test_no_such_address(void **state)
{
	struct web_listener listener;
	struct web_place place;

	/* Of a range for examples, RFC 5737 */
	assert_int_equal(web_place_parse("192.0.2.1:0", &place), 0);
	assert_int_equal(web_listener_open(&place, &listener), -EADDRNOTAVAIL);
	assert_int_equal(web_place_parse("[::1", &place), -EINVAL);
	assert_int_equal(web_place_parse("[::g]:1", &place), -EINVAL);
	place.address.ss_family = AF_UNSPEC;
	assert_int_equal(web_listener_open(&place, &listener), -EAFNOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_unix, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stale, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_socket, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replaced, set_up, tear_down),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_no_such_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
