/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fleet's store share among themselves, and nobody else may use. */
#ifndef BPFPROF_FLEET_FLEET_PRIV_H
#define BPFPROF_FLEET_FLEET_PRIV_H

#include "base/hmap.h"
#include "base/reader.h"
#include "base/task.h"
#include "clickhouse/client.h"
#include "clickhouse/rollup.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"
#include "fleet/fleet.h"
#include "store/kinds.h"

enum {
	FLEET_ANSWER_BYTES_MAX = 256 << 20, /* of one answer of the server */
	FLEET_IDS_MAX = 8000, /* numbers in one statement: a server takes 256 KiB of one */
	FLEET_DICT_BYTES_MAX = 128 << 20, /* about; beyond it the next question begins anew */
};

/* Numbers of the fleet -> indices into columns here. */
struct id_map {
	struct hmap index;
	uint32_t *values; /* owned */
	size_t cnt, cap;
};

void id_map_deinit(struct id_map *map);
/* PROFILE_NONE: not there. */
uint32_t id_map_get(const struct id_map *map, uint64_t id);
/* Where in map->values it is; HMAP_NONE: not there. */
uint32_t id_map_find(const struct id_map *map, uint64_t id);
/* The same, and @id is added as PROFILE_NONE where it is not there; HMAP_NONE: no memory. */
uint32_t id_map_intern(struct id_map *map, uint64_t id);

/* Stacks and frames that were asked for before: a profile without samples. */
struct fleet_dict {
	struct profile prof;
	struct id_map stacks, frames;
	uint64_t since_ns; /* CLOCK_MONOTONIC; names may have come since; 0: there is none */
};

struct fleet {
	struct store_source source; /* first: its address is the fleet's */
	struct ch_client *client; /* owned */
	struct fleet *beside; /* owned: a connection for another thread; NULL: not needed yet */
	uint32_t version; /* of its schema */
	struct fleet_dict dict;
	struct fleet_dict names; /* frames with what a flame graph shows of them; no stacks */
	char logged[STORE_SOURCE_WHY_BYTES]; /* what was said last: once is enough */
};

static inline struct fleet *fleet_of(struct store_source *source)
{
	return (struct fleet *)source;
}

/* --- fleet.c --- */

/* Ask for @sql, to which " FORMAT RowBinary" is added; the answer's bytes come into @answer, which
 * is emptied before. 0 or negative errno. */
int fleet_query(struct fleet *fleet, struct buf *sql, struct buf *answer);

/* The same with @cnt numbers as table CH_IDS (ch_client_query_ids()). */
int fleet_query_ids(struct fleet *fleet, struct buf *sql, const uint64_t *ids, size_t cnt,
		    struct buf *answer);

/* The failure of a question: logged once, and left in source.why. Returns @err. */
int fleet_fail(struct fleet *fleet, int err);

/* @fleet on another connection, which one other thread may use: it asks and knows nothing. Borrowed
 * until @fleet is closed; NULL: there is none. */
struct fleet *fleet_beside(struct fleet *fleet);

/* What @beside failed with is what @fleet does; nothing where they are the same. */
void fleet_take_why(struct fleet *fleet, const struct fleet *beside, int err);

/* 0, or -EBADMSG: the answer was not what was asked for, which is told as the failure. */
int fleet_read_end(struct fleet *fleet, const struct reader *rd);

/* --- fleet_ask.c --- */

/* What a question is about, and as SQL. Hours and days are UTC. */
struct fleet_ask {
	struct fleet *fleet;
	const struct store_query *query;
	uint64_t from_ns, to_ns; /* [from, to) */
	uint32_t first_hour,
		last_hour; /* seconds since 1970, of the hours that have a part in it */
	struct kinds kinds;
	uint32_t value_cnt; /* the most columns that one of the kinds has */
	struct buf services; /* of samples: " AND service IN (...)", "": all */
	struct buf service; /* that all of these samples have, as a literal; "": several */
	struct buf sources; /* of samples: " AND (host, src) IN (...)", "": all */
	struct buf parts; /* of samples: names, as literals, that are read without FINAL */
	size_t part_cnt; /* of these; 0: all are read, with it */
	bool needs_sources; /* whether a sample is asked for depends on its host's labels */
	bool is_empty; /* no source has the labels that are asked for */
};

/* 0; -ENOENT: the kind was never stored; or negative errno. Release with fleet_ask_deinit() in
 * either case. */
int fleet_ask_init(struct fleet_ask *ask, struct fleet *fleet, const struct store_query *query);
void fleet_ask_deinit(struct fleet_ask *ask);

/* The kinds called @name (NULL: all) by name. 0 or negative errno; release with kinds_deinit() in
 * either case. */
int fleet_read_kinds(struct fleet *fleet, const char *name, struct kinds *out);

/* The range alone, for what is asked of no kind. */
void fleet_ask_range(struct fleet_ask *ask, struct fleet *fleet, uint64_t from_ns, uint64_t to_ns);

/* Append " AND day >= ... AND day <= ...". */
void fleet_add_days(const struct fleet_ask *ask, struct buf *sql);

