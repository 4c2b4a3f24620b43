/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet's store as one that is asked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "fleet/fleet_priv.h"

enum {
	CONNECT_TIMEOUT_MS = 10000,
	ANSWER_TIMEOUT_MS = 300000,
	/* Numbers of the server's errors */
	CODE_TIMEOUT = 159,
	CODE_TOO_SLOW = 160,
	CODE_MEMORY = 241,
	CODE_QUERY_TOO_BIG = 62,
};

/* --- Numbers --- */

/* The hash is the number: hash_mix() of 0 is one to one. */
static bool is_id(const void *owner, uint32_t index, const void *key)
{
	return true;
}

void id_map_deinit(struct id_map *map)
{
	hmap_deinit(&map->index);
	free(map->values);
	*map = (struct id_map){.cnt = 0};
}

uint32_t id_map_find(const struct id_map *map, uint64_t id)
{
	return hmap_find(&map->index, hash_mix(0, id), is_id, map, NULL);
}

uint32_t id_map_get(const struct id_map *map, uint64_t id)
{
	const uint32_t at = id_map_find(map, id);

	return at == HMAP_NONE ? PROFILE_NONE : map->values[at];
}

uint32_t id_map_intern(struct id_map *map, uint64_t id)
{
	const uint32_t at = id_map_find(map, id);

	if (at != HMAP_NONE)
		return at;
	if (map->cnt >= HMAP_NONE ||
	    array_reserve(&map->values, &map->cap, map->cnt + 1, sizeof(*map->values)) ||
	    hmap_insert(&map->index, hash_mix(0, id), (uint32_t)map->cnt))
		return HMAP_NONE;
	map->values[map->cnt] = PROFILE_NONE;
	return (uint32_t)map->cnt++;
}

/* --- Failures --- */

/* Does less help? */
static bool is_too_much(const struct ch_error *error)
{
	return error->code == CODE_TIMEOUT || error->code == CODE_TOO_SLOW ||
	       error->code == CODE_MEMORY || error->err == -ETIMEDOUT || error->err == -EFBIG;
}

static void explain(const struct fleet *fleet, int err, struct buf *out)
{
	const struct ch_error *error = ch_client_error(fleet->client);

	buf_printf(out, "store '%s': ", ch_client_name(fleet->client));
	if (error->err != err) {
		buf_add_str(out, strerror(-err));
		return;
	}
	ch_client_explain(fleet->client, out);
	if (is_too_much(error))
		buf_add_str(out, " (a shorter range of time, fewer labels (--by) or a narrower "
				 "selection (--select) take less)");
}

int fleet_fail(struct fleet *fleet, int err)
{
	_cleanup_(buf_deinit) struct buf line;

	buf_init(&line, BUF_NO_MAX);
	if (fleet->source.why[0])
		buf_add_str(&line, fleet->source.why);
	else
		explain(fleet, err, &line);
	snprintf(fleet->source.why, sizeof(fleet->source.why), "%s", buf_cstr(&line));
	/* A page that is open asks again and again. */
	if (strcmp(fleet->logged, fleet->source.why) != 0)
		log_error("%s", buf_cstr(&line));
	memcpy(fleet->logged, fleet->source.why, sizeof(fleet->logged));
	return err;
}

void fleet_take_why(struct fleet *fleet, const struct fleet *beside, int err)
{
	_cleanup_(buf_deinit) struct buf line;

	if (beside == fleet)
		return;
	buf_init(&line, BUF_NO_MAX);
	if (beside->source.why[0])
		buf_add_str(&line, beside->source.why);
	else
		explain(beside, err, &line);
	snprintf(fleet->source.why, sizeof(fleet->source.why), "%s", buf_cstr(&line));
}

int fleet_read_end(struct fleet *fleet, const struct reader *rd)
{
	if (!rd->err)
		return 0;
	snprintf(fleet->source.why, sizeof(fleet->source.why),
		 "store '%s': the server's answer is not what was asked for: are its tables those "
		 "that `bpfprof store init` made?",
		 ch_client_name(fleet->client));
	return -EBADMSG;
}

static void finish_sql(struct buf *sql, struct buf *answer)
{
	buf_add_str(sql, " FORMAT RowBinary");
	buf_reset(answer);
	log_debug("fleet: %s", buf_cstr(sql));
}

int fleet_query(struct fleet *fleet, struct buf *sql, struct buf *answer)
{
	finish_sql(sql, answer);
	return sql->err ? sql->err : ch_client_query(fleet->client, buf_cstr(sql), answer);
}

int fleet_query_ids(struct fleet *fleet, struct buf *sql, const uint64_t *ids, size_t cnt,
		    struct buf *answer)
{
	finish_sql(sql, answer);
	return sql->err ? sql->err
			: ch_client_query_ids(fleet->client, buf_cstr(sql), ids, cnt, answer);
}

/* --- The source --- */

/* What a question came to: after an answer the next failure is news. */
static int settle(struct store_source *source, int err)
{
	if (!err)
		fleet_of(source)->logged[0] = '\0';
	return err;
}

static void close_fleet(struct store_source *source)
{
	struct fleet *fleet = fleet_of(source);

	if (fleet->beside)
		ch_client_close(fleet->beside->client);
	free(fleet->beside);
	ch_client_close(fleet->client);
	fleet_dict_deinit(&fleet->dict);
	fleet_dict_deinit(&fleet->names);
	free(fleet);
}

