/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/fleet_fill.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"
#include "sink/pieces.h"

enum { ASKED_AT_ONCE = 4000 /* stacks: far below max_query_size */ };

/* A stack that the server may not have. */
struct fleet_candidate {
	uint16_t day;
	struct fleet_sample sample;
};

/* --- Samples and the ledger --- */

static bool is_equal(const void *owner, uint32_t index, const void *key)
{
	return true;
}

static int add_kind(struct fleet_filler *filler, uint64_t kind, const struct sink_batch *batch)
{
	if (hmap_find(&filler->kinds, kind, is_equal, NULL, NULL) != HMAP_NONE)
		return 0;
	fleet_add_kind(&filler->blocks->of[FLEET_KINDS], kind, batch);
	return hmap_insert(&filler->kinds, kind, 0);
}

static void add_host(struct fleet_filler *filler, const struct fleet_time *time, uint32_t label_set)
{
	if (filler->host_day == fleet_day(time))
		return;
	filler->host_day = fleet_day(time);
	fleet_add_host(&filler->blocks->of[FLEET_HOSTS], filler->names.host, filler->id,
		       sink_label_str(filler->names.dict, label_set, "host"),
		       clock_realtime_ns() / NSEC_PER_SEC);
}

/* Of what is not the host's own. */
static struct fleet_known *common(struct fleet_filler *filler)
{
	return filler->shared ? filler->shared : &filler->known;
}

/* What @sample names, as far as it is new on its day. */
static int note_entries(struct fleet_filler *filler, uint16_t day,
			const struct fleet_sample *sample)
{
	int is_new = fleet_known_add(&filler->known, day, FLEET_SOURCE, sample->src);

	if (is_new > 0)
		fleet_add_source(&filler->blocks->of[FLEET_SOURCES], &filler->names, day,
				 sample->label_set);
	if (is_new >= 0)
		is_new = fleet_known_add(common(filler), day, FLEET_STACK, sample->stack);
	if (is_new <= 0)
		return is_new;
	if (array_reserve(&filler->candidates, &filler->candidate_cap, filler->candidate_cnt + 1,
			  sizeof(*filler->candidates)))
		return -ENOMEM;
	filler->candidates[filler->candidate_cnt++] =
		(struct fleet_candidate){.day = day, .sample = *sample};
	return 0;
}

static int add_samples(struct fleet_filler *filler, const struct fleet_time *time, uint64_t kind,
		       const struct sink_batch *batch, struct fleet_sums *sums)
{
	const uint32_t value_cnt = batch->types->value_type_cnt;
	_cleanup_free_ struct fleet_sample *samples = NULL;
	_cleanup_free_ int64_t *values = NULL;
	size_t cnt = 0;
	int err = fleet_samples(&filler->names, batch, &samples, &values, &cnt);

	for (size_t i = 0; i < cnt && !err; i++) {
		const int64_t *row = values + i * value_cnt;

		add_host(filler, time, samples[i].label_set);
		fleet_add_sample(&filler->blocks->of[FLEET_SAMPLES], &filler->names, kind, time,
				 &samples[i], row, batch->types);
		for (uint32_t k = 0; k < value_cnt; k++)
			sums->values[k] += (uint64_t)row[k];
		err = note_entries(filler, fleet_day(time), &samples[i]);
	}
	sums->rows = cnt;
	sums->value_cnt = value_cnt;
	filler->rows += cnt;
	return err;
}

