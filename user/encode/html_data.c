/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile for the page: all of it, so that every view is computed there and nothing is pruned.
 * The page has it as base64 of the following, or of gzip of it. Everything is a number, written as
 * LEB128 (seven bits per byte, lowest first, the top bit says that more follow); "column" is that
 * many of them in a row. Signed ones are zigzag (0, -1, 1, -2 are 0, 1, 2, 3), 64-bit ones two
 * columns: the high halves, then the low ones. "+1": 0 stands for none.
 *
 *	1                            version
 *	strings     cnt, column length in UTF-16 units, bytes, that many bytes of UTF-8
 *	functions   cnt, columns name, system name, file (strings), start line
 *	mappings    cnt, columns path, build-id (strings), start, limit, file offset (64 bits),
 *	            flags
 *	locations   cnt, columns mapping+1, address (64 bits), flags (profile_location_flags), kind
 *	            (enum flame_kind), name (string; of frames without function), number of lines
 *	lines       cnt, columns function+1, line; of one location after the other, innermost first
 *	trie        cnt, columns up, ref
 *	label sets  cnt, column labels
 *	labels      columns key, is it a string, string or number (zigzag), unit; of one set after
 *	            the other
 *	values      cnt, columns type, unit (strings); default; period: type, unit, number (zigzag)
 *	times       start in ns UTC (64 bits), duration in ns (64 bits)
 *	samples     cnt, columns steps to the trie node, label set; a column per value (zigzag)
 *
 * The trie holds the stacks in pre-order. `up` is how far to climb from the node before to the
 * parent: 0, a child of it, 1, its sibling. `ref` is a location, but of a node without parent (its
 * process frame) a string. Samples are in the order of their nodes; the first step is from node 0.
 *
 * web: main > read (3 times), main > work (4 times), with the strings "", web, main, read, work and
 * one location each:
 *
 *	trie        4  0 0 0 1  1 0 1 2        web; main under it; read under main; work beside read
 *	samples     2  2 1  0 0  6 8           nodes 2 and 3, label set 0, values 3 and 4
 */
#include "encode/html.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "encode/protobuf.h"
#include "encode/svg.h"

enum { FORMAT_VERSION = 1 };

struct writer {
	const struct profile *prof;
	struct html_trie *trie;
	struct strtab *strings; /* the trie's: names are there already */
	struct buf *out;
};

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static void add(struct writer *writer, uint64_t value)
{
	pb_add_varint(writer->out, value);
}

static uint64_t plus_one(uint32_t index)
{
	return index == PROFILE_NONE ? 0 : (uint64_t)index + 1;
}

/* The profile's string @id as one of the page's. */
static void add_string(struct writer *writer, uint32_t id)
{
	const char *str = profile_str(writer->prof, id);
	uint32_t own = strtab_add(writer->strings, str, strlen(str));

	if (own == STRTAB_NONE && !writer->out->err)
		writer->out->err = -ENOMEM;
	add(writer, own);
}

static void add_functions(struct writer *writer)
{
	const struct profile *prof = writer->prof;
	size_t cnt = prof->function_cnt;

	add(writer, cnt);
	for (size_t i = 0; i < cnt; i++)
		add_string(writer, prof->functions[i].name);
	for (size_t i = 0; i < cnt; i++)
		add_string(writer, prof->functions[i].system_name);
	for (size_t i = 0; i < cnt; i++)
		add_string(writer, prof->functions[i].file);
	for (size_t i = 0; i < cnt; i++)
		add(writer, prof->functions[i].start_line);
}

/* A column of uint64_t, @stride bytes apart. */
static void add_wide(struct writer *writer, const uint64_t *first, size_t cnt, size_t stride)
{
	const char *bytes = (const char *)first;

	for (int shift = 32; shift >= 0; shift -= 32) {
		for (size_t i = 0; i < cnt; i++) {
			uint64_t value;

			memcpy(&value, bytes + i * stride, sizeof(value));
			add(writer, value >> shift & UINT32_MAX);
		}
	}
}

static void add_mappings(struct writer *writer)
{
	const struct profile_mapping *mappings = writer->prof->mappings;
	size_t cnt = writer->prof->mapping_cnt;

	add(writer, cnt);
	if (!cnt)
		return;
	for (size_t i = 0; i < cnt; i++)
		add_string(writer, mappings[i].path);
	for (size_t i = 0; i < cnt; i++)
		add_string(writer, mappings[i].build_id);
	add_wide(writer, &mappings->start, cnt, sizeof(*mappings));
	add_wide(writer, &mappings->limit, cnt, sizeof(*mappings));
	add_wide(writer, &mappings->file_off, cnt, sizeof(*mappings));
	for (size_t i = 0; i < cnt; i++)
		add(writer, mappings[i].flags);
}