static bool is_current(struct store_source *source)
{
	return true;
}

static int read_source(struct store_source *source, const struct store_query *query,
		       struct profile *out, struct ledger *ledger_out,
		       struct store_coverage *coverage_out)
{
	return settle(source, fleet_read(fleet_of(source), query, out, ledger_out, coverage_out));
}

static int each_kind(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
		     store_kind_fn *fn, void *arg)
{
	return settle(source, fleet_each_kind(fleet_of(source), from_ns, to_ns, fn, arg));
}

static int each_label(struct store_source *source, const struct store_query *query,
		      store_label_fn *fn, void *arg)
{
	return settle(source, fleet_each_label(fleet_of(source), query, fn, arg));
}

static int timeline(struct store_source *source, const struct store_query *query, const char *by,
		    const char *function, size_t point_cnt, store_series_fn *fn, void *arg)
{
	return settle(source,
		      fleet_timeline(fleet_of(source), query, by, function, point_cnt, fn, arg));
}

static int coverage(struct store_source *source, uint64_t from_ns, uint64_t to_ns,
		    struct store_coverage *out)
{
	struct fleet_ask ask;
	int err;

	fleet_ask_range(&ask, fleet_of(source), from_ns, to_ns);
	err = fleet_coverage(&ask, out);
	return settle(source, err ? fleet_fail(ask.fleet, err) : 0);
}

static int ledger(struct store_source *source, const struct store_query *query,
		  struct ledger *ledger_out, struct store_coverage *coverage_out)
{
	struct store_coverage covered;
	struct fleet_ask ask;
	struct ledger sum;
	int err;

	ledger_init(&sum);
	fleet_ask_range(&ask, fleet_of(source), query->from_ns, query->to_ns);
	err = fleet_coverage(&ask, &covered);
	if (!err)
		err = fleet_ledgers(&ask, &covered, &sum);
	if (err) {
		ledger_deinit(&sum);
		return fleet_fail(ask.fleet, err);
	}
	*ledger_out = sum;
	*coverage_out = covered;
	return settle(source, 0);
}

static int calls(struct store_source *source, const struct store_query *query, const char *value,
		 struct profile_calls *out, struct ledger *ledger_out,
		 struct store_coverage *coverage_out)
{
	return settle(source,
		      fleet_calls(fleet_of(source), query, value, out, ledger_out, coverage_out));
}

static const struct store_source_ops fleet_ops = {
	.close = close_fleet,
	.is_current = is_current,
	.read = read_source,
	.each_kind = each_kind,
	.each_label = each_label,
	.timeline = timeline,
	.coverage = coverage,
	.ledger = ledger,
	.calls = calls,
};

static int check_schema(struct fleet *fleet, struct buf *why)
{
	const char *name = ch_client_name(fleet->client);
	int err = fleet_schema_version(fleet->client, &fleet->version);

	if (err == -ENOENT) {
		buf_printf(why,
			   "store '%s': there is no fleet's store yet: bpfprof store init --store "
			   "URL makes one",
			   name);
	} else if (err) {
		explain(fleet, err, why);
	} else if (fleet->version > FLEET_SCHEMA_VERSION) {
		buf_printf(why,
			   "store '%s' was made by a newer bpfprof (version %u; this is %d): read "
			   "it with that one",
			   name, fleet->version, FLEET_SCHEMA_VERSION);
		err = -EPROTO;
	}
	return err;
}

static const struct http_opts http = {.connect_timeout_ms = CONNECT_TIMEOUT_MS,
				      .timeout_ms = ANSWER_TIMEOUT_MS};

struct fleet *fleet_beside(struct fleet *fleet)
{
	struct fleet *beside = fleet->beside;

	if (!beside) {
		beside = calloc(1, sizeof(*beside));
		if (!beside)
			return NULL;
		if (ch_client_open_same(fleet->client, &http, &beside->client)) {
			free(beside);
			return NULL;
		}
		beside->source.name = ch_client_name(beside->client);
		beside->version = fleet->version;
		fleet->beside = beside;
	}
	beside->source.why[0] = '\0';
	return beside;
}

int fleet_open(const char *url, struct store_source **out, struct buf *why)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));
	const char *wrong = NULL;
	int err;

	if (!fleet)
		return -ENOMEM;
	fleet->source.ops = &fleet_ops;
	err = ch_client_open(url, &http, &fleet->client, &wrong);
	if (err) {
		/* Not the URL, which may have a password. */
		buf_printf(why, "the store's URL: %s",
			   err == -EINVAL   ? wrong
			   : err == -ENOSYS ? "this build has no HTTP client"
					    : strerror(-err));
		free(fleet);
		return err;
	}
	fleet->source.name = ch_client_name(fleet->client);
	err = check_schema(fleet, why);
	if (err) {
		close_fleet(&fleet->source);
		return err;
	}
	*out = &fleet->source;
	return 0;
}

bool fleet_is_url(const char *url)
{
	return ch_url_is(url);
}

int fleet_or_file_open(const char *url, struct store_source **out, struct buf *why)
{
	return fleet_is_url(url) ? fleet_open(url, out, why) : store_source_open_file(url, out);
}
