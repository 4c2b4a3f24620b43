/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pyroscope's querier API: stacks of a selection as a flame graph, the difference of two, and as
 * pprof.
 *
 * A flame graph goes by levels, root first. A bar is numbers: where it begins, counted from the end
 * of the bar before it on its level, its total, its self, and its name's place in `names`; in a
 * difference three of the first for each side. `main` of 7 with `read` of 3 and `work` of 4 in it:
 *
 *	level 0: 0 7 0 0	total
 *	level 1: 0 7 0 1	main
 *	level 2: 0 3 3 2  0 4 4 3
 *
 * Bars of one parent stand behind its self. What maxNodes leaves out of a parent is one bar,
 * "other".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "encode/encoder.h"
#include "encode/flame.h"
#include "encode/gzip.h"
#include "profile/profile_import.h"
#include "web/querier.h"
#include "web/routes.h"

enum {
	NODES_USUAL = 8192,
	NODES_MAX = 1 << 20,
	FORMAT_FLAMEGRAPH = 1,
	OTHER = UINT32_MAX, /* the node of a bar that is what was left out */
};

enum { LEFT, RIGHT, SIDE_CNT };

#define AT(member) offsetof(struct querier_request, member)

static const char *const formats[] = {
	"PROFILE_FORMAT_UNSPECIFIED",
	"PROFILE_FORMAT_FLAMEGRAPH",
	"PROFILE_FORMAT_TREE",
	NULL,
};

static const struct message_field stacks_fields[] = {
	{1, "profileTypeID", "profile_typeID", MESSAGE_TEXT, AT(type_id), NULL, NULL},
	{2, "labelSelector", "label_selector", MESSAGE_TEXT, AT(selector), NULL, NULL},
	{3, "start", "start", MESSAGE_I64, AT(start_ms), NULL, NULL},
	{4, "end", "end", MESSAGE_I64, AT(end_ms), NULL, NULL},
	{5, "maxNodes", "max_nodes", MESSAGE_I64, AT(max_nodes), NULL, NULL},
	{6, "format", "format", MESSAGE_ENUM, AT(format), NULL, formats},
	{7, "stackTraceSelector", "stack_trace_selector", MESSAGE_IS_THERE, AT(has_stack_selector),
	 NULL, NULL},
	{0},
};

static const struct message_field profile_fields[] = {
	{1, "profileTypeID", "profile_typeID", MESSAGE_TEXT, AT(type_id), NULL, NULL},
	{2, "labelSelector", "label_selector", MESSAGE_TEXT, AT(selector), NULL, NULL},
	{3, "start", "start", MESSAGE_I64, AT(start_ms), NULL, NULL},
	{4, "end", "end", MESSAGE_I64, AT(end_ms), NULL, NULL},
	{6, "stackTraceSelector", "stack_trace_selector", MESSAGE_IS_THERE, AT(has_stack_selector),
	 NULL, NULL},
	{0},
};

struct two_requests {
	struct querier_request sides[SIDE_CNT];
};

static const struct message_field diff_fields[] = {
	{1, "left", "left", MESSAGE_INSIDE, offsetof(struct two_requests, sides[LEFT]),
	 stacks_fields, NULL},
	{2, "right", "right", MESSAGE_INSIDE, offsetof(struct two_requests, sides[RIGHT]),
	 stacks_fields, NULL},
	{0},
};

/* --- Reading the store --- */

/* Value @value of the samples of @src, without labels, as value @to of @dst. */
static int add_value(struct profile *dst, const struct profile *src, uint32_t value, uint32_t to)
{
	_cleanup_(profile_import_deinit) struct profile_import import = {.dst = NULL};
	uint32_t no_labels = profile_labels(dst, NULL, 0);
	int err = profile_import_init(&import, dst, src);

	for (size_t i = 0; i < src->sample_cnt && !err && value != PROFILE_NONE; i++) {
		int64_t values[PROFILE_VALUES_MAX] = {0};

		values[to] = src->values[i * src->value_type_cnt + value];
		if (values[to] <= 0)
			continue;
		/* Where there are two sides, the last value is their sum. */
		values[dst->value_type_cnt - 1] = values[to];
		profile_sample(dst, profile_import_stack(&import, src->samples[i].stack), no_labels,
			       values);
		err = dst->err;
	}
	dst->period = src->period;
	dst->time_ns = src->time_ns;
	dst->duration_ns = src->duration_ns;
	return err;
}