/* Append "batches WHERE ...": the rows of complete windows in the range, of @last_hour too. */
void fleet_add_windows(const struct fleet_ask *ask, uint32_t first_hour, uint32_t last_hour,
		       struct buf *sql);

/* Append "kind IN (...)". */
void fleet_add_kinds(const struct fleet_ask *ask, struct buf *sql);

/* Append "samples FINAL WHERE ...", or "samples WHERE ..." of ask->parts: the rows of the services
 * that are asked for, of these hours; ... */
void fleet_add_rows(const struct fleet_ask *ask, uint32_t first_hour, uint32_t last_hour,
		    struct buf *sql);
/* ... of the sources, too, and of complete windows in the range. */
void fleet_add_samples(const struct fleet_ask *ask, uint32_t first_hour, uint32_t last_hour,
		       struct buf *sql);

/* Rows of samples as they are stored, or as fleet_add_columns() has selected them. */
enum fleet_rows { FLEET_STORED, FLEET_SELECTED };

/* Append the expression of value @column: "n", "v[1]". */
void fleet_add_value(const struct fleet_ask *ask, enum fleet_rows rows, uint32_t column,
		     struct buf *sql);

/* Append ", n, v1 ..., v": the columns that the values are in, selected from @rows. */
void fleet_add_columns(const struct fleet_ask *ask, enum fleet_rows rows, struct buf *sql);

/* Append an expression: the sum of the default value, whichever kind a row is of. */
void fleet_add_default_sum(const struct fleet_ask *ask, enum fleet_rows rows, struct buf *sql);

/* Is label @key a column of its own in samples and sources? */
bool fleet_is_column(const char *key);

/* Append the expression of label @key of a row of samples (a column's) or sources: "" where there
 * is none, else '=' and its text. */
void fleet_add_label(const char *key, struct buf *sql);

/* Hours that are asked for at once: at most about FLEET_WINDOWS_MAX windows, whose keys the server
 * holds meanwhile. */
enum { FLEET_WINDOWS_MAX = 1 << 20 };

struct fleet_hours {
	uint32_t first, last;
};

struct fleet_plan {
	struct fleet_hours *items; /* owned */
	size_t cnt, cap;
};

struct fleet_rolled;

/* The parts of the range that have windows, without the hours of @rolled (NULL: none). 0 or
 * negative errno; release with free(plan->items). */
int fleet_plan_init(struct fleet_plan *plan, const struct fleet_ask *ask,
		    const struct fleet_rolled *rolled);

/* --- fleet_parts.c --- */

/* Read samples of some hours. 0 or negative errno. */
typedef int fleet_hours_fn(void *arg, const struct fleet_hours *hours);

/*
 * Call @read for each hours of @plan, with ask->parts set where FINAL is not needed. What was read
 * may turn out to be no good: then @forget is to drop all of it, and it is read once more. 0 or
 * negative errno.
 */
int fleet_parts_read(struct fleet_ask *ask, const struct fleet_plan *plan, fleet_hours_fn *read,
		     void (*forget)(void *arg), void *arg);

/* --- fleet_rolled.c --- */

enum { FLEET_SPANS_MAX = 1000 /* in one question */ };

/* What is read as sums. */
struct fleet_rolled {
	struct rollup_spans hours, days;
};

/* Find them; none where hosts' labels are asked for. 0 or negative errno; release with
 * fleet_rolled_deinit() in either case. */
int fleet_rolled_init(struct fleet_rolled *rolled, const struct fleet_ask *ask);
/* The same by what is done alone: fleet_rolled_confirm() has to tell whether the ledger agrees. */
int fleet_rolled_expect(struct fleet_rolled *rolled, const struct fleet_ask *ask);
/* Into *@is_good: are @rolled's sums made of what the ledger has in @ask's range, and of all that
 * it has in whole hours? 0 or negative errno. */
int fleet_rolled_confirm(const struct fleet_rolled *rolled, const struct fleet_ask *ask,
			 bool *is_good);
void fleet_rolled_deinit(struct fleet_rolled *rolled);

/* Is the hour that begins at @hour_s among them? */
bool fleet_rolled_has(const struct fleet_rolled *rolled, uint32_t hour_s);

/* Append "kind IN (...) AND h ...": what rows of sums or trees are asked for, of @cnt (at least
 * one) spans of one length. */
void fleet_add_spans(const struct fleet_ask *ask, const struct rollup_span *spans, size_t cnt,
		     struct buf *sql);

/* Append "rollup_1h FINAL WHERE ...": the rows that are asked for, of @cnt (at least one) spans of
 * one length. */
void fleet_add_rolled(const struct fleet_ask *ask, const struct rollup_span *spans, size_t cnt,
		      struct buf *sql);

/* *@is_good: what was read of them since is what they were found to be. 0 or negative errno. */
int fleet_rolled_check(const struct fleet_rolled *rolled, const struct fleet_ask *ask,
		       bool *is_good);

/* --- fleet_match.c --- */

/* Fill ask->services, ask->sources and ask->is_empty by query->where. 0 or negative errno. */
int fleet_match(struct fleet_ask *ask);

