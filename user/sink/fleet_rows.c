/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/fleet_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "clickhouse/fleet_frame.h"
#include "clickhouse/schema.h"

enum { SECONDS_PER_MINUTE = 60, SECONDS_PER_HOUR = 3600 };

#define VALUES                                                                         \
	{"n", NATIVE_I64}, {"v1", NATIVE_I64}, {"v2", NATIVE_I64}, {"v3", NATIVE_I64}, \
	{                                                                              \
		"v", NATIVE_I64_ARRAY                                                  \
	}

static const struct native_column kind_columns[] = {
	{"kind", NATIVE_U64},	      {"name", NATIVE_TEXT},	    {"types", NATIVE_TEXT_ARRAY},
	{"units", NATIVE_TEXT_ARRAY}, {"default_value", NATIVE_U8}, {"period_type", NATIVE_TEXT},
	{"period_unit", NATIVE_TEXT}, {"period", NATIVE_I64},	    {"event", NATIVE_TEXT},
};

static const struct native_column host_columns[] = {
	{"host", NATIVE_U64},
	{"id", NATIVE_TEXT},
	{"name", NATIVE_TEXT},
	{"seen", NATIVE_DATETIME},
};

static const struct native_column stack_columns[] = {
	{"day", NATIVE_DATE},
	{"service", NATIVE_WORD},
	{"stack", NATIVE_U64},
	{"frames", NATIVE_U64_ARRAY},
};

static const struct native_column source_columns[] = {
	{"day", NATIVE_DATE},	     {"host", NATIVE_U64},     {"src", NATIVE_U64},
	{"service", NATIVE_WORD},    {"version", NATIVE_WORD}, {"keys", NATIVE_TEXT_ARRAY},
	{"vals", NATIVE_TEXT_ARRAY},
};

static const struct native_column sample_columns[] = {
	{"service", NATIVE_WORD},
	{"version", NATIVE_WORD},
	{"kind", NATIVE_U64},
	{"h", NATIVE_DATETIME},
	{"stack", NATIVE_U64},
	{"src", NATIVE_U64},
	{"second", NATIVE_U8},
	{"host", NATIVE_U64},
	{"minute", NATIVE_U8},
	{"lead", NATIVE_U32},
	VALUES,
	{"unit", NATIVE_I64},
};

static const struct native_column batch_columns[] = {
	{"h", NATIVE_DATETIME},	    {"host", NATIVE_U64},
	{"kind", NATIVE_U64},	    {"seq", NATIVE_U64},
	{"last_seq", NATIVE_U64},   {"prev_seq", NATIVE_U64},
	{"start_ns", NATIVE_U64},   {"end_ns", NATIVE_U64},
	{"covered_ns", NATIVE_U64}, {"windows", NATIVE_U64},
	{"boot_id", NATIVE_TEXT},   {"instance", NATIVE_U64},
	{"epoch", NATIVE_U64},	    {"last_epoch", NATIVE_U64},
	{"rows", NATIVE_U64},	    VALUES,
	{"recorded", NATIVE_U64},   {"lost", NATIVE_U64},
	{"never_ran", NATIVE_U64},  {"lost_samples", NATIVE_U64},
	{"reason", NATIVE_TEXT},    {"ledger", NATIVE_TEXT},
	{"agent", NATIVE_TEXT},
};

#define TABLE(table_name, columns)                                        \
	{                                                                 \
		table_name, columns, sizeof(columns) / sizeof(*(columns)) \
	}

const struct native_table fleet_row_tables[FLEET_BLOCK_CNT] = {
	[FLEET_KINDS] = TABLE("kinds", kind_columns),
	[FLEET_HOSTS] = TABLE("hosts", host_columns),
	[FLEET_FRAMES] = TABLE("frames", fleet_frame_columns),
	[FLEET_STACKS] = TABLE("stacks", stack_columns),
	[FLEET_SOURCES] = TABLE("sources", source_columns),
	[FLEET_SAMPLES] = TABLE("samples", sample_columns),
	[FLEET_BATCHES] = TABLE("batches", batch_columns),
};

