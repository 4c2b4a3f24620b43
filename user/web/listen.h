/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server listens: addresses as people write them, sockets, and who may come near. */
#ifndef BPFPROF_WEB_LISTEN_H
#define BPFPROF_WEB_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/buf.h"

struct web_place {
	struct sockaddr_storage address;
	socklen_t address_len;
	bool is_unix;
	bool is_wide; /* others than this machine may reach it */
};

/*
 * "127.0.0.1:7710", "[::1]:7710", "localhost:7710", "7710" (on loopback), "unix:/run/bpfprof.sock".
 * Names of other machines are no addresses to listen on. Port 0: one that is free. 0, or -EINVAL.
 */
int web_place_parse(const char *text, struct web_place *out);

/* A socket that listens. */
struct web_listener {
	int fd; /* owned; -1: none */
	struct web_place place; /* with the port that it has */
	dev_t dev; /* of a unix socket's name */
	ino_t ino;
};

/*
 * Listen on @place. A unix socket gets mode 0600; what is there under its name is replaced only if
 * it is a socket of ours at which nobody listens. 0, or negative errno: -EADDRINUSE, -EEXIST (what
 * is there is no socket of ours), ... Release with web_listener_close().
 */
int web_listener_open(const struct web_place *place, struct web_listener *out);

/* Close, and remove the name of a unix socket if it still is ours. */
void web_listener_close(struct web_listener *listener);

/* "http://127.0.0.1:7710/" or "unix:/run/bpfprof.sock". */
void web_place_format(const struct web_place *place, bool has_tls, struct buf *out);

#endif
