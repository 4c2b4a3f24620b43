/* SPDX-License-Identifier: Apache-2.0 */
/* Clients and their deadlines: see clients.h. */
#include "web/clients.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"

enum { ROUND_MS = 250 };

/* The descriptor is closed after clients_remove(), so the lock keeps it from being another's. */
static void hang_up_late(struct clients *clients, uint64_t now_ns)
{
	for (struct client *client = clients->first; client; client = client->next) {
		if (!client->deadline_ns || client->deadline_ns > now_ns)
			continue;
		shutdown(client->fd, SHUT_RDWR);
		client->deadline_ns = 0;
	}
}

static void *watch(void *arg)
{
	struct clients *clients = arg;
	struct timespec until;
	uint64_t until_ns;

	pthread_mutex_lock(&clients->lock);
	while (!clients->is_stopping) {
		until_ns = clock_monotonic_ns() + ROUND_MS * NSEC_PER_MSEC;
		until.tv_sec = (time_t)(until_ns / NSEC_PER_SEC);
		until.tv_nsec = (long)(until_ns % NSEC_PER_SEC);
		pthread_cond_timedwait(&clients->wake, &clients->lock, &until);
		hang_up_late(clients, clock_monotonic_ns());
	}
	pthread_mutex_unlock(&clients->lock);
	return NULL;
}

int clients_start(struct clients *clients)
{
	pthread_condattr_t attr;
	int err;

	*clients = (struct clients){0};
	pthread_mutex_init(&clients->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&clients->wake, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&clients->thread, NULL, watch, clients);
	clients->is_started = !err;
	return -err;
}

void clients_stop(struct clients *clients)
{
	if (clients->is_started) {
		pthread_mutex_lock(&clients->lock);
		clients->is_stopping = true;
		pthread_cond_signal(&clients->wake);
		pthread_mutex_unlock(&clients->lock);
		pthread_join(clients->thread, NULL);
	}
	pthread_cond_destroy(&clients->wake);
	pthread_mutex_destroy(&clients->lock);
}

struct client *clients_add(struct clients *clients, int fd)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->fd = fd;
	client->deadline_ns = clock_monotonic_ns() + CLIENT_REQUEST_S * NSEC_PER_SEC;
	pthread_mutex_lock(&clients->lock);
	client->next = clients->first;
	if (client->next)
		client->next->prev = client;
	clients->first = client;
	pthread_mutex_unlock(&clients->lock);
	return client;
}

void clients_remove(struct clients *clients, struct client *client)
{
	pthread_mutex_lock(&clients->lock);
	if (client->next)
		client->next->prev = client->prev;
	if (client->prev)
		client->prev->next = client->next;
	else
		clients->first = client->next;
	pthread_mutex_unlock(&clients->lock);
	free(client);
}

void clients_await(struct clients *clients, struct client *client, uint64_t seconds)
{
	uint64_t deadline_ns = seconds ? clock_monotonic_ns() + seconds * NSEC_PER_SEC : 0;

	pthread_mutex_lock(&clients->lock);
	client->deadline_ns = deadline_ns;
	pthread_mutex_unlock(&clients->lock);
}

void clients_hang_up(struct clients *clients)
{
	pthread_mutex_lock(&clients->lock);
	for (struct client *client = clients->first; client; client = client->next)
		shutdown(client->fd, SHUT_RDWR);
	pthread_mutex_unlock(&clients->lock);
}

bool client_is_gone(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLRDHUP};

	return poll(&poll_fd, 1, 0) > 0;
}
