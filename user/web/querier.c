/* SPDX-License-Identifier: Apache-2.0 */
/* Pyroscope's querier API: what its calls have in common, types and labels. */
#include "web/querier.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "encode/gzip.h"
#include "web/routes.h"
#include "web/selection.h"

enum {
	GZIP_BYTES_MIN = 1024, /* what is smaller is sent as it is */
	REASON_BYTES = 512,
};

#define AT(member) offsetof(struct querier_request, member)

static const struct message_field types_fields[] = {
	{1, "start", "start", MESSAGE_I64, AT(start_ms), NULL, NULL},
	{2, "end", "end", MESSAGE_I64, AT(end_ms), NULL, NULL},
	{0},
};

static const struct message_field label_names_fields[] = {
	{1, "matchers", "matchers", MESSAGE_TEXTS, AT(matchers), NULL, NULL},
	{2, "start", "start", MESSAGE_I64, AT(start_ms), NULL, NULL},
	{3, "end", "end", MESSAGE_I64, AT(end_ms), NULL, NULL},
	{0},
};

static const struct message_field label_values_fields[] = {
	{1, "name", "name", MESSAGE_TEXT, AT(name), NULL, NULL},
	{2, "matchers", "matchers", MESSAGE_TEXTS, AT(matchers), NULL, NULL},
	{3, "start", "start", MESSAGE_I64, AT(start_ms), NULL, NULL},
	{4, "end", "end", MESSAGE_I64, AT(end_ms), NULL, NULL},
	{0},
};

/* --- Requests --- */

static void texts_deinit(struct message_texts *texts)
{
	for (size_t i = 0; i < texts->cnt; i++)
		free(texts->items[i]);
	texts->cnt = 0;
}

void querier_request_deinit(struct querier_request *asked)
{
	free(asked->type_id);
	free(asked->selector);
	free(asked->name);
	texts_deinit(&asked->matchers);
	texts_deinit(&asked->labels);
	*asked = (struct querier_request){0};
}