static int add_window(struct fleet_filler *filler, const struct sink_window *window)
{
	struct native_block *ledger = &filler->blocks->of[FLEET_BATCHES];
	struct fleet_sums all = {.rows = 0};
	struct fleet_time time;
	int err = fleet_time_of(window, &time);

	if (err)
		return err;
	for (size_t i = 0; i < window->batch_cnt && !window->lost && !err; i++) {
		const struct sink_batch *batch = &window->batches[i];
		const uint64_t kind = fleet_kind(batch);
		struct fleet_sums sums = {.rows = 0};

		err = kind ? add_kind(filler, kind, batch) : -ENOMEM;
		if (!err)
			err = add_samples(filler, &time, kind, batch, &sums);
		if (!err)
			fleet_add_batch(ledger, filler->names.host, &time, window, batch, kind,
					&sums);
		all.rows += sums.rows;
	}
	if (!err)
		fleet_add_batch(ledger, filler->names.host, &time, window, NULL, FLEET_WINDOW_KIND,
				&all);
	return err;
}

/* --- The dictionary --- */

/* SQL that asks which of @cnt candidates, all of one day, are there. */
static void add_question(struct fleet_filler *filler, const struct fleet_candidate *candidates,
			 size_t cnt, struct buf *sql)
{
	const struct profile *dict = filler->names.dict;
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
static int ask(struct fleet_filler *filler, const struct fleet_candidate *candidates, size_t cnt,
	       struct hmap *there)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, CH_ANSWER_MAX_BYTES);
	add_question(filler, candidates, cnt, &sql);
	err = sql.err ? sql.err : ch_client_query(filler->client, buf_cstr(&sql), &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd)) {
		const uint64_t stack = reader_u64(&rd);

		if (!rd.err && hmap_find(there, stack, is_equal, NULL, NULL) == HMAP_NONE)
			err = hmap_insert(there, stack, 0);
	}
	return err ? err : rd.err ? -EPROTO : 0;
}

/* The frames of the candidate's stack: told where the stack is new, known where it is there. */
static int add_frames(struct fleet_filler *filler, const struct fleet_candidate *candidate,
		      bool is_there)
{
	const struct profile *dict = filler->names.dict;
	const struct profile_stack *stack = &dict->stacks[candidate->sample.local_stack];

	for (uint32_t i = 0; i < stack->cnt; i++) {
		const uint32_t location = dict->stack_locations[stack->first + i];
		int is_new = fleet_known_add(common(filler), candidate->day, FLEET_FRAME,
					     fleet_frame(&filler->names, location));

		if (is_new < 0)
			return is_new;
		if (is_new && !is_there)
			fleet_add_frame(&filler->blocks->of[FLEET_FRAMES], &filler->names,
					candidate->day, location);
	}
	return 0;
}

static int add_stacks(struct fleet_filler *filler, const struct fleet_candidate *candidates,
		      size_t cnt)
{
	struct hmap there;
	int err;

	hmap_init(&there);
	err = filler->tells_all ? 0 : ask(filler, candidates, cnt, &there);
	/* Those that are there first: of what they have in common nothing is told. */
	for (int pass = 0; pass < 2 && !err; pass++)
		for (size_t i = 0; i < cnt && !err; i++) {
			const struct fleet_candidate *candidate = &candidates[i];
			const bool is_there = hmap_find(&there, candidate->sample.stack, is_equal,
							NULL, NULL) != HMAP_NONE;

			if (is_there != !pass)
				continue;
			err = add_frames(filler, candidate, is_there);
			if (!err && !is_there)
				fleet_add_stack(&filler->blocks->of[FLEET_STACKS], &filler->names,
						candidate->day, &candidate->sample);
		}
	hmap_deinit(&there);
	return err;
}

static int add_all_stacks(struct fleet_filler *filler)
{
	size_t cnt;
	int err = 0;

	for (size_t i = 0; i < filler->candidate_cnt && !err; i += cnt) {
		const struct fleet_candidate *first = &filler->candidates[i];

		cnt = 1;
		while (i + cnt < filler->candidate_cnt && cnt < ASKED_AT_ONCE &&
		       first[cnt].day == first->day)
			cnt++;
		err = add_stacks(filler, first, cnt);
	}
	return err;
}

