/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which code was at each of some thousand addresses for most of a window, in memory that depends on
 * the addresses alone. In the order of the file, each record ends what was at the addresses that it
 * covers and begins something new there; how long the old one was there within the window decides
 * whether it is remembered. What the records call the code is read at the end, for those only that
 * an address has remembered. The window is 100 to 200:
 *
 *	time	record		at address a		remembered for a
 *	 50	load f at a	f since 50
 *	130	load g at a	g since 130		f, 30
 *	250	load h at a	h since 250		g, 70 (to the end of the window)
 *	end						g: h was there for 0 of it
 *
 * A record may cover all the addresses: made so on purpose, a file costs records * addresses. The
 * deadline bounds that.
 */
#include "symbol/jitdump.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "symbol/addresses.h"
#include "symbol/jitdump_code.h"
#include "symbol/jitdump_records.h"

/* What an address goes through. */
struct dump_place {
	struct dump_code now;
	uint64_t since_ns;
	struct dump_code best;
	uint64_t best_ns; /* of the window */
};

/* Moved code that is to be named: its name is where it was loaded. */
struct dump_moved {
	uint64_t code_index;
	uint64_t move_off;
	size_t first, cnt; /* of the places */
	uint64_t load_off, debug_off; /* 0: not found yet */
};

struct dump_pass {
	const struct jitdump_query *query;
	struct dump_file file;
	struct dump_place *places; /* owned: one an address */
	uint64_t debug_off, debug_start; /* lines that wait for their code; 0: none */
	struct dump_moved *moved; /* owned: by code_index */
	size_t moved_cnt, moved_cap;
};

static void pass_deinit(struct dump_pass *pass)
{
	dump_file_close(&pass->file);
	free(pass->places);
	free(pass->moved);
}

/* What is at @place is over at @time_ns. */
static void end_code(const struct dump_pass *pass, struct dump_place *place, uint64_t time_ns)
{
	const struct jitdump_query *query = pass->query;
	uint64_t from = place->since_ns > query->start_ns ? place->since_ns : query->start_ns;
	uint64_t to = time_ns < query->end_ns ? time_ns : query->end_ns;

	if (!place->now.record_off || to <= from || to - from < place->best_ns)
		return;
	place->best = place->now;
	place->best_ns = to - from;
}

/* From @time_ns on @code is in @bytes bytes at @start. */
static void begin_code(struct dump_pass *pass, uint64_t start, uint64_t bytes, uint64_t time_ns,
		       const struct dump_code *code)
{
	const uint64_t *addresses = pass->query->addresses;
	size_t cnt = pass->query->cnt;
	size_t first, i;

	/* What comes behind the window ends nothing in it, whatever is written after that. */
	if (time_ns >= pass->query->end_ns)
		return;
	first = addresses_before(addresses, cnt, start);
	for (i = first; i < cnt && addresses[i] - start < bytes; i++) {
		struct dump_place *place = &pass->places[i];

		/* Threads write in another order than they look at the clock. */
		if (time_ns > place->since_ns) {
			end_code(pass, place, time_ns);
			place->since_ns = time_ns;
		}
		place->now = *code;
	}
	dump_file_is_late(&pass->file, i - first);
}

/* The lines that stand before the DUMP_LOAD of code at @start; 0: there are none. */
static uint64_t take_debug(struct dump_pass *pass, uint64_t start)
{
	uint64_t off = pass->debug_start == start ? pass->debug_off : 0;

	if (off)
		pass->debug_off = 0;
	return off;
}

static void note_debug(struct dump_pass *pass, const struct dump_record *record)
{
	struct reader rd = record->body;

	pass->debug_start = reader_u64(&rd);
	pass->debug_off = rd.err ? 0 : record->off;
}

/* A child that was forked may go on writing: of another's memory. */
static bool is_writers(const struct dump_pass *pass, uint32_t pid)
{
	return pid == pass->file.pid;
}

static void take_record(struct dump_pass *pass, const struct dump_record *record)
{
	static const struct dump_code nothing;
	uint64_t time_ns = pass->file.is_timeless ? 0 : record->time_ns;
	struct dump_code code = {.record_off = record->off};
	struct dump_load load;
	struct dump_move move;

	if (record->id == DUMP_DEBUG_INFO) {
		note_debug(pass, record);
	} else if (dump_record_load(record, &load) && is_writers(pass, load.pid)) {
		code.debug_off = take_debug(pass, load.start);
		code.start = load.start;
		begin_code(pass, load.start, load.bytes, time_ns, &code);
	} else if (dump_record_move(record, &move) && is_writers(pass, move.pid)) {
		code.is_moved = true;
		code.start = move.to;
		begin_code(pass, move.from, move.bytes, time_ns, &nothing);
		begin_code(pass, move.to, move.bytes, time_ns, &code);
	}
}

