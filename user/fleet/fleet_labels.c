/* SPDX-License-Identifier: Apache-2.0 */
/* Labels: of sources, and what there is of them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "fleet/fleet_priv.h"

enum { PAIRS_MAX = FLEET_IDS_MAX / 2, LABELS_MAX = 1 << 10 /* of one source */ };

static struct profile_label make_label(struct profile *prof, uint32_t key, const char *text,
				       size_t len)
{
	return (struct profile_label){.key = key,
				      .str = profile_stringn(prof, text, len),
				      .num_unit = profile_string(prof, "")};
}

bool fleet_take_label(struct profile *prof, const char *key, struct reader *rd,
		      struct profile_label *out)
{
	size_t len;
	const char *text = rb_text(rd, &len);

	if (!text || !len)
		return false;
	*out = make_label(prof, profile_string(prof, key), text + 1, len - 1);
	return true;
}

/* --- All labels of sources --- */

/* Where the label sets of the sources that are asked for go. */
struct asked {
	const struct source_id *sources;
	struct hmap index;
	uint32_t *sets;
};

static uint64_t hash_source(const struct source_id *source)
{
	return hash_mix(hash_mix(0, source->host), source->src);
}

static bool is_source(const void *owner, uint32_t index, const void *key)
{
	const struct asked *asked = owner;

	return !memcmp(&asked->sources[index], key, sizeof(struct source_id));
}

static int read_source(struct reader *rd, struct profile *prof, struct profile_label *labels,
		       struct asked *asked)
{
	struct source_id source;
	size_t cnt, len;
	const char *text;
	uint32_t at;

	source.host = reader_u64(rd);
	source.src = reader_u64(rd);
	cnt = rb_array(rd, 1);
	if (cnt > LABELS_MAX)
		reader_fail(rd);
	for (size_t i = 0; i < cnt && !rd->err; i++) {
		text = rb_text(rd, &len);
		labels[i].key = profile_stringn(prof, text ? text : "", len);
	}
	if (rb_array(rd, 1) != cnt)
		reader_fail(rd);
	for (size_t i = 0; i < cnt && !rd->err; i++) {
		text = rb_text(rd, &len);
		labels[i] = make_label(prof, labels[i].key, text ? text : "", len);
	}
	if (rd->err || prof->err)
		return prof->err;
	at = hmap_find(&asked->index, hash_source(&source), is_source, asked, &source);
	if (at != HMAP_NONE)
		asked->sets[at] = profile_labels(prof, labels, cnt);
	return prof->err;
}

static int ask_sources(const struct fleet_ask *ask, const struct source_id *sources, size_t cnt,
		       struct profile *prof, struct asked *asked)
{
	_cleanup_free_ struct profile_label *labels = calloc(LABELS_MAX, sizeof(*labels));
	_cleanup_(buf_deinit) struct buf sql = {0};
	_cleanup_(buf_deinit) struct buf answer = {0};
	struct reader rd;
	int err;

	if (!labels)
		return -ENOMEM;
	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_add_str(&sql, "SELECT host, src, keys, vals FROM sources WHERE 1");
	fleet_add_days(ask, &sql);
	buf_add_str(&sql, buf_cstr(&ask->services));
	buf_add_str(&sql, " AND (host, src) IN (");
	for (size_t i = 0; i < cnt; i++)
		buf_printf(&sql, "%s(%" PRIu64 ",%" PRIu64 ")", i ? "," : "", sources[i].host,
			   sources[i].src);
	buf_add_str(&sql, ") LIMIT 1 BY host, src");
	err = fleet_query(ask->fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		err = read_source(&rd, prof, labels, asked);
	return err ? err : fleet_read_end(ask->fleet, &rd);
}

int fleet_label_sets(const struct fleet_ask *ask, const struct source_id *sources, size_t cnt,
		     struct profile *prof, uint32_t *sets)
{
	const uint32_t none = profile_labels(prof, NULL, 0);
	struct asked asked = {.sources = sources, .sets = sets};
	int err = prof->err;

