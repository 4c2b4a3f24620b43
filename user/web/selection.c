/* SPDX-License-Identifier: Apache-2.0 */
/* What of the store a request means: see selection.h. */
#include "web/selection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "web/query.h"

static const uint64_t USUAL_RANGE_NS = 3600 * NSEC_PER_SEC;

static int moment_of(const struct web_request *request, const char *name, uint64_t usual_ns,
		     struct web_reply *reply, uint64_t *out)
{
	const char *text = web_target_get(request->target, name);

	*out = usual_ns;
	if (!text || !web_time_parse(text, request->now_ns, out))
		return 0;
	web_reply_fail(reply, 400,
		       "%s: '%s' is no time (wanted: seconds since 1970, "
		       "2026-01-31T12:00:00Z, -15m or now)",
		       name, text);
	return -EINVAL;
}

static int take_range(struct store_query *query, const struct web_request *request,
		      const char *from, const char *to, struct web_reply *reply)
{
	int err = moment_of(request, to, request->now_ns, reply, &query->to_ns);
	uint64_t before = query->to_ns > USUAL_RANGE_NS ? query->to_ns - USUAL_RANGE_NS : 0;

	if (!err)
		err = moment_of(request, from, before, reply, &query->from_ns);
	if (!err && query->from_ns >= query->to_ns) {
		web_reply_fail(reply, 400, "%s is not before %s", from, to);
		err = -EINVAL;
	}
	return err;
}

static int fail_select(struct web_reply *reply, const char *text)
{
	web_reply_fail(reply, 400, "select: '%s' (wanted: key=glob, or several: a=x*,b=y)", text);
	return -EINVAL;
}

/* Split @text, which is changed, at its commas; "\," is one that belongs to a glob. */
static char *take_item(char **text)
{
	char *item = *text, *at = item;

	while (*at && *at != ',')
		at += at[0] == '\\' && at[1] ? 2 : 1;
	*text = *at ? at + 1 : NULL;
	*at = '\0';
	return item;
}

static int take_matches(struct web_selection *selection, const char *text, struct web_reply *reply)
{
	char *rest = strdup(text);

	if (!rest)
		return -ENOMEM;
	selection->select_text[selection->text_cnt++] = rest;
	while (rest) {
		char *item = take_item(&rest), *equals = strchr(item, '=');

		if (!equals || equals == item || selection->query.where_cnt == WEB_MATCHES_MAX)
			return fail_select(reply, text);
		*equals = '\0';
		selection->where[selection->query.where_cnt++] =
			(struct store_match){item, equals + 1};
	}
	return 0;
}

static int take_select(struct web_selection *selection, const struct web_request *request,
		       struct web_reply *reply)
{
	const char *text;
	int err = 0;

	for (size_t i = 0; !err; i++) {
		text = web_target_get_nth(request->target, "select", i);
		if (!text)
			break;
		if (i == WEB_MATCHES_MAX)
			return fail_select(reply, text);
		if (*text)
			err = take_matches(selection, text, reply);
	}
	selection->query.where = selection->where;
	return err;
}

/* "none": no label at all; without by=: all. */
static int take_by(struct web_selection *selection, const char *by, struct web_reply *reply)
{
	char *rest;
	size_t cnt = 0;

	if (!by || !*by)
		return 0;
	selection->query.by = selection->by;
	if (!strcmp(by, "none"))
		return 0;
	selection->by_text = strdup(by);
	if (!selection->by_text)
		return -ENOMEM;
	for (rest = selection->by_text; rest;) {
		char *item = take_item(&rest);

		if (!*item || cnt == WEB_KEYS_MAX) {
			web_reply_fail(reply, 400, "by: '%s' (wanted: label,label)", by);
			return -EINVAL;
		}
		selection->by[cnt++] = item;
	}
	return 0;
}

int web_selection_init(struct web_selection *selection, const struct web_request *request,
		       const char *from, const char *to, struct web_reply *reply)
{
	const char *kind = web_target_get(request->target, "kind");
	int err;

	*selection = (struct web_selection){.query.kind = kind && *kind ? kind : "cpu"};
	err = take_range(&selection->query, request, from, to, reply);
	if (!err)
		err = take_select(selection, request, reply);
	if (!err)
		err = take_by(selection, web_target_get(request->target, "by"), reply);
	if (err == -ENOMEM)
		web_reply_fail(reply, 500, "%s", strerror(ENOMEM));
	return err;
}

void web_selection_deinit(struct web_selection *selection)
{
	for (size_t i = 0; i < selection->text_cnt; i++)
		free(selection->select_text[i]);
	free(selection->by_text);
	*selection = (struct web_selection){0};
}

void web_reply_fail_store(struct web_reply *reply, const char *kind, int err)
{
	if (err == -ENOENT)
		web_reply_fail(reply, 404, "nothing of kind '%s' was ever stored", kind);
	else if (err == -EBUSY || err == -ENOMEM)
		web_reply_fail(reply, 503, "the store: %s", strerror(-err));
	else
		web_reply_fail(reply, 500, "the store: %s", strerror(-err));
}

int web_selection_read(const struct web_selection *selection, struct web_site *site,
		       struct profile *out, struct web_reply *reply)
{
	struct store *store = web_site_store(site, reply);
	struct ledger ledger;
	int err;

	if (!store)
		return -ENOENT;
	err = store_read(store, &selection->query, out, &ledger, NULL);
	if (err) {
		web_reply_fail_store(reply, selection->query.kind, err);
		return err;
	}
	err = ledger.event_cnt ? profile_set_ledger(out, &ledger) : 0;
	ledger_deinit(&ledger);
	if (err) {
		profile_deinit(out);
		web_reply_fail_store(reply, selection->query.kind, err);
	}
	return err;
}

int web_number_of(const struct web_request *request, const char *name, uint64_t min, uint64_t max,
		  uint64_t usual, struct web_reply *reply, uint64_t *out)
{
	const char *text = web_target_get(request->target, name);

	*out = usual;
	if (!text || (!parse_u64(text, out) && *out >= min && *out <= max))
		return 0;
	web_reply_fail(reply, 400, "%s: '%s' is no number between %" PRIu64 " and %" PRIu64, name,
		       text, min, max);
	return -EINVAL;
}
