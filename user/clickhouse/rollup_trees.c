/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server sorts a service's sums by their frames, so that a tree's nodes come one after the
 * other: of each stack those that the one before did not have.
 */
#include "clickhouse/rollup_trees.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/log.h"
#include "base/reader.h"
#include "clickhouse/native.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"
#include "profile/profile.h"

enum { DAY_S = 86400, BLOCK_BYTES = 8 << 20 /* about, of one insert */ };

static const struct native_column columns[] = {
	{"span", NATIVE_U32},	      {"h", NATIVE_DATETIME},	     {"tree", NATIVE_U64},
	{"part", NATIVE_U32},	      {"value", NATIVE_U8},	     {"service", NATIVE_WORD},
	{"version", NATIVE_WORD},     {"kind", NATIVE_U64},	     {"built", NATIVE_U64},
	{"nodes", NATIVE_U64},	      {"factors", NATIVE_I64_ARRAY}, {"depths", NATIVE_U32_ARRAY},
	{"frames", NATIVE_U64_ARRAY}, {"selfs", NATIVE_I64_ARRAY},
};

static const struct native_table table_columns = {
	.name = "rollup_trees",
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(*columns),
};

/* --- What is there --- */

int rollup_trees_done(struct ch_client *client, uint32_t length_s, uint32_t from_s, uint32_t to_s,
		      struct rollup_spans *out)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "SELECT toUInt32(h) AS start, toUInt64(0), toUInt64(0), max(built), "
		   "argMax(nodes, built) FROM rollup_trees WHERE span = %u AND tree = 0 AND "
		   "h >= toDateTime(%u, 'UTC') AND h < toDateTime(%u, 'UTC') GROUP BY start ORDER "
		   "BY start",
		   length_s, from_s, to_s);
	return rollup_ask(client, &sql, length_s, out);
}

/* --- A tree --- */

struct tree {
	const char *service;
	struct buf version;
	uint64_t kind;
	uint32_t value_cnt;
	uint32_t *depths; /* owned */
	uint64_t *frames; /* owned */
	int64_t *selfs; /* owned: value_cnt of each node */
	size_t node_cnt, depth_cap, frame_cap, self_cap;
	uint64_t *path; /* owned: ROLLUP_DEPTH_MAX, of the stack before */
	size_t path_len;
	bool is_begun;
};

struct making {
	struct ch_client *client;
	const struct rollup_span *span;
	struct native_block block;
	struct tree tree;
	uint64_t node_cnt, row_cnt; /* of all trees, and of the sums that they are made of */
	bool lacks_stacks;
};

static int new_node(struct tree *tree, uint32_t depth, uint64_t frame)
{
	const size_t at = tree->node_cnt;

	if (array_reserve(&tree->depths, &tree->depth_cap, at + 1, sizeof(*tree->depths)) ||
	    array_reserve(&tree->frames, &tree->frame_cap, at + 1, sizeof(*tree->frames)) ||
	    array_reserve(&tree->selfs, &tree->self_cap, (at + 1) * tree->value_cnt,
			  sizeof(*tree->selfs)))
		return -ENOMEM;
	tree->depths[at] = depth;
	tree->frames[at] = frame;
	memset(tree->selfs + at * tree->value_cnt, 0, tree->value_cnt * sizeof(*tree->selfs));
	tree->node_cnt++;
	return 0;
}

/* The nodes that the stack of @cnt >= 1 frames has and the one before has not; its last one is new
 * in any case. */
static int add_stack(struct tree *tree, const uint64_t *frames, size_t cnt)
{
	size_t same = 0;
	int err = 0;

	while (same + 1 < cnt && same < tree->path_len && frames[same] == tree->path[same])
		same++;
	for (size_t i = same; i < cnt && !err; i++) {
		tree->path[i] = frames[i];
		err = new_node(tree, (uint32_t)i, frames[i]);
	}
	tree->path_len = cnt;
	return err;
}

/* What one of n is in value @value, where that is so in each node; else 0. */
static int64_t factor_of(const struct tree *tree, uint32_t value)
{
	int64_t factor = 0, product;

	for (size_t i = 0; i < tree->node_cnt; i++) {
		const int64_t *selfs = tree->selfs + i * tree->value_cnt;

		if (selfs[0] == -1 && selfs[value] == INT64_MIN)
			return 0;
		if (!factor && selfs[0])
			factor = selfs[value] / selfs[0];
		if (__builtin_mul_overflow(selfs[0], factor, &product) || product != selfs[value])
			return 0;
	}
	return factor;
}

