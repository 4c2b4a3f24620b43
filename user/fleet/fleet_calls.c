/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A range of time as a tree of calls, from the trees of its roll-ups (clickhouse/rollup_trees.h):
 * one value of each frame of each service, and no stacks. Which questions have one: those about
 * whole hours and days that are rolled up and have trees, and about no labels but those of samples.
 *
 * Names are asked for without what a flame graph does not show of them, and kept apart from those
 * of the stacks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clickhouse/rollup_trees.h"
#include "encode/flame.h"
#include "fleet/fleet_priv.h"

enum { KEYS_MAX = 2 /* labels that samples have */ };

/* Where a kind has no such value. */
static const uint32_t NO_COLUMN = PROFILE_VALUES_MAX;

struct calls {
	struct fleet_ask ask;
	struct fleet_rolled rolled;
	struct fleet_books books;
	struct profile_calls tree; /* while it is read: refs are indices into names.frames */
	kind_values *value_at; /* owned: of each kind */
	uint32_t *roots; /* owned: by label set, its root; PROFILE_NONE: none yet */
	size_t root_cnt, root_cap;
	uint64_t *frames; /* owned: that have no names yet */
	size_t frame_cnt, frame_cap;
	/* Of the tree that is read */
	uint32_t *path; /* owned: ROLLUP_DEPTH_MAX, the last node of each depth */
	size_t depth; /* of the next node at most */
	uint32_t start_s, part; /* part: the next one */
	uint64_t id, left; /* nodes that are to come */
	/* Of its last row with frames */
	uint32_t nodes[ROLLUP_NODES];
	size_t cnt;
	bool is_short; /* its values come in a row of their own */
};

/* --- The question --- */

/* Which value of @kind is wanted, or NO_COLUMN. */
static uint32_t column_of(const struct calls *calls, size_t kind)
{
	const struct profile *types = &calls->ask.kinds.items[kind].types;

	for (uint32_t i = 0; i < types->value_type_cnt; i++)
		if (calls->value_at[kind][i] == calls->tree.value)
			return i;
	return NO_COLUMN;
}

/* " AND (value = 0 OR (kind = K AND value = I) ...)" */
static void add_columns(const struct calls *calls, struct buf *sql)
{
	buf_add_str(sql, " AND (value = 0");
	for (size_t i = 0; i < calls->ask.kinds.cnt; i++) {
		const uint32_t column = column_of(calls, i);

		if (column && column != NO_COLUMN)
			buf_printf(sql, " OR (kind = %" PRIu64 " AND value = %u)",
				   calls->ask.kinds.items[i].id, column);
	}
	buf_add_char(sql, ')');
}

/*
 * Rows of (hour, tree, part, value, kind, nodes, labels, factors, depths, frames, selfs). Where a
 * row is there twice, as an insert that was repeated leaves it until the server merges its parts,
 * both come, and all come in no order: that is found out here (read_rows()), while FINAL and ORDER
 * BY take a server as long as all the rest.
 */
static void add_question(const struct calls *calls, const struct rollup_span *spans, size_t cnt,
			 struct buf *sql)
{
	const struct fleet_ask *ask = &calls->ask;

	buf_add_str(sql, "SELECT toUInt32(h) AS start, tree, part, value, kind, nodes");
	for (const char *const *by = ask->query->by; *by; by++) {
		buf_add_str(sql, ", ");
		fleet_add_label(*by, sql);
	}
	buf_printf(
		sql,
		", factors, depths, frames, selfs FROM rollup_trees WHERE span = %u AND tree != 0 "
		"AND ",
		spans->length_s);
	fleet_add_spans(ask, spans, cnt, sql);
	add_columns(calls, sql);
}

/* --- Rows --- */

/* One label of those of @by, or none, each. */
static uint32_t take_root(struct calls *calls, struct reader *rd)
{
	struct profile *head = &calls->tree.head;
	struct profile_label labels[KEYS_MAX];
	uint32_t set;
	size_t cnt = 0;

	for (const char *const *by = calls->ask.query->by; *by; by++)
		if (fleet_take_label(head, *by, rd, &labels[cnt]))
			cnt++;
	set = profile_labels(head, labels, cnt);
	if (set == PROFILE_NONE ||
	    array_reserve(&calls->roots, &calls->root_cap, (size_t)set + 1, sizeof(*calls->roots)))
		return PROFILE_NONE;
	while (calls->root_cnt <= set)
		calls->roots[calls->root_cnt++] = PROFILE_NONE;
	if (calls->roots[set] == PROFILE_NONE)
		calls->roots[set] = profile_calls_add(&calls->tree, PROFILE_NONE, set);
	return calls->roots[set];
}

