/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "clickhouse/client.h"
#include "clickhouse/fleet_cluster.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"
#include "sink/fleet_known.h"
#include "sink/fleet_names.h"
#include "sink/fleet_rows.h"
#include "sink/pieces.h"

enum {
	HOST_ID_MAX = 64,
	TIMEOUT_MS = 120000, /* of an insert: servers that merge take their time */
	ASKED_AT_ONCE = 4000, /* stacks: far below max_query_size */
};

/* A stack that the server may not have. */
struct candidate {
	uint16_t day;
	struct fleet_sample sample;
};

struct fleet_sink {
	struct sink sink;
	struct ch_client *client; /* owned */
	char host_id[HOST_ID_MAX];
	struct fleet_names names;
	struct fleet_known known;
	struct hmap kinds; /* that the server has */
	uint16_t host_day; /* on which the host was told last */
	uint64_t late_generation, late_done; /* of the dictionary's late names: sent */
	struct native_block blocks[FLEET_BLOCK_CNT];
	struct candidate *candidates; /* owned */
	size_t candidate_cnt, candidate_cap;
	bool is_checked; /* the server's schema is ours */
	/*
	 * What the server says it has of the dictionary, it keeps. Of replicas only what was
	 * acknowledged is sure: one may show what an insert left there that came no further, and
	 * be lost. So nothing is asked until all that this sink sends has arrived once: each host
	 * that had a part in such a thing tells it again.
	 */
	bool is_sure;
};

static void sink_free(struct sink *sink)
{
	struct fleet_sink *fleet = (struct fleet_sink *)sink;

	for (size_t i = 0; i < FLEET_BLOCK_CNT; i++)
		native_deinit(&fleet->blocks[i]);
	fleet_names_deinit(&fleet->names);
	fleet_known_deinit(&fleet->known);
	hmap_deinit(&fleet->kinds);
	free(fleet->candidates);
	ch_client_close(fleet->client);
	free(fleet);
}

static int name_sink(const char *url, struct buf *out, struct buf *why)
{
	struct ch_url parsed;
	const char *reason;
	int err = ch_url_parse(url, &parsed, &reason);

	if (err)
		buf_add_str(why, reason);
	else
		ch_url_print(&parsed, out);
	return err;
}

static int open_sink(const char *url, const struct sink_opts *opts, struct sink **out,
		     struct buf *why)
{
	const struct http_opts http = {
		.timeout_ms = TIMEOUT_MS,
		.send_bytes_per_s = opts->bytes_per_s,
		.is_cancelled = opts->is_cancelled,
		.arg = opts->arg,
	};
	struct fleet_sink *fleet = calloc(1, sizeof(*fleet));
	const char *reason = NULL;
	int err;

	if (!fleet)
		return -ENOMEM;
	err = ch_client_open(url, &http, &fleet->client, &reason);
	if (err) {
		buf_add_str(why, err == -ENOSYS ? http_missing() : reason ? reason : "no memory");
		free(fleet);
		return err;
	}
	snprintf(fleet->host_id, sizeof(fleet->host_id), "%s", opts->host_id);
	fleet_names_init(&fleet->names, fleet_host(fleet->host_id));
	fleet_known_init(&fleet->known);
	hmap_init(&fleet->kinds);
	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++)
		err = native_init(&fleet->blocks[i], &fleet_row_tables[i]);
	if (err) {
		sink_free(&fleet->sink);
		return err;
	}
	*out = &fleet->sink;
	return 0;
}

/* --- From windows to rows --- */

static bool is_equal(const void *owner, uint32_t index, const void *key)
{
	return true;
}

static int add_kind(struct fleet_sink *fleet, uint64_t kind, const struct sink_batch *batch)
{
	if (hmap_find(&fleet->kinds, kind, is_equal, NULL, NULL) != HMAP_NONE)
		return 0;
	fleet_add_kind(&fleet->blocks[FLEET_KINDS], kind, batch);
	return hmap_insert(&fleet->kinds, kind, 0);
}

