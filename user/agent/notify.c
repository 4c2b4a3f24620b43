/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"

enum { MESSAGE_MAX_BYTES = 512 };

static int connect_to(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd;

	if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(addr.sun_path))
		return -EINVAL;
	memcpy(addr.sun_path, name, len);
	if (name[0] == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int notify_open(const char *socket, const char *watchdog_usec, const char *watchdog_pid,
		struct notify *out)
{
	uint64_t pid, usec;
	int fd;

	*out = (struct notify){.fd = -1};
	if (!socket)
		return 0;
	fd = connect_to(socket);
	if (fd < 0)
		return fd;
	out->fd = fd;
	if (watchdog_pid && (parse_u64(watchdog_pid, &pid) || pid != (uint64_t)getpid()))
		return 0;
	if (watchdog_usec && !parse_u64(watchdog_usec, &usec) && usec < UINT64_MAX / NSEC_PER_USEC)
		out->watchdog_ns = usec * NSEC_PER_USEC / 2;
	return 0;
}

void notify_close(struct notify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	notify->fd = -1;
}

void notify_send(const struct notify *notify, const char *fmt, ...)
{
	char text[MESSAGE_MAX_BYTES];
	va_list args;
	int len;

	if (notify->fd < 0)
		return;
	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len > 0)
		send(notify->fd, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1,
		     MSG_NOSIGNAL);
}