/* Where the frame is in names.frames; one that is new is asked for later. */
static uint32_t place_of(struct calls *calls, uint64_t frame)
{
	struct id_map *known = &calls->ask.fleet->names.frames;
	const uint32_t at = id_map_intern(known, frame);

	if (at == HMAP_NONE || known->values[at] != PROFILE_NONE)
		return at;
	if (array_reserve(&calls->frames, &calls->frame_cap, calls->frame_cnt + 1,
			  sizeof(*calls->frames)))
		return HMAP_NONE;
	calls->frames[calls->frame_cnt++] = frame;
	known->values[at] = FLEET_WANTED;
	return at;
}

/* A node, or the root itself where a stack has no frames. */
static int add_node(struct calls *calls, uint32_t root, uint32_t depth, uint64_t frame,
		    uint32_t *out)
{
	const uint32_t parent = depth ? calls->path[depth - 1] : root;
	uint32_t place;

	if (!frame) {
		*out = parent;
	} else {
		place = place_of(calls, frame);
		*out = place == HMAP_NONE ? PROFILE_NONE
					  : profile_calls_add(&calls->tree, parent, place);
	}
	if (*out == PROFILE_NONE)
		return -ENOMEM;
	calls->path[depth] = *out;
	calls->depth = (size_t)depth + 1;
	return 0;
}

/* What stands before the arrays in each row. */
struct row {
	uint32_t start_s, part, root;
	uint64_t tree, kind, nodes;
	uint8_t value;
	int64_t factor; /* of the wanted value; 0: none */
};

/* The depths and frames of the row, as nodes. */
static int read_nodes(struct calls *calls, struct reader *rd, const struct row *row)
{
	const size_t cnt = rb_array(rd, sizeof(uint32_t));
	struct reader depths;
	int err = 0;

	if (cnt > ROLLUP_NODES)
		reader_fail(rd);
	reader_init(&depths, reader_bytes(rd, cnt * sizeof(uint32_t)), cnt * sizeof(uint32_t));
	if (rb_array(rd, sizeof(uint64_t)) != cnt)
		reader_fail(rd);
	calls->cnt = 0;
	while (calls->cnt < cnt && !err && !rd->err) {
		const uint32_t depth = reader_u32(&depths);
		const uint64_t frame = reader_u64(rd);

		if (depth > calls->depth || depth >= ROLLUP_DEPTH_MAX)
			reader_fail(rd);
		else
			err = add_node(calls, row->root, depth, frame, &calls->nodes[calls->cnt++]);
	}
	return err;
}

/* Their selfs, or those of the wanted value. */
static int read_selfs(struct calls *calls, struct reader *rd, int64_t factor)
{
	const size_t cnt = rb_array(rd, sizeof(int64_t));
	int64_t self;

	if (cnt != calls->cnt)
		reader_fail(rd);
	for (size_t i = 0; i < cnt && !rd->err; i++) {
		struct profile_call *node = &calls->tree.nodes[calls->nodes[i]];

		if (__builtin_mul_overflow((int64_t)reader_u64(rd), factor, &self) || self < 0)
			return -ENOTSUP;
		node->self = profile_value_sum(node->self, self);
	}
	return 0;
}

/* Where a row begins another tree, and that it is the next one. */
static void begin_row(struct calls *calls, struct reader *rd, const struct row *row)
{
	if (row->start_s != calls->start_s || row->tree != calls->id) {
		if (calls->left)
			reader_fail(rd);
		calls->start_s = row->start_s;
		calls->id = row->tree;
		calls->left = row->nodes;
		calls->depth = 0;
		calls->part = 0;
	}
	if (row->part != calls->part++)
		reader_fail(rd);
}

static int64_t read_factor(struct calls *calls, struct reader *rd, uint32_t column)
{
	int64_t factors[PROFILE_VALUES_MAX];

	rb_i64_array(rd, factors, PROFILE_VALUES_MAX);
	calls->is_short = column != NO_COLUMN && !factors[column];
	return column == NO_COLUMN ? 0 : factors[column];
}

