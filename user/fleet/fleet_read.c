/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A range of time as one profile. The server adds up by stack and by the labels that are kept;
 * stacks and frames are learnt once each; what comes of it is brought into the profile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "fleet/fleet_priv.h"
#include "profile/profile_import.h"

enum { KEYS_MAX = 64 /* labels that are kept */ };

/* Where all labels are kept, by (host, src); else by the labels' texts. */
struct row {
	uint64_t stack;
	uint32_t service; /* string of `names` */
	uint32_t labels; /* where all are kept: index into sources; else a label set of out */
};

struct reading {
	struct fleet_ask ask;
	struct profile *out;
	kind_values *value_at; /* owned: of each kind */
	struct strtab names; /* of services */
	struct hmap index;
	struct row *rows; /* owned */
	int64_t *values; /* owned: out->value_type_cnt of each row */
	size_t cnt, cap, value_cap;
	/* Where all labels are kept */
	struct source_id *sources; /* owned */
	size_t source_cnt, source_cap;
	struct hmap source_index;
	uint64_t lost_cnt; /* rows whose stack is not there */
};

static void reading_deinit(struct reading *reading)
{
	fleet_ask_deinit(&reading->ask);
	free(reading->value_at);
	strtab_deinit(&reading->names);
	hmap_deinit(&reading->index);
	free(reading->rows);
	free(reading->values);
	free(reading->sources);
	hmap_deinit(&reading->source_index);
}

static bool keeps_all(const struct reading *reading)
{
	return !reading->ask.query->by;
}

/* --- SQL --- */

static bool needs_sources(const struct store_query *query)
{
	for (const char *const *by = query->by; by && *by; by++)
		if (!fleet_is_column(*by))
			return true;
	return false;
}

static bool is_by(const struct store_query *query, const char *key)
{
	for (const char *const *by = query->by; by && *by; by++)
		if (!strcmp(*by, key))
			return true;
	return false;
}

/* ", EXPRESSION AS lN" of the labels that are no columns of samples. */
static void add_source_labels(const struct store_query *query, struct buf *sql)
{
	size_t nr = 0;

	for (const char *const *by = query->by; by && *by; by++, nr++) {
		if (fleet_is_column(*by))
			continue;
		buf_add_str(sql, ", ");
		fleet_add_label(*by, sql);
		buf_printf(sql, " AS l%zu", nr);
	}
}

/* The labels: those that are columns are made of the sums' keys, the others are keys. */
static void add_labels(const struct store_query *query, struct buf *sql)
{
	size_t nr = 0;

	for (const char *const *by = query->by; by && *by; by++, nr++) {
		buf_add_str(sql, ", ");
		if (fleet_is_column(*by))
			fleet_add_label(*by, sql);
		else
			buf_printf(sql, "l%zu", nr);
	}
}

/* Columns that rows are told apart by: none that is the same in all of them. */
static void add_columns(const struct fleet_ask *ask, bool has_pair, struct buf *sql)
{
	buf_add_str(sql, "stack");
	buf_add_str(sql, ask->service.len ? "" : ", service");
	buf_add_str(sql, ask->kinds.cnt == 1 ? "" : ", kind");
	buf_add_str(sql, is_by(ask->query, "version") ? ", version" : "");
	buf_add_str(sql, has_pair ? ", host, src" : "");
}

static void add_keys(const struct reading *reading, struct buf *sql)
{
	const struct store_query *query = reading->ask.query;
	size_t nr = 0;

	add_columns(&reading->ask, keeps_all(reading), sql);
	for (const char *const *by = query->by; by && *by; by++, nr++)
		if (!fleet_is_column(*by))
			buf_printf(sql, ", l%zu", nr);
}

/* Where rows of samples, or of sums, are read from. */
struct part {
	const struct fleet_hours *hours; /* of samples; NULL: of sums */
	const struct rollup_span *spans;
	size_t span_cnt;
};

/* Rows of samples, each with the labels of its source. */
static void add_joined(const struct fleet_ask *ask, const struct fleet_hours *hours,
		       struct buf *sql)
{
	buf_add_str(sql, "(SELECT ");
	add_columns(ask, true, sql);
	fleet_add_columns(ask, FLEET_STORED, sql);
	buf_add_str(sql, " FROM ");
	fleet_add_samples(ask, hours->first, hours->last, sql);
	buf_add_str(sql, ") AS a ANY LEFT JOIN (SELECT host, src");
	add_source_labels(ask->query, sql);
	buf_add_str(sql, " FROM sources WHERE 1");
	fleet_add_days(ask, sql);
	buf_add_str(sql, buf_cstr(&ask->services));
	buf_add_str(sql, ") AS s USING (host, src)");
}