int fleet_time_of(const struct sink_window *window, struct fleet_time *out)
{
	const uint64_t start_s = window->start_ns / NSEC_PER_SEC;
	/* What is left of a tombstone may begin before its windows did. */
	const uint64_t second = start_s < window->seq ? start_s : window->seq;

	if (second > UINT32_MAX || window->seq - second > UINT32_MAX)
		return -ERANGE;
	out->second = (uint8_t)(second % SECONDS_PER_MINUTE);
	out->minute = (uint8_t)(second % SECONDS_PER_HOUR / SECONDS_PER_MINUTE);
	out->h = (uint32_t)(second - second % SECONDS_PER_HOUR);
	out->lead = (uint32_t)(window->seq - second);
	return 0;
}

/* --- Samples --- */

static int compare_samples(const void *left_ptr, const void *right_ptr)
{
	const struct fleet_sample *left = left_ptr, *right = right_ptr;

	if (left->service != right->service)
		return left->service < right->service ? -1 : 1;
	if (left->version != right->version)
		return left->version < right->version ? -1 : 1;
	if (left->stack != right->stack)
		return left->stack < right->stack ? -1 : 1;
	if (left->src != right->src)
		return left->src < right->src ? -1 : 1;
	return (left->row > right->row) - (left->row < right->row);
}

static int name_samples(struct fleet_names *names, const struct sink_batch *batch,
			struct fleet_sample *samples)
{
	for (size_t i = 0; i < batch->row_cnt; i++) {
		const struct sink_row *row = &batch->rows[i];
		const struct fleet_source *source = fleet_source(names, row->label_set);

		samples[i] = (struct fleet_sample){
			.service = source->service,
			.version = source->version,
			.stack = fleet_stack(names, source->service, row->stack),
			.src = fleet_src(names, row->label_set),
			.local_stack = row->stack,
			.label_set = row->label_set,
			.row = i,
		};
		if (!samples[i].stack)
			return -ENOMEM;
	}
	return 0;
}

/* Equal ones become one; how many are left. */
static size_t add_up(const struct sink_batch *batch, struct fleet_sample *samples, int64_t *values)
{
	const uint32_t value_cnt = batch->types->value_type_cnt;
	size_t cnt = 0;

	for (size_t i = 0; i < batch->row_cnt; i++) {
		const int64_t *from = batch->values + samples[i].row * value_cnt;
		int64_t *to = values + cnt * value_cnt;

		if (cnt && samples[cnt - 1].stack == samples[i].stack &&
		    samples[cnt - 1].src == samples[i].src) {
			to -= value_cnt;
			for (uint32_t k = 0; k < value_cnt; k++)
				to[k] = profile_value_sum(to[k], from[k]);
			continue;
		}
		samples[cnt++] = samples[i];
		memcpy(to, from, value_cnt * sizeof(*to));
	}
	return cnt;
}

int fleet_samples(struct fleet_names *names, const struct sink_batch *batch,
		  struct fleet_sample **out, int64_t **values_out, size_t *cnt)
{
	const size_t value_cnt = batch->row_cnt * batch->types->value_type_cnt;
	_cleanup_free_ struct fleet_sample *samples = calloc(batch->row_cnt + 1, sizeof(*samples));
	_cleanup_free_ int64_t *values = calloc(value_cnt + 1, sizeof(*values));
	int err = samples && values ? name_samples(names, batch, samples) : -ENOMEM;

	if (err)
		return err;
	qsort(samples, batch->row_cnt, sizeof(*samples), compare_samples);
	*cnt = add_up(batch, samples, values);
	*out = take_ptr(samples);
	*values_out = take_ptr(values);
	return 0;
}