static bool is_zero(const struct tree *tree, uint32_t value)
{
	for (size_t i = 0; i < tree->node_cnt; i++)
		if (tree->selfs[i * tree->value_cnt + value])
			return false;
	return true;
}

/* --- Its rows --- */

static uint64_t id_of(const struct tree *tree)
{
	uint64_t id = hash_bytes(tree->service, strlen(tree->service));

	id = hash_mix(id, hash_bytes(buf_cstr(&tree->version), tree->version.len));
	id = hash_mix(id, tree->kind);
	return id ? id : 1;
}

/* The columns up to `nodes`. */
static void begin_row(struct making *making, const struct tree *tree, uint32_t part, uint32_t value)
{
	struct native_block *block = &making->block;

	native_add(block, making->span->length_s);
	native_add(block, making->span->start_s);
	native_add(block, tree ? id_of(tree) : 0);
	native_add(block, part);
	native_add(block, value);
	native_add_str(block, tree ? tree->service : "");
	native_add_text(block, tree ? buf_cstr(&tree->version) : "", tree ? tree->version.len : 0);
	native_add(block, tree ? tree->kind : 0);
	native_add(block, making->span->built);
	native_add(block, tree ? tree->node_cnt : making->node_cnt);
}

static void add_row(struct making *making, size_t first, uint32_t value, const int64_t *factors)
{
	const struct tree *tree = &making->tree;
	struct native_block *block = &making->block;
	const size_t rest = tree->node_cnt - first;
	const size_t last = first + (rest < ROLLUP_NODES ? rest : ROLLUP_NODES);

	begin_row(making, tree, (uint32_t)(first / ROLLUP_NODES), value);
	for (uint32_t i = 0; i < tree->value_cnt && !value; i++)
		native_element(block, (uint64_t)factors[i]);
	native_end_array(block);
	for (size_t i = first; i < last && !value; i++)
		native_element(block, tree->depths[i]);
	native_end_array(block);
	for (size_t i = first; i < last && !value; i++)
		native_element(block, tree->frames[i]);
	native_end_array(block);
	for (size_t i = first; i < last; i++)
		native_element(block, (uint64_t)tree->selfs[i * tree->value_cnt + value]);
	native_end_array(block);
}

static int flush(struct making *making, size_t bytes)
{
	int err;

	if (native_bytes(&making->block) < bytes)
		return 0;
	err = native_insert(&making->block, making->client);
	return err ? err : native_reset(&making->block);
}

static int end_tree(struct making *making)
{
	struct tree *tree = &making->tree;
	int64_t factors[PROFILE_VALUES_MAX] = {0};
	bool has_rows[PROFILE_VALUES_MAX] = {false};
	int err = 0;

	if (!tree->is_begun)
		return 0;
	tree->is_begun = false;
	if (tree->node_cnt > UINT32_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < tree->value_cnt; i++) {
		factors[i] = i ? factor_of(tree, i) : 1;
		has_rows[i] = !i || (!factors[i] && !is_zero(tree, i));
	}
	for (size_t first = 0; first < tree->node_cnt && !err; first += ROLLUP_NODES) {
		for (uint32_t i = 0; i < tree->value_cnt; i++)
			if (has_rows[i])
				add_row(making, first, i, factors);
		err = flush(making, BLOCK_BYTES);
	}
	making->node_cnt += tree->node_cnt;
	return err;
}

/* --- From the sums --- */

static void begin_tree(struct making *making, const char *version, size_t len, uint64_t kind,
		       uint32_t value_cnt)
{
	struct tree *tree = &making->tree;

	buf_reset(&tree->version);
	buf_add(&tree->version, version, len);
	tree->kind = kind;
	tree->value_cnt = value_cnt;
	tree->node_cnt = 0;
	tree->path_len = 0;
	tree->is_begun = true;
}