/* Rows of (keys, s0, s1 ...). */
static void add_sums(const struct reading *reading, const struct part *part, struct buf *sql)
{
	const struct fleet_ask *ask = &reading->ask;
	const bool is_joined = needs_sources(ask->query);
	const enum fleet_rows rows = part->hours && !is_joined ? FLEET_STORED : FLEET_SELECTED;

	buf_add_str(sql, "SELECT ");
	add_keys(reading, sql);
	for (uint32_t i = 0; i < ask->value_cnt; i++) {
		buf_add_str(sql, ", sum(");
		fleet_add_value(ask, rows, i, sql);
		buf_printf(sql, ") AS s%u", i);
	}
	buf_add_str(sql, " FROM ");
	if (!part->hours)
		fleet_add_rolled(ask, part->spans, part->span_cnt, sql);
	else if (is_joined)
		add_joined(ask, part->hours, sql);
	else
		fleet_add_samples(ask, part->hours->first, part->hours->last, sql);
	buf_add_str(sql, " GROUP BY ");
	add_keys(reading, sql);
}

/*
 * Rows of (service, kind, stack, labels, sums). What they have in common, and labels that follow
 * from a key, are put to the sums, which are few: the rows that are added up are millions.
 */
static void add_question(const struct reading *reading, const struct part *part, struct buf *sql)
{
	const struct fleet_ask *ask = &reading->ask;

	if (ask->service.len)
		buf_printf(sql, "SELECT toString(%s AS service) AS svc, ", buf_cstr(&ask->service));
	else
		buf_add_str(sql, "SELECT toString(service) AS svc, ");
	if (ask->kinds.cnt == 1)
		buf_printf(sql, "toUInt64(%" PRIu64 ") AS kind", ask->kinds.items[0].id);
	else
		buf_add_str(sql, "kind");
	buf_add_str(sql, keeps_all(reading) ? ", stack, host, src" : ", stack");
	add_labels(ask->query, sql);
	for (uint32_t i = 0; i < ask->value_cnt; i++)
		buf_printf(sql, ", s%u", i);
	buf_add_str(sql, " FROM (");
	add_sums(reading, part, sql);
	buf_add_str(sql, ") AS q");
}

/* --- Rows --- */

/* The hash is the source, as good as: it is compared. */
static bool is_source(const void *owner, uint32_t index, const void *key)
{
	const struct reading *reading = owner;

	return !memcmp(&reading->sources[index], key, sizeof(struct source_id));
}

static uint32_t take_source(struct reading *reading, struct reader *rd)
{
	struct source_id source;
	uint64_t hash;
	uint32_t at;

	source.host = reader_u64(rd);
	source.src = reader_u64(rd);
	hash = hash_mix(hash_mix(0, source.host), source.src);
	at = hmap_find(&reading->source_index, hash, is_source, reading, &source);
	if (at != HMAP_NONE)
		return at;
	if (array_reserve(&reading->sources, &reading->source_cap, reading->source_cnt + 1,
			  sizeof(*reading->sources)) ||
	    hmap_insert(&reading->source_index, hash, (uint32_t)reading->source_cnt))
		return PROFILE_NONE;
	reading->sources[reading->source_cnt] = source;
	return (uint32_t)reading->source_cnt++;
}

static uint32_t take_labels(struct reading *reading, struct reader *rd)
{
	const char *const *by = reading->ask.query->by;
	struct profile_label labels[KEYS_MAX];
	size_t cnt = 0;

	for (; *by; by++)
		if (fleet_take_label(reading->out, *by, rd, &labels[cnt]))
			cnt++;
	return profile_labels(reading->out, labels, cnt);
}

static bool is_row(const void *owner, uint32_t index, const void *key)
{
	const struct row *row = &((const struct reading *)owner)->rows[index];
	const struct row *wanted = key;

	return row->stack == wanted->stack && row->labels == wanted->labels;
}