static void add_host(struct fleet_sink *fleet, const struct fleet_time *time, uint32_t label_set)
{
	if (fleet->host_day == fleet_day(time))
		return;
	fleet->host_day = fleet_day(time);
	fleet_add_host(&fleet->blocks[FLEET_HOSTS], fleet->names.host, fleet->host_id,
		       sink_label_str(fleet->names.dict, label_set, "host"),
		       clock_realtime_ns() / NSEC_PER_SEC);
}

/* What @sample names, as far as it is new on its day. */
static int note_entries(struct fleet_sink *fleet, uint16_t day, const struct fleet_sample *sample)
{
	int is_new = fleet_known_add(&fleet->known, day, FLEET_SOURCE, sample->src);

	if (is_new > 0)
		fleet_add_source(&fleet->blocks[FLEET_SOURCES], &fleet->names, day,
				 sample->label_set);
	if (is_new >= 0)
		is_new = fleet_known_add(&fleet->known, day, FLEET_STACK, sample->stack);
	if (is_new <= 0)
		return is_new;
	if (array_reserve(&fleet->candidates, &fleet->candidate_cap, fleet->candidate_cnt + 1,
			  sizeof(*fleet->candidates)))
		return -ENOMEM;
	fleet->candidates[fleet->candidate_cnt++] =
		(struct candidate){.day = day, .sample = *sample};
	return 0;
}

static int add_samples(struct fleet_sink *fleet, const struct fleet_time *time, uint64_t kind,
		       const struct sink_batch *batch, struct fleet_sums *sums)
{
	const uint32_t value_cnt = batch->types->value_type_cnt;
	_cleanup_free_ struct fleet_sample *samples = NULL;
	_cleanup_free_ int64_t *values = NULL;
	size_t cnt = 0;
	int err = fleet_samples(&fleet->names, batch, &samples, &values, &cnt);

	for (size_t i = 0; i < cnt && !err; i++) {
		const int64_t *row = values + i * value_cnt;

		add_host(fleet, time, samples[i].label_set);
		fleet_add_sample(&fleet->blocks[FLEET_SAMPLES], &fleet->names, kind, time,
				 &samples[i], row, value_cnt);
		for (uint32_t k = 0; k < value_cnt; k++)
			sums->values[k] += (uint64_t)row[k];
		err = note_entries(fleet, fleet_day(time), &samples[i]);
	}
	sums->rows = cnt;
	sums->value_cnt = value_cnt;
	fleet->sink.counts.rows += cnt;
	return err;
}

static int add_window(struct fleet_sink *fleet, const struct sink_window *window)
{
	struct native_block *ledger = &fleet->blocks[FLEET_BATCHES];
	struct fleet_sums all = {.rows = 0};
	struct fleet_time time;
	int err = fleet_time_of(window, &time);

	if (err)
		return err;
	for (size_t i = 0; i < window->batch_cnt && !window->lost && !err; i++) {
		const struct sink_batch *batch = &window->batches[i];
		const uint64_t kind = fleet_kind(batch);
		struct fleet_sums sums = {.rows = 0};

		err = kind ? add_kind(fleet, kind, batch) : -ENOMEM;
		if (!err)
			err = add_samples(fleet, &time, kind, batch, &sums);
		if (!err)
			fleet_add_batch(ledger, fleet->names.host, &time, window, batch, kind,
					&sums);
		all.rows += sums.rows;
	}
	if (!err)
		fleet_add_batch(ledger, fleet->names.host, &time, window, NULL, FLEET_WINDOW_KIND,
				&all);
	return err;
}

/* --- The dictionary --- */

/* SQL that asks which of @cnt candidates, all of one day, are there. */
static void add_question(struct fleet_sink *fleet, const struct candidate *candidates, size_t cnt,
			 struct buf *sql)
{
	const struct profile *dict = fleet->names.dict;
	uint32_t last = STRTAB_NONE;

