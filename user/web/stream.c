/* SPDX-License-Identifier: Apache-2.0 */
/* Replies that are sent while they are made: see stream.h. */
#include "web/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stream_piece {
	struct stream_piece *next;
	char *data; /* owned */
	size_t len, taken;
};

void stream_init(struct stream *stream, size_t max_bytes, struct stream_room *room,
		 const struct stream_sleep *sleep)
{
	*stream = (struct stream){.max_bytes = max_bytes, .room = room, .sleep = *sleep};
	stream->last = &stream->first;
	pthread_mutex_init(&stream->lock, NULL);
}

static void free_piece(struct stream_piece *piece)
{
	if (piece)
		free(piece->data);
	free(piece);
}

static void drop_pieces(struct stream *stream)
{
	struct stream_piece *next;

	for (struct stream_piece *piece = stream->first; piece; piece = next) {
		next = piece->next;
		free_piece(piece);
	}
	stream->first = NULL;
	stream->last = &stream->first;
	atomic_fetch_sub(&stream->room->held_bytes, stream->held_bytes);
	stream->held_bytes = 0;
}

void stream_deinit(struct stream *stream)
{
	drop_pieces(stream);
	pthread_mutex_destroy(&stream->lock);
}

static void wake(struct stream *stream)
{
	if (!stream->is_asleep)
		return;
	stream->is_asleep = false;
	stream->sleep.wake(stream->sleep.arg);
}

/* 0, or why there is no room for @len more. */
static int hold(struct stream *stream, size_t len)
{
	struct stream_room *room = stream->room;

	if (len > stream->max_bytes - stream->held_bytes)
		return -EFBIG;
	if (atomic_fetch_add(&room->held_bytes, len) + len > room->max_bytes) {
		atomic_fetch_sub(&room->held_bytes, len);
		return -ENOBUFS;
	}
	stream->held_bytes += len;
	stream->added_bytes += len;
	return 0;
}

/* The content of @content as a piece, NULL: it has none. 0, -ENOMEM, or @content's own err. */
static int make_piece(struct buf *content, struct stream_piece **out)
{
	struct stream_piece *piece;

	*out = NULL;
	if (content->err || !content->len)
		return content->err;
	piece = calloc(1, sizeof(*piece));
	if (!piece)
		return -ENOMEM;
	piece->data = buf_take(content, &piece->len);
	*out = piece;
	return 0;
}

int stream_add(struct stream *stream, struct buf *content)
{
	struct stream_piece *piece;
	int err = make_piece(content, &piece);

	pthread_mutex_lock(&stream->lock);
	if (stream->has_left)
		err = -EPIPE;
	if (stream->err)
		err = stream->err;
	if (!err && piece)
		err = hold(stream, piece->len);
	if (!err && piece) {
		*stream->last = piece;
		stream->last = &piece->next;
		piece = NULL;
	}
	stream->err = err;
	wake(stream);
	pthread_mutex_unlock(&stream->lock);
	free_piece(piece);
	return err;
}

bool stream_end(struct stream *stream, int err)
{
	bool is_taken;

	pthread_mutex_lock(&stream->lock);
	if (!stream->err)
		stream->err = err;
	stream->has_ended = true;
	is_taken = !stream->has_left;
	wake(stream);
	pthread_mutex_unlock(&stream->lock);
	return is_taken;
}

static size_t take(struct stream *stream, char *out, size_t max)
{
	size_t done = 0;

	while (stream->first && done < max) {
		struct stream_piece *piece = stream->first;
		size_t rest = piece->len - piece->taken,
		       len = rest < max - done ? rest : max - done;

		memcpy(out + done, piece->data + piece->taken, len);
		piece->taken += len;
		done += len;
		if (len < rest)
			break;
		stream->first = piece->next;
		if (!stream->first)
			stream->last = &stream->first;
		free_piece(piece);
	}
	stream->held_bytes -= done;
	atomic_fetch_sub(&stream->room->held_bytes, done);
	return done;
}

ssize_t stream_read(struct stream *stream, char *out, size_t max)
{
	ssize_t len;

	pthread_mutex_lock(&stream->lock);
	len = (ssize_t)take(stream, out, max);
	if (!len && stream->err) {
		len = stream->err;
	} else if (!len && stream->has_ended) {
		len = STREAM_END;
	} else if (!len) {
		stream->is_asleep = true;
		stream->sleep.wait(stream->sleep.arg);
	}
	pthread_mutex_unlock(&stream->lock);
	return len;
}

void stream_leave(struct stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->has_left = true;
	stream->is_asleep = false;
	drop_pieces(stream);
	pthread_mutex_unlock(&stream->lock);
}

void stream_sizes(struct stream *stream, size_t *added_bytes, size_t *held_bytes)
{
	pthread_mutex_lock(&stream->lock);
	*added_bytes = stream->added_bytes;
	*held_bytes = stream->held_bytes;
	pthread_mutex_unlock(&stream->lock);
}
