/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fleet's server answers to the questions that the fleet's store asks of it: the first byte
 * chooses which, and whether there are roll-ups, then come answers, each behind its length in two
 * bytes, in the order in which they are asked for. Whatever they are, the profile that comes of
 * them can be walked.
 */
#include <stdint.h>

#include "clickhouse/schema.h"
#include "fleet/fleet.h"
#include "fleet/fleet_symbols.h"
#include "fleet/fleet_unnamed.h"
#include "profile/profile.h"
#include "fuzz_answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOON_S = 1795176000, HOUR_S = 3600, POINTS = 7 };

static uint64_t walk(const struct profile *prof)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_stack *stack = &prof->stacks[prof->samples[i].stack];
		const struct profile_label_set *set = &prof->label_sets[prof->samples[i].label_set];

		for (uint32_t j = 0; j < stack->cnt; j++)
			sum += strlen(profile_location_name(
				prof, prof->stack_locations[stack->first + j], 0));
		for (uint32_t j = 0; j < set->cnt; j++)
			sum += strlen(profile_str(prof, prof->labels[set->first + j].str));
	}
	return sum;
}

static void read_profile(struct store_source *source, const struct store_query *query)
{
	struct store_coverage coverage;
	struct ledger ledger;
	struct profile prof;

	if (store_source_read(source, query, &prof, &ledger, &coverage))
		return;
	if (walk(&prof) == UINT64_MAX)
		abort();
	profile_deinit(&prof);
	ledger_deinit(&ledger);
}

static int tell_label(void *arg, const char *key, const char *value, int64_t total)
{
	return strlen(key) + strlen(value) == SIZE_MAX;
}

static int tell_series(void *arg, const char *name, const int64_t *points, size_t point_cnt)
{
	return point_cnt != POINTS;
}

static int tell_kind(void *arg, const char *name, const struct profile_value_type *types,
		     const struct profile *strings, uint32_t type_cnt, uint32_t default_type,
		     int64_t total)
{
	if (default_type >= type_cnt)
		abort();
	return 0;
}

/* What lacks names: read, and written back as it is. */
static void read_unnamed(void)
{
	const struct fleet_days days = fleet_days_of(0, UINT64_MAX);
	struct fleet_modules modules;
	struct fleet_unnamed unnamed;
	struct ch_client *client;

	if (ch_client_open("clickhouse://fake", NULL, &client, NULL))
		abort();
	if (!fleet_unnamed_modules(client, &days, &modules)) {
		if (!fleet_unnamed_read(client, &days, modules.items, modules.cnt, &unnamed)) {
			for (size_t i = 0; i < unnamed.prof.mapping_cnt; i++)
				unnamed.prof.mappings[i].flags = MAPPING_HAS_LINES;
			fleet_unnamed_write(client, &unnamed, modules.items, modules.cnt);
		}
		fleet_unnamed_deinit(&unnamed);
	}
	fleet_modules_deinit(&modules);
	ch_client_close(client);
}

/* Symbols that somebody has uploaded, or should. */
static void read_symbols(void)
{
	struct fleet_modules modules;
	struct ch_client *client;
	struct buf table;

	if (ch_client_open("clickhouse://fake", NULL, &client, NULL))
		abort();
	buf_init(&table, BUF_NO_MAX);
	if (!fleet_symbols_wanted(client, "names 1.1", &modules) && modules.cnt)
		fleet_symbols_get(client, modules.items[0].build_id, "names 1.1", &table);
	buf_deinit(&table);
	fleet_modules_deinit(&modules);
	ch_client_close(client);
}

static void ask(struct store_source *source, unsigned int which)
{
	static const char *const by[] = {"service", "comm", NULL};
	static const char *const by_service[] = {"service", NULL};
	static const struct store_match where[] = {{"service", "web*"}, {"host", "*a*"}};
	struct store_query query = {.from_ns = NOON_S * UINT64_C(1000000000),
				    .to_ns = (NOON_S + HOUR_S) * UINT64_C(1000000000) + 1};
	struct store_coverage coverage;
	struct ledger ledger;

	if (which & 16)
		query.by = by_service;
	if (which & 8) {
		query.where = where;
		query.where_cnt = 2;
	}
	switch (which & 7) {
	case 0:
		query.by = by;
		/* fall through */
	case 1:
		read_profile(source, &query);
		break;
	case 2:
		store_source_each_label(source, &query, tell_label, NULL);
		break;
	case 3:
		if (store_source_timeline(source, &query, "comm", "main", POINTS, tell_series,
					  NULL) > 0)
			abort();
		break;
	case 4:
		store_source_each_kind(source, query.from_ns, query.to_ns, tell_kind, NULL);
		break;
	case 6:
		read_symbols();
		break;
	case 7:
		read_unnamed();
		break;
	default:
		if (!store_source_ledger(source, &query, &ledger, &coverage))
			ledger_deinit(&ledger);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_source *source;
	struct buf why;

	if (!size)
		return 0;
	fake_answer = next_answer;
	fake_number = data[0] & 16 ? FLEET_SCHEMA_ROLLUPS : 1;
	buf_init(&why, BUF_NO_MAX);
	if (fleet_open("clickhouse://fake", &source, &why))
		abort();
	reader_init(&answers, data + 1, size - 1);
	ask(source, data[0]);
	store_source_close(source);
	buf_deinit(&why);
	return 0;
}