	buf_printf(sql, "SELECT stack FROM stacks WHERE day = toDate(%u) AND service IN (",
		   candidates[0].day);
	for (size_t i = 0; i < cnt; i++) {
		const char *service = profile_str(dict, candidates[i].sample.service);

		if (candidates[i].sample.service == last)
			continue;
		if (last != STRTAB_NONE)
			buf_add_char(sql, ',');
		last = candidates[i].sample.service;
		ch_add_quoted(sql, service, strlen(service));
	}
	buf_add_str(sql, ") AND stack IN (");
	for (size_t i = 0; i < cnt; i++) {
		if (i)
			buf_add_char(sql, ',');
		buf_add_u64(sql, candidates[i].sample.stack);
	}
	buf_add_str(sql, ") FORMAT RowBinary");
}

/* The server's answer into @there. */
static int ask(struct fleet_sink *fleet, const struct candidate *candidates, size_t cnt,
	       struct hmap *there)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, CH_ANSWER_MAX_BYTES);
	add_question(fleet, candidates, cnt, &sql);
	err = sql.err ? sql.err : ch_client_query(fleet->client, buf_cstr(&sql), &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd)) {
		const uint64_t stack = reader_u64(&rd);

		if (!rd.err && hmap_find(there, stack, is_equal, NULL, NULL) == HMAP_NONE)
			err = hmap_insert(there, stack, 0);
	}
	return err ? err : rd.err ? -EPROTO : 0;
}

/* The frames of the candidate's stack: told where the stack is new, known where it is there. */
static int add_frames(struct fleet_sink *fleet, const struct candidate *candidate, bool is_there)
{
	const struct profile *dict = fleet->names.dict;
	const struct profile_stack *stack = &dict->stacks[candidate->sample.local_stack];

	for (uint32_t i = 0; i < stack->cnt; i++) {
		const uint32_t location = dict->stack_locations[stack->first + i];
		int is_new = fleet_known_add(&fleet->known, candidate->day, FLEET_FRAME,
					     fleet_frame(&fleet->names, location));

		if (is_new < 0)
			return is_new;
		if (is_new && !is_there)
			fleet_add_frame(&fleet->blocks[FLEET_FRAMES], &fleet->names, candidate->day,
					location);
	}
	return 0;
}

static int add_stacks(struct fleet_sink *fleet, const struct candidate *candidates, size_t cnt)
{
	struct hmap there;
	int err;

	hmap_init(&there);
	err = fleet->is_sure ? ask(fleet, candidates, cnt, &there) : 0;
	/* Those that are there first: of what they have in common nothing is told. */
	for (int pass = 0; pass < 2 && !err; pass++)
		for (size_t i = 0; i < cnt && !err; i++) {
			const struct candidate *candidate = &candidates[i];
			const bool is_there = hmap_find(&there, candidate->sample.stack, is_equal,
							NULL, NULL) != HMAP_NONE;

			if (is_there != !pass)
				continue;
			err = add_frames(fleet, candidate, is_there);
			if (!err && !is_there)
				fleet_add_stack(&fleet->blocks[FLEET_STACKS], &fleet->names,
						candidate->day, &candidate->sample);
		}
	hmap_deinit(&there);
	return err;
}

static int add_all_stacks(struct fleet_sink *fleet)
{
	size_t cnt;
	int err = 0;

	for (size_t i = 0; i < fleet->candidate_cnt && !err; i += cnt) {
		const struct candidate *first = &fleet->candidates[i];

		cnt = 1;
		while (i + cnt < fleet->candidate_cnt && cnt < ASKED_AT_ONCE &&
		       first[cnt].day == first->day)
			cnt++;
		err = add_stacks(fleet, first, cnt);
	}
	return err;
}

