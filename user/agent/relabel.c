/* SPDX-License-Identifier: Apache-2.0 */
/* Who was sampled, in words: see relabel.h. */
#include "agent/relabel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/label_text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/profile_import.h"

enum {
	IDENTITY_LABELS = 7,
};

/* Value types of the source: of events in their order behind "samples", of waits by name. */
struct source_columns {
	uint32_t waits, blocked, runnable;
};

/* A label set of the source. */
struct whose {
	uint32_t label_set; /* in the target; PROFILE_NONE: not brought over yet */
	uint32_t event; /* 0: the clock, and waits */
	uint32_t share; /* where there are shares */
	bool is_disabled;
	bool is_known;
};

struct relabeling {
	const struct profile *src;
	struct profile *dst;
	const struct relabel_opts *opts;
	struct profile_import import;
	struct source_columns columns;
	struct whose *sets; /* owned: by label set of the source */
	struct profile_label *labels; /* owned: scratch */
	size_t label_cap;
	struct shares shares; /* where the options have them */
	struct agent_window *out;
	struct relabel_counts *counts;
};

static bool key_is(const struct profile *prof, const struct profile_label *label, const char *key)
{
	return !strcmp(profile_str(prof, label->key), key);
}

void relabel_key(const struct profile *prof, uint32_t label_set, struct identity_key *out)
{
	const struct profile_label_set set = prof->label_sets[label_set];

	*out = (struct identity_key){.tgid = 0};
	for (uint32_t i = set.first; i < set.first + set.cnt; i++) {
		const struct profile_label *label = &prof->labels[i];

		if (key_is(prof, label, "comm") && label->str != PROFILE_NONE) {
			const char *comm = profile_str(prof, label->str);

			label_copy(out->comm, sizeof(out->comm), comm, strlen(comm));
		} else if (key_is(prof, label, "pid")) {
			out->tgid = (uint32_t)label->num;
		} else if (key_is(prof, label, "start")) {
			out->start_ns = (uint64_t)label->num;
		} else if (key_is(prof, label, "cgroup")) {
			out->cgroup_id = (uint64_t)label->num;
		}
	}
}

/* --- Kinds --- */

static struct store_kind *new_kind(struct agent_window *out, const char *name)
{
	struct store_kind *kind = &out->kinds[out->kind_cnt++];

	*kind = (struct store_kind){.column_cnt = 0};
	snprintf(kind->name, sizeof(kind->name), "%.*s", STORE_NAME_MAX - 1, name);
	return kind;
}

static void add_column(struct profile *dst, struct store_kind *kind, const char *type,
		       const char *unit)
{
	kind->default_column = kind->column_cnt;
	kind->columns[kind->column_cnt++] = profile_add_value_type(dst, type, unit);
}

static void declare_kinds(struct relabeling *rel)
{
	const struct relabel_opts *opts = rel->opts;
	struct profile *dst = rel->dst;
	struct store_kind *kind = new_kind(rel->out, "cpu");

	add_column(dst, kind, "samples", "count");
	add_column(dst, kind, "cpu", "nanoseconds");
	for (uint32_t i = 1; i < opts->event_cnt; i++) {
		kind = new_kind(rel->out, opts->events[i]);
		add_column(dst, kind, "samples", "count");
		add_column(dst, kind, opts->events[i],
			   profile_str(rel->src, rel->src->value_types[1 + i].unit));
	}
	dst->default_value = 1;
	dst->period_type = dst->value_types[1];
	if (!opts->has_waits)
		return;
	kind = new_kind(rel->out, "off-cpu");
	add_column(dst, kind, "waits", "count");
	add_column(dst, kind, "blocked", "nanoseconds");
	add_column(dst, kind, "runnable", "nanoseconds");
	add_column(dst, kind, "off_cpu", "nanoseconds");
}

/* --- Labels --- */

static void add_label(struct relabeling *rel, size_t *cnt, const char *key, const char *value)
{
	const struct relabel_opts *opts = rel->opts;

	/* What the user says goes before what was found. */
	for (size_t i = 0; i < opts->fixed_cnt; i++)
		if (!strcmp(opts->fixed[i].key, key))
			return;
	if (*value)
		rel->labels[(*cnt)++] = (struct profile_label){
			.key = profile_string(rel->dst, key),
			.str = profile_string(rel->dst, value),
		};
}

static void add_identity(struct relabeling *rel, size_t *cnt, const struct identity *id)
{
	add_label(rel, cnt, "service", id->service.name);
	add_label(rel, cnt, "version", id->service.version);
	add_label(rel, cnt, "container", id->names.container);
	add_label(rel, cnt, "pod", id->names.pod);
	add_label(rel, cnt, "unit", id->names.unit);
	add_label(rel, cnt, "cgroup", id->cgroup);
}