/* The sums of @row; NULL: no memory. */
static int64_t *sums_of(struct reading *reading, const struct row *row)
{
	const uint32_t columns = reading->out->value_type_cnt;
	const uint64_t hash = hash_mix(hash_mix(0, row->stack), row->labels);
	uint32_t at = hmap_find(&reading->index, hash, is_row, reading, row);

	if (at != HMAP_NONE)
		return reading->values + (size_t)at * columns;
	at = (uint32_t)reading->cnt;
	if (at == HMAP_NONE ||
	    array_reserve(&reading->rows, &reading->cap, (size_t)at + 1, sizeof(*reading->rows)) ||
	    array_reserve(&reading->values, &reading->value_cap, ((size_t)at + 1) * columns,
			  sizeof(*reading->values)) ||
	    hmap_insert(&reading->index, hash, at))
		return NULL;
	reading->rows[at] = *row;
	reading->cnt++;
	return memset(reading->values + (size_t)at * columns, 0, columns * sizeof(int64_t));
}

static const struct kind *find_kind(const struct kinds *kinds, uint64_t id)
{
	for (size_t i = 0; i < kinds->cnt; i++)
		if (kinds->items[i].id == id)
			return &kinds->items[i];
	return NULL;
}

static int read_row(struct reading *reading, struct reader *rd)
{
	const struct fleet_ask *ask = &reading->ask;
	size_t len;
	const char *service = rb_text(rd, &len);
	const struct kind *kind = find_kind(&ask->kinds, reader_u64(rd));
	struct row row = {.stack = reader_u64(rd)};
	const uint32_t *value_at;
	int64_t *sums;

	row.labels = keeps_all(reading) ? take_source(reading, rd) : take_labels(reading, rd);
	if (rd->err)
		return 0;
	if (!kind) {
		reader_fail(rd);
		return 0;
	}
	row.service = strtab_add(&reading->names, service, len);
	if (row.labels == PROFILE_NONE || row.service == STRTAB_NONE)
		return -ENOMEM;
	sums = sums_of(reading, &row);
	if (!sums)
		return -ENOMEM;
	value_at = reading->value_at[kind - ask->kinds.items];
	for (uint32_t i = 0; i < ask->value_cnt; i++) {
		int64_t value = (int64_t)reader_u64(rd);

		if (i < kind->types.value_type_cnt)
			sums[value_at[i]] = profile_value_sum(sums[value_at[i]], value);
	}
	return 0;
}

static int ask_part(struct reading *reading, const struct part *part)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct fleet *fleet = reading->ask.fleet;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	add_question(reading, part, &sql);
	err = fleet_query(fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		err = read_row(reading, &rd);
	return err ? err : fleet_read_end(fleet, &rd);
}

static int ask_spans(struct reading *reading, const struct rollup_spans *spans)
{
	int err = 0;

	for (size_t i = 0; i < spans->cnt && !err; i += FLEET_SPANS_MAX) {
		const size_t rest = spans->cnt - i;
		const struct part part = {
			.spans = spans->items + i,
			.span_cnt = rest < FLEET_SPANS_MAX ? rest : FLEET_SPANS_MAX,
		};

		err = ask_part(reading, &part);
	}
	return err;
}

static int ask_hours(void *arg, const struct fleet_hours *hours)
{
	const struct part part = {.hours = hours};

	return ask_part(arg, &part);
}

static void forget_rows(void *arg)
{
	struct reading *reading = arg;

	hmap_clear(&reading->index);
	reading->cnt = 0;
}

/* The hours that @rolled has not. Before any sums: they may have to be forgotten. */
static int ask_samples(struct reading *reading, const struct fleet_rolled *rolled)
{
	struct fleet_plan plan;
	int err = fleet_plan_init(&plan, &reading->ask, rolled);

	if (!err)
		err = fleet_parts_read(&reading->ask, &plan, ask_hours, forget_rows, reading);
	free(plan.items);
	return err;
}

/* *@is_good: the sums were not replaced meanwhile. */
static int ask_sums(struct reading *reading, const struct fleet_rolled *rolled, bool *is_good)
{
	int err = ask_spans(reading, &rolled->days);

	if (!err)
		err = ask_spans(reading, &rolled->hours);
	return err ? err : fleet_rolled_check(rolled, &reading->ask, is_good);
}

static int ask_rows(struct reading *reading)
{
	struct fleet_rolled rolled = {.hours = {.cnt = 0}};
	bool is_good = true;
	int err = 0;

	if (!keeps_all(reading) && !needs_sources(reading->ask.query))
		err = fleet_rolled_init(&rolled, &reading->ask);
	if (!err)
		err = ask_samples(reading, &rolled);
	if (!err)
		err = ask_sums(reading, &rolled, &is_good);
	if (!err && !is_good) {
		log_debug("fleet: roll-ups are being made anew: samples are read");
		fleet_rolled_deinit(&rolled);
		forget_rows(reading);
		err = ask_samples(reading, &rolled);
	}
	fleet_rolled_deinit(&rolled);
	return err;
}

