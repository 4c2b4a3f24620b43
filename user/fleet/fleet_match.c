/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sources have the labels that are asked for. The server tells which combinations of the
 * labels there are, the patterns are matched here, as those of the local store, and what is left
 * becomes a list: of services, by which samples are sorted, and of the other labels' texts.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/fleet_priv.h"
#include "store/match_list.h"

/* Different keys of the conditions, and what one combination has for them. */
struct combination {
	const char *keys[MATCHES_MAX]; /* borrowed */
	struct buf texts[MATCHES_MAX]; /* "": none, else '=' and its text */
	size_t cnt;
	struct buf service;
};

static void combination_init(struct combination *combination)
{
	*combination = (struct combination){.cnt = 0};
	buf_init(&combination->service, BUF_NO_MAX);
	for (size_t i = 0; i < MATCHES_MAX; i++)
		buf_init(&combination->texts[i], BUF_NO_MAX);
}

static void combination_deinit(struct combination *combination)
{
	buf_deinit(&combination->service);
	for (size_t i = 0; i < MATCHES_MAX; i++)
		buf_deinit(&combination->texts[i]);
}

static size_t index_of(const struct combination *combination, const char *key)
{
	size_t i = 0;

	while (i < combination->cnt && strcmp(combination->keys[i], key) != 0)
		i++;
	return i;
}

static int take_keys(struct combination *combination, const struct store_query *query)
{
	for (size_t i = 0; i < query->where_cnt; i++) {
		if (index_of(combination, query->where[i].key) < combination->cnt)
			continue;
		if (combination->cnt == MATCHES_MAX)
			return -E2BIG;
		combination->keys[combination->cnt++] = query->where[i].key;
	}
	return 0;
}

static void read_text(struct reader *rd, struct buf *out)
{
	size_t len;
	const char *text = rb_text(rd, &len);

	buf_reset(out);
	if (text)
		buf_add(out, text, len);
}

static const char *value_of(void *arg, const char *key)
{
	const struct combination *combination = arg;
	const struct buf *text = &combination->texts[index_of(combination, key)];

	return text->len ? buf_cstr(text) + 1 : NULL;
}

/* The texts as a tuple of SQL; one alone is none. */
static void add_tuple(const struct combination *combination, struct buf *out)
{
	buf_add_str(out, out->len ? ", " : "");
	buf_add_str(out, combination->cnt > 1 ? "(" : "");
	for (size_t i = 0; i < combination->cnt; i++) {
		buf_add_str(out, i ? ", " : "");
		ch_add_quoted(out, buf_cstr(&combination->texts[i]), combination->texts[i].len);
	}
	buf_add_str(out, combination->cnt > 1 ? ")" : "");
}

struct accepted {
	struct buf tuples, services; /* of SQL */
	struct strtab known; /* services */
	size_t service_cnt;
	bool has_none; /* of the services: "" */
	bool refused_some;
};

static int add_service(struct accepted *accepted, const struct buf *service)
{
	const size_t cnt = accepted->known.cnt;

	if (strtab_add(&accepted->known, buf_cstr(service), service->len) == STRTAB_NONE)
		return -ENOMEM;
	/* "" is in every table. */
	if (service->len ? accepted->known.cnt == cnt : accepted->has_none)
		return 0;
	accepted->has_none |= !service->len;
	accepted->service_cnt++;
	buf_add_str(&accepted->services, accepted->services.len ? ", " : "");
	ch_add_quoted(&accepted->services, buf_cstr(service), service->len);
	return accepted->services.err;
}

static int read_combinations(struct fleet_ask *ask, struct combination *combination,
			     const struct buf *answer, struct accepted *accepted)
{
	const struct store_query *query = ask->query;
	struct reader rd;
	int err = 0;

	reader_init(&rd, answer->data, answer->len);
	while (!err && !reader_done(&rd)) {
		read_text(&rd, &combination->service);
		for (size_t i = 0; i < combination->cnt; i++)
			read_text(&rd, &combination->texts[i]);
		if (rd.err)
			break;
		if (!match_labels(query->where, query->where_cnt, value_of, combination)) {
			accepted->refused_some = true;
			continue;
		}
		add_tuple(combination, &accepted->tuples);
		err = add_service(accepted, &combination->service);
	}
	return err ? err : fleet_read_end(ask->fleet, &rd);
}

/* Append "(L0, L1)", the expressions of the labels. */
static void add_labels(const struct combination *combination, struct buf *sql)
{
	for (size_t i = 0; i < combination->cnt; i++) {
		buf_add_str(sql, i ? ", " : "");
		fleet_add_label(combination->keys[i], sql);
	}
}

static void add_condition(struct fleet_ask *ask, const struct combination *combination,
			  const struct accepted *accepted)
{
	bool are_columns = true;
	struct buf *sql = &ask->sources;

	for (size_t i = 0; i < combination->cnt; i++)
		are_columns &= fleet_is_column(combination->keys[i]);
	buf_printf(&ask->services, " AND service IN (%s)", buf_cstr(&accepted->services));
	if (accepted->service_cnt == 1)
		buf_add_str(&ask->service, buf_cstr(&accepted->services));
	/* That says it all. */
	if (combination->cnt == 1 && !strcmp(combination->keys[0], "service"))
		return;
	ask->needs_sources = !are_columns;
	if (!are_columns) {
		buf_add_str(sql, " AND (host, src) IN (SELECT host, src FROM sources WHERE 1");
		fleet_add_days(ask, sql);
		buf_add_str(sql, buf_cstr(&ask->services));
	}
	buf_add_str(sql, " AND (");
	add_labels(combination, sql);
	buf_printf(sql, ") IN (%s)%s", buf_cstr(&accepted->tuples), are_columns ? "" : ")");
}

static int ask_combinations(struct fleet_ask *ask, const struct combination *combination,
			    struct buf *answer)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_add_str(&sql, "SELECT DISTINCT toString(service) AS s, ");
	add_labels(combination, &sql);
	buf_add_str(&sql, " FROM sources WHERE 1");
	fleet_add_days(ask, &sql);
	return fleet_query(ask->fleet, &sql, answer);
}

static int match(struct fleet_ask *ask, struct combination *combination, struct accepted *accepted)
{
	_cleanup_(buf_deinit) struct buf answer;
	int err = take_keys(combination, ask->query);

	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	if (!err)
		err = ask_combinations(ask, combination, &answer);
	if (!err)
		err = read_combinations(ask, combination, &answer, accepted);
	if (!err && accepted->tuples.err)
		err = accepted->tuples.err;
	if (err)
		return err;
	ask->is_empty = !accepted->tuples.len;
	if (!ask->is_empty && accepted->refused_some)
		add_condition(ask, combination, accepted);
	return 0;
}

int fleet_match(struct fleet_ask *ask)
{
	struct accepted accepted = {.refused_some = false};
	struct combination *combination;
	int err = 0;

	if (!ask->query->where_cnt)
		return 0;
	combination = malloc(sizeof(*combination));
	if (!combination || strtab_init(&accepted.known)) {
		free(combination);
		return -ENOMEM;
	}
	combination_init(combination);
	buf_init(&accepted.tuples, BUF_NO_MAX);
	buf_init(&accepted.services, BUF_NO_MAX);
	err = match(ask, combination, &accepted);
	combination_deinit(combination);
	free(combination);
	buf_deinit(&accepted.tuples);
	buf_deinit(&accepted.services);
	strtab_deinit(&accepted.known);
	return err;
}