static const struct flame_frame *frame_of(const struct writer *writer, size_t location)
{
	return &writer->trie->frames.items[writer->trie->frames.first[location]];
}

/* The name that frames without function have: those of one location have the same. */
static uint32_t fallback_name(const struct writer *writer, uint32_t location)
{
	const struct profile_location *loc = &writer->prof->locations[location];

	for (uint32_t i = 0; i < html_line_cnt(writer->prof, location); i++)
		if (!*profile_location_name(writer->prof, location, i))
			return frame_of(writer, location)[loc->line_cnt - 1 - i].name;
	return loc->line_cnt ? STRTAB_EMPTY : frame_of(writer, location)->name;
}

static void add_locations(struct writer *writer)
{
	const struct profile_location *locations = writer->prof->locations;
	const struct html_trie *trie = writer->trie;
	size_t own = writer->prof->location_cnt, cnt = own + trie->elided_cnt;

	add(writer, cnt);
	for (size_t i = 0; i < cnt; i++)
		add(writer, i < own ? plus_one(locations[i].mapping) : 0);
	for (int shift = 32; shift >= 0; shift -= 32)
		for (size_t i = 0; i < cnt; i++)
			add(writer, i < own ? locations[i].address >> shift & UINT32_MAX : 0);
	for (size_t i = 0; i < cnt; i++)
		add(writer, i < own ? locations[i].flags : LOCATION_SYNTHETIC);
	for (size_t i = 0; i < cnt; i++)
		add(writer, i < own ? frame_of(writer, i)->kind : FLAME_SYNTHETIC);
	for (size_t i = 0; i < cnt; i++)
		add(writer, i < own ? fallback_name(writer, (uint32_t)i) : trie->elided[i - own]);
	for (size_t i = 0; i < cnt; i++)
		add(writer, i < own ? html_line_cnt(writer->prof, (uint32_t)i) : 0);
}

typedef uint64_t line_fn(const struct profile_line *line);

static uint64_t line_function(const struct profile_line *line)
{
	return plus_one(line->function);
}

static uint64_t line_number(const struct profile_line *line)
{
	return line->line;
}

static void add_line_column(struct writer *writer, line_fn *member)
{
	const struct profile *prof = writer->prof;

	for (uint32_t i = 0; i < prof->location_cnt; i++)
		for (uint32_t line = 0; line < html_line_cnt(prof, i); line++)
			add(writer, member(&prof->lines[prof->locations[i].first_line + line]));
}

static void add_lines(struct writer *writer)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < writer->prof->location_cnt; i++)
		cnt += html_line_cnt(writer->prof, i);
	add(writer, cnt);
	add_line_column(writer, line_function);
	add_line_column(writer, line_number);
}

static void add_trie(struct writer *writer)
{
	const struct html_trie *trie = writer->trie;
	uint32_t up = 0, node = trie->first_root;

	add(writer, trie->node_cnt);
	while (node != PROFILE_NONE) {
		add(writer, up);
		node = html_trie_next(trie, node, &up);
	}
	for (node = trie->first_root; node != PROFILE_NONE; node = html_trie_next(trie, node, &up))
		add(writer, trie->nodes[node].ref);
}

enum label_column { LABEL_KEY, LABEL_IS_STRING, LABEL_VALUE, LABEL_UNIT, LABEL_COLUMN_CNT };

static void add_label(struct writer *writer, const struct profile_label *label,
		      enum label_column column)
{
	bool is_string = label->str != PROFILE_NONE;

	if (column == LABEL_KEY)
		add_string(writer, label->key);
	else if (column == LABEL_IS_STRING)
		add(writer, is_string);
	else if (column == LABEL_UNIT)
		add_string(writer, label->num_unit);
	else if (is_string)
		add_string(writer, label->str);
	else
		add(writer, zigzag(label->num));
}