/* n, v1 .. v3, v: what is not there is 0. */
static void add_values(struct native_block *block, const int64_t *values, uint32_t cnt)
{
	for (uint32_t i = 0; i < FLEET_VALUE_COLUMNS; i++)
		native_add(block, i < cnt ? (uint64_t)values[i] : 0);
	for (uint32_t i = FLEET_VALUE_COLUMNS; i < cnt; i++)
		native_element(block, (uint64_t)values[i]);
	native_end_array(block);
}

/* Is the second value the first one times @period? */
static bool is_product(const int64_t *values, int64_t period)
{
	int64_t product;

	return period && !__builtin_mul_overflow(values[0], period, &product) &&
	       values[1] == product;
}

void fleet_add_sample(struct native_block *block, const struct fleet_names *names, uint64_t kind,
		      const struct fleet_time *time, const struct fleet_sample *sample,
		      const int64_t *values, const struct profile *types)
{
	const uint32_t value_cnt = types->value_type_cnt;
	const bool has_unit = value_cnt > 1 && is_product(values, types->period);
	int64_t stored[PROFILE_VALUES_MAX];

	memcpy(stored, values, value_cnt * sizeof(*stored));
	if (has_unit)
		stored[1] = 0;
	native_add_str(block, profile_str(names->dict, sample->service));
	native_add_str(block, profile_str(names->dict, sample->version));
	native_add(block, kind);
	native_add(block, time->h);
	native_add(block, sample->stack);
	native_add(block, sample->src);
	native_add(block, time->second);
	native_add(block, names->host);
	native_add(block, time->minute);
	native_add(block, time->lead);
	add_values(block, stored, value_cnt);
	native_add(block, has_unit ? (uint64_t)types->period : 0);
}

/* --- The dictionary --- */

void fleet_add_stack(struct native_block *block, struct fleet_names *names, uint16_t day,
		     const struct fleet_sample *sample)
{
	const struct profile_stack *stack = &names->dict->stacks[sample->local_stack];

	native_add(block, day);
	native_add_str(block, profile_str(names->dict, sample->service));
	native_add(block, sample->stack);
	for (uint32_t i = stack->cnt; i; i--)
		native_element(block,
			       fleet_frame(names,
					   names->dict->stack_locations[stack->first + i - 1]));
	native_end_array(block);
}

void fleet_add_frame(struct native_block *block, struct fleet_names *names, uint16_t day,
		     uint32_t location)
{
	const struct profile *dict = names->dict;
	const struct profile_location *loc = &dict->locations[location];
	const bool has_address = fleet_has_address(dict, location);
	const struct fleet_frame frame = {
		.day = day,
		.named = fleet_frame_named(dict, location),
		.frame = fleet_frame(names, location),
		/* Without names there is nothing else to show. */
		.address = has_address || !loc->line_cnt ? loc->address : 0,
		.path = fleet_path(dict, location),
		.build_id =
			has_address ? profile_str(dict, dict->mappings[loc->mapping].build_id) : "",
	};

	fleet_frame_add(block, &frame, dict, location);
}

static void add_label_value(struct native_block *block, const struct profile *dict,
			    const struct profile_label *label)
{
	_cleanup_(buf_deinit) struct buf text = {0};

	buf_init(&text, BUF_NO_MAX);
	if (label->str != PROFILE_NONE) {
		native_element_str(block, profile_str(dict, label->str));
		return;
	}
	buf_printf(&text, "%lld", (long long)label->num);
	native_element_str(block, buf_cstr(&text));
}