/* See what is at each address. 0 or negative errno. */
static int follow_places(struct dump_pass *pass)
{
	struct dump_record record;
	int err;

	while ((err = dump_file_next(&pass->file, &record)) > 0)
		take_record(pass, &record);
	for (size_t i = 0; i < pass->query->cnt && !err; i++) {
		struct dump_place *place = &pass->places[i];

		if (pass->file.is_timeless)
			place->best = place->now;
		else
			end_code(pass, place, UINT64_MAX);
	}
	return err;
}

static bool is_same_code(const struct dump_code *left, const struct dump_code *right)
{
	return left->record_off == right->record_off && left->start == right->start;
}

/* The places with the same code as place @first, from it on. */
static size_t run_length(const struct dump_pass *pass, size_t first)
{
	const struct dump_place *places = pass->places;
	size_t cnt = 1;

	while (first + cnt < pass->query->cnt &&
	       is_same_code(&places[first + cnt].best, &places[first].best))
		cnt++;
	return cnt;
}

static int moved_cmp(const void *left, const void *right)
{
	const struct dump_moved *lhs = left, *rhs = right;

	return (lhs->code_index > rhs->code_index) - (lhs->code_index < rhs->code_index);
}

/* The runs of places that moved code is in. */
static int collect_moved(struct dump_pass *pass)
{
	size_t cnt;

	for (size_t first = 0; first < pass->query->cnt; first += cnt) {
		const struct dump_code *code = &pass->places[first].best;
		struct dump_move move;

		cnt = run_length(pass, first);
		if (!code->is_moved || dump_code_move(&pass->file, code, &move))
			continue;
		if (array_reserve(&pass->moved, &pass->moved_cap, pass->moved_cnt + 1,
				  sizeof(*pass->moved)))
			return -ENOMEM;
		pass->moved[pass->moved_cnt++] = (struct dump_moved){
			.code_index = move.code_index,
			.move_off = code->record_off,
			.first = first,
			.cnt = cnt,
		};
	}
	if (pass->moved_cnt)
		qsort(pass->moved, pass->moved_cnt, sizeof(*pass->moved), moved_cmp);
	return 0;
}

/* The last load before a move is that of the code that has moved. */
static void take_moved_load(struct dump_pass *pass, const struct dump_record *record)
{
	struct dump_load load;
	uint64_t debug_off;
	size_t first, i;

	if (record->id == DUMP_DEBUG_INFO)
		note_debug(pass, record);
	if (!dump_record_load(record, &load) || !is_writers(pass, load.pid))
		return;
	debug_off = take_debug(pass, load.start);
	first = SEARCH_CNT(k, pass->moved_cnt, pass->moved[k].code_index < load.code_index);
	for (i = first; i < pass->moved_cnt && pass->moved[i].code_index == load.code_index; i++) {
		struct dump_moved *moved = &pass->moved[i];

		if (moved->move_off < record->off)
			continue;
		moved->load_off = record->off;
		moved->debug_off = debug_off;
	}
	dump_file_is_late(&pass->file, i - first);
}

/* Moved code is what was loaded under its index. */
static int find_moved(struct dump_pass *pass)
{
	struct dump_record record;
	int err = collect_moved(pass);

	if (err || !pass->moved_cnt)
		return err;
	dump_file_rewind(&pass->file);
	pass->debug_off = 0;
	while ((err = dump_file_next(&pass->file, &record)) > 0)
		take_moved_load(pass, &record);
	for (size_t i = 0; i < pass->moved_cnt; i++) {
		const struct dump_moved *moved = &pass->moved[i];

		for (size_t at = moved->first; at < moved->first + moved->cnt; at++) {
			pass->places[at].best.record_off = moved->load_off;
			pass->places[at].best.debug_off = moved->debug_off;
		}
	}
	return err;
}

static int name_places(struct dump_pass *pass, struct strtab *strings, struct jitdump_name *names)
{
	const uint64_t *addresses = pass->query->addresses;
	size_t cnt;

	for (size_t first = 0; first < pass->query->cnt; first += cnt) {
		int err;

		cnt = run_length(pass, first);
		err = dump_code_name(&pass->file, &pass->places[first].best, addresses + first, cnt,
				     strings, names + first);
		if (err)
			return err;
	}
	return 0;
}

int jitdump_read(int fd, const struct jitdump_query *query, struct strtab *strings,
		 struct jitdump_name *names, struct jitdump_stats *out)
{
	_cleanup_(pass_deinit) struct dump_pass pass = {.query = query};
	struct jitdump_stats stats;
	int err = dump_file_open(fd, query->deadline_ns, &pass.file);

	if (err)
		return err;
	pass.places = calloc(query->cnt + 1, sizeof(*pass.places));
	if (!pass.places)
		return -ENOMEM;
	err = follow_places(&pass);
	stats = pass.file.stats;
	if (!err)
		err = find_moved(&pass);
	if (!err)
		err = name_places(&pass, strings, names);
	if (!err)
		*out = stats;
	return err;
}
