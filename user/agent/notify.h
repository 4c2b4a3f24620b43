/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service tells its manager, sd_notify(3): datagrams to the socket that $NOTIFY_SOCKET
 * names, a path or, with '@' before it, a name in the abstract namespace.
 */
#ifndef BPFPROF_AGENT_NOTIFY_H
#define BPFPROF_AGENT_NOTIFY_H

#include <stdint.h>

struct notify {
	int fd; /* owned, connected; -1: nobody listens */
	uint64_t watchdog_ns; /* tell it that often at least; 0: nobody watches */
};

/*
 * Connect to @socket (NULL: nobody listens), and tell WATCHDOG=1 in half the @watchdog_usec (text,
 * as in $WATCHDOG_USEC, which counts if @watchdog_pid, $WATCHDOG_PID, is ours or NULL; NULL:
 * nobody watches). 0; -EINVAL: no address of that kind; negative errno. @out is set in any case.
 */
int notify_open(const char *socket, const char *watchdog_usec, const char *watchdog_pid,
		struct notify *out);
void notify_close(struct notify *notify);

/* "READY=1", "STATUS=...". A manager that does not read is not waited for. */
void notify_send(const struct notify *notify, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