static int check_request(struct querier_call *call, const struct querier_request *asked)
{
	if (!asked->type_id || !querier_type_is_id(asked->type_id))
		return querier_refuse(call, "profileTypeID: name:type:unit:period_type:period_unit "
					    "is wanted");
	if (asked->max_nodes < 0 || asked->max_nodes > NODES_MAX)
		return querier_refuse(call, "maxNodes: between 1 and %d, or 0 for %d", NODES_MAX,
				      NODES_USUAL);
	if (asked->format > FORMAT_FLAMEGRAPH || asked->has_stack_selector) {
		web_reply_fail(call->reply, 501,
			       "flame graphs are what there is: not trees, nor of stacks that are "
			       "selected");
		return -EINVAL;
	}
	return 0;
}

/* What @asked selects into value @to of @dst. 0, or negative errno: the reply says why. */
static int read_side(struct querier_call *call, const struct querier_request *asked, uint32_t to,
		     struct profile *dst)
{
	_cleanup_(querier_types_deinit) struct querier_types types = {0};
	_cleanup_(querier_where_deinit) struct querier_where where = {0};
	const struct querier_type *type;
	struct profile prof;
	int err = check_request(call, asked);

	if (!err)
		err = querier_where_init(&where, call, asked, asked->selector, false);
	if (err)
		return err;
	err = querier_types_read(call->store, 0, INT64_MAX, &types);
	type = querier_type_find(&types, asked->type_id);
	if (err || !type || !querier_where_takes(&where, type))
		return err ? querier_fail(call, asked->type_id, err) : 0;
	where.query.kind = type->kind;
	where.query.by = no_keys;
	err = store_source_read(call->store, &where.query, &prof, NULL, NULL);
	if (!err) {
		err = add_value(dst, &prof, querier_type_value(type, &prof), to);
		profile_deinit(&prof);
	}
	return err ? querier_fail(call, type->kind, err) : 0;
}

/* --- The picture --- */

struct sums {
	int64_t total, self;
};

/* A bar as it is told. */
struct bar {
	uint32_t node; /* or OTHER */
	struct sums sides[SIDE_CNT];
	int64_t at[SIDE_CNT]; /* where it begins */
};

struct bars {
	struct bar *items; /* owned */
	size_t cnt, cap;
};

struct picture {
	struct flame_tree tree; /* by the sum of the sides */
	struct sums *sides[SIDE_CNT]; /* owned: by node */
	unsigned int side_cnt;
	bool *is_kept; /* owned: by node */
	struct bars level, next;
	uint32_t *name_at; /* owned: by the tree's string, its place in names from 1 on; 0: none */
	uint32_t *names; /* owned: the tree's strings */
	uint32_t name_cnt;
	uint32_t other_at; /* 0: none */
	bool has_tree;
};

static void picture_deinit(struct picture *pic)
{
	if (pic->has_tree)
		flame_deinit(&pic->tree);
	for (unsigned int side = 0; side < SIDE_CNT; side++)
		free(pic->sides[side]);
	free(pic->is_kept);
	free(pic->level.items);
	free(pic->next.items);
	free(pic->name_at);
	free(pic->names);
}

