/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/relay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "sink/fleet_fill.h"
#include "sink/pieces.h"
#include "sink/relay_message.h"
#include "sink/remote.h"

enum {
	MESSAGE_BYTES = 4 << 20, /* of rows: no window is begun behind them */
	STATUS_CONFLICT = 409, /* it was not told what this relies on */
	STATUS_TOO_LARGE = 413,
};

static const struct remote_kind kind = {
	RELAY_REMOTE_KIND,
	.path = RELAY_PATH,
	.is_packed = true,
};

struct to_relay {
	struct sink sink;
	struct remote *remote; /* owned */
	struct fleet_filler filler;
	struct fleet_blocks blocks;
	uint64_t epoch; /* of the spool that has what the filler knows; 0: none */
	uint64_t acked_seq; /* windows up to here were taken, since it was opened */
	char name[RELAY_NAME_MAX]; /* of the host, as its samples have it */
	bool is_alone; /* one window a message: more were too many */
};

static bool is_url(const char *url)
{
	return remote_is_url(&kind, url);
}

static int name_sink(const char *url, struct buf *out, struct buf *why)
{
	return remote_name(&kind, url, out, why);
}

static void close_sink(struct sink *sink)
{
	struct to_relay *relay = (struct to_relay *)sink;

	if (relay->remote)
		remote_close(&relay->remote->sink);
	fleet_blocks_deinit(&relay->blocks);
	fleet_filler_deinit(&relay->filler);
	free(relay);
}

static int open_sink(const char *url, const struct sink_opts *opts, struct sink **out,
		     struct buf *why)
{
	struct to_relay *relay = calloc(1, sizeof(*relay));
	struct sink *remote = NULL;
	struct utsname machine;
	int err;

	if (!relay)
		return -ENOMEM;
	fleet_filler_init(&relay->filler, opts->host_id);
	relay->filler.tells_all = true;
	if (!uname(&machine))
		snprintf(relay->name, sizeof(relay->name), "%s", machine.nodename);
	err = fleet_blocks_init(&relay->blocks);
	if (!err)
		err = remote_open(&kind, url, opts, &remote, why);
	relay->remote = (struct remote *)remote;
	if (err)
		close_sink(&relay->sink);
	else
		*out = &relay->sink;
	return err;
}

/* --- Messages --- */

/* What the host is called where the window's samples were taken. */
static void take_name(struct to_relay *relay, const struct sink_window *window)
{
	for (size_t i = 0; i < window->batch_cnt && !window->lost; i++) {
		const struct sink_batch *batch = &window->batches[i];
		const char *name;

		if (!batch->row_cnt)
			continue;
		name = sink_label_str(window->dict, batch->rows[0].label_set, "host");
		if (*name)
			snprintf(relay->name, sizeof(relay->name), "%s", name);
		return;
	}
}

static size_t bytes_of(const struct fleet_blocks *blocks)
{
	size_t sum = 0;

	for (size_t i = 0; i < FLEET_BLOCK_CNT; i++)
		sum += native_bytes(&blocks->of[i]);
	return sum;
}

/* As many of @windows as a message has, into the blocks: *@taken of them. */
static int fill(struct to_relay *relay, const struct sink_window *windows, size_t cnt,
		size_t *taken)
{
	int err = fleet_blocks_reset(&relay->blocks);

	for (*taken = 0; *taken < cnt && !err; ++*taken) {
		if (*taken && (relay->is_alone || bytes_of(&relay->blocks) >= MESSAGE_BYTES))
			break;
		take_name(relay, &windows[*taken]);
		err = fleet_fill(&relay->filler, NULL, &windows[*taken], 1, &relay->blocks);
	}
	return err;
}

static int take_answer(struct to_relay *relay, const struct buf *answer, struct buf *why)
{
	static const char stored[] = "stored ";
	const size_t stored_len = sizeof(stored) - 1;
	struct reader rd;
	uint64_t epoch = 0;

	reader_init(&rd, buf_cstr(answer), answer->len);
	for (size_t i = 0; i < stored_len; i++)
		if (!reader_accept(&rd, stored[i]))
			reader_fail(&rd);
	epoch = rd.err ? 0 : reader_number(&rd, 16);
	if (rd.err || !epoch) {
		buf_add_str(why, "what answers there is no relay of bpfprof");
		return -EPROTO;
	}
	relay->epoch = epoch;
	return 0;
}

