/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hmap.h"
#include "base/json.h"
#include "encode/encoder.h"
#include "sink/pieces.h"

enum { HASH_BYTES = 17, /* '~' and 16 digits */ UTC_BYTES = 17 };

void sink_object_init(struct sink_object *object)
{
	buf_init(&object->folder, BUF_NO_MAX);
	buf_init(&object->name, BUF_NO_MAX);
	buf_init(&object->data, BUF_NO_MAX);
	object->row_cnt = 0;
}

void sink_object_deinit(struct sink_object *object)
{
	buf_deinit(&object->folder);
	buf_deinit(&object->name);
	buf_deinit(&object->data);
}

static void forget(struct sink_object *object)
{
	buf_reset(&object->folder);
	buf_reset(&object->name);
	buf_reset(&object->data);
	object->row_cnt = 0;
}

uint32_t sink_store_id(const char *host_id)
{
	return (uint32_t)(hash_bytes(host_id, strlen(host_id)) >> 32);
}

/* --- Names --- */

static bool is_plain(char chr, bool is_first)
{
	return (chr >= 'a' && chr <= 'z') || (chr >= 'A' && chr <= 'Z') ||
	       (chr >= '0' && chr <= '9') || chr == '_' || chr == '-' || (chr == '.' && !is_first);
}

void sink_add_plain(struct buf *out, const char *name)
{
	const size_t begin = out->len;

	if (!*name)
		buf_add_str(out, "(none)");
	for (const char *chr = name; *chr; chr++) {
		if (is_plain(*chr, chr == name))
			buf_add_char(out, *chr);
		else
			buf_printf(out, "%%%02X", (unsigned char)*chr);
	}
	if (out->err || out->len - begin <= SINK_NAME_BYTES)
		return;
	out->len = begin + SINK_NAME_BYTES - HASH_BYTES;
	buf_printf(out, "~%016" PRIx64, hash_bytes(name, strlen(name)));
}

static void add_time(struct buf *out, uint64_t time_ns)
{
	char utc[UTC_BYTES];

	clock_format_utc(time_ns, utc);
	buf_add_str(out, utc);
}

/* @piece's in its folder. Batches of one kind differ in their types: each has a number
 * but the first. */
static void add_piece_name(uint32_t store_id, const struct sink_window *window,
			   const struct sink_piece *piece, struct buf *out)
{
	unsigned int before = 0;

	for (const struct sink_batch *batch = window->batches; batch < piece->batch; batch++)
		before += !strcmp(batch->kind, piece->batch->kind);
	add_time(out, window->start_ns);
	buf_add_char(out, '-');
	sink_add_plain(out, sink_label_str(window->dict, piece->label_set, "host"));
	buf_printf(out, "-%08" PRIx32 "-%" PRIu64, store_id, window->seq);
	if (before)
		buf_printf(out, ".%u", before);
	buf_add_str(out, ".pb.gz");
}

/* --- What they hold --- */

static int encode(const struct sink_window *window, const struct sink_piece *piece, struct buf *out)
{
	struct profile prof;
	int err = sink_piece_profile(window, piece, NULL, &prof);

	if (err)
		return err;
	err = encoder_pprof.encode(&prof, &(const struct encoder_opts){.by = NULL}, out);
	profile_deinit(&prof);
	return err;
}

static int make_piece(struct sink_object *object, const struct sink_window *window,
		      const struct sink_piece *piece, uint32_t store_id)
{
	struct buf *folder = &object->folder;

	forget(object);
	sink_add_plain(folder, sink_label_str(window->dict, piece->label_set, "service"));
	buf_add_char(folder, '/');
	sink_add_plain(folder, piece->batch->kind);
	add_piece_name(store_id, window, piece, &object->name);
	object->row_cnt = piece->row_cnt;
	return folder->err || object->name.err ? -ENOMEM : encode(window, piece, &object->data);
}

static void print_lost(const struct sink_window *window, struct buf *out)
{
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_kv_u64(&js, "start_ns", window->start_ns);
	json_kv_u64(&js, "end_ns", window->end_ns);
	json_kv_u64(&js, "windows", window->window_cnt);
	json_kv_u64(&js, "samples", window->lost_samples);
	json_kv_str(&js, "reason", window->lost);
	json_object_end(&js);
	buf_add_char(out, '\n');
}

static int make_lost(struct sink_object *object, const struct sink_window *window,
		     uint32_t store_id)
{
	forget(object);
	buf_add_str(&object->folder, "(lost)");
	add_time(&object->name, window->start_ns);
	buf_printf(&object->name, "-%08" PRIx32 "-%" PRIu64 ".json", store_id, window->seq);
	print_lost(window, &object->data);
	return object->folder.err || object->name.err || object->data.err ? -ENOMEM : 0;
}

int sink_put_objects(const struct sink_window *window, uint32_t store_id, sink_put_fn *put,
		     void *arg, struct sink_object *object)
{
	_cleanup_(sink_pieces_deinit) struct sink_pieces pieces = {.cnt = 0};
	int err;

	if (window->lost) {
		err = make_lost(object, window, store_id);
		return err ? err : put(arg, object);
	}
	err = sink_pieces_init(&pieces, window, sink_label_is_service, SIZE_MAX);
	for (size_t i = 0; i < pieces.cnt && !err; i++) {
		err = make_piece(object, &pieces.window, &pieces.items[i], store_id);
		if (!err)
			err = put(arg, object);
	}
	return err;
}
