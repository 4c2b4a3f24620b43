/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/reader.h"
#include "encode/protobuf.h"
#include "encode/text.h"
#include "sink/otlp_message.h"
#include "sink/pieces.h"
#include "sink/remote.h"

enum {
	SAMPLES_MAX = 16000, /* of a profile, as Pyroscope's default wants it */
	TEXT_MAX = 200, /* bytes of what a receiver says */
};

enum { ANSWER_PARTIAL_SUCCESS = 1, PARTIAL_REJECTED = 1, PARTIAL_TEXT = 2 };

static const char *const headers[] = {"Content-Type: application/x-protobuf", NULL};

static const struct remote_kind kind = {
	.scheme = "otlp",
	.user_variable = "OTLP_USER",
	.password_variable = "OTLP_PASSWORD",
	.path = "/v1development/profiles",
	.headers = headers,
	.port = 4318,
	.is_packed = true,
};

static bool is_url(const char *url)
{
	return remote_is_url(&kind, url);
}

static int name_sink(const char *url, struct buf *out, struct buf *why)
{
	return remote_name(&kind, url, out, why);
}

static int open_sink(const char *url, const struct sink_opts *opts, struct sink **out,
		     struct buf *why)
{
	return remote_open(&kind, url, opts, out, why);
}

/* --- Answers --- */

static int read_partial(struct reader message, uint64_t *rejected, struct buf *text)
{
	struct pb_field field;

	while (pb_next(&message, &field)) {
		if (field.number == PARTIAL_REJECTED && field.wire == PB_VARINT)
			*rejected = field.value;
		else if (field.number == PARTIAL_TEXT && field.wire == PB_BYTES)
			text_add_line(text, (const char *)field.bytes.pos,
				      reader_left(&field.bytes));
	}
	return message.err ? -EBADMSG : 0;
}

int otlp_read_answer(const void *data, size_t len, uint64_t *rejected, struct buf *text)
{
	struct pb_field field;
	struct reader rd;
	int err = 0;

	*rejected = 0;
	reader_init(&rd, data, len);
	while (!err && pb_next(&rd, &field))
		if (field.number == ANSWER_PARTIAL_SUCCESS && field.wire == PB_BYTES)
			err = read_partial(field.bytes, rejected, text);
	/* The number is signed there. */
	if (*rejected > INT64_MAX)
		*rejected = 0;
	return err || rd.err ? -EBADMSG : 0;
}

/* It has taken what it has not thrown away: neither may be sent again. */
static void take_answer(struct remote *remote, const struct buf *answer)
{
	_cleanup_(buf_deinit) struct buf text;
	uint64_t rejected;

	buf_init(&text, BUF_NO_MAX);
	if (otlp_read_answer(answer->data, answer->len, &rejected, &text) || !rejected)
		return;
	if (!remote->sink.counts.rejected)
		log_warn("sink: the receiver throws profiles away: %.*s", TEXT_MAX,
			 buf_cstr(&text));
	remote->sink.counts.rejected += rejected;
}

/* --- Sending --- */

static int send_pieces(struct remote *remote, const struct sink_window *window,
		       const struct sink_piece *pieces, size_t cnt, struct buf *why);

/* In two, the last of which may be of the only piece that there is. */
static int send_halves(struct remote *remote, const struct sink_window *window,
		       const struct sink_piece *pieces, size_t cnt, struct buf *why)
{
	struct sink_piece first, rest = pieces[0];
	int err;

	if (cnt > 1) {
		err = send_pieces(remote, window, pieces, cnt / 2, why);
		return err ? err
			   : send_pieces(remote, window, pieces + cnt / 2, cnt - cnt / 2, why);
	}
	sink_piece_halve(&rest, &first);
	err = send_pieces(remote, window, &first, 1, why);
	return err ? err : send_pieces(remote, window, &rest, 1, why);
}

/* As one request, or as several where it is too large. */
static int send_pieces(struct remote *remote, const struct sink_window *window,
		       const struct sink_piece *pieces, size_t cnt, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf body;
	_cleanup_(buf_deinit) struct buf answer;
	int err;

	buf_init(&body, BUF_NO_MAX);
	buf_init(&answer, BUF_NO_MAX);
	err = otlp_encode(window, pieces, cnt, remote->host_id, &body);
	if (err < 0)
		return err;
	if (body.len > REMOTE_BODY_BYTES && (cnt > 1 || pieces[0].row_cnt > 1))
		return send_halves(remote, window, pieces, cnt, why);
	/* Rows may be all of nothing. */
	if (!err)
		return 0;
	err = remote_post(remote, &body, &answer, why);
	if (!err)
		take_answer(remote, &answer);
	for (size_t i = 0; i < cnt && !err; i++)
		remote->sink.counts.rows += pieces[i].row_cnt;
	return err;
}

static int send_one(struct remote *remote, const struct sink_window *window, struct buf *why)
{
	_cleanup_(sink_pieces_deinit) struct sink_pieces pieces;
	int err = sink_pieces_init(&pieces, window, sink_label_is_series, SAMPLES_MAX);

	if (!err && pieces.cnt)
		err = send_pieces(remote, &pieces.window, pieces.items, pieces.cnt, why);
	return err;
}

static int send_windows(struct sink *sink, const struct sink_window *windows, size_t cnt,
			struct buf *why)
{
	return remote_send((struct remote *)sink, windows, cnt, send_one, why);
}

const struct sink_ops otlp_sink = {
	.is_url = is_url,
	.name = name_sink,
	.open = open_sink,
	.send = send_windows,
	.close = remote_close,
	.lost_told = "it can be told nowhere there",
};