/* --- The profile --- */

static int learn_stacks(struct reading *reading)
{
	_cleanup_free_ struct stack_id *stacks = calloc(reading->cnt + 1, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	for (size_t i = 0; i < reading->cnt; i++)
		stacks[i] = (struct stack_id){.id = reading->rows[i].stack,
					      .service = reading->rows[i].service};
	return fleet_dict_learn(&reading->ask, &reading->names, stacks, reading->cnt);
}

/* Label sets of the profile in the place of sources. */
static int learn_labels(struct reading *reading)
{
	_cleanup_free_ uint32_t *sets = calloc(reading->source_cnt + 1, sizeof(*sets));
	int err;

	if (!sets)
		return -ENOMEM;
	err = fleet_label_sets(&reading->ask, reading->sources, reading->source_cnt, reading->out,
			       sets);
	for (size_t i = 0; i < reading->cnt && !err; i++)
		reading->rows[i].labels = sets[reading->rows[i].labels];
	return err;
}

static uint32_t bring_stack(struct reading *reading, struct profile_import *import, uint64_t id)
{
	uint32_t stack = id_map_get(&reading->ask.fleet->dict.stacks, id), lost;

	if (stack != PROFILE_NONE)
		return profile_import_stack(import, stack);
	reading->lost_cnt++;
	lost = profile_named_location(reading->out, FLEET_LOST_STACK, LOCATION_SYNTHETIC);
	return profile_stack(reading->out, &lost, 1);
}

static int bring_samples(struct reading *reading)
{
	struct profile *out = reading->out;
	struct profile_import import;
	int err = profile_import_init(&import, out, &reading->ask.fleet->dict.prof);

	if (err)
		return err;
	for (size_t i = 0; i < reading->cnt && !out->err; i++)
		profile_sample(out, bring_stack(reading, &import, reading->rows[i].stack),
			       reading->rows[i].labels, reading->values + i * out->value_type_cnt);
	profile_import_deinit(&import);
	return out->err;
}

static int read_samples(struct reading *reading)
{
	size_t key_cnt = 0;
	int err;

	for (const char *const *by = reading->ask.query->by; by && *by; by++)
		key_cnt++;
	if (key_cnt > KEYS_MAX)
		return -E2BIG;
	reading->value_at = calloc(reading->ask.kinds.cnt, sizeof(*reading->value_at));
	if (!reading->value_at)
		return -ENOMEM;
	err = kinds_take_types(&reading->ask.kinds, reading->out, reading->value_at);
	if (err || reading->ask.is_empty)
		return err;
	err = ask_rows(reading);
	if (!err && keeps_all(reading))
		err = learn_labels(reading);
	if (!err)
		err = learn_stacks(reading);
	return err ? err : bring_samples(reading);
}

static int read_all(struct reading *reading, const struct store_query *query, struct ledger *ledger,
		    struct store_coverage *coverage)
{
	int err = fleet_ask_init(&reading->ask, reading->ask.fleet, query);

	if (!err)
		err = read_samples(reading);
	if (!err)
		err = fleet_coverage(&reading->ask, coverage);
	if (!err && ledger)
		err = fleet_ledgers(&reading->ask, coverage, ledger);
	if (err)
		return err;
	coverage->damaged_cnt += reading->lost_cnt;
	reading->out->time_ns = coverage->first_ns;
	reading->out->duration_ns = coverage->covered_ns;
	return 0;
}

int fleet_read(struct fleet *fleet, const struct store_query *query, struct profile *out,
	       struct ledger *ledger_out, struct store_coverage *coverage_out)
{
	struct store_coverage coverage = {0};
	struct ledger ledger;
	struct profile prof;
	struct reading reading = {.ask.fleet = fleet, .out = &prof};
	int err = profile_init(&prof);

	if (err)
		return err;
	ledger_init(&ledger);
	err = strtab_init(&reading.names);
	if (!err)
		err = read_all(&reading, query, ledger_out ? &ledger : NULL, &coverage);
	if (err && err != -ENOENT)
		fleet_fail(fleet, err);
	reading_deinit(&reading);
	if (err) {
		profile_deinit(&prof);
		ledger_deinit(&ledger);
		return err;
	}
	*out = prof;
	if (ledger_out)
		*ledger_out = ledger;
	if (coverage_out)
		*coverage_out = coverage;
	return 0;
}
