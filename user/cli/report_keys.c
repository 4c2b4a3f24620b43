/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables by what one asks for, as perf report --sort: a row is a tuple of the frame's columns
 * (symbol, dso, srcline) and the sample's (comm, pid). Each of both is one string, its columns
 * joined by tabs, so that a row is a pair of string ids.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/report.h"
#include "encode/frame_name.h"
#include "encode/text.h"

/* A frame of a stack that ends nowhere known has columns all the same. */
static const char UNKNOWN[] = "-";

struct row {
	uint32_t label_part, frame_part; /* strings of parts */
	uint32_t last; /* 1 + the sample that counted here last */
	int64_t self, total;
};

struct table {
	const struct report *report;
	const struct report_keys *keys;
	struct strtab parts;
	uint32_t *of_labels; /* owned: by label set */
	uint32_t *of_frames; /* owned: by entry of func_table.frames; the last is no frame's */
	struct row *rows; /* owned */
	size_t row_cnt, row_cap;
	struct hmap index;
};

static void table_deinit(struct table *table)
{
	strtab_deinit(&table->parts);
	free(table->of_labels);
	free(table->of_frames);
	free(table->rows);
	hmap_deinit(&table->index);
}

/* --- Keys --- */

static const struct {
	const char *name;
	int kind;
} frame_keys[] = {
	{"symbol", REPORT_SYMBOL},   {"sym", REPORT_SYMBOL},	  {"dso", REPORT_DSO},
	{"srcline", REPORT_SRCLINE}, {"srcfile", REPORT_SRCFILE},
};

enum { FRAME_KEY_CNT = sizeof(frame_keys) / sizeof(frame_keys[0]) };

static bool is_label(const struct profile *prof, const char *name)
{
	uint32_t id = strtab_find(&prof->strings, name, strlen(name));

	for (size_t i = 0; i < prof->label_cnt && id != STRTAB_NONE; i++)
		if (prof->labels[i].key == id)
			return true;
	return false;
}

static int unknown_key(const struct profile *prof, const char *name)
{
	_cleanup_(buf_deinit) struct buf known;

	buf_init(&known, BUF_NO_MAX);
	for (size_t i = 0; i < FRAME_KEY_CNT; i++)
		buf_printf(&known, ", %s", frame_keys[i].name);
	for (size_t i = 0; i < prof->label_cnt; i++) {
		const char *key = profile_str(prof, prof->labels[i].key);
		bool is_new = true;

		for (size_t j = 0; j < i && is_new; j++)
			is_new = prof->labels[j].key != prof->labels[i].key;
		if (is_new) {
			buf_add_str(&known, ", ");
			func_table_printable(key, &known);
		}
	}
	log_error("option '--sort': '%s' is not one of self, total, name%s", name,
		  buf_cstr(&known));
	return -EINVAL;
}

int report_keys_parse(const struct profile *prof, const char *list, struct report_keys *out)
{
	struct report_keys keys = {.cnt = 0};

	for (size_t len; *list; list += len + (list[len] == ',')) {
		struct report_key *key = &keys.items[keys.cnt];
		size_t i = 0;

		len = strcspn(list, ",");
		if (keys.cnt == REPORT_KEYS_MAX || !len || len >= sizeof(key->name)) {
			log_error("--sort: 1 to %d keys, each of 1 to %zu letters", REPORT_KEYS_MAX,
				  sizeof(key->name) - 1);
			return -EINVAL;
		}
		memcpy(key->name, list, len);
		key->name[len] = '\0';
		while (i < FRAME_KEY_CNT && strcmp(frame_keys[i].name, key->name))
			i++;
		key->kind = i < FRAME_KEY_CNT ? frame_keys[i].kind : REPORT_LABEL;
		if (key->kind == REPORT_LABEL && !is_label(prof, key->name))
			return unknown_key(prof, key->name);
		keys.cnt++;
	}
	*out = keys;
	return 0;
}

static bool has_frame_keys(const struct report_keys *keys)
{
	for (size_t i = 0; i < keys->cnt; i++)
		if (keys->items[i].kind != REPORT_LABEL)
			return true;
	return false;
}

/* --- Parts --- */

static void add_module(const struct profile *prof, uint32_t location, struct buf *out)
{
	uint32_t mapping = prof->locations[location].mapping;
	const char *path =
		mapping == PROFILE_NONE ? "" : profile_str(prof, prof->mappings[mapping].path);
	size_t len;
	const char *base = frame_module(path, &len);

	if (base > path && base[-1] == '[')
		buf_printf(out, "[%.*s]", (int)len, base);
	else
		buf_add(out, len ? base : UNKNOWN, len ? len : strlen(UNKNOWN));
}