/* What of each node is each side's, from the samples' leaves up. */
static int split_sides(struct picture *pic, const struct profile *prof, const uint32_t *leaves)
{
	size_t cnt = pic->tree.node_cnt;

	for (unsigned int side = 0; side < pic->side_cnt; side++) {
		struct sums *sums = calloc(cnt, sizeof(*sums));

		pic->sides[side] = sums;
		if (!sums)
			return -ENOMEM;
		for (size_t i = 0; i < prof->sample_cnt; i++)
			if (leaves[i] != PROFILE_NONE)
				sums[leaves[i]].self +=
					prof->values[i * prof->value_type_cnt + side];
		for (size_t i = cnt; i-- > 0;) {
			sums[i].total += sums[i].self;
			if (i)
				sums[pic->tree.nodes[i].parent].total += sums[i].total;
		}
	}
	return 0;
}

static int compare_totals(const void *left, const void *right)
{
	int64_t one = *(const int64_t *)left, other = *(const int64_t *)right;

	return (one < other) - (one > other);
}

/* The @max nodes that have most; of those that have as much as the last of them, the first. */
static int choose(struct picture *pic, size_t max)
{
	const struct flame_node *nodes = pic->tree.nodes;
	size_t cnt = pic->tree.node_cnt, ties = max;
	_cleanup_free_ int64_t *totals = calloc(cnt, sizeof(*totals));
	int64_t least = 0;

	pic->is_kept = calloc(cnt, sizeof(*pic->is_kept));
	if (!totals || !pic->is_kept)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		totals[i] = nodes[i].total;
	qsort(totals, cnt, sizeof(*totals), compare_totals);
	if (cnt > max)
		least = totals[max - 1];
	for (size_t i = 0; i < cnt && totals[i] > least; i++)
		ties--;
	for (size_t i = 0; i < cnt; i++) {
		bool is_tie = nodes[i].total == least;

		pic->is_kept[i] = cnt <= max || !i ||
				  (pic->is_kept[nodes[i].parent] && nodes[i].total >= least &&
				   (!is_tie || ties > 0));
		if (is_tie && pic->is_kept[i] && ties)
			ties--;
	}
	return 0;
}

static int build(struct picture *pic, const struct profile *prof, size_t max)
{
	uint32_t value = prof->value_type_cnt - 1;
	_cleanup_free_ uint32_t *leaves = NULL;
	int err = flame_build_leaves(prof, value, "", &pic->tree, &leaves);

	if (err)
		return err;
	pic->has_tree = true;
	pic->side_cnt = prof->value_type_cnt > 1 ? SIDE_CNT : 1;
	pic->name_at = calloc(pic->tree.names.cnt, sizeof(*pic->name_at));
	pic->names = calloc(pic->tree.names.cnt, sizeof(*pic->names));
	if (!pic->name_at || !pic->names)
		return -ENOMEM;
	err = split_sides(pic, prof, leaves);
	return err ? err : choose(pic, max);
}

static int push(struct bars *bars, const struct bar *bar)
{
	int err = array_reserve(&bars->items, &bars->cap, bars->cnt + 1, sizeof(*bars->items));

	if (!err)
		bars->items[bars->cnt++] = *bar;
	return err;
}

/* The bars on @bar into the next level. */
static int add_children(struct picture *pic, const struct bar *bar)
{
	const struct flame_node *nodes = pic->tree.nodes;
	struct bar child = {.node = OTHER}, other = {.node = OTHER};
	bool has_other = false;
	int err = 0;

	if (bar->node == OTHER)
		return 0;
	for (unsigned int side = 0; side < pic->side_cnt; side++)
		child.at[side] = bar->at[side] + bar->sides[side].self;
	for (uint32_t i = bar->node + 1; i < nodes[bar->node].end && !err; i = nodes[i].end) {
		child.node = i;
		for (unsigned int side = 0; side < pic->side_cnt; side++) {
			child.sides[side] = pic->sides[side][i];
			other.sides[side].total += pic->is_kept[i] ? 0 : child.sides[side].total;
		}
		has_other |= !pic->is_kept[i];
		if (!pic->is_kept[i])
			continue;
		err = push(&pic->next, &child);
		for (unsigned int side = 0; side < pic->side_cnt; side++)
			child.at[side] += child.sides[side].total;
	}
	for (unsigned int side = 0; side < pic->side_cnt; side++) {
		other.at[side] = child.at[side];
		other.sides[side].self = other.sides[side].total;
	}
	return err || !has_other ? err : push(&pic->next, &other);
}

