/* SPDX-License-Identifier: Apache-2.0 */
/* What a range can be asked for: its kinds, its labels and their values. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strtab.h"
#include "cli/query.h"
#include "encode/text.h"

/* A kind: key is its name, value its default value type. A label: its key and value. */
struct row {
	uint32_t key, value, unit; /* strings */
	int64_t total;
};

struct list {
	const struct query *query;
	struct strtab strings;
	struct row *rows; /* owned */
	size_t cnt, cap;
	struct store_coverage coverage;
	/* Of labels: the kind's default value, and all that was selected */
	uint32_t type, unit;
	int64_t total;
};

static void list_deinit(struct list *list)
{
	strtab_deinit(&list->strings);
	free(list->rows);
}

static const char *text_of(const struct list *list, uint32_t string)
{
	return strtab_get(&list->strings, string);
}

static uint32_t intern(struct list *list, const char *text)
{
	return strtab_add(&list->strings, text, strlen(text));
}

static int add_row(struct list *list, const char *key, const char *value, const char *unit,
		   int64_t total)
{
	struct row row = {
		.key = intern(list, key),
		.value = intern(list, value),
		.unit = intern(list, unit),
		.total = total,
	};

	if (row.key == STRTAB_NONE || row.value == STRTAB_NONE || row.unit == STRTAB_NONE ||
	    array_reserve(&list->rows, &list->cap, list->cnt + 1, sizeof(*list->rows)))
		return -ENOMEM;
	list->rows[list->cnt++] = row;
	return 0;
}

static int add_kind(void *arg, const char *name, const struct profile_value_type *types,
		    const struct profile *strings, uint32_t type_cnt, uint32_t default_type,
		    int64_t total)
{
	const struct profile_value_type *type = &types[default_type];

	if (default_type >= type_cnt)
		return -EBADMSG;
	return add_row(arg, name, profile_str(strings, type->type),
		       profile_str(strings, type->unit), total);
}

/* Kinds and labels are told by functions that log; memory is ours. */
static int fail(int err)
{
	if (err == -ENOMEM)
		log_error("query: %s", strerror(ENOMEM));
	return query_status(err);
}

static int list_init(struct list *list, const struct query *query)
{
	const struct query_range *range = &query->range;
	int err;

	*list = (struct list){.query = query};
	err = strtab_init(&list->strings);
	if (!err)
		err = store_source_coverage(query->store, range->from_ns, range->to_ns,
					    &list->coverage);
	if (!err)
		err = store_source_each_kind(query->store, range->from_ns, range->to_ns, add_kind,
					     list);
	return err;
}

static void add_amount(int64_t amount, const char *unit, int width, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	amount_format(amount, unit, &text);
	buf_printf(out, "%*s", width, buf_cstr(&text));
}

static void add_printable(const struct list *list, uint32_t string, struct buf *out)
{
	const char *text = text_of(list, string);

	text_add_line(out, *text ? text : "-", *text ? strlen(text) : 1);
}

static void add_code(const struct list *list, uint32_t string, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	add_printable(list, string, &text);
	buf_add_str(out, " | ");
	text_add_code(out, buf_cstr(&text));
}

/* --- kinds --- */

static void kinds_text(const struct list *list, struct buf *out)
{
	buf_printf(out, "%12s  %-12s value\n", "total", "kind");
	for (size_t i = 0; i < list->cnt; i++) {
		size_t start;

		add_amount(list->rows[i].total, text_of(list, list->rows[i].unit), 12, out);
		buf_add_str(out, "  ");
		start = out->len;
		add_printable(list, list->rows[i].key, out);
		buf_printf(out, "%*s ", out->len - start < 12 ? (int)(12 - (out->len - start)) : 0,
			   "");
		add_printable(list, list->rows[i].value, out);
		buf_add_char(out, '\n');
	}
}

