/* SPDX-License-Identifier: Apache-2.0 */
/* What of the store a request means: see selection.h. */
#include "web/selection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/parse_time.h"
#include "web/query.h"

static const uint64_t USUAL_RANGE_NS = 3600 * NSEC_PER_SEC;

static int moment_of(const struct web_request *request, const char *name, uint64_t usual_ns,
		     struct web_reply *reply, uint64_t *out)
{
	const char *text = web_target_get(request->target, name);

	*out = usual_ns;
	if (!text || !parse_time_ns(text, request->now_ns, out))
		return 0;
	web_reply_fail(reply, 400, "%s: '%s' is no time (wanted: " PARSE_TIME_FORMS ")", name,
		       text);
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

static int take_select(struct web_selection *selection, const struct web_request *request,
		       struct web_reply *reply)
{
	_cleanup_(buf_deinit) struct buf what;
	const char *text;
	int err = 0;

	buf_init(&what, BUF_NO_MAX);
	for (size_t i = 0; !err; i++) {
		text = web_target_get_nth(request->target, "select", i);
		if (!text)
			break;
		if (*text)
			err = match_list_parse(&selection->where, text, &what);
	}
	if (err && err != -ENOMEM)
		web_reply_fail(reply, 400, "select: %s (wanted: key=glob, or several: a=x*,b=y)",
			       buf_cstr(&what));
	selection->query.where = selection->where.items;
	selection->query.where_cnt = selection->where.cnt;
	return err;
}

/* "none": no label at all; without by=: all. */
static int take_by(struct web_selection *selection, const char *by, struct web_reply *reply)
{
	int err;

	if (!by || !*by)
		return 0;
	err = key_list_parse(&selection->by, strcmp(by, "none") ? by : "");
	if (err == -EINVAL || selection->by.cnt > WEB_KEYS_MAX) {
		web_reply_fail(reply, 400, "by: '%s' (wanted: label,label)", by);
		return -EINVAL;
	}
	selection->query.by = selection->by.items;
	return err;
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
	match_list_deinit(&selection->where);
	key_list_deinit(&selection->by);
	*selection = (struct web_selection){0};
}

void web_reply_fail_store(struct web_reply *reply, const struct store_source *store,
			  const char *kind, int err)
{
	const char *why = *store->why ? store->why : strerror(-err);
	/* What may be otherwise soon. */
	const bool may_pass = err == -EBUSY || err == -ENOMEM || err == -ECONNREFUSED ||
			      err == -ECONNRESET || err == -EHOSTUNREACH || err == -ETIMEDOUT ||
			      err == -EAGAIN;

	if (err == -ENOENT)
		web_reply_fail(reply, 404, "nothing of kind '%s' was ever stored", kind);
	else
		web_reply_fail(reply, may_pass ? 503 : 500, "%s%s",
			       *store->why ? "" : "the store: ", why);
}

int web_selection_read(const struct web_selection *selection, struct web_site *site,
		       struct profile *out, struct web_reply *reply)
{
	struct store_source *store = web_site_store(site, reply);
	struct ledger ledger;
	int err;

	if (!store)
		return -ENOENT;
	err = store_source_read(store, &selection->query, out, &ledger, NULL);
	if (err) {
		web_reply_fail_store(reply, store, selection->query.kind, err);
		return err;
	}
	err = ledger.event_cnt ? profile_set_ledger(out, &ledger) : 0;
	ledger_deinit(&ledger);
	if (err) {
		profile_deinit(out);
		web_reply_fail_store(reply, store, selection->query.kind, err);
	}
	return err;
}

int web_selection_read_calls(const struct web_selection *selection, struct web_site *site,
			     const char *value, struct profile_calls *out)
{
	return site->store
		       ? store_source_calls(site->store, &selection->query, value, out, NULL, NULL)
		       : -ENOTSUP;
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