/* Sets are written out one after the other, whatever they share in the profile. */
static void add_labels(struct writer *writer)
{
	const struct profile *prof = writer->prof;

	add(writer, prof->label_set_cnt);
	for (size_t i = 0; i < prof->label_set_cnt; i++)
		add(writer, prof->label_sets[i].cnt);
	for (int column = 0; column < LABEL_COLUMN_CNT; column++) {
		for (size_t i = 0; i < prof->label_set_cnt; i++) {
			const struct profile_label_set *set = &prof->label_sets[i];

			for (uint32_t j = 0; j < set->cnt; j++)
				add_label(writer, &prof->labels[set->first + j],
					  (enum label_column)column);
		}
	}
}

static void add_value_types(struct writer *writer)
{
	const struct profile *prof = writer->prof;

	add(writer, prof->value_type_cnt);
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		add_string(writer, prof->value_types[i].type);
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		add_string(writer, prof->value_types[i].unit);
	add(writer, prof->default_value < prof->value_type_cnt ? prof->default_value : 0);
	add_string(writer, prof->period_type.type);
	add_string(writer, prof->period_type.unit);
	add(writer, zigzag(prof->period));
	add_wide(writer, &prof->time_ns, 1, 0);
	add_wide(writer, &prof->duration_ns, 1, 0);
}

/* @order: the samples in the order of their nodes; @steps: how far each is from the one before. */
static void order_samples(const struct html_trie *trie, uint32_t *order, uint32_t *steps)
{
	uint32_t up, number = 0, last = 0;
	size_t cnt = 0;

	for (uint32_t node = trie->first_root; node != PROFILE_NONE;
	     node = html_trie_next(trie, node, &up), number++) {
		for (uint32_t sample = trie->nodes[node].first_sample; sample != PROFILE_NONE;
		     sample = trie->next_sample[sample]) {
			steps[cnt] = number - last;
			order[cnt++] = sample;
			last = number;
		}
	}
}

static int add_samples(struct writer *writer)
{
	const struct profile *prof = writer->prof;
	size_t cnt = prof->sample_cnt;
	_cleanup_free_ uint32_t *order = calloc(cnt + 1, sizeof(*order));
	_cleanup_free_ uint32_t *steps = calloc(cnt + 1, sizeof(*steps));

	if (!order || !steps)
		return -ENOMEM;
	order_samples(writer->trie, order, steps);
	add(writer, cnt);
	for (size_t i = 0; i < cnt; i++)
		add(writer, steps[i]);
	for (size_t i = 0; i < cnt; i++)
		add(writer, prof->samples[order[i]].label_set);
	for (uint32_t value = 0; value < prof->value_type_cnt; value++)
		for (size_t i = 0; i < cnt; i++)
			add(writer,
			    zigzag(prof->values[(size_t)order[i] * prof->value_type_cnt + value]));
	return 0;
}

/* UTF-16 units of well-formed UTF-8. */
static uint64_t utf16_len(const char *str, size_t len)
{
	uint64_t units = 0;

	for (size_t i = 0; i < len; i++)
		units += ((uint8_t)str[i] & 0xc0) != 0x80 ? 1U + ((uint8_t)str[i] >= 0xf0) : 0;
	return units;
}

/* Everything but the strings is known now; they come first in the page. */
static int add_strings(struct buf *out, const struct strtab *strings)
{
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	pb_add_varint(out, FORMAT_VERSION);
	pb_add_varint(out, strings->cnt);
	for (uint32_t i = 0; i < strings->cnt; i++) {
		size_t before = text.len;

		svg_add_clean(&text, strtab_get(strings, i));
		pb_add_varint(out, text.len > before
					   ? utf16_len(text.data + before, text.len - before)
					   : 0);
	}
	pb_add_varint(out, text.len);
	buf_add(out, buf_cstr(&text), text.len);
	if (text.err && !out->err)
		out->err = text.err;
	buf_deinit(&text);
	return out->err;
}

static int write_all(struct writer *writer)
{
	int err;

	add_functions(writer);
	add_mappings(writer);
	add_locations(writer);
	add_lines(writer);
	add_trie(writer);
	add_labels(writer);
	add_value_types(writer);
	err = add_samples(writer);
	return err ? err : writer->out->err;
}

int html_add_binary(struct buf *out, struct html_trie *trie)
{
	_cleanup_(buf_deinit) struct buf tables;
	struct writer writer = {
		.prof = trie->frames.prof,
		.trie = trie,
		.strings = &trie->frames.names,
		.out = &tables,
	};
	int err;

	buf_init(&tables, BUF_NO_MAX);
	err = write_all(&writer);
	if (!err)
		err = add_strings(out, writer.strings);
	buf_add(out, buf_cstr(&tables), tables.len);
	return err ? err : out->err;
}
