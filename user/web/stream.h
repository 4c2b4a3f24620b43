/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reply on its way from the thread that makes it to the one that sends it, piece by piece, so
 * that the first piece has left before the last one is made.
 *
 *	maker   stream_add() ... stream_add(), stream_end()
 *	sender  stream_read() ... until it tells the end, stream_leave() in any case
 *
 * The maker never waits: a client that takes its reply slowly, or not at all, must not keep a
 * lane's thread from the next request. So what is made ahead is bounded instead: for one stream by
 * what a whole reply may have, for all together by what they share. Beyond that the stream fails.
 *
 * The sender never waits either, as it serves other clients, too: where nothing is there yet it is
 * put to sleep (`wait`), and woken by the next piece or the end (`wake`).
 */
#ifndef BPFPROF_WEB_STREAM_H
#define BPFPROF_WEB_STREAM_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

enum { STREAM_END = INT_MIN };

struct stream_piece;

/* What all streams may hold together. */
struct stream_room {
	atomic_size_t held_bytes;
	size_t max_bytes;
};

/* How a sender is put to sleep and woken. Both are called with the stream locked, so that nobody is
 * woken before asleep: they must not call the stream. */
struct stream_sleep {
	void (*wait)(void *arg); /* by the sender's own thread */
	void (*wake)(void *arg); /* by the maker's; only who sleeps is woken */
	void *arg;
};

struct stream {
	pthread_mutex_t lock;
	struct stream_sleep sleep;
	struct stream_room *room; /* borrowed */
	struct stream_piece *first, **last; /* owned */
	size_t held_bytes, max_bytes;
	size_t added_bytes; /* in all */
	int err; /* why it fails, negative errno */
	bool has_ended, has_left, is_asleep;
};

/* At most @max_bytes wait to be sent. Release with stream_deinit() when both sides are done. */
void stream_init(struct stream *stream, size_t max_bytes, struct stream_room *room,
		 const struct stream_sleep *sleep);
void stream_deinit(struct stream *stream);

/*
 * Send the content of @piece, which is empty afterwards. 0; -EPIPE: nobody takes it any more;
 * -EFBIG: more would wait than may; -ENOBUFS: more than all may hold; -ENOMEM; @piece's own err.
 * After a failure all others fail in the same way, and the sender is told.
 */
int stream_add(struct stream *stream, struct buf *piece);

/* There is no more; @err: and what was sent is not whole. False: nobody took it any more. */
bool stream_end(struct stream *stream, int err);

/* Up to @max bytes into @out: how many; 0: none yet, the sender sleeps; STREAM_END: that was all;
 * negative errno: there is no more, and it is not whole. */
ssize_t stream_read(struct stream *stream, char *out, size_t max);

/* Nobody takes anything any more: what waits is released, and nobody is woken. */
void stream_leave(struct stream *stream);

/* How much was ever added, and how much of it waits. */
void stream_sizes(struct stream *stream, size_t *added_bytes, size_t *held_bytes);

#endif
