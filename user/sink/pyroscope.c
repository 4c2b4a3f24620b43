/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/pyroscope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "encode/encoder.h"
#include "encode/protobuf.h"
#include "encode/text.h"
#include "sink/pieces.h"
#include "sink/remote.h"

enum {
	SAMPLES_MAX = 16000, /* of a profile */
	LABELS_MAX = 30, /* of a series */
	LABEL_VALUE_MAX = 2048, /* bytes */
	GZIP_SIZE_BYTES = 4, /* RFC 1952, ISIZE: at the end */
};

enum push_field { PUSH_SERIES = 1, SERIES_LABELS = 1, SERIES_SAMPLES = 2, SAMPLE_PROFILE = 1 };
enum label_pair_field { LABEL_NAME = 1, LABEL_VALUE = 2 };

/* A window that is being sent. */
struct push {
	struct remote *sink;
	const struct sink_window *window;
	struct buf body; /* what is not sent yet */
	struct buf *why;
};

static const char *const headers[] = {
	"Content-Type: application/proto",
	"Connect-Protocol-Version: 1",
	NULL,
};

static const struct remote_kind kind = {
	.scheme = "pyroscope",
	.user_variable = "PYROSCOPE_USER",
	.password_variable = "PYROSCOPE_PASSWORD",
	.path = "/push.v1.PusherService/Push",
	.headers = headers,
	.port = 4040,
	.may_pass = true,
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

/* --- Labels --- */

/* Of a series: the names that it has already. */
struct label_list {
	struct buf *out;
	struct buf names; /* each with a NUL behind it */
	size_t cnt;
};

static bool has_name(const struct label_list *list, const char *name)
{
	for (size_t at = 0; at < list->names.len; at += strlen(list->names.data + at) + 1)
		if (!strcmp(list->names.data + at, name))
			return true;
	return false;
}

static void add_label(struct label_list *list, const char *name, const char *value)
{
	const size_t len = strnlen(value, LABEL_VALUE_MAX);
	_cleanup_(buf_deinit) struct buf plain;
	size_t pair, text;

	buf_init(&plain, BUF_NO_MAX);
	sink_add_name(&plain, name);
	if (!len || list->cnt == LABELS_MAX || has_name(list, buf_cstr(&plain)))
		return;
	list->cnt++;
	buf_add(&list->names, buf_cstr(&plain), plain.len + 1);
	pair = pb_begin(list->out, SERIES_LABELS);
	pb_add_bytes(list->out, LABEL_NAME, plain.data, plain.len);
	text = pb_begin(list->out, LABEL_VALUE);
	text_add_utf8(list->out, value, len);
	pb_end(list->out, text);
	pb_end(list->out, pair);
}

static void add_labels(const struct push *push, const struct sink_piece *piece, struct buf *out)
{
	const struct profile *dict = push->window->dict;
	const struct profile_label_set *set = &dict->label_sets[piece->label_set];
	const char *service = sink_label_str(dict, piece->label_set, "service");
	const char *host = sink_label_str(dict, piece->label_set, "host");
	struct label_list list = {.out = out};

	buf_init(&list.names, BUF_NO_MAX);
	add_label(&list, "__name__",
		  strcmp(piece->batch->kind, "cpu") ? piece->batch->kind : "process_cpu");
	add_label(&list, "service_name", *service ? service : "unknown_service");
	add_label(&list, "host", *host ? host : push->sink->host_id);
	for (uint32_t i = set->first; i < set->first + set->cnt; i++) {
		const struct profile_label *label = &dict->labels[i];

		if (sink_label_is_series(dict, label) && !sink_label_is_service(dict, label))
			add_label(&list, profile_str(dict, label->key),
				  profile_str(dict, label->str));
	}
	if (list.names.err && !out->err)
		out->err = list.names.err;
	buf_deinit(&list.names);
}

/* --- Profiles --- */

static bool keep_none(const struct profile *dict, const struct profile_label *label)
{
	return false;
}

static int encode(struct push *push, const struct sink_piece *piece, struct buf *out)
{
	struct profile prof;
	int err = sink_piece_profile(push->window, piece, keep_none, &prof);

	if (err)
		return err;
	prof.time_ns += piece->place;
	err = encoder_pprof.encode(&prof, &(const struct encoder_opts){.by = NULL}, out);
	profile_deinit(&prof);
	return err;
}

/* How long what @gzip holds is. */
static uint32_t unpacked_bytes(const struct buf *gzip)
{
	struct reader rd;

	reader_init(&rd, gzip->data + gzip->len - GZIP_SIZE_BYTES, GZIP_SIZE_BYTES);
	return reader_u32(&rd);
}

static int post(struct push *push)
{
	_cleanup_(buf_deinit) struct buf answer;
	int err;

	buf_init(&answer, BUF_NO_MAX);
	err = remote_post(push->sink, &push->body, &answer, push->why);
	buf_reset(&push->body);
	return err;
}

static int add_profile(struct push *push, const struct sink_piece *piece, const struct buf *profile)
{
	struct buf *body = &push->body;
	size_t series, sample;
	int err = 0;

	if (body->len && body->len + profile->len > REMOTE_BODY_BYTES)
		err = post(push);
	if (err)
		return err;
	series = pb_begin(body, PUSH_SERIES);
	add_labels(push, piece, body);
	sample = pb_begin(body, SERIES_SAMPLES);
	pb_add_bytes(body, SAMPLE_PROFILE, profile->data, profile->len);
	pb_end(body, sample);
	pb_end(body, series);
	push->sink->sink.counts.rows += piece->row_cnt;
	return body->err;
}

/* Halves of it, where it is too large. */
static int add_piece(struct push *push, const struct sink_piece *piece)
{
	struct sink_piece first, rest = *piece;
	_cleanup_(buf_deinit) struct buf profile;
	int err;

	buf_init(&profile, BUF_NO_MAX);
	err = encode(push, piece, &profile);
	if (err)
		return err;
	if (unpacked_bytes(&profile) <= REMOTE_BODY_BYTES || piece->row_cnt == 1)
		return add_profile(push, piece, &profile);
	sink_piece_halve(&rest, &first);
	err = add_piece(push, &first);
	return err ? err : add_piece(push, &rest);
}

static int send_one(struct remote *remote, const struct sink_window *window, struct buf *why)
{
	_cleanup_(sink_pieces_deinit) struct sink_pieces pieces;
	struct push push = {.sink = remote, .window = &pieces.window, .why = why};
	int err = sink_pieces_init(&pieces, window, sink_label_is_series, SAMPLES_MAX);

	buf_init(&push.body, BUF_NO_MAX);
	for (size_t i = 0; i < pieces.cnt && !err; i++)
		err = add_piece(&push, &pieces.items[i]);
	if (!err && push.body.len)
		err = post(&push);
	buf_deinit(&push.body);
	return err;
}

static int send_windows(struct sink *sink, const struct sink_window *windows, size_t cnt,
			struct buf *why)
{
	return remote_send((struct remote *)sink, windows, cnt, send_one, why);
}

const struct sink_ops pyroscope_sink = {
	.is_url = is_url,
	.name = name_sink,
	.open = open_sink,
	.send = send_windows,
	.close = remote_close,
	.lost_told = "it can be told nowhere there",
};