static bool is_same_tree(const struct tree *tree, const char *version, size_t len, uint64_t kind)
{
	return tree->is_begun && tree->kind == kind && tree->version.len == len &&
	       !memcmp(buf_cstr(&tree->version), version, len);
}

/* What a stack has, of the values of its kind. */
struct sums {
	int64_t values[PROFILE_VALUES_MAX];
	uint32_t cnt;
};

static void read_sums(struct reader *rd, struct sums *out)
{
	size_t more;

	*out = (struct sums){.cnt = FLEET_VALUE_COLUMNS};
	for (uint32_t i = 0; i < FLEET_VALUE_COLUMNS; i++)
		out->values[i] = (int64_t)reader_u64(rd);
	more = rb_array(rd, sizeof(int64_t));
	if (more > PROFILE_VALUES_MAX - FLEET_VALUE_COLUMNS)
		reader_fail(rd);
	for (size_t i = 0; i < more && !rd->err; i++)
		out->values[out->cnt++] = (int64_t)reader_u64(rd);
}

/* One row of (version, kind, is there, frames, n, v1, v2, v3, v); @frames: room for
 * ROLLUP_DEPTH_MAX. */
static int read_row(struct making *making, struct reader *rd, uint64_t *frames)
{
	struct tree *tree = &making->tree;
	struct sums sums;
	size_t len, cnt;
	const char *version = rb_text(rd, &len);
	const uint64_t kind = reader_u64(rd);
	const bool is_there = reader_u8(rd);
	int err = 0;

	cnt = rb_array(rd, sizeof(*frames));
	if (cnt > ROLLUP_DEPTH_MAX)
		reader_fail(rd);
	for (size_t i = 0; i < cnt && !rd->err; i++)
		frames[i] = reader_u64(rd);
	if (!cnt)
		frames[cnt++] = 0;
	read_sums(rd, &sums);
	if (rd->err)
		return 0;
	making->lacks_stacks |= !is_there;
	making->row_cnt++;
	if (!is_same_tree(tree, version, len, kind)) {
		err = end_tree(making);
		begin_tree(making, version, len, kind, sums.cnt);
	}
	if (!err && sums.cnt != tree->value_cnt)
		reader_fail(rd);
	if (err || rd->err)
		return err;
	err = add_stack(tree, frames, cnt);
	for (uint32_t i = 0; i < sums.cnt && !err; i++)
		tree->selfs[(tree->node_cnt - 1) * sums.cnt + i] = sums.values[i];
	return err;
}

static void add_question(const struct rollup_span *span, const char *service, struct buf *sql)
{
	const size_t len = strlen(service);

	buf_add_str(sql, "SELECT toString(version) AS ver, kind, is_there, frames, n, v1, v2, v3, "
			 "v FROM (SELECT version, kind, stack, n, v1, v2, v3, v FROM ");
	buf_printf(sql,
		   "%s FINAL WHERE h = toDateTime(%u, 'UTC') AND built = toUInt64(%" PRIu64
		   ") AND service = ",
		   rollup_table(span->length_s), span->start_s, span->built);
	ch_add_quoted(sql, service, len);
	buf_printf(sql,
		   ") AS a ANY LEFT JOIN (SELECT stack, frames, toUInt8(1) AS is_there FROM "
		   "stacks WHERE day = toDate(%u) AND service = ",
		   span->start_s / DAY_S);
	ch_add_quoted(sql, service, len);
	buf_add_str(sql, ") AS s USING stack ORDER BY ver, kind, frames FORMAT RowBinary");
}

static int make_service(struct making *making, const char *service)
{
	_cleanup_free_ uint64_t *frames = calloc(ROLLUP_DEPTH_MAX, sizeof(*frames));
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	if (!frames)
		return -ENOMEM;
	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, CH_ANSWER_MAX_BYTES);
	add_question(making->span, service, &sql);
	log_debug("rollup: %s", buf_cstr(&sql));
	err = sql.err ? sql.err : ch_client_query(making->client, buf_cstr(&sql), &answer);
	making->tree.service = service;
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd) && !making->lacks_stacks)
		err = read_row(making, &rd, frames);
	if (!err && rd.err)
		err = -EPROTO;
	return err ? err : making->lacks_stacks ? -ENODATA : end_tree(making);
}