/* --- fleet_dict.c --- */

/* What stands where the fleet has no such stack, or frame. */
#define FLEET_LOST_STACK "[stack is not in the store]"
#define FLEET_LOST_FRAME "[frame is not in the store]"

/* A stack as samples name it. */
struct stack_id {
	uint64_t id;
	uint32_t service; /* string of the names */
};

enum { FLEET_LINES_MAX = 1 << 12 /* inlined calls of a frame */ };

/* Names of a frame's lines, column by column; each column is as long as the first. */
struct fleet_lines {
	struct profile_function functions[FLEET_LINES_MAX];
	struct profile_line items[FLEET_LINES_MAX];
	size_t cnt;
};

#define FLEET_FRAME_COLUMNS                                                          \
	"frame, flags, path, build_id, address, names, system_names, files, lines, " \
	"start_lines"

/* The frame of these columns as a location of @prof, with its lines, and its number. @lines is
 * scratch. PROFILE_NONE: an error of @rd, or of @prof. */
uint32_t fleet_take_frame(struct reader *rd, struct profile *prof, struct fleet_lines *lines,
			  uint64_t *id);

/* Learn the @cnt stacks, which are reordered, and their frames; @names are of their services. 0 or
 * negative errno. */
int fleet_dict_learn(struct fleet_ask *ask, const struct strtab *names, struct stack_id *stacks,
		     size_t cnt);
void fleet_dict_deinit(struct fleet_dict *dict);

/* In the place of a frame's location: it is being asked for. */
#define FLEET_WANTED ((uint32_t)PROFILE_NONE - 1)

/* The location of the frame at @place of dict->frames, or what stands for one that is not there;
 * PROFILE_NONE: dict->prof.err. */
uint32_t fleet_location_at(struct fleet_dict *dict, uint32_t place);

/* Begin @dict anew where it is old, or has become much. 0 or -ENOMEM. */
int fleet_dict_refresh(struct fleet_dict *dict);

/* Learn, into fleet->names, what a flame graph shows of the @cnt frames. 0 or negative errno. */
int fleet_learn_names(struct fleet_ask *ask, const uint64_t *frames, size_t cnt);

/* --- fleet_labels.c --- */

/* A source as samples name it. */
struct source_id {
	uint64_t host, src;
};

/* Label @key as the server tells it (fleet_add_label()), in *@out. False: there is none. */
bool fleet_take_label(struct profile *prof, const char *key, struct reader *rd,
		      struct profile_label *out);

/* All labels of the @cnt @sources, as label sets of @prof, into @sets. 0 or negative errno. */
int fleet_label_sets(const struct fleet_ask *ask, const struct source_id *sources, size_t cnt,
		     struct profile *prof, uint32_t *sets);

/* --- The questions; see store.h. Failures are the caller's to tell. --- */

int fleet_read(struct fleet *fleet, const struct store_query *query, struct profile *out,
	       struct ledger *ledger_out, struct store_coverage *coverage_out);
int fleet_calls(struct fleet *fleet, const struct store_query *query, const char *value,
		struct profile_calls *out, struct ledger *ledger_out,
		struct store_coverage *coverage_out);
int fleet_each_label(struct fleet *fleet, const struct store_query *query, store_label_fn *fn,
		     void *arg);
int fleet_timeline(struct fleet *fleet, const struct store_query *query, const char *by,
		   const char *function, size_t point_cnt, store_series_fn *fn, void *arg);
int fleet_each_kind(struct fleet *fleet, uint64_t from_ns, uint64_t to_ns, store_kind_fn *fn,
		    void *arg);
int fleet_coverage(const struct fleet_ask *ask, struct store_coverage *out);

/* fleet_ledger.c: the sum of the ledgers of the range. */
int fleet_ledgers(const struct fleet_ask *ask, struct store_coverage *coverage, struct ledger *out);

/* --- fleet_books.c --- */

/* Both of them, asked for by a thread, once the ledger agrees with the sums that are read. */
struct fleet_books {
	struct fleet *fleet;
	const struct fleet_rolled *rolled; /* borrowed */
	struct fleet_ask ask; /* of fleet_beside(), of the range alone */
	struct store_coverage coverage;
	struct ledger ledger; /* owned */
	bool has_ledger;
	struct task task; /* without a thread fleet_books_end() asks */
	int err;
};

/*
 * Begin to ask whether @rolled, which stays until the end, is good (fleet_rolled_confirm()), for
 * what is covered of @ask's range, and for its ledgers where @has_ledger. Nothing fails before the
 * end. Release with fleet_books_deinit(), which may have to wait.
 */
void fleet_books_begin(struct fleet_books *books, const struct fleet_ask *ask,
		       const struct fleet_rolled *rolled, bool has_ledger);
/* Wait for the answers: 0, and @coverage is set, and @ledger, *owned* by the caller, where it was
 * asked for; -ENOTSUP: @rolled is no good; or another negative errno. Once. */
int fleet_books_end(struct fleet_books *books, struct store_coverage *coverage,
		    struct ledger *ledger);
void fleet_books_deinit(struct fleet_books *books);

#endif