static void kinds_markdown(const struct list *list, struct buf *out)
{
	buf_add_str(out, "| total | kind | value |\n|--:|---|---|\n");
	for (size_t i = 0; i < list->cnt; i++) {
		buf_add_str(out, "| ");
		add_amount(list->rows[i].total, text_of(list, list->rows[i].unit), 0, out);
		add_code(list, list->rows[i].key, out);
		add_code(list, list->rows[i].value, out);
		buf_add_str(out, " |\n");
	}
}

static void kinds_json(const struct list *list, struct buf *out)
{
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_key(&js, "kinds");
	json_array_begin(&js);
	for (size_t i = 0; i < list->cnt; i++) {
		json_break(&js);
		json_object_begin(&js);
		json_kv_str(&js, "kind", text_of(list, list->rows[i].key));
		json_kv_str(&js, "value", text_of(list, list->rows[i].value));
		json_kv_str(&js, "unit", text_of(list, list->rows[i].unit));
		json_kv_i64(&js, "total", list->rows[i].total);
		json_object_end(&js);
	}
	json_array_end(&js);
	json_object_end(&js);
	buf_add_char(out, '\n');
}

static int print(const struct list *list,
		 void (*const formats[])(const struct list *list, struct buf *out))
{
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, BUF_NO_MAX);
	formats[list->query->opts->format.bits](list, &out);
	if (out.err)
		return fail(out.err);
	return cli_print(&out);
}

int query_kinds(const struct query *query)
{
	static void (*const formats[])(const struct list *list, struct buf *out) = {
		[REPORT_TEXT] = kinds_text,
		[REPORT_MARKDOWN] = kinds_markdown,
		[REPORT_JSON] = kinds_json,
	};
	_cleanup_(list_deinit) struct list list;
	int err = list_init(&list, query);

	if (err)
		return fail(err);
	query_summarize(&query->range, &list.coverage, NULL);
	return list.cnt ? print(&list, formats) : query_refuse_empty(query, &query->range);
}

/* --- labels --- */

static bool is_wanted(const struct key_list *by, const char *key)
{
	for (size_t i = 0; i < by->cnt; i++)
		if (!strcmp(by->items[i], key))
			return true;
	return !by->cnt;
}

static int add_label(void *arg, const char *key, const char *value, int64_t total)
{
	struct list *list = arg;

	return is_wanted(&list->query->by, key) ? add_row(list, key, value, "", total) : 0;
}

static int add_total(void *arg, const char *name, const int64_t *points, size_t point_cnt)
{
	struct list *list = arg;

	for (size_t i = 0; i < point_cnt; i++)
		list->total = profile_value_sum(list->total, points[i]);
	return 0;
}

/* The list holds the kinds: the one that is asked for says the unit, then labels take their
 * place. */
static int read_labels(struct list *list)
{
	const struct query *query = list->query;
	const struct store_query question = query_for_store(query, &query->range, NULL);
	size_t i = 0;
	int err;

	while (i < list->cnt && strcmp(text_of(list, list->rows[i].key), query->kind))
		i++;
	if (i < list->cnt) {
		list->type = list->rows[i].value;
		list->unit = list->rows[i].unit;
	}
	list->cnt = 0;
	err = store_source_each_label(query->store, &question, add_label, list);
	if (!err)
		err = store_source_timeline(query->store, &question, NULL, NULL, 1, add_total,
					    list);
	return err;
}

/* The first of the next key after row @first. */
static size_t end_of_key(const struct list *list, size_t first)
{
	size_t end = first;

	while (end < list->cnt && list->rows[end].key == list->rows[first].key)
		end++;
	return end;
}

static size_t shown(const struct list *list, size_t first, size_t end)
{
	uint64_t limit = list->query->opts->limit ? list->query->opts->limit : REPORT_LIMIT_DEFAULT;

	return end - first < limit ? end : first + limit;
}

static void add_share(const struct list *list, int64_t amount, struct buf *out)
{
	buf_printf(out, "%7.2f%% ", percent_of(amount, list->total));
	add_amount(amount, text_of(list, list->unit), 10, out);
}