static int read_structure(struct calls *calls, struct reader *rd, struct row *row, uint32_t column)
{
	int err;

	begin_row(calls, rd, row);
	row->factor = read_factor(calls, rd, column);
	if (rd->err)
		return 0;
	err = read_nodes(calls, rd, row);
	if (err || rd->err)
		return err;
	if (calls->cnt > calls->left)
		reader_fail(rd);
	calls->left -= rd->err ? 0 : calls->cnt;
	return read_selfs(calls, rd, row->factor);
}

/* Values of the nodes that the row before had. */
static int read_values(struct calls *calls, struct reader *rd, const struct row *row)
{
	if (!calls->is_short || row->start_s != calls->start_s || row->tree != calls->id ||
	    row->part + 1 != calls->part)
		reader_fail(rd);
	calls->is_short = false;
	rb_array(rd, sizeof(int64_t));
	rb_array(rd, sizeof(uint32_t));
	rb_array(rd, sizeof(uint64_t));
	return rd->err ? 0 : read_selfs(calls, rd, 1);
}

/* Up to the labels. */
static struct row read_place(struct reader *rd)
{
	struct row row = {.start_s = reader_u32(rd)};

	row.tree = reader_u64(rd);
	row.part = reader_u32(rd);
	row.value = reader_u8(rd);
	row.kind = reader_u64(rd);
	row.nodes = reader_u64(rd);
	return row;
}

static int read_row(struct calls *calls, struct reader *rd)
{
	struct row row = read_place(rd);
	uint32_t column = NO_COLUMN;

	row.root = take_root(calls, rd);
	if (rd->err)
		return 0;
	if (row.root == PROFILE_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < calls->ask.kinds.cnt; i++)
		if (calls->ask.kinds.items[i].id == row.kind)
			column = column_of(calls, i);
	return row.value ? read_values(calls, rd, &row) : read_structure(calls, rd, &row, column);
}

/* --- Their order --- */

/* Where a row begins in the answer, behind what it is sorted by. */
struct place {
	uint64_t tree;
	uint32_t start_s, part;
	uint8_t value;
	size_t offset;
};

struct places {
	struct place *items; /* owned */
	size_t cnt, cap;
	size_t node_cnt; /* of all of them */
};

static int compare_places(const void *left_ptr, const void *right_ptr)
{
	const struct place *left = left_ptr, *right = right_ptr;

	if (left->start_s != right->start_s)
		return left->start_s < right->start_s ? -1 : 1;
	if (left->tree != right->tree)
		return left->tree < right->tree ? -1 : 1;
	if (left->part != right->part)
		return left->part < right->part ? -1 : 1;
	return left->value - right->value;
}

/* How many elements it has. */
static size_t skip_array(struct reader *rd, size_t element_bytes)
{
	const size_t cnt = rb_array(rd, element_bytes);

	reader_skip(rd, cnt * element_bytes);
	return cnt;
}

/* How many nodes it has. */
static size_t skip_row(const struct calls *calls, struct reader *rd)
{
	size_t len, cnt;

	for (const char *const *by = calls->ask.query->by; *by; by++)
		rb_text(rd, &len);
	skip_array(rd, sizeof(int64_t));
	skip_array(rd, sizeof(uint32_t));
	cnt = skip_array(rd, sizeof(uint64_t));
	skip_array(rd, sizeof(int64_t));
	return cnt;
}

static int find_places(const struct calls *calls, struct reader *rd, struct places *out)
{
	while (!reader_done(rd)) {
		const size_t offset = reader_offset(rd);
		const struct row row = read_place(rd);
		int err = array_reserve(&out->items, &out->cap, out->cnt + 1, sizeof(*out->items));

		if (err)
			return err;
		out->node_cnt += skip_row(calls, rd);
		out->items[out->cnt++] = (struct place){
			.tree = row.tree,
			.start_s = row.start_s,
			.part = row.part,
			.value = row.value,
			.offset = offset,
		};
	}
	return 0;
}

/* The rows of an answer by hour, tree, part and value, each once. */
static int read_rows(struct calls *calls, struct reader *rd)
{
	struct places places = {.cnt = 0};
	int err = find_places(calls, rd, &places);

	/* A row may bring a root, too. */
	if (!err && !rd->err)
		err = profile_calls_reserve(&calls->tree, places.node_cnt + places.cnt);
	if (places.cnt && !rd->err)
		qsort(places.items, places.cnt, sizeof(*places.items), compare_places);
	for (size_t i = 0; i < places.cnt && !err && !rd->err; i++) {
		if (i && !compare_places(&places.items[i - 1], &places.items[i]))
			continue;
		reader_seek(rd, places.items[i].offset);
		err = read_row(calls, rd);
	}
	free(places.items);
	return err;
}