/* Names that came after the samples, for the day of @window. */
static int add_late_names(struct fleet_sink *fleet, const struct sink_window *window)
{
	const struct profile *dict = window->dict;
	struct fleet_time time;
	int err = fleet_time_of(window, &time);

	if (fleet->late_generation != window->generation)
		fleet->late_done = 0;
	fleet->late_generation = window->generation;
	for (; fleet->late_done < window->named_cnt && !err; fleet->late_done++) {
		const uint32_t location = window->named[fleet->late_done];

		if (!dict->locations[location].line_cnt)
			continue;
		err = fleet_known_add(&fleet->known, fleet_day(&time), FLEET_FRAME,
				      fleet_frame(&fleet->names, location));
		err = err < 0 ? err : 0;
		fleet_add_frame(&fleet->blocks[FLEET_FRAMES], &fleet->names, fleet_day(&time),
				location);
	}
	return err;
}

/* --- Sending --- */

static int insert(struct fleet_sink *fleet, enum fleet_block which)
{
	const struct native_block *block = &fleet->blocks[which];
	_cleanup_(buf_deinit) struct buf sql = {0};
	_cleanup_(buf_deinit) struct buf rows = {0};
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&rows, BUF_NO_MAX);
	if (!block->row_cnt)
		return 0;
	native_add_insert(block->table, &sql);
	err = native_encode(block, &rows);
	if (err || sql.err)
		return err ? err : sql.err;
	err = ch_client_insert(fleet->client, buf_cstr(&sql), rows.data, rows.len);
	if (!err && which < FLEET_SAMPLES)
		fleet->sink.counts.dict_rows += block->row_cnt;
	return err;
}

/* What has been told is not sure any more. */
static void forget(struct fleet_sink *fleet)
{
	fleet_known_forget(&fleet->known);
	hmap_clear(&fleet->kinds);
	fleet->host_day = 0;
	fleet->late_done = 0;
	fleet->is_checked = false;
}

static int fill(struct fleet_sink *fleet, const struct sink_window *windows, size_t cnt)
{
	int err = 0;

	fleet->candidate_cnt = 0;
	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++)
		err = native_reset(&fleet->blocks[i]);
	for (size_t i = 0; i < cnt && !err; i++) {
		if (!windows[i].lost)
			err = fleet_names_update(&fleet->names, &windows[i]);
		if (!err)
			err = add_window(fleet, &windows[i]);
	}
	if (!err)
		err = add_all_stacks(fleet);
	for (size_t i = 0; i < cnt && !err; i++)
		if (!windows[i].lost)
			err = add_late_names(fleet, &windows[i]);
	return err;
}

static int check(struct fleet_sink *fleet, struct buf *why)
{
	uint32_t replicas = 0;
	int err = fleet_schema_check(fleet->client, why);

	if (err)
		return err;
	err = fleet_cluster_use(fleet->client, &replicas);
	if (err)
		ch_client_explain(fleet->client, why);
	fleet->is_checked = !err;
	fleet->is_sure = replicas < 2;
	return err;
}

static int send_windows(struct sink *sink, const struct sink_window *windows, size_t cnt,
			struct buf *why)
{
	struct fleet_sink *fleet = (struct fleet_sink *)sink;
	int err = fleet->is_checked ? 0 : check(fleet, why);

	if (err)
		return err;
	err = fill(fleet, windows, cnt);
	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++)
		err = insert(fleet, (enum fleet_block)i);
	sink->counts.sent_bytes = ch_client_traffic(fleet->client).sent_bytes;
	if (!err) {
		fleet->is_sure = true;
		for (size_t i = 0; i < cnt; i++)
			sink->counts.windows += windows[i].window_cnt;
		return 0;
	}
	forget(fleet);
	if (err == -ENOMEM)
		buf_add_str(why, "no memory");
	else if (err == -ERANGE)
		buf_add_str(why, "its time is after 2106");
	else
		ch_client_explain(fleet->client, why);
	return err == -ERANGE ? -EINVAL : err;
}

const struct sink_ops clickhouse_sink = {
	.is_url = ch_url_is,
	.name = name_sink,
	.open = open_sink,
	.send = send_windows,
	.close = sink_free,
	.lost_told = "the fleet's ledger says so",
};