/* "work.c:31" or "work.c" */
static void add_source(const struct profile *prof, uint32_t location, uint32_t line,
		       bool with_number, struct buf *out)
{
	const struct profile_location *loc = &prof->locations[location];
	const struct profile_line *at = loc->line_cnt ? &prof->lines[loc->first_line + line] : NULL;
	const char *file = !at || at->function == PROFILE_NONE
				   ? ""
				   : profile_str(prof, prof->functions[at->function].file);
	const char *slash = strrchr(file, '/');

	buf_add_str(out, slash ? slash + 1 : *file ? file : UNKNOWN);
	if (*file && with_number)
		buf_printf(out, ":%u", at->line);
}

/* A column: what @text has, without what would be taken for another column or steer a terminal. */
static void add_column(struct buf *out, const struct buf *text)
{
	if (out->len)
		buf_add_char(out, '\t');
	text_add_line(out, buf_cstr(text), text->len);
	if (text->err)
		out->err = text->err;
}

static uint32_t frame_part(struct table *table, uint32_t location, uint32_t line)
{
	const struct profile *prof = table->report->prof;
	_cleanup_(buf_deinit) struct buf part, text;

	buf_init(&part, BUF_NO_MAX);
	buf_init(&text, BUF_NO_MAX);
	for (size_t i = 0; i < table->keys->cnt; i++) {
		int kind = table->keys->items[i].kind;

		if (kind == REPORT_LABEL)
			continue;
		buf_reset(&text);
		if (location == PROFILE_NONE)
			buf_add_str(&text, UNKNOWN);
		else if (kind == REPORT_SYMBOL)
			frame_add_name(prof, location, line, &text);
		else if (kind == REPORT_DSO)
			add_module(prof, location, &text);
		else
			add_source(prof, location, line, kind == REPORT_SRCLINE, &text);
		add_column(&part, &text);
	}
	return part.err ? STRTAB_NONE : strtab_add(&table->parts, buf_cstr(&part), part.len);
}

static uint32_t label_part(struct table *table, uint32_t label_set)
{
	_cleanup_(buf_deinit) struct buf part, text;

	buf_init(&part, BUF_NO_MAX);
	buf_init(&text, BUF_NO_MAX);
	for (size_t i = 0; i < table->keys->cnt; i++) {
		const struct report_key *key = &table->keys->items[i];

		if (key->kind != REPORT_LABEL)
			continue;
		buf_reset(&text);
		if (!frame_add_process(table->report->prof, label_set, key->name, &text))
			buf_add_str(&text, UNKNOWN);
		add_column(&part, &text);
	}
	return part.err ? STRTAB_NONE : strtab_add(&table->parts, buf_cstr(&part), part.len);
}

static int make_parts(struct table *table)
{
	const struct func_table *functions = table->report->table;
	const struct profile *prof = table->report->prof;

	table->of_labels = calloc(prof->label_set_cnt + 1, sizeof(*table->of_labels));
	table->of_frames = calloc(functions->frame_cnt + 1, sizeof(*table->of_frames));
	if (!table->of_labels || !table->of_frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < prof->label_set_cnt; i++) {
		table->of_labels[i] = label_part(table, i);
		if (table->of_labels[i] == STRTAB_NONE)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < prof->location_cnt; i++) {
		uint32_t first = functions->frame_first[i];

		for (uint32_t k = first; k < functions->frame_first[i + 1]; k++) {
			table->of_frames[k] = frame_part(table, i, k - first);
			if (table->of_frames[k] == STRTAB_NONE)
				return -ENOMEM;
		}
	}
	table->of_frames[functions->frame_cnt] = frame_part(table, PROFILE_NONE, 0);
	return table->of_frames[functions->frame_cnt] == STRTAB_NONE ? -ENOMEM : 0;
}

/* --- Rows --- */

static bool is_row(const void *owner, uint32_t index, const void *key)
{
	const struct row *known = &((const struct table *)owner)->rows[index], *wanted = key;

	return known->label_part == wanted->label_part && known->frame_part == wanted->frame_part;
}

/* The sample @sample's row of such a frame; NULL without memory. Borrowed until the next one. */
static struct row *row_of(struct table *table, uint32_t sample, uint32_t frame_part)
{
	const struct profile *prof = table->report->prof;
	struct row row = {.label_part = table->of_labels[prof->samples[sample].label_set],
			  .frame_part = frame_part};
	uint64_t hash = hash_mix(hash_mix(0, row.label_part), frame_part);
	uint32_t known = hmap_find(&table->index, hash, is_row, table, &row);