/* Is it said in other words, or not at all? */
static bool is_dropped(const struct profile *src, const struct profile_label *label)
{
	return key_is(src, label, "pid") || key_is(src, label, "start") ||
	       key_is(src, label, "cgroup") || key_is(src, label, "event");
}

static uint32_t event_of(const struct relabeling *rel, const char *name)
{
	for (uint32_t i = 1; i < rel->opts->event_cnt; i++)
		if (!strcmp(rel->opts->events[i], name))
			return i;
	return 0;
}

static void add_others(struct relabeling *rel, size_t *cnt, uint32_t set_id, struct whose *whose)
{
	const struct profile_label_set set = rel->src->label_sets[set_id];

	for (uint32_t i = set.first; i < set.first + set.cnt; i++) {
		struct profile_label label = rel->src->labels[i];

		if (key_is(rel->src, &label, "event"))
			whose->event = event_of(rel, profile_str(rel->src, label.str));
		if (is_dropped(rel->src, &label))
			continue;
		label.key = profile_import_string(&rel->import, label.key);
		label.str = profile_import_string(&rel->import, label.str);
		label.num_unit = profile_import_string(&rel->import, label.num_unit);
		rel->labels[(*cnt)++] = label;
	}
}

static void find_whose(struct relabeling *rel, uint32_t set_id)
{
	const struct relabel_opts *opts = rel->opts;
	struct whose *whose = &rel->sets[set_id];
	const struct identity *id;
	struct identity_key key;
	size_t cnt = 0;

	whose->is_known = true;
	relabel_key(rel->src, set_id, &key);
	id = opts->identify(opts->arg, &key);
	if (array_reserve(&rel->labels, &rel->label_cap,
			  rel->src->label_sets[set_id].cnt + opts->fixed_cnt + IDENTITY_LABELS,
			  sizeof(*rel->labels))) {
		rel->dst->err = -ENOMEM;
		return;
	}
	add_identity(rel, &cnt, id);
	for (size_t i = 0; i < opts->fixed_cnt; i++)
		rel->labels[cnt++] = (struct profile_label){
			.key = profile_string(rel->dst, opts->fixed[i].key),
			.str = profile_string(rel->dst, opts->fixed[i].value),
		};
	add_others(rel, &cnt, set_id, whose);
	whose->is_disabled = opts->allows && !opts->allows(opts->policy, id->service.name);
	if (opts->shares) {
		whose->share = shares_find(&rel->shares, profile_string(rel->dst, id->service.name),
					   id->service.name);
		if (whose->share == PROFILE_NONE)
			rel->dst->err = -ENOMEM;
	}
	whose->label_set = profile_labels(rel->dst, rel->labels, cnt);
}

/* Of sample @nr; NULL: the target's error is set. */
static struct whose *whose_of(struct relabeling *rel, size_t nr)
{
	const uint32_t set_id = rel->src->samples[nr].label_set;

	if (!rel->sets[set_id].is_known)
		find_whose(rel, set_id);
	return rel->dst->err ? NULL : &rel->sets[set_id];
}

/* --- Samples --- */

static uint32_t off_cpu_kind(const struct relabeling *rel)
{
	return rel->opts->event_cnt;
}

/* @from, by kind into @to; which kinds it is of, as bits. */
static uint32_t take_values(const struct relabeling *rel, const struct whose *whose,
			    const int64_t *from, int64_t *to)
{
	const struct store_kind *kinds = rel->out->kinds;
	const struct store_kind *kind = &kinds[whose->event];
	uint32_t bits = 0;

	to[kind->columns[0]] = from[0];
	to[kind->columns[1]] = from[1 + whose->event];
	if (from[0] || from[1 + whose->event])
		bits |= 1U << whose->event;
	if (!rel->opts->has_waits)
		return bits;
	kind = &kinds[off_cpu_kind(rel)];
	to[kind->columns[0]] = from[rel->columns.waits];
	to[kind->columns[1]] = from[rel->columns.blocked];
	to[kind->columns[2]] = from[rel->columns.runnable];
	to[kind->columns[3]] =
		profile_value_sum(from[rel->columns.blocked], from[rel->columns.runnable]);
	if (to[kind->columns[0]] || to[kind->columns[3]])
		bits |= 1U << off_cpu_kind(rel);
	return bits;
}

static void leave_out(struct relabeling *rel, uint32_t kinds, const int64_t *values)
{
	for (uint32_t i = 0; i < rel->out->kind_cnt; i++)
		if (kinds & 1U << i)
			rel->counts->disabled[i] += (uint64_t)values[rel->out->kinds[i].columns[0]];
}

static bool is_empty(const struct store_kind *kind, const int64_t *values)
{
	for (uint32_t i = 0; i < kind->column_cnt; i++)
		if (values[kind->columns[i]])
			return false;
	return true;
}