static int ask_part(struct calls *calls, const struct rollup_span *spans, size_t cnt)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct fleet *fleet = calls->ask.fleet;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	add_question(calls, spans, cnt, &sql);
	err = fleet_query(fleet, &sql, &answer);
	calls->id = 0;
	calls->left = 0;
	reader_init(&rd, answer.data, answer.len);
	if (!err)
		err = read_rows(calls, &rd);
	if (calls->left)
		reader_fail(&rd);
	return err ? err : fleet_read_end(fleet, &rd);
}

/* --- Which spans --- */

/* -ENOTSUP: one of @spans has no trees, or those of other sums. */
static int check_trees(const struct calls *calls, const struct rollup_spans *spans)
{
	struct rollup_spans trees = {.cnt = 0};
	int err;

	if (!spans->cnt)
		return 0;
	err = rollup_trees_done(calls->ask.fleet->client, spans->items->length_s,
				spans->items->start_s,
				spans->items[spans->cnt - 1].start_s + spans->items->length_s,
				&trees);
	for (size_t i = 0; i < spans->cnt && !err; i++) {
		const struct rollup_span *found =
			rollup_spans_find(&trees, spans->items[i].start_s);

		if (!found || found->built != spans->items[i].built)
			err = -ENOTSUP;
	}
	free(trees.items);
	return err;
}

static int ask_spans(struct calls *calls, const struct rollup_spans *spans)
{
	int err = 0;

	for (size_t i = 0; i < spans->cnt && !err; i += FLEET_SPANS_MAX) {
		const size_t rest = spans->cnt - i;

		err = ask_part(calls, spans->items + i,
			       rest < FLEET_SPANS_MAX ? rest : FLEET_SPANS_MAX);
	}
	return err;
}

/* -ENOTSUP: some of the range's windows are in no sums. */
static int check_plan(const struct calls *calls, const struct fleet_rolled *rolled)
{
	struct fleet_plan plan;
	int err = rolled->hours.cnt || rolled->days.cnt ? 0 : -ENOTSUP;

	if (err)
		return err;
	err = fleet_plan_init(&plan, &calls->ask, rolled);
	if (!err && plan.cnt)
		err = -ENOTSUP;
	free(plan.items);
	return err;
}

static int ask_trees(struct calls *calls, bool has_ledger)
{
	struct fleet_rolled *rolled = &calls->rolled;
	bool is_good = true;
	int err = fleet_rolled_expect(rolled, &calls->ask);

	if (!err)
		err = check_plan(calls, rolled);
	if (!err)
		err = check_trees(calls, &rolled->days);
	if (!err)
		err = check_trees(calls, &rolled->hours);
	/* Not before it is likely that the answer will be used. */
	if (!err)
		fleet_books_begin(&calls->books, &calls->ask, rolled, has_ledger);
	if (!err)
		err = ask_spans(calls, &rolled->days);
	if (!err)
		err = ask_spans(calls, &rolled->hours);
	if (!err)
		err = fleet_rolled_check(rolled, &calls->ask, &is_good);
	return !err && !is_good ? -ENOTSUP : err;
}

/* --- Names --- */

/* What was wanted, and not found, is asked for again by the next question. */
static void forget_wanted(struct calls *calls)
{
	struct id_map *known = &calls->ask.fleet->names.frames;

	for (size_t i = 0; i < calls->frame_cnt; i++) {
		const uint32_t at = id_map_find(known, calls->frames[i]);

		if (known->values[at] == FLEET_WANTED)
			known->values[at] = PROFILE_NONE;
	}
}

/* From places to locations. -ENOTSUP: there are wakers, whose names depend on where they stand, or
 * a stack whose middle would be left out. */
static int resolve(struct calls *calls)
{
	struct fleet_dict *names = &calls->ask.fleet->names;
	struct profile_calls *tree = &calls->tree;
	_cleanup_free_ uint32_t *frame_cnts = calloc(tree->node_cnt, sizeof(*frame_cnts));

	if (!frame_cnts)
		return -ENOMEM;
	for (size_t i = 0; i < tree->node_cnt; i++) {
		struct profile_call *node = &tree->nodes[i];
		const struct profile_location *location;

		if (node->parent == PROFILE_NONE)
			continue;
		node->ref = fleet_location_at(names, node->ref);
		if (names->prof.err)
			return names->prof.err;
		location = &names->prof.locations[node->ref];
		frame_cnts[i] = frame_cnts[node->parent];
		frame_cnts[i] += location->line_cnt ? location->line_cnt : 1;
		if (location->flags & LOCATION_WAKER || frame_cnts[i] > FLAME_FRAMES_MAX)
			return -ENOTSUP;
	}
	tree->places = &names->prof;
	return 0;
}