/* The place of @bar's name, which it gets when it is first told. */
static int64_t name_of(struct picture *pic, const struct bar *bar)
{
	uint32_t *at = &pic->other_at;

	if (bar->node != OTHER)
		at = &pic->name_at[pic->tree.nodes[bar->node].name];
	if (!*at) {
		pic->names[pic->name_cnt] =
			bar->node == OTHER ? STRTAB_NONE : pic->tree.nodes[bar->node].name;
		*at = ++pic->name_cnt;
	}
	return *at - 1;
}

static void show_level(struct picture *pic, struct message *answer, int64_t *max_self)
{
	int64_t ends[SIDE_CNT] = {0};

	message_item_open(answer, 2);
	message_numbers_begin(answer, 1, "values");
	for (size_t i = 0; i < pic->level.cnt; i++) {
		const struct bar *bar = &pic->level.items[i];

		for (unsigned int side = 0; side < pic->side_cnt; side++) {
			const struct sums *sums = &bar->sides[side];

			message_number(answer, bar->at[side] - ends[side]);
			message_number(answer, sums->total);
			message_number(answer, sums->self);
			ends[side] = bar->at[side] + sums->total;
			if (sums->self > *max_self)
				*max_self = sums->self;
		}
		message_number(answer, name_of(pic, bar));
	}
	message_numbers_end(answer);
	message_close(answer);
}

static int show_levels(struct picture *pic, struct message *answer, int64_t *max_self)
{
	struct bar root = {.node = 0};
	int err;

	for (unsigned int side = 0; side < pic->side_cnt; side++)
		root.sides[side] = pic->sides[side][0];
	err = push(&pic->level, &root);
	message_list_begin(answer, "levels");
	while (!err && pic->level.cnt) {
		struct bars shown = pic->level;

		show_level(pic, answer, max_self);
		pic->next.cnt = 0;
		for (size_t i = 0; i < shown.cnt && !err; i++)
			err = add_children(pic, &shown.items[i]);
		pic->level = pic->next;
		pic->next = shown;
	}
	message_list_end(answer);
	return err;
}

static void show_names(struct picture *pic, struct message *answer)
{
	message_list_begin(answer, "names");
	for (uint32_t i = 0; i < pic->name_cnt; i++) {
		const char *name = pic->names[i] == STRTAB_NONE
					   ? "other"
					   : strtab_get(&pic->tree.names, pic->names[i]);

		message_item_str(answer, 1, i ? name : "total");
	}
	message_list_end(answer);
}

/* The picture of @prof, a field of the answer. */
static int show_picture(struct querier_call *call, const struct profile *prof, int64_t max_nodes)
{
	_cleanup_(picture_deinit) struct picture pic = {.side_cnt = 1};
	struct message *answer = &call->answer;
	int64_t max_self = 0;
	int err = build(&pic, prof, max_nodes ? (size_t)max_nodes : NODES_USUAL);

	if (err)
		return err;
	querier_answer_begin(call);
	message_open(answer, 1, "flamegraph");
	err = show_levels(&pic, answer, &max_self);
	show_names(&pic, answer);
	message_i64(answer, 3, "total", pic.tree.nodes[0].total);
	message_i64(answer, 4, "maxSelf", max_self);
	if (pic.side_cnt == SIDE_CNT) {
		message_i64(answer, 5, "leftTicks", pic.sides[LEFT][0].total);
		message_i64(answer, 6, "rightTicks", pic.sides[RIGHT][0].total);
	}
	message_close(answer);
	querier_answer_end(call);
	return err;
}

/* --- Calls --- */