/* What has no label of the key whose rows these are. */
static int64_t without(const struct list *list, size_t first, size_t end)
{
	int64_t left = list->total;

	for (size_t i = first; i < end; i++)
		left = profile_value_difference(left, list->rows[i].total);
	return left;
}

static void add_key_text(const struct list *list, size_t first, size_t end, struct buf *out)
{
	size_t last = shown(list, first, end);
	int64_t left = without(list, first, end);

	buf_add_char(out, '\n');
	add_printable(list, list->rows[first].key, out);
	buf_add_char(out, '\n');
	for (size_t i = first; i < last; i++) {
		add_share(list, list->rows[i].total, out);
		buf_add_str(out, "  ");
		add_printable(list, list->rows[i].value, out);
		buf_add_char(out, '\n');
	}
	if (last < end)
		buf_printf(out, "%19s  ... and %zu more (--limit)\n", "", end - last);
	if (!left)
		return;
	add_share(list, left, out);
	buf_add_str(out, "  -\n");
}

static void labels_text(const struct list *list, struct buf *out)
{
	buf_add_str(out, "value     ");
	add_printable(list, list->type, out);
	buf_printf(out, " (%s)\ntotal     ", text_of(list, list->unit));
	add_amount(list->total, text_of(list, list->unit), 0, out);
	buf_add_char(out, '\n');
	for (size_t first = 0, end; first < list->cnt; first = end) {
		end = end_of_key(list, first);
		add_key_text(list, first, end, out);
	}
}

static void labels_markdown(const struct list *list, struct buf *out)
{
	buf_add_str(out, "| total | label | value |\n|--:|---|---|\n");
	for (size_t first = 0, end; first < list->cnt; first = end) {
		end = end_of_key(list, first);
		for (size_t i = first; i < shown(list, first, end); i++) {
			buf_add_char(out, '|');
			add_share(list, list->rows[i].total, out);
			add_code(list, list->rows[i].key, out);
			add_code(list, list->rows[i].value, out);
			buf_add_str(out, " |\n");
		}
	}
}

static void add_values_json(const struct list *list, size_t first, size_t end, struct json *js)
{
	json_break(js);
	json_object_begin(js);
	json_kv_str(js, "label", text_of(list, list->rows[first].key));
	json_kv_u64(js, "distinct", end - first);
	json_kv_i64(js, "without", without(list, first, end));
	json_key(js, "values");
	json_array_begin(js);
	for (size_t i = first; i < shown(list, first, end); i++) {
		json_break(js);
		json_object_begin(js);
		json_kv_str(js, "value", text_of(list, list->rows[i].value));
		json_kv_i64(js, "total", list->rows[i].total);
		json_object_end(js);
	}
	json_array_end(js);
	json_object_end(js);
}

static void labels_json(const struct list *list, struct buf *out)
{
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_kv_str(&js, "value", text_of(list, list->type));
	json_kv_str(&js, "unit", text_of(list, list->unit));
	json_kv_i64(&js, "total", list->total);
	json_key(&js, "labels");
	json_array_begin(&js);
	for (size_t first = 0, end; first < list->cnt; first = end) {
		end = end_of_key(list, first);
		add_values_json(list, first, end, &js);
	}
	json_array_end(&js);
	json_object_end(&js);
	buf_add_char(out, '\n');
}

int query_labels(const struct query *query)
{
	static void (*const formats[])(const struct list *list, struct buf *out) = {
		[REPORT_TEXT] = labels_text,
		[REPORT_MARKDOWN] = labels_markdown,
		[REPORT_JSON] = labels_json,
	};
	_cleanup_(list_deinit) struct list list;
	int err = list_init(&list, query);

	if (!err)
		err = read_labels(&list);
	if (err)
		return err == -ENOENT ? query_status(query_refuse_kind(query)) : fail(err);
	query_summarize(&query->range, &list.coverage, NULL);
	return list.total ? print(&list, formats) : query_refuse_empty(query, &query->range);
}
