/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server listens: see listen.h. */
#include "web/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"

enum { BACKLOG = 512, SOCKET_MODE = 0600, PORT_MAX = 65535, ADDRESS_MAX = INET6_ADDRSTRLEN + 2 };

static const char UNIX_PREFIX[] = "unix:";

static int parse_unix(const char *path, struct web_place *out)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&out->address;

	if (*path != '/' || strlen(path) >= sizeof(address->sun_path))
		return -EINVAL;
	*out = (struct web_place){.is_unix = true, .address_len = sizeof(*address)};
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

static void set_ipv4(struct web_place *out, struct in_addr addr, uint16_t port)
{
	struct sockaddr_in *address = (struct sockaddr_in *)&out->address;

	*out = (struct web_place){.address_len = sizeof(*address),
				  .is_wide = ntohl(addr.s_addr) >> 24 != IN_LOOPBACKNET};
	address->sin_family = AF_INET;
	address->sin_addr = addr;
	address->sin_port = htons(port);
}

static void set_ipv6(struct web_place *out, struct in6_addr addr, uint16_t port)
{
	struct sockaddr_in6 *address = (struct sockaddr_in6 *)&out->address;

	*out = (struct web_place){.address_len = sizeof(*address),
				  .is_wide = !IN6_IS_ADDR_LOOPBACK(&addr)};
	address->sin6_family = AF_INET6;
	address->sin6_addr = addr;
	address->sin6_port = htons(port);
}

/* @host: "127.0.0.1", "[::1]", "localhost" or "". */
static int parse_host(char *host, uint16_t port, struct web_place *out)
{
	size_t len = strlen(host);
	struct in_addr ipv4;
	struct in6_addr ipv6;

	if (!len || !strcmp(host, "localhost")) {
		ipv4.s_addr = htonl(INADDR_LOOPBACK);
		set_ipv4(out, ipv4, port);
		return 0;
	}
	if (inet_pton(AF_INET, host, &ipv4) == 1) {
		set_ipv4(out, ipv4, port);
		return 0;
	}
	if (len < 3 || host[0] != '[' || host[len - 1] != ']')
		return -EINVAL;
	host[len - 1] = '\0';
	if (inet_pton(AF_INET6, host + 1, &ipv6) != 1)
		return -EINVAL;
	set_ipv6(out, ipv6, port);
	return 0;
}

int web_place_parse(const char *text, struct web_place *out)
{
	const char *colon = strrchr(text, ':');
	const char *port_text = colon ? colon + 1 : text;
	char host[ADDRESS_MAX] = "";
	uint64_t port;

	if (!strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)))
		return parse_unix(text + strlen(UNIX_PREFIX), out);
	if (parse_u64(port_text, &port) || port > PORT_MAX ||
	    (colon && (size_t)(colon - text) >= sizeof(host)))
		return -EINVAL;
	if (colon)
		memcpy(host, text, (size_t)(colon - text));
	return parse_host(host, (uint16_t)port, out);
}

/* Does anybody listen at the unix socket @address? */
static bool is_alive(const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 || !connect(fd, (const struct sockaddr *)address, sizeof(*address)) ||
	       errno != ECONNREFUSED;
}

/* Make room for a unix socket: what an instance before us has left goes. */
static int remove_stale(const struct sockaddr_un *address)
{
	struct stat st;

	if (lstat(address->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return -EEXIST;
	if (is_alive(address))
		return -EADDRINUSE;
	return unlink(address->sun_path) ? -errno : 0;
}

static int note_name(struct web_listener *listener)
{
	const struct sockaddr_un *address = (const struct sockaddr_un *)&listener->place.address;
	struct stat st;

	if (lstat(address->sun_path, &st))
		return -errno;
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	return 0;
}

/* The mode that a socket has before it gets a name is that of the name: nobody can connect in
 * between. */
static int bind_unix(struct web_listener *listener)
{
	const struct sockaddr_un *address = (const struct sockaddr_un *)&listener->place.address;
	int err = remove_stale(address);

	if (err)
		return err;
	if (fchmod(listener->fd, SOCKET_MODE) ||
	    bind(listener->fd, (const struct sockaddr *)address, sizeof(*address)))
		return -errno;
	return note_name(listener);
}

static int bind_port(struct web_listener *listener)
{
	struct sockaddr *address = (struct sockaddr *)&listener->place.address;
	int on = 1;

	if (setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		return -errno;
	if (address->sa_family == AF_INET6 &&
	    setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)))
		return -errno;
	if (bind(listener->fd, address, listener->place.address_len) ||
	    getsockname(listener->fd, address, &listener->place.address_len))
		return -errno;
	return 0;
}

int web_listener_open(const struct web_place *place, struct web_listener *out)
{
	struct web_listener listener = {.place = *place};
	int err;

	listener.fd =
		socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener.fd < 0)
		return -errno;
	err = place->is_unix ? bind_unix(&listener) : bind_port(&listener);
	if (!err && listen(listener.fd, BACKLOG))
		err = -errno;
	if (err)
		web_listener_close(&listener);
	else
		*out = listener;
	return err;
}

void web_listener_close(struct web_listener *listener)
{
	const struct sockaddr_un *address = (const struct sockaddr_un *)&listener->place.address;
	struct stat st;

	if (listener->ino && !lstat(address->sun_path, &st) && st.st_dev == listener->dev &&
	    st.st_ino == listener->ino)
		unlink(address->sun_path);
	if (listener->fd >= 0)
		close(listener->fd);
	*listener = (struct web_listener){.fd = -1};
}

void web_place_format(const struct web_place *place, bool has_tls, struct buf *out)
{
	const char *scheme = has_tls ? "https" : "http";
	const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)&place->address;
	const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)&place->address;
	char host[INET6_ADDRSTRLEN];

	if (place->is_unix) {
		buf_printf(out, "unix:%s", ((const struct sockaddr_un *)&place->address)->sun_path);
		return;
	}
	if (place->address.ss_family == AF_INET)
		buf_printf(out, "%s://%s:%u/", scheme,
			   inet_ntop(AF_INET, &ipv4->sin_addr, host, sizeof(host)),
			   ntohs(ipv4->sin_port));
	else
		buf_printf(out, "%s://[%s]:%u/", scheme,
			   inet_ntop(AF_INET6, &ipv6->sin6_addr, host, sizeof(host)),
			   ntohs(ipv6->sin6_port));
}