static int begin_profile(struct querier_call *call, struct profile *prof)
{
	int err = profile_init(prof);

	return err ? querier_fail(call, "", err) : 0;
}

void querier_answer_stacktraces(struct web_site *site, const struct web_request *request,
				struct web_reply *reply)
{
	struct querier_call call = {.site = site, .request = request, .reply = reply};
	_cleanup_(querier_request_deinit) struct querier_request asked = {0};
	struct profile prof;
	int err;

	if (querier_call_read(&call, stacks_fields, &asked) || begin_profile(&call, &prof))
		return;
	profile_add_value_type(&prof, "left", "");
	err = read_side(&call, &asked, LEFT, &prof);
	if (!err) {
		err = show_picture(&call, &prof, asked.max_nodes);
		if (err)
			querier_fail(&call, asked.type_id, err);
	}
	profile_deinit(&prof);
}

void querier_answer_diff(struct web_site *site, const struct web_request *request,
			 struct web_reply *reply)
{
	struct querier_call call = {.site = site, .request = request, .reply = reply};
	struct two_requests asked = {0};
	struct profile prof;
	int err = querier_call_read(&call, diff_fields, &asked);

	if (!err && !begin_profile(&call, &prof)) {
		profile_add_value_type(&prof, "left", "");
		profile_add_value_type(&prof, "right", "");
		profile_add_value_type(&prof, "sum", "");
		for (unsigned int side = 0; side < SIDE_CNT && !err; side++)
			err = read_side(&call, &asked.sides[side], side, &prof);
		if (!err) {
			err = show_picture(&call, &prof, asked.sides[LEFT].max_nodes);
			if (err)
				querier_fail(&call, "", err);
		}
		profile_deinit(&prof);
	}
	for (unsigned int side = 0; side < SIDE_CNT; side++)
		querier_request_deinit(&asked.sides[side]);
}

/* Of an id "name:type:unit:period_type:period_unit" part @part, into the profile. */
static uint32_t id_part(struct profile *prof, const char *id, enum querier_part part)
{
	for (unsigned int i = 0; i < part; i++)
		id = strchr(id, ':') + 1;
	return profile_stringn(prof, id, strcspn(id, ":"));
}

static int show_profile(struct querier_call *call, struct profile *prof)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE};
	_cleanup_(buf_deinit) struct buf packed;
	int err;

	buf_init(&packed, BUF_NO_MAX);
	err = encoder_pprof.encode(prof, &opts, &packed);
	if (err)
		return err;
	querier_answer_begin(call);
	err = gzip_inflate(packed.data, packed.len, &call->reply->body);
	querier_answer_end(call);
	return err;
}

void querier_answer_profile(struct web_site *site, const struct web_request *request,
			    struct web_reply *reply)
{
	struct querier_call call = {.site = site, .request = request, .reply = reply};
	_cleanup_(querier_request_deinit) struct querier_request asked = {0};
	struct profile prof;
	int err = querier_call_read(&call, profile_fields, &asked);

	if (!err && call.is_json) {
		web_reply_fail(reply, 501, "a profile is protobuf: ask with application/proto");
		return;
	}
	if (!err)
		err = check_request(&call, &asked);
	if (err || begin_profile(&call, &prof))
		return;
	prof.value_types[0] = (struct profile_value_type){
		.type = id_part(&prof, asked.type_id, QUERIER_TYPE),
		.unit = id_part(&prof, asked.type_id, QUERIER_UNIT),
	};
	prof.value_type_cnt = 1;
	prof.period_type.type = id_part(&prof, asked.type_id, QUERIER_PERIOD_TYPE);
	prof.period_type.unit = id_part(&prof, asked.type_id, QUERIER_PERIOD_UNIT);
	err = read_side(&call, &asked, LEFT, &prof);
	if (!err) {
		err = show_profile(&call, &prof);
		if (err)
			querier_fail(&call, asked.type_id, err);
	}
	profile_deinit(&prof);
}