	if (known != HMAP_NONE)
		return &table->rows[known];
	if (array_reserve(&table->rows, &table->row_cap, table->row_cnt + 1,
			  sizeof(*table->rows)) ||
	    hmap_insert(&table->index, hash, (uint32_t)table->row_cnt))
		return NULL;
	table->rows[table->row_cnt] = row;
	return &table->rows[table->row_cnt++];
}

static int count_frame(struct table *table, uint32_t sample, uint32_t frame_part, int64_t amount,
		       bool is_leaf)
{
	struct row *row = row_of(table, sample, frame_part);

	if (!row)
		return -ENOMEM;
	if (is_leaf)
		row->self = profile_value_sum(row->self, amount);
	if (row->last == sample + 1)
		return 0;
	row->last = sample + 1;
	row->total = profile_value_sum(row->total, amount);
	return 0;
}

static int count_sample(struct table *table, uint32_t sample, int64_t amount)
{
	const struct func_table *functions = table->report->table;
	const struct profile *prof = table->report->prof;
	const struct profile_stack *stack = &prof->stacks[prof->samples[sample].stack];
	bool is_leaf = true;
	int err = 0;

	for (uint32_t i = 0; i < stack->cnt && !err; i++) {
		uint32_t location = prof->stack_locations[stack->first + i];
		uint32_t end = functions->frame_first[location + 1];

		for (uint32_t k = functions->frame_first[location]; k < end && !err; k++) {
			err = count_frame(table, sample, table->of_frames[k], amount, is_leaf);
			is_leaf = false;
		}
	}
	return err || !is_leaf ? err
			       : count_frame(table, sample, table->of_frames[functions->frame_cnt],
					     amount, true);
}

static int compare_rows(const void *left, const void *right, void *parts)
{
	const struct row *one = left, *two = right;
	int order;

	if (one->self != two->self)
		return one->self > two->self ? -1 : 1;
	if (one->total != two->total)
		return one->total > two->total ? -1 : 1;
	order = strcmp(strtab_get(parts, one->frame_part), strtab_get(parts, two->frame_part));
	return order ? order
		     : strcmp(strtab_get(parts, one->label_part),
			      strtab_get(parts, two->label_part));
}

static int fill(struct table *table)
{
	const struct report *report = table->report;
	const struct profile *prof = report->prof;
	int err = make_parts(table);

	for (uint32_t i = 0; i < prof->sample_cnt && !err; i++) {
		int64_t amount = prof->values[(size_t)i * prof->value_type_cnt + report->value];

		if (amount)
			err = count_sample(table, i, amount);
	}
	if (!err && table->row_cnt)
		qsort_r(table->rows, table->row_cnt, sizeof(*table->rows), compare_rows,
			&table->parts);
	return err;
}

/* How many have at least so much of the whole; they come first, in their order. */
static size_t keep_large(struct table *table, double percent_limit)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->row_cnt; i++)
		if (fabs(percent_of(table->rows[i].total, table->report->table->total)) >=
		    percent_limit)
			table->rows[kept++] = table->rows[i];
	return kept;
}

/* --- Text --- */

/* The row's columns one after the other, in the order of the keys. */
struct columns {
	const char *label, *frame;
};

static const char *next_column(struct columns *columns, const struct report_key *key, size_t *len)
{
	const char **rest = key->kind == REPORT_LABEL ? &columns->label : &columns->frame;
	const char *column = *rest;

	*len = strcspn(column, "\t");
	*rest = column + *len + (column[*len] == '\t');
	return column;
}

static struct columns columns_of(const struct table *table, const struct row *row)
{
	return (struct columns){strtab_get(&table->parts, row->label_part),
				strtab_get(&table->parts, row->frame_part)};
}