/* Of @values, those that the policy leaves; of @kinds, those that have any then. */
static uint32_t share_out(struct relabeling *rel, uint32_t share, uint32_t kinds, int64_t *values)
{
	for (uint32_t i = 0; i < rel->out->kind_cnt; i++) {
		const struct store_kind *kind = &rel->out->kinds[i];

		if (!(kinds & 1U << i))
			continue;
		rel->counts->policy[i] += shares_take(&rel->shares, share, i, kind, values);
		if (is_empty(kind, values))
			kinds &= ~(1U << i);
	}
	return kinds;
}

/* What is stored of a service depends on how much there is. */
static void count_samples(struct relabeling *rel)
{
	for (size_t i = 0; i < rel->src->sample_cnt; i++) {
		const struct whose *whose = whose_of(rel, i);

		if (!whose)
			return;
		if (!whose->is_disabled)
			shares_count(&rel->shares, whose->share, whose->event,
				     rel->src->values[i * rel->src->value_type_cnt]);
	}
}

static void take_sample(struct relabeling *rel, size_t nr)
{
	const struct profile_sample *sample = &rel->src->samples[nr];
	const int64_t *from = rel->src->values + nr * rel->src->value_type_cnt;
	const struct whose *whose = whose_of(rel, nr);
	int64_t values[PROFILE_VALUES_MAX] = {0};
	uint32_t kinds;

	if (!whose)
		return;
	kinds = take_values(rel, whose, from, values);
	if (whose->is_disabled) {
		leave_out(rel, kinds, values);
		return;
	}
	if (rel->opts->shares)
		kinds = share_out(rel, whose->share, kinds, values);
	if (kinds)
		profile_sample(rel->dst, profile_import_stack(&rel->import, sample->stack),
			       whose->label_set, values);
}

/* What was recorded of the events, and is not stored. */
static void correct_ledger(const struct relabel_counts *counts, uint32_t event_cnt,
			   struct ledger *ledger)
{
	for (uint32_t i = 0; i < event_cnt && i < ledger->event_cnt; i++) {
		struct ledger_event *event = &ledger->events[i];
		const uint64_t out = counts->disabled[i] + counts->policy[i];

		if (!out || out > event->sum.recorded)
			continue;
		event->sum.recorded -= out;
		event->sum.filtered += out;
		event->per_cpu_cnt = 0;
	}
}

static int take_all(struct relabeling *rel)
{
	declare_kinds(rel);
	rel->dst->period = rel->src->period;
	rel->dst->time_ns = rel->src->time_ns;
	rel->dst->duration_ns = rel->src->duration_ns;
	if (rel->opts->shares)
		count_samples(rel);
	for (size_t i = 0; i < rel->src->sample_cnt && !rel->dst->err; i++)
		take_sample(rel, i);
	/* Those of the clock that are left do not stand for one period each. */
	if (rel->counts->policy[0])
		rel->dst->period = 0;
	for (size_t i = 0; i < rel->out->kind_cnt; i++)
		rel->out->sample_cnt +=
			(uint64_t)profile_total(rel->dst, rel->out->kinds[i].columns[0]);
	return rel->dst->err;
}

/* What the caller's options of shares do not say. */
static void begin_shares(struct relabeling *rel)
{
	struct shares_opts opts = *rel->opts->shares;

	opts.duration_ns = rel->src->duration_ns;
	opts.clock_hz = rel->src->period > 0 ? (double)NSEC_PER_SEC / (double)rel->src->period : 0;
	opts.waits_kind = rel->opts->has_waits ? off_cpu_kind(rel) : PROFILE_NONE;
	shares_init(&rel->shares, &opts);
}

int relabel(const struct profile *src, const struct relabel_opts *opts, struct ledger *ledger,
	    struct agent_window *out, struct relabel_counts *counts)
{
	struct relabeling rel = {
		.src = src,
		.opts = opts,
		.out = out,
		.counts = counts,
		.columns = {profile_find_value(src, "waits"), profile_find_value(src, "blocked"),
			    profile_find_value(src, "runnable")},
	};
	int err;

	*counts = (struct relabel_counts){.disabled = {0}};
	if (opts->shares)
		begin_shares(&rel);
	out->kind_cnt = 0;
	out->sample_cnt = 0;
	rel.dst = out->prof = malloc(sizeof(*out->prof));
	if (!rel.dst)
		return -ENOMEM;
	err = profile_init(rel.dst);
	if (err) {
		free(take_ptr(out->prof));
		return err;
	}
	rel.sets = calloc(src->label_set_cnt + 1, sizeof(*rel.sets));
	err = rel.sets ? profile_import_init(&rel.import, rel.dst, src) : -ENOMEM;
	if (!err) {
		err = take_all(&rel);
		profile_import_deinit(&rel.import);
	}
	shares_deinit(&rel.shares);
	free(rel.sets);
	free(rel.labels);
	if (!err)
		correct_ledger(counts, opts->event_cnt, ledger);
	return err;
}