	hmap_init(&asked.index);
	for (size_t i = 0; i < cnt && !err; i++) {
		sets[i] = none;
		err = hmap_insert(&asked.index, hash_source(&sources[i]), (uint32_t)i);
	}
	for (size_t i = 0; i < cnt && !err; i += PAIRS_MAX)
		err = ask_sources(ask, sources + i, cnt - i < PAIRS_MAX ? cnt - i : PAIRS_MAX, prof,
				  &asked);
	hmap_deinit(&asked.index);
	return err;
}

/* --- Each value of each label --- */

struct label_sum {
	uint32_t key, value; /* strings */
	int64_t total;
};

struct label_sums {
	struct fleet_ask ask;
	struct profile strings;
	struct label_sum *items; /* owned */
	size_t cnt, cap;
	struct hmap index;
};

static bool is_label(const void *owner, uint32_t index, const void *key)
{
	const struct label_sums *sums = owner;
	const struct label_sum *wanted = key;

	return sums->items[index].key == wanted->key && sums->items[index].value == wanted->value;
}

static int read_sum(struct reader *rd, struct label_sums *sums)
{
	size_t key_len, value_len;
	const char *key = rb_text(rd, &key_len), *value = rb_text(rd, &value_len);
	struct label_sum sum = {.total = (int64_t)reader_u64(rd)};
	uint64_t hash;
	uint32_t at;

	if (rd->err)
		return 0;
	sum.key = profile_stringn(&sums->strings, key, key_len);
	sum.value = profile_stringn(&sums->strings, value, value_len);
	hash = hash_mix(hash_mix(0, sum.key), sum.value);
	at = hmap_find(&sums->index, hash, is_label, sums, &sum);
	if (at != HMAP_NONE) {
		sums->items[at].total = profile_value_sum(sums->items[at].total, sum.total);
		return 0;
	}
	if (sums->strings.err ||
	    array_reserve(&sums->items, &sums->cap, sums->cnt + 1, sizeof(*sums->items)) ||
	    hmap_insert(&sums->index, hash, (uint32_t)sums->cnt))
		return -ENOMEM;
	sums->items[sums->cnt++] = sum;
	return 0;
}

/* A sum of each source, then of each label of it: the server does not join every sample. */
static void add_sums(const struct fleet_ask *ask, const struct fleet_hours *hours, struct buf *sql)
{
	buf_add_str(sql, "SELECT key, val, sum(x) FROM (SELECT keys, vals, x FROM (SELECT host, "
			 "src, ");
	fleet_add_default_sum(ask, FLEET_STORED, sql);
	buf_add_str(sql, " AS x FROM ");
	fleet_add_samples(ask, hours->first, hours->last, sql);
	buf_add_str(sql, " GROUP BY host, src) AS a ANY LEFT JOIN (SELECT host, src, keys, vals "
			 "FROM sources WHERE 1");
	fleet_add_days(ask, sql);
	buf_add_str(sql, buf_cstr(&ask->services));
	buf_add_str(sql, ") AS s USING (host, src)) ARRAY JOIN keys AS key, vals AS val "
			 "GROUP BY key, val");
}

static int ask_hours(void *arg, const struct fleet_hours *hours)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct label_sums *sums = arg;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	add_sums(&sums->ask, hours, &sql);
	err = fleet_query(sums->ask.fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		err = read_sum(&rd, sums);
	return err ? err : fleet_read_end(sums->ask.fleet, &rd);
}

static void forget_sums(void *arg)
{
	struct label_sums *sums = arg;

	hmap_clear(&sums->index);
	sums->cnt = 0;
}

static int ask_sums(struct label_sums *sums)
{
	struct fleet_plan plan;
	int err = fleet_plan_init(&plan, &sums->ask, NULL);

	if (!err)
		err = fleet_parts_read(&sums->ask, &plan, ask_hours, forget_sums, sums);
	free(plan.items);
	return err;
}

static int compare_sums(const void *left_ptr, const void *right_ptr, void *arg)
{
	const struct label_sum *left = left_ptr, *right = right_ptr;
	const struct profile *prof = arg;
	int order = strcmp(profile_str(prof, left->key), profile_str(prof, right->key));

	if (!order)
		order = (left->total < right->total) - (left->total > right->total);
	return order ? order
		     : strcmp(profile_str(prof, left->value), profile_str(prof, right->value));
}

static int tell_sums(struct label_sums *sums, store_label_fn *fn, void *arg)
{
	const struct profile *prof = &sums->strings;
	int err = 0;

	if (sums->cnt)
		qsort_r(sums->items, sums->cnt, sizeof(*sums->items), compare_sums, &sums->strings);
	for (size_t i = 0; i < sums->cnt && !err; i++)
		err = fn(arg, profile_str(prof, sums->items[i].key),
			 profile_str(prof, sums->items[i].value), sums->items[i].total);
	return err;
}

int fleet_each_label(struct fleet *fleet, const struct store_query *query, store_label_fn *fn,
		     void *arg)
{
	struct label_sums sums = {.cnt = 0};
	int err = profile_init(&sums.strings);

	if (err)
		return err;
	hmap_init(&sums.index);
	err = fleet_ask_init(&sums.ask, fleet, query);
	if (!err && !sums.ask.is_empty)
		err = ask_sums(&sums);
	if (err && err != -ENOENT)
		fleet_fail(fleet, err);
	if (!err)
		err = tell_sums(&sums, fn, arg);
	fleet_ask_deinit(&sums.ask);
	profile_deinit(&sums.strings);
	hmap_deinit(&sums.index);
	free(sums.items);
	return err;
}