void fleet_add_source(struct native_block *block, struct fleet_names *names, uint16_t day,
		      uint32_t label_set)
{
	const struct profile *dict = names->dict;
	const struct profile_label_set *set = &dict->label_sets[label_set];
	const struct fleet_source *source = fleet_source(names, label_set);

	native_add(block, day);
	native_add(block, names->host);
	native_add(block, fleet_src(names, label_set));
	native_add_str(block, profile_str(dict, source->service));
	native_add_str(block, profile_str(dict, source->version));
	for (uint32_t i = 0; i < set->cnt; i++)
		native_element_str(block, profile_str(dict, dict->labels[set->first + i].key));
	native_end_array(block);
	for (uint32_t i = 0; i < set->cnt; i++)
		add_label_value(block, dict, &dict->labels[set->first + i]);
	native_end_array(block);
}

void fleet_add_kind(struct native_block *block, uint64_t kind, const struct sink_batch *batch)
{
	const struct profile *types = batch->types;

	native_add(block, kind);
	native_add_str(block, batch->kind);
	for (uint32_t i = 0; i < types->value_type_cnt; i++)
		native_element_str(block, profile_str(types, types->value_types[i].type));
	native_end_array(block);
	for (uint32_t i = 0; i < types->value_type_cnt; i++)
		native_element_str(block, profile_str(types, types->value_types[i].unit));
	native_end_array(block);
	native_add(block, types->default_value);
	native_add_str(block, profile_str(types, types->period_type.type));
	native_add_str(block, profile_str(types, types->period_type.unit));
	native_add(block, (uint64_t)types->period);
	native_add_str(block, batch->event);
}

void fleet_add_host(struct native_block *block, uint64_t host, const char *id, const char *name,
		    uint64_t seen_s)
{
	native_add(block, host);
	native_add_str(block, id);
	native_add_str(block, name);
	native_add(block, seen_s);
}

/* --- The ledger --- */

/* Of the event that @batch's samples are counted under. */
static void add_event(struct native_block *block, const struct ledger *ledger,
		      const struct sink_batch *batch)
{
	uint64_t recorded = 0, lost = 0, never_ran = 0;

	for (uint32_t i = 0; ledger && batch && i < ledger->event_cnt; i++) {
		const struct ledger_event *event = &ledger->events[i];

		if (strcmp(event->name, batch->event) != 0)
			continue;
		recorded += event->sum.recorded;
		lost += ledger_reasons_sum(&event->sum.lost);
		never_ran += event->sum.never_ran_busy;
	}
	native_add(block, recorded);
	native_add(block, lost);
	native_add(block, never_ran);
}

/* The window's ledger as JSON, without what each CPU did. */
static void add_ledger(struct native_block *block, const struct ledger *ledger)
{
	_cleanup_(buf_deinit) struct buf json;
	struct ledger sums;

	buf_init(&json, BUF_NO_MAX);
	if (ledger) {
		sums = *ledger;
		for (uint32_t i = 0; i < sums.event_cnt; i++)
			sums.events[i].per_cpu_cnt = 0;
		ledger_to_json(&sums, &json);
	}
	native_add_text(block, buf_cstr(&json), json.len);
}

void fleet_add_batch(struct native_block *block, uint64_t host, const struct fleet_time *time,
		     const struct sink_window *window, const struct sink_batch *batch,
		     uint64_t kind, const struct fleet_sums *sums)
{
	native_add(block, time->h);
	native_add(block, host);
	native_add(block, kind);
	native_add(block, window->seq);
	native_add(block, window->last_seq);
	native_add(block, window->prev_seq);
	native_add(block, window->start_ns);
	native_add(block, window->end_ns);
	native_add(block, window->covered_ns);
	native_add(block, window->window_cnt);
	native_add_str(block, window->boot_id);
	native_add(block, window->instance);
	native_add(block, window->epoch);
	native_add(block, window->last_epoch);
	native_add(block, sums->rows);
	add_values(block, (const int64_t *)sums->values, sums->value_cnt);
	add_event(block, window->ledger, batch);
	native_add(block, window->lost_samples);
	native_add_str(block, window->lost ? window->lost : "");
	add_ledger(block, batch ? NULL : window->ledger);
	native_add_str(block, BPFPROF_VERSION);
}
