/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is connected, and until when each has to do what is awaited: send the head of a request, send
 * its body, take the reply. Who is late is hung up on, however busily bytes trickle in.
 */
#ifndef BPFPROF_WEB_CLIENTS_H
#define BPFPROF_WEB_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CLIENT_REQUEST_S = 15, /* for a whole request, or idle between two */
	CLIENT_REPLY_S = 30, /* for a reply, and what follows */
	CLIENT_REPLY_BYTES_PER_S = 16 << 10,
};

struct client {
	struct client *next, *prev;
	int fd; /* borrowed */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: it is our turn */
	void *exchange; /* the request that it has begun; the server's */
};

struct clients {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	struct client *first;
	bool is_started, is_stopping;
};

/* Watch from now on, with a thread of its own. 0 or negative errno; end with clients_stop() in
 * either case, when all have gone. */
int clients_start(struct clients *clients);
void clients_stop(struct clients *clients);

/* A client at @fd, *owned* until clients_remove(), which comes before @fd is closed; NULL without
 * memory. A request is awaited from it. */
struct client *clients_add(struct clients *clients, int fd);
void clients_remove(struct clients *clients, struct client *client);

/* Give @client so many seconds from now; 0: as long as we take. */
void clients_await(struct clients *clients, struct client *client, uint64_t seconds);

/* Hang up on all. */
void clients_hang_up(struct clients *clients);

/* Has whoever is at the other side of @fd hung up? */
bool client_is_gone(int fd);

#endif