static int list_services(const struct making *making, struct strtab *out)
{
	const struct rollup_span *span = making->span;
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, CH_ANSWER_MAX_BYTES);
	buf_printf(&sql,
		   "SELECT DISTINCT toString(service) AS s FROM %s WHERE h = toDateTime(%u, 'UTC') "
		   "AND built = toUInt64(%" PRIu64 ") FORMAT RowBinary",
		   rollup_table(span->length_s), span->start_s, span->built);
	err = sql.err ? sql.err : ch_client_query(making->client, buf_cstr(&sql), &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd)) {
		size_t len;
		const char *service = rb_text(&rd, &len);

		if (service && strtab_add(out, service, len) == STRTAB_NONE)
			err = -ENOMEM;
	}
	return err ? err : rd.err ? -EPROTO : 0;
}

/* The last row. */
static void end_span(struct making *making)
{
	begin_row(making, NULL, 0, 0);
	for (int i = 0; i < 4; i++)
		native_end_array(&making->block);
}

/* Strings of @services, of which the first is "": it is one of them or none. */
static int make_all(struct making *making, const struct strtab *services)
{
	int err = 0;

	for (uint32_t i = 0; i < services->cnt && !err; i++)
		err = make_service(making, strtab_get(services, i));
	if (!err && making->row_cnt != making->span->rows)
		err = -ENODATA;
	/* Behind all others: nobody reads them before. */
	if (!err)
		err = flush(making, 0);
	if (err)
		return err;
	end_span(making);
	return flush(making, 0);
}

int rollup_trees_make(struct ch_client *client, const struct rollup_span *span)
{
	struct making making = {.client = client, .span = span};
	struct tree *tree = &making.tree;
	struct strtab services = {0};
	int err = strtab_init(&services);

	buf_init(&tree->version, BUF_NO_MAX);
	tree->path = calloc(ROLLUP_DEPTH_MAX, sizeof(*tree->path));
	if (!err)
		err = native_init(&making.block, &table_columns);
	if (!err && !tree->path)
		err = -ENOMEM;
	if (!err)
		err = list_services(&making, &services);
	if (!err)
		err = make_all(&making, &services);
	native_deinit(&making.block);
	strtab_deinit(&services);
	buf_deinit(&tree->version);
	free(tree->path);
	free(tree->depths);
	free(tree->frames);
	free(tree->selfs);
	return err;
}

/* --- Checking --- */

static void add_rows_of(const struct rollup_span *span, struct buf *sql)
{
	buf_printf(sql,
		   "rollup_trees FINAL WHERE span = %u AND h = toDateTime(%u, 'UTC') AND tree != 0 "
		   "AND built = toUInt64(%" PRIu64 ")",
		   span->length_s, span->start_s, span->built);
}

int rollup_trees_check(struct ch_client *client, const struct rollup_span *span, const char *table,
		       uint64_t *out)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(
		&sql,
		"SELECT count() FROM (SELECT service, version, kind, i, sum(s) AS d FROM (SELECT "
		"service, version, kind, i, x AS s FROM (SELECT service, version, kind, "
		"arrayConcat([toInt64(sum(n)), toInt64(sum(v1)), toInt64(sum(v2)), "
		"toInt64(sum(v3))], sumForEach(v)) AS a FROM %s FINAL WHERE h = toDateTime(%u, "
		"'UTC') GROUP BY service, version, kind) ARRAY JOIN a AS x, arrayEnumerate(a) "
		"AS i UNION ALL SELECT service, version, kind, i, -(x * w) AS s FROM (SELECT "
		"service, version, kind, factors, toInt64(arraySum(selfs)) AS w FROM ",
		table, span->start_s);
	add_rows_of(span, &sql);
	buf_add_str(&sql, " AND value = 0) ARRAY JOIN factors AS x, arrayEnumerate(factors) AS i "
			  "UNION ALL SELECT service, version, kind, toUInt32(value + 1) AS i, "
			  "-toInt64(arraySum(selfs)) AS s FROM ");
	add_rows_of(span, &sql);
	buf_add_str(&sql, " AND value != 0) GROUP BY service, version, kind, i HAVING d != 0)");
	log_debug("rollup: %s", buf_cstr(&sql));
	return sql.err ? sql.err : ch_client_number(client, buf_cstr(&sql), out);
}