int querier_refuse(struct querier_call *call, const char *fmt, ...)
{
	char text[REASON_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	web_reply_fail(call->reply, 400, "%s", text);
	return -EINVAL;
}

int querier_fail(struct querier_call *call, const char *kind, int err)
{
	if (err == -EFBIG || err == -E2BIG)
		web_reply_fail(call->reply, 413, "the answer would be too large: ask for less");
	else
		web_reply_fail_store(call->reply, call->store, kind, err);
	return err;
}

/* Is @type, a header with or without parameters, @wanted? */
static bool is_type(const char *type, const char *wanted)
{
	size_t len = strlen(wanted);

	return type && !strncasecmp(type, wanted, len) && (!type[len] || strchr("; ", type[len]));
}

/* The body as it was before it was compressed into @out: 1. 0: it was not, and nothing is there. */
static int unpack(struct querier_call *call, struct buf *out)
{
	const struct web_request *request = call->request;
	const char *encoding = request->content_encoding;

	if (!encoding || !strcasecmp(encoding, "identity"))
		return 0;
	if (strcasecmp(encoding, "gzip") != 0) {
		web_reply_fail(call->reply, 501, "content encoding '%s' is not known here",
			       encoding);
		return -EINVAL;
	}
	if (gzip_inflate(request->body, request->body_len, out))
		return querier_refuse(call, "the request is no gzip, or larger than %d MiB",
				      WEB_BODY_BYTES_MAX >> 20);
	return 1;
}

int querier_call_read(struct querier_call *call, const struct message_field *fields, void *asked)
{
	const struct web_request *request = call->request;
	_cleanup_(buf_deinit) struct buf body, why;
	int err, is_packed;

	buf_init(&body, WEB_BODY_BYTES_MAX);
	buf_init(&why, BUF_NO_MAX);
	call->is_json = is_type(request->content_type, "application/json");
	if (!call->is_json && !is_type(request->content_type, "application/proto")) {
		web_reply_fail(call->reply, 415,
			       "the request has to be application/json or application/proto");
		return -EINVAL;
	}
	is_packed = unpack(call, &body);
	if (is_packed < 0)
		return is_packed;
	err = message_read(is_packed ? body.data : request->body,
			   is_packed ? body.len : request->body_len, call->is_json, fields, asked,
			   &why);
	if (err == -ENOMEM)
		return querier_fail(call, "", err);
	if (err)
		return querier_refuse(call, "%s", buf_cstr(&why));
	call->store = web_site_store(call->site, call->reply);
	return call->store ? 0 : -ENOENT;
}

void querier_answer_begin(struct querier_call *call)
{
	call->reply->type = call->is_json ? "application/json" : "application/proto";
	message_begin(&call->answer, call->is_json, &call->reply->body);
}

void querier_answer_end(struct querier_call *call)
{
	struct web_reply *reply = call->reply;
	struct buf plain = reply->body;
	struct gzip_writer gzip;

	message_end(&call->answer);
	plain = reply->body;
	if (plain.err || plain.len < GZIP_BYTES_MIN ||
	    !web_accept_names(call->request->accept_encoding, "gzip"))
		return;
	buf_init(&reply->body, WEB_REPLY_BYTES_MAX);
	gzip_writer_init(&gzip, &reply->body);
	gzip_writer_add(&gzip, plain.data, plain.len);
	if (gzip_writer_finish(&gzip)) { /* then it goes as it is */
		buf_deinit(&reply->body);
		reply->body = plain;
		return;
	}
	buf_deinit(&plain);
	reply->encoding = "gzip";
}

/* --- Conditions --- */

/* Labels of the store to the front, by their names there. */
static int sort_labels(struct querier_where *where)
{
	struct store_match *items = where->selector.items;

	for (size_t i = 0; i < where->selector.cnt; i++) {
		struct store_match match = items[i];
		const char *stored = querier_stored_label(match.key);

		if (!strncmp(match.key, "__", 2))
			continue;
		items[i] = items[where->label_cnt];
		if (stored != match.key) {
			free((char *)match.key);
			match.key = strdup(stored);
		}
		items[where->label_cnt++] = match;
		if (!match.key)
			return -ENOMEM;
	}
	return 0;
}

static uint64_t moment_of(int64_t msec)
{
	return (uint64_t)msec > INT64_MAX / NSEC_PER_MSEC ? INT64_MAX
							  : (uint64_t)msec * NSEC_PER_MSEC;
}

int querier_where_init(struct querier_where *where, struct querier_call *call,
		       const struct querier_request *asked, const char *selector, bool is_optional)
{
	_cleanup_(buf_deinit) struct buf why;
	bool has_range = asked->start_ms || asked->end_ms;
	int err;

	buf_init(&why, BUF_NO_MAX);
	*where = (struct querier_where){.query.to_ns = INT64_MAX};
	if (asked->start_ms < 0 || asked->end_ms < 0 || (!has_range && !is_optional) ||
	    (has_range && asked->start_ms >= asked->end_ms))
		return querier_refuse(call, "start and end are milliseconds since 1970, and start "
					    "is before end");
	if (has_range) {
		where->query.from_ns = moment_of(asked->start_ms);
		where->query.to_ns = moment_of(asked->end_ms);
	}
	err = selector_parse(selector ? selector : "", &where->selector, &why);
	if (err == -EINVAL)
		return querier_refuse(call, "%s", buf_cstr(&why));
	if (!err)
		err = sort_labels(where);
	where->query.where = where->selector.items;
	where->query.where_cnt = where->label_cnt;
	return err ? querier_fail(call, "", err) : 0;
}

void querier_where_deinit(struct querier_where *where)
{
	selector_deinit(&where->selector);
}

static const char *label_of_type(void *type, const char *key)
{
	return querier_type_label(type, key);
}

bool querier_where_takes(const struct querier_where *where, const struct querier_type *type)
{
	return match_labels(where->selector.items + where->label_cnt,
			    where->selector.cnt - where->label_cnt, label_of_type, (void *)type);
}

static bool takes_kind(const struct querier_where *where, const struct querier_types *types,
		       size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (querier_where_takes(where, &types->items[i]))
			return true;
	return false;
}

int querier_each_kind(struct querier_call *call, const struct querier_where *where,
		      querier_kind_fn *fn, void *arg)
{
	_cleanup_(querier_types_deinit) struct querier_types types = {0};
	int err = querier_types_read(call->store, where->query.from_ns, where->query.to_ns, &types);
	size_t end;

	for (size_t first = 0; first < types.cnt && !err; first = end) {
		for (end = first + 1; end < types.cnt; end++)
			if (strcmp(types.items[end].kind, types.items[first].kind) != 0)
				break;
		if (takes_kind(where, &types, first, end))
			err = fn(arg, where, &types, first);
	}
	return err;
}

/* --- Types --- */

static void add_type(struct message *answer, const struct querier_type *type)
{
	message_item_open(answer, 1);
	message_str(answer, 1, "ID", type->id);
	message_str(answer, 2, "name", type->parts[QUERIER_NAME]);
	message_str(answer, 4, "sampleType", type->parts[QUERIER_TYPE]);
	message_str(answer, 5, "sampleUnit", type->parts[QUERIER_UNIT]);
	message_str(answer, 6, "periodType", type->parts[QUERIER_PERIOD_TYPE]);
	message_str(answer, 7, "periodUnit", type->parts[QUERIER_PERIOD_UNIT]);
	message_close(answer);
}

void querier_answer_profile_types(struct web_site *site, const struct web_request *request,
				  struct web_reply *reply)
{
	struct querier_call call = {.site = site, .request = request, .reply = reply};
	_cleanup_(querier_request_deinit) struct querier_request asked = {0};
	_cleanup_(querier_types_deinit) struct querier_types types = {0};
	_cleanup_(querier_where_deinit) struct querier_where where = {0};
	int err;

	if (querier_call_read(&call, types_fields, &asked) ||
	    querier_where_init(&where, &call, &asked, NULL, true))
		return;
	err = querier_types_read(call.store, where.query.from_ns, where.query.to_ns, &types);
	if (err) {
		querier_fail(&call, "", err);
		return;
	}
	querier_answer_begin(&call);
	message_list_begin(&call.answer, "profileTypes");
	for (size_t i = 0; i < types.cnt; i++)
		add_type(&call.answer, &types.items[i]);
	message_list_end(&call.answer);
	querier_answer_end(&call);
}

/* Whether there is anything, and of when. */
void querier_answer_stats(struct web_site *site, const struct web_request *request,
			  struct web_reply *reply)
{
	struct querier_call call = {.site = site, .request = request, .reply = reply};
	static const struct message_field no_fields[] = {{0}};
	struct store_coverage coverage = {0};
	int err;

	if (querier_call_read(&call, no_fields, NULL))
		return;
	err = store_source_coverage(call.store, 0, INT64_MAX, &coverage);
	if (err) {
		querier_fail(&call, "", err);
		return;
	}
	querier_answer_begin(&call);
	message_bool(&call.answer, 1, "dataIngested", coverage.window_cnt > 0);
	message_i64(&call.answer, 2, "oldestProfileTime",
		    (int64_t)(coverage.first_ns / NSEC_PER_MSEC));
	message_i64(&call.answer, 3, "newestProfileTime",
		    (int64_t)(coverage.last_ns / NSEC_PER_MSEC));
	querier_answer_end(&call);
}

/* --- Labels --- */

/* Names of labels, or values of one. */
struct texts {
	struct querier_call *call;
	const char *label; /* as stored, whose values are wanted; NULL: names are */
	bool is_of_types; /* it is */
	bool has_any; /* samples, of those that are wanted */
	struct strtab found;
};

static int add_text(struct texts *texts, const char *text)
{
	if (!*text)
		return 0;
	return strtab_add(&texts->found, text, strlen(text)) == STRTAB_NONE ? -ENOMEM : 0;
}

static int add_label(void *arg, const char *key, const char *value, int64_t total)
{
	struct texts *texts = arg;

	texts->has_any = true;
	if (!texts->label)
		return add_text(texts, querier_shown_label(key));
	return strcmp(texts->label, key) ? 0 : add_text(texts, value);
}

/* What types say of a kind of which there are samples. */
static int add_of_types(struct texts *texts, const struct querier_where *where,
			const struct querier_types *types, size_t first)
{
	int err = 0;

	for (size_t i = 0; !texts->label && querier_type_labels[i] && !err; i++)
		err = add_text(texts, querier_type_labels[i]);
	for (size_t i = first; i < types->cnt && texts->is_of_types && !err; i++)
		if (!strcmp(types->items[i].kind, types->items[first].kind) &&
		    querier_where_takes(where, &types->items[i]))
			err = add_text(texts, querier_type_label(&types->items[i], texts->label));
	return err;
}

static int add_kind(void *arg, const struct querier_where *where, const struct querier_types *types,
		    size_t first)
{
	struct texts *texts = arg;
	const char *const by[] = {texts->label, NULL};
	struct store_query query = where->query;
	int err;

	query.kind = types->items[first].kind;
	if (texts->label && !texts->is_of_types)
		query.by = by;
	texts->has_any = false;
	err = store_source_each_label(texts->call->store, &query, add_label, texts);
	return err || !texts->has_any ? err : add_of_types(texts, where, types, first);
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int show_texts(struct querier_call *call, const struct strtab *found)
{
	_cleanup_free_ const char **texts = calloc(found->cnt, sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	for (uint32_t i = 0; i < found->cnt; i++)
		texts[i] = strtab_get(found, i);
	qsort(texts, found->cnt, sizeof(*texts), compare_texts);
	querier_answer_begin(call);
	message_list_begin(&call->answer, "names");
	for (size_t i = 0; i < found->cnt; i++)
		if (*texts[i]) /* "" is in every table */
			message_item_str(&call->answer, 1, texts[i]);
	message_list_end(&call->answer);
	querier_answer_end(call);
	return 0;
}

/* All that one of the selectors takes. */
static void answer_texts(struct querier_call *call, const struct querier_request *asked,
			 struct texts *texts)
{
	size_t cnt = asked->matchers.cnt ? asked->matchers.cnt : 1;
	int err = strtab_init(&texts->found);

	for (size_t i = 0; i < cnt && !err; i++) {
		_cleanup_(querier_where_deinit) struct querier_where where = {0};
		const char *selector = asked->matchers.cnt ? asked->matchers.items[i] : NULL;

		if (querier_where_init(&where, call, asked, selector, true))
			return;
		err = querier_each_kind(call, &where, add_kind, texts);
	}
	if (!err)
		err = show_texts(call, &texts->found);
	if (err)
		querier_fail(call, "", err);
}

void querier_answer_label_names(struct web_site *site, const struct web_request *request,
				struct web_reply *reply)
{
	struct querier_call call = {.site = site, .request = request, .reply = reply};
	_cleanup_(querier_request_deinit) struct querier_request asked = {0};
	struct texts texts = {.call = &call};

	if (querier_call_read(&call, label_names_fields, &asked))
		return;
	answer_texts(&call, &asked, &texts);
	strtab_deinit(&texts.found);
}

void querier_answer_label_values(struct web_site *site, const struct web_request *request,
				 struct web_reply *reply)
{
	struct querier_call call = {.site = site, .request = request, .reply = reply};
	_cleanup_(querier_request_deinit) struct querier_request asked = {0};
	const struct querier_type none = {.id = ""};
	struct texts texts = {.call = &call};

	if (querier_call_read(&call, label_values_fields, &asked))
		return;
	if (!asked.name || !*asked.name) {
		querier_refuse(&call, "name: the label whose values are asked for is missing");
		return;
	}
	texts.label = querier_stored_label(asked.name);
	texts.is_of_types = querier_type_label(&none, asked.name) != NULL;
	answer_texts(&call, &asked, &texts);
	strtab_deinit(&texts.found);
}