/* -ENOTSUP: it is nothing. */
static int check_total(const struct profile_calls *tree)
{
	for (size_t i = 0; i < tree->node_cnt; i++)
		if (tree->nodes[i].self)
			return 0;
	return -ENOTSUP;
}

/* --- The whole --- */

/* Are all labels that are kept, or asked for, those of samples? */
static bool is_usable(const struct fleet *fleet, const struct store_query *query)
{
	size_t cnt = 0;

	if (fleet->version < FLEET_SCHEMA_TREES || !query->by)
		return false;
	for (size_t i = 0; i < query->where_cnt; i++)
		if (!fleet_is_column(query->where[i].key))
			return false;
	for (const char *const *by = query->by; *by; by++)
		if (!fleet_is_column(*by) || ++cnt > KEYS_MAX)
			return false;
	return true;
}

static int pick_value(struct calls *calls, const char *value)
{
	struct profile *head = &calls->tree.head;
	int err;

	calls->value_at = calloc(calls->ask.kinds.cnt, sizeof(*calls->value_at));
	if (!calls->value_at)
		return -ENOMEM;
	err = kinds_take_types(&calls->ask.kinds, head, calls->value_at);
	calls->tree.value = value ? profile_find_value(head, value) : head->default_value;
	return err ? err : calls->tree.value < head->value_type_cnt ? 0 : -ENOTSUP;
}

static int read_calls(struct calls *calls, const char *value, bool has_ledger)
{
	int err = calls->ask.is_empty ? -ENOTSUP : 0;

	if (!err)
		err = pick_value(calls, value);
	if (!err)
		err = fleet_dict_refresh(&calls->ask.fleet->names);
	if (!err)
		err = ask_trees(calls, has_ledger);
	if (!err)
		err = check_total(&calls->tree);
	if (!err)
		err = fleet_learn_names(&calls->ask, calls->frames, calls->frame_cnt);
	return err ? err : resolve(calls);
}

static int read_all(struct calls *calls, const struct store_query *query, const char *value,
		    struct ledger *ledger, struct store_coverage *coverage)
{
	struct profile *head = &calls->tree.head;
	int err = fleet_ask_init(&calls->ask, calls->ask.fleet, query);

	if (!err)
		err = read_calls(calls, value, ledger != NULL);
	if (!err)
		err = fleet_books_end(&calls->books, coverage, ledger);
	if (err)
		return err == -ENOENT ? -ENOTSUP : err;
	head->time_ns = coverage->first_ns;
	head->duration_ns = coverage->covered_ns;
	return head->err;
}

static int calls_init(struct calls *calls, struct fleet *fleet)
{
	*calls = (struct calls){.ask.fleet = fleet};
	calls->path = malloc(ROLLUP_DEPTH_MAX * sizeof(*calls->path));
	return calls->path ? profile_calls_init(&calls->tree) : -ENOMEM;
}

static void calls_deinit(struct calls *calls)
{
	forget_wanted(calls);
	fleet_books_deinit(&calls->books);
	fleet_rolled_deinit(&calls->rolled);
	fleet_ask_deinit(&calls->ask);
	free(calls->value_at);
	free(calls->roots);
	free(calls->frames);
	free(calls->path);
}

int fleet_calls(struct fleet *fleet, const struct store_query *query, const char *value,
		struct profile_calls *out, struct ledger *ledger_out,
		struct store_coverage *coverage_out)
{
	struct store_coverage coverage = {0};
	struct ledger ledger;
	struct calls calls;
	int err;

	if (!is_usable(fleet, query))
		return -ENOTSUP;
	err = calls_init(&calls, fleet);
	if (err) {
		free(calls.path);
		return err;
	}
	ledger_init(&ledger);
	err = read_all(&calls, query, value, ledger_out ? &ledger : NULL, &coverage);
	if (err && err != -ENOTSUP)
		fleet_fail(fleet, err);
	calls_deinit(&calls);
	if (err) {
		profile_calls_deinit(&calls.tree);
		ledger_deinit(&ledger);
		return err;
	}
	*out = calls.tree;
	if (ledger_out)
		*ledger_out = ledger;
	if (coverage_out)
		*coverage_out = coverage;
	return 0;
}
