/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel uevents: "online@/devices/system/cpu/cpu3" and "offline@..." (lib/kobject_uevent.c). */
#include "capture/hotplug.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/reader.h"

int hotplug_open(void)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static bool starts_with(const char *str, const char *prefix)
{
	return !strncmp(str, prefix, strlen(prefix));
}

bool hotplug_next(int fd, struct hotplug_event *out, bool *more)
{
	static const char on[] = "online@/devices/system/cpu/cpu",
			  off[] = "offline@/devices/system/cpu/cpu";
	char message[4096];
	struct sockaddr_nl from = {.nl_pid = UINT32_MAX};
	socklen_t from_len = sizeof(from);
	ssize_t len =
		recvfrom(fd, message, sizeof(message) - 1, 0, (struct sockaddr *)&from, &from_len);
	struct reader rd;
	uint64_t cpu;

	*more = len > 0;
	/* Only the kernel (port 0) is believed: any process may send to the group. */
	if (len <= 0 || from.nl_pid)
		return false;
	message[len] = 0;
	out->is_online = starts_with(message, on);
	if (!out->is_online && !starts_with(message, off))
		return false;
	reader_init(&rd, message, strlen(message));
	reader_skip(&rd, strlen(out->is_online ? on : off));
	cpu = reader_number(&rd, 10);
	if (rd.err || cpu > UINT32_MAX)
		return false;
	out->cpu = cpu;
	return true;
}