/* Post the message of @windows, which are in the blocks. */
static int post(struct to_relay *relay, const struct sink_window *windows, size_t cnt,
		struct buf *why)
{
	struct relay_head head = {
		.epoch = relay->epoch,
		.first_seq = windows[0].seq,
		.last_seq = windows[cnt - 1].last_seq,
	};
	_cleanup_(buf_deinit) struct buf body;
	_cleanup_(buf_deinit) struct buf answer;
	int err;

	buf_init(&body, BUF_NO_MAX);
	buf_init(&answer, BUF_NO_MAX);
	memcpy(head.id, relay->filler.id, sizeof(head.id));
	memcpy(head.name, relay->name, sizeof(head.name));
	relay->remote->status = 0;
	err = relay_message_write(&head, &relay->blocks, &body);
	if (!err)
		err = remote_post(relay->remote, &body, &answer, why);
	return err ? err : take_answer(relay, &answer, why);
}

/* What a relay was told is not sure any more. */
static void forget(struct to_relay *relay)
{
	fleet_filler_forget(&relay->filler);
	relay->epoch = 0;
}

/* --- Sending --- */

/* The first of @windows, *@taken of them, as one message. */
static int send_some(struct to_relay *relay, const struct sink_window *windows, size_t cnt,
		     size_t *taken, struct buf *why)
{
	int err = fill(relay, windows, cnt, taken);

	if (err)
		return err;
	err = post(relay, windows, *taken, why);
	if (err != -EINVAL)
		return err;
	if (relay->remote->status == STATUS_CONFLICT && relay->epoch)
		return -ESTALE;
	if (relay->remote->status != STATUS_TOO_LARGE)
		return err;
	if (*taken == 1)
		return -EACCES;
	relay->is_alone = true;
	return -ESTALE;
}

static void take_counts(struct to_relay *relay, const struct sink_window *windows, size_t cnt)
{
	struct sink_counts *counts = &relay->sink.counts;

	for (size_t i = 0; i < cnt; i++)
		counts->windows += windows[i].window_cnt;
	for (size_t i = 0; i < FLEET_SAMPLES; i++)
		counts->dict_rows += relay->blocks.of[i].row_cnt;
	counts->rows += relay->blocks.of[FLEET_SAMPLES].row_cnt;
	relay->acked_seq = windows[cnt - 1].last_seq;
}

static int send_windows(struct sink *sink, const struct sink_window *windows, size_t cnt,
			struct buf *why)
{
	struct to_relay *relay = (struct to_relay *)sink;
	size_t at = 0, taken;
	int err = 0;

	while (at < cnt && windows[at].last_seq <= relay->acked_seq)
		at++;
	while (at < cnt && !err) {
		err = send_some(relay, windows + at, cnt - at, &taken, why);
		/* Again, and all is told. */
		while (err == -ESTALE) {
			forget(relay);
			buf_reset(why);
			err = send_some(relay, windows + at, cnt - at, &taken, why);
		}
		if (err)
			break;
		take_counts(relay, windows + at, taken);
		at += taken;
	}
	sink->counts.sent_bytes = relay->remote->sink.counts.sent_bytes;
	sink->retry_after_ns = relay->remote->sink.retry_after_ns;
	if (!err)
		return 0;
	forget(relay);
	if (err == -ENOMEM)
		buf_add_str(why, "no memory");
	else if (err == -ERANGE)
		buf_add_str(why, "its time is after 2106");
	return err == -ERANGE ? -EINVAL : err;
}

const struct sink_ops relay_sink = {
	.is_url = is_url,
	.name = name_sink,
	.open = open_sink,
	.send = send_windows,
	.close = close_sink,
	.lost_told = "the fleet's ledger says so",
};
