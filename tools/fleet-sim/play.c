/* SPDX-License-Identifier: Apache-2.0 */
#include "play.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

enum { ROWS_AT_ONCE = 500000 /* a server takes a block of twice as many whole */ };

/* Rows of one table, ready to be sent. */
struct message {
	struct buf sql, packed;
};

struct sender {
	struct sim *sim; /* borrowed, as opts and client */
	const struct play_opts *opts;
	struct ch_client *client;
	size_t first, end; /* hosts */
	struct fleet_blocks blocks;
	struct fleet_known known; /* for all of them, where they are inserted together */
	struct message *messages; /* owned: of the burst */
	size_t message_cnt, message_cap;
	struct play_result result;
	uint64_t begun_ns, told_ns; /* CLOCK_MONOTONIC */
	int err;
};

/* --- Minutes that are sent as they come --- */

static uint64_t sent_bytes(const struct sender *sender)
{
	return ch_client_traffic(sender->client).sent_bytes;
}

static int send_blocks(struct sender *sender, struct play_wire *wire)
{
	int err = 0;

	/* In the order in which a sink sends them: the ledger last. */
	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++) {
		const uint64_t before = sent_bytes(sender);
		const bool is_dictionary = i < FLEET_SAMPLES;

		err = native_insert(&sender->blocks.of[i], sender->client);
		*(is_dictionary ? &wire->dictionary : &wire->samples) +=
			sent_bytes(sender) - before;
		if (is_dictionary)
			sender->result.dict_rows += sender->blocks.of[i].row_cnt;
	}
	return err;
}

/* What send_blocks() would send, to be sent later. */
static int keep_blocks(struct sender *sender)
{
	int err = 0;

	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++) {
		const struct native_block *block = &sender->blocks.of[i];
		_cleanup_(buf_deinit) struct buf rows = {0};
		struct message *message;

		if (!block->row_cnt)
			continue;
		err = array_reserve(&sender->messages, &sender->message_cap,
				    sender->message_cnt + 1, sizeof(*sender->messages));
		if (err)
			break;
		message = &sender->messages[sender->message_cnt++];
		buf_init(&rows, BUF_NO_MAX);
		buf_init(&message->sql, BUF_NO_MAX);
		buf_init(&message->packed, BUF_NO_MAX);
		native_add_insert(block->table, &message->sql);
		err = native_encode(block, &rows);
		if (!err)
			err = ch_client_pack(rows.data, rows.len, &message->packed);
		err = err ? err : message->sql.err;
		if (i < FLEET_SAMPLES)
			sender->result.dict_rows += block->row_cnt;
	}
	return err;
}

/* Send the blocks, or keep them (@wire is NULL), and begin anew. */
static int finish_blocks(struct sender *sender, struct play_wire *wire)
{
	const uint64_t begin_ns = clock_thread_cpu_ns();
	int err = wire ? send_blocks(sender, wire) : keep_blocks(sender);

	*(wire ? &sender->result.sending_ns : &sender->result.burst_packing_ns) +=
		clock_thread_cpu_ns() - begin_ns;
	return err ? err : fleet_blocks_reset(&sender->blocks);
}

static int play_minute(struct sender *sender, uint64_t minute, struct play_wire *wire)
{
	const struct sim_target target = {
		.client = sender->client,
		.blocks = &sender->blocks,
		.known = sender->opts->together > 1 ? &sender->known : NULL,
	};
	struct play_wire ignored = {0};
	uint64_t gathered = 0;
	int err = 0;

	for (size_t nr = sender->first; nr < sender->end && !err; nr++) {
		const uint64_t before = sent_bytes(sender);

		err = sim_fill(sender->sim, nr, minute, &target, &sender->result.filled);
		(wire ? wire : &ignored)->dictionary += sent_bytes(sender) - before;
		gathered++;
		if (err || (gathered < sender->opts->together && nr + 1 < sender->end &&
			    sender->blocks.of[FLEET_SAMPLES].row_cnt < ROWS_AT_ONCE))
			continue;
		err = finish_blocks(sender, wire);
		gathered = 0;
	}
	return err;
}

/* The others are about as far. */
static void tell_minute(struct sender *sender, uint64_t minute)
{
	const uint64_t now_ns = clock_monotonic_ns();
	const double rows = (double)(sender->result.filled.rows * sender->opts->sender_cnt);

	if (sender->first || now_ns - sender->told_ns < NSEC_PER_SEC)
		return;
	sender->told_ns = now_ns;
	log_info("minute %" PRIu64 " of %" PRIu64 ": about %.0f rows, %.0f/s", minute + 1,
		 sender->sim->opts.minute_cnt, rows,
		 rows * (double)NSEC_PER_SEC / (double)(now_ns - sender->begun_ns));
}

static uint64_t sent_minutes(const struct sender *sender)
{
	return sender->sim->opts.minute_cnt - sender->opts->burst_cnt;
}

static void *send_minutes(void *arg)
{
	struct sender *sender = arg;

	for (uint64_t minute = 0; minute < sent_minutes(sender) && !sender->err; minute++) {
		sender->err = play_minute(sender, minute,
					  minute ? &sender->result.later : &sender->result.first);
		tell_minute(sender, minute);
	}
	sender->result.sent_rows = sender->result.filled.rows;
	return NULL;
}