/* Characters, as a terminal counts them: close enough for names. */
static size_t text_width(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

static void measure_columns(const struct table *table, size_t rows, size_t *widths)
{
	for (size_t i = 0; i < table->keys->cnt; i++)
		widths[i] = strlen(table->keys->items[i].name);
	for (size_t r = 0; r < rows; r++) {
		struct columns columns = columns_of(table, &table->rows[r]);

		for (size_t i = 0; i < table->keys->cnt; i++) {
			size_t len, width;
			const char *text = next_column(&columns, &table->keys->items[i], &len);

			width = text_width(text, len);
			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
}

/* All but the last are as wide as their widest. */
static void add_padded(const char *text, size_t len, size_t width, struct buf *out)
{
	size_t own = text_width(text, len);

	buf_add_str(out, "  ");
	buf_add(out, text, len);
	while (own++ < width)
		buf_add_char(out, ' ');
}

static void add_amount(const struct table *table, int64_t amount, struct buf *out)
{
	const struct report *report = table->report;
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	amount_format(amount, report->unit, &text);
	buf_printf(out, "%7.2f%% %10s", percent_of(amount, report->table->total), buf_cstr(&text));
}

static void add_text(const struct table *table, size_t rows, struct buf *out)
{
	bool with_self = has_frame_keys(table->keys);
	size_t widths[REPORT_KEYS_MAX], cnt = table->keys->cnt;

	measure_columns(table, rows, widths);
	widths[cnt - 1] = 0;
	if (with_self)
		buf_printf(out, "%19s  ", "self");
	buf_printf(out, "%19s", "total");
	for (size_t i = 0; i < cnt; i++)
		add_padded(table->keys->items[i].name, strlen(table->keys->items[i].name),
			   widths[i], out);
	buf_add_char(out, '\n');
	for (size_t r = 0; r < rows; r++) {
		const struct row *row = &table->rows[r];
		struct columns columns = columns_of(table, row);

		if (with_self) {
			add_amount(table, row->self, out);
			buf_add_str(out, "  ");
		}
		add_amount(table, row->total, out);
		for (size_t i = 0; i < cnt; i++) {
			size_t len;
			const char *text = next_column(&columns, &table->keys->items[i], &len);

			add_padded(text, len, widths[i], out);
		}
		buf_add_char(out, '\n');
	}
}

static void add_markdown(const struct table *table, size_t rows, struct buf *out)
{
	bool with_self = has_frame_keys(table->keys);

	buf_add_str(out, with_self ? "| self | total |" : "| total |");
	for (size_t i = 0; i < table->keys->cnt; i++)
		buf_printf(out, " %s |", table->keys->items[i].name);
	buf_add_str(out, with_self ? "\n|--:|--:|" : "\n|--:|");
	for (size_t i = 0; i < table->keys->cnt; i++)
		buf_add_str(out, "---|");
	buf_add_char(out, '\n');
	for (size_t r = 0; r < rows; r++) {
		const struct row *row = &table->rows[r];
		struct columns columns = columns_of(table, row);

		buf_add_char(out, '|');
		if (with_self) {
			add_amount(table, row->self, out);
			buf_add_str(out, " |");
		}
		add_amount(table, row->total, out);
		for (size_t i = 0; i < table->keys->cnt; i++) {
			size_t len;
			const char *text = next_column(&columns, &table->keys->items[i], &len);
			_cleanup_free_ char *column = strndup(text, len);

			buf_add_str(out, " | ");
			text_add_code(out, column ? column : "");
			if (!column)
				out->err = -ENOMEM;
		}
		buf_add_str(out, " |\n");
	}
}

static void add_json(const struct table *table, size_t rows, struct buf *out)
{
	const struct report *report = table->report;
	const struct profile *prof = report->prof;
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_kv_str(&js, "value", profile_str(prof, prof->value_types[report->value].type));
	json_kv_str(&js, "unit", report->unit);
	json_kv_i64(&js, "total", report->table->total);
	json_kv_double(&js, "duration_s", (double)prof->duration_ns / NSEC_PER_SEC);
	json_key(&js, "rows");
	json_array_begin(&js);
	for (size_t r = 0; r < rows; r++) {
		struct columns columns = columns_of(table, &table->rows[r]);

		json_break(&js);
		json_object_begin(&js);
		json_kv_i64(&js, "self", table->rows[r].self);
		json_kv_i64(&js, "total", table->rows[r].total);
		for (size_t i = 0; i < table->keys->cnt; i++) {
			size_t len;
			const char *text = next_column(&columns, &table->keys->items[i], &len);

			json_key(&js, table->keys->items[i].name);
			json_strn(&js, text, len);
		}
		json_object_end(&js);
	}
	json_array_end(&js);
	json_object_end(&js);
	buf_add_char(out, '\n');
}

int report_by_keys(const struct report *report, const struct report_keys *keys,
		   enum report_format format, uint64_t limit, double percent_limit, struct buf *out)
{
	_cleanup_(table_deinit) struct table table = {.report = report, .keys = keys};
	size_t rows = 0;
	int err = strtab_init(&table.parts);

	hmap_init(&table.index);
	if (!err)
		err = fill(&table);
	if (err)
		return err;
	rows = keep_large(&table, percent_limit);
	rows = rows < limit ? rows : limit;
	if (format == REPORT_JSON)
		add_json(&table, rows, out);
	else if (format == REPORT_MARKDOWN)
		add_markdown(&table, rows, out);
	else
		add_text(&table, rows, out);
	return out->err;
}
