/* SPDX-License-Identifier: Apache-2.0 */
/* What a client says it has sent is what arrives, to the byte, whatever of it libcurl counts where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/http.h"

enum { HEAD_MAX = 4096 };

static const size_t body_lens[] = {1, 300, 5000, 60000, 70000, 1000000};
enum { REQUESTS = sizeof(body_lens) / sizeof(*body_lens) };

/* Takes one connection, and counts its bytes. */
struct server {
	pthread_t thread;
	int listener;
	uint16_t port;
	uint64_t received_bytes;
};

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/* The bytes of one request, 0 at the end. */
static uint64_t receive(int fd)
{
	static char data[1 << 16];
	char head[HEAD_MAX];
	uint64_t got = 0, wanted = 0;

	while (!wanted || got < wanted) {
		const ssize_t len = read(fd, data, sizeof(data));
		const char *end;

		if (len <= 0)
			return 0;
		if (!wanted && got < sizeof(head) - 1) {
			const size_t room = sizeof(head) - 1 - got;

			memcpy(head + got, data, (size_t)len < room ? (size_t)len : room);
			head[got + ((size_t)len < room ? (size_t)len : room)] = '\0';
		}
		got += (uint64_t)len;
		end = wanted ? NULL : strstr(head, "\r\n\r\n");
		if (end)
			wanted = (uint64_t)(end + 4 - head) +
				 strtoul(strstr(head, "Content-Length: ") + 16, NULL, 10);
	}
	return got;
}

static void *serve(void *arg)
{
	struct server *server = arg;
	int fd = accept(server->listener, NULL, NULL);

	for (size_t i = 0; fd >= 0 && i < REQUESTS; i++) {
		server->received_bytes += receive(fd);
		if (write(fd, answer, sizeof(answer) - 1) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void start(struct server *server)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);

	*server = (struct server){.listener = socket(AF_INET, SOCK_STREAM, 0)};
	assert_int_equal(bind(server->listener, (struct sockaddr *)&addr, len), 0);
	assert_int_equal(getsockname(server->listener, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(listen(server->listener, 1), 0);
	server->port = ntohs(addr.sin_port);
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void test_sent_bytes(void **state)
{
	_cleanup_free_ char *body = calloc(1, 1000000);
	struct http_request request = {.body = body};
	struct server server;
	struct http *http;
	char url[64];

	if (http_open(&(struct http_opts){.timeout_ms = 10000}, &http))
		skip();
	start(&server);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", server.port);
	request.url = url;
	for (size_t i = 0; i < REQUESTS; i++) {
		_cleanup_(buf_deinit) struct buf got;
		uint32_t status = 0;

		buf_init(&got, 100);
		request.body_len = body_lens[i];
		assert_int_equal(http_send(http, &request, &got, &status), 0);
		assert_int_equal(status, 200);
	}
	pthread_join(server.thread, NULL);
	close(server.listener);
	assert_int_equal(http_traffic(http).sent_bytes, server.received_bytes);
	http_close(http);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sent_bytes),
	};

	unsetenv("http_proxy");
	return cmocka_run_group_tests_name("http/traffic", tests, NULL, NULL);
}