/* --- The burst --- */

static void *make_burst(void *arg)
{
	struct sender *sender = arg;

	for (uint64_t minute = sent_minutes(sender);
	     minute < sender->sim->opts.minute_cnt && !sender->err; minute++)
		sender->err = play_minute(sender, minute, NULL);
	sender->result.burst_rows = sender->result.filled.rows - sender->result.sent_rows;
	return NULL;
}

static void *send_burst(void *arg)
{
	struct sender *sender = arg;
	const uint64_t begin_ns = clock_thread_cpu_ns(), before = sent_bytes(sender);

	for (size_t i = 0; i < sender->message_cnt && !sender->err; i++)
		sender->err =
			ch_client_insert_packed(sender->client, buf_cstr(&sender->messages[i].sql),
						&sender->messages[i].packed);
	sender->result.burst_bytes = sent_bytes(sender) - before;
	sender->result.burst_sending_ns = clock_thread_cpu_ns() - begin_ns;
	return NULL;
}

/* --- All senders --- */

static int run_all(struct sender *senders, size_t cnt, void *(*run)(void *))
{
	pthread_t threads[SENDERS_MAX];
	size_t begun = 0;
	int err = 0;

	for (; begun < cnt && !err; begun += !err)
		err = -pthread_create(&threads[begun], NULL, run, &senders[begun]);
	for (size_t i = 0; i < begun; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < cnt && !err; i++)
		err = senders[i].err;
	return err;
}

static void add_wire(const struct play_wire *wire, struct play_wire *sum)
{
	sum->samples += wire->samples;
	sum->dictionary += wire->dictionary;
}

static void add_result(const struct play_result *one, struct play_result *sum)
{
	sum->filled.rows += one->filled.rows;
	sum->filled.samples += one->filled.samples;
	sum->filled.making_ns += one->filled.making_ns;
	sum->filled.filling_ns += one->filled.filling_ns;
	sum->dict_rows += one->dict_rows;
	add_wire(&one->first, &sum->first);
	add_wire(&one->later, &sum->later);
	sum->sending_ns += one->sending_ns;
	sum->sent_rows += one->sent_rows;
	sum->burst_rows += one->burst_rows;
	sum->burst_bytes += one->burst_bytes;
	sum->burst_packing_ns += one->burst_packing_ns;
	sum->burst_sending_ns += one->burst_sending_ns;
}

/* User + system CPU time of a process, 0 where there is none. */
static uint64_t cpu_of(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (!pid || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
		return 0;
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

static int run_senders(struct sender *senders, size_t cnt, struct play_result *out)
{
	const pid_t server = senders->opts->server;
	uint64_t begun_ns = clock_monotonic_ns(), before_ns = cpu_of(server);
	int err = run_all(senders, cnt, send_minutes);

	out->server_ns = cpu_of(server) - before_ns;
	out->elapsed_ns = clock_monotonic_ns() - begun_ns;
	if (!err)
		err = run_all(senders, cnt, make_burst);
	begun_ns = clock_monotonic_ns();
	before_ns = cpu_of(server);
	if (!err)
		err = run_all(senders, cnt, send_burst);
	out->burst_ns = clock_monotonic_ns() - begun_ns;
	out->burst_server_ns = cpu_of(server) - before_ns;
	for (size_t i = 0; i < cnt; i++)
		add_result(&senders[i].result, out);
	return err;
}

static void sender_deinit(struct sender *sender)
{
	fleet_blocks_deinit(&sender->blocks);
	fleet_known_deinit(&sender->known);
	for (size_t i = 0; i < sender->message_cnt; i++) {
		buf_deinit(&sender->messages[i].sql);
		buf_deinit(&sender->messages[i].packed);
	}
	free(sender->messages);
}

int play(struct sim *sim, const struct play_opts *opts, struct ch_client *const *clients,
	 struct play_result *out, const struct ch_client **failed)
{
	const size_t cnt = opts->sender_cnt;
	_cleanup_free_ struct sender *senders = calloc(cnt, sizeof(*senders));
	const uint64_t now_ns = clock_monotonic_ns();
	int err = 0;

	*out = (struct play_result){0};
	*failed = NULL;
	if (!senders)
		return -ENOMEM;
	for (size_t i = 0; i < cnt && !err; i++) {
		senders[i] = (struct sender){
			.sim = sim,
			.opts = opts,
			.client = clients[i],
			.first = sim->opts.host_cnt * i / cnt,
			.end = sim->opts.host_cnt * (i + 1) / cnt,
			.begun_ns = now_ns,
			.told_ns = now_ns,
		};
		fleet_known_init(&senders[i].known);
		err = fleet_blocks_init(&senders[i].blocks);
	}
	if (!err)
		err = run_senders(senders, cnt, out);
	for (size_t i = 0; i < cnt; i++) {
		if (senders[i].err && !*failed)
			*failed = clients[i];
		sender_deinit(&senders[i]);
	}
	return err;
}