/* Names that came after the samples, for the day of @window. */
static int add_late_names(struct fleet_filler *filler, const struct sink_window *window)
{
	const struct profile *dict = window->dict;
	struct fleet_time time;
	int err = fleet_time_of(window, &time);

	if (filler->late_generation != window->generation)
		filler->late_done = 0;
	filler->late_generation = window->generation;
	for (; filler->late_done < window->named_cnt && !err; filler->late_done++) {
		const uint32_t location = window->named[filler->late_done];

		if (!dict->locations[location].line_cnt)
			continue;
		err = fleet_known_add(common(filler), fleet_day(&time), FLEET_FRAME,
				      fleet_frame(&filler->names, location));
		err = err < 0 ? err : 0;
		fleet_add_frame(&filler->blocks->of[FLEET_FRAMES], &filler->names, fleet_day(&time),
				location);
	}
	return err;
}

/* --- The filler --- */

void fleet_filler_init(struct fleet_filler *filler, const char *host_id)
{
	*filler = (struct fleet_filler){.rows = 0};
	snprintf(filler->id, sizeof(filler->id), "%s", host_id);
	fleet_names_init(&filler->names, fleet_host(filler->id));
	fleet_known_init(&filler->known);
	hmap_init(&filler->kinds);
}

void fleet_filler_deinit(struct fleet_filler *filler)
{
	fleet_names_deinit(&filler->names);
	fleet_known_deinit(&filler->known);
	hmap_deinit(&filler->kinds);
	free(filler->candidates);
}

void fleet_filler_forget(struct fleet_filler *filler)
{
	fleet_known_forget(&filler->known);
	fleet_known_forget(common(filler));
	hmap_clear(&filler->kinds);
	filler->host_day = 0;
	filler->late_done = 0;
}

int fleet_fill(struct fleet_filler *filler, struct ch_client *client,
	       const struct sink_window *windows, size_t cnt, struct fleet_blocks *blocks)
{
	int err = 0;

	filler->client = client;
	filler->blocks = blocks;
	filler->candidate_cnt = 0;
	for (size_t i = 0; i < cnt && !err; i++) {
		if (!windows[i].lost)
			err = fleet_names_update(&filler->names, &windows[i]);
		if (!err)
			err = add_window(filler, &windows[i]);
	}
	if (!err)
		err = add_all_stacks(filler);
	for (size_t i = 0; i < cnt && !err; i++)
		if (!windows[i].lost)
			err = add_late_names(filler, &windows[i]);
	return err;
}

/* --- Blocks --- */

int fleet_blocks_init(struct fleet_blocks *blocks)
{
	int err = 0;

	*blocks = (struct fleet_blocks){0};
	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++)
		err = native_init(&blocks->of[i], &fleet_row_tables[i]);
	return err;
}

void fleet_blocks_deinit(struct fleet_blocks *blocks)
{
	for (size_t i = 0; i < FLEET_BLOCK_CNT; i++)
		native_deinit(&blocks->of[i]);
}

int fleet_blocks_reset(struct fleet_blocks *blocks)
{
	int err = 0;

	for (size_t i = 0; i < FLEET_BLOCK_CNT && !err; i++)
		err = native_reset(&blocks->of[i]);
	return err;
}

int fleet_blocks_insert(const struct fleet_blocks *blocks, struct ch_client *client,
			uint64_t *dict_rows)
{
	size_t at = 0;

	return fleet_blocks_insert_rest(blocks, client, &at, dict_rows);
}

int fleet_blocks_insert_rest(const struct fleet_blocks *blocks, struct ch_client *client,
			     size_t *at, uint64_t *dict_rows)
{
	int err = 0;

	for (; *at < FLEET_BLOCK_CNT; ++*at) {
		err = native_insert(&blocks->of[*at], client);
		if (err)
			break;
		if (*at < FLEET_SAMPLES)
			*dict_rows += blocks->of[*at].row_cnt;
	}
	return err;
}
