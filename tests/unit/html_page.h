/* SPDX-License-Identifier: Apache-2.0 */
/* The profile in a report, read back as the head of html_data.c describes it. */
#ifndef BPFPROF_TESTS_HTML_PAGE_H
#define BPFPROF_TESTS_HTML_PAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/reader.h"
#include "encode/html.h"

struct page_column {
	uint64_t *items; /* owned */
	size_t cnt;
};

struct page {
	char **strings; /* owned, each */
	size_t string_cnt;
	struct page_column fn_name, fn_system, fn_file, fn_line;
	struct page_column map_path, map_build_id, map_start, map_limit, map_offset, map_flags;
	struct page_column loc_mapping, loc_address, loc_flags, loc_kind, loc_name, loc_lines;
	struct page_column line_function, line_number;
	struct page_column trie_up, trie_ref, trie_parent; /* parent + 1 */
	struct page_column set_labels, label_key, label_is_string, label_value, label_unit;
	struct page_column value_type, value_unit;
	uint64_t default_value;
	struct page_column sample_node, sample_set, values[PROFILE_VALUES_MAX];
};

static inline struct page_column page_column(struct reader *rd, size_t cnt)
{
	struct page_column column = {calloc(cnt + 1, sizeof(uint64_t)), cnt};

	for (size_t i = 0; i < cnt; i++)
		column.items[i] = reader_uleb128(rd);
	return column;
}

static inline struct page_column page_wide(struct reader *rd, size_t cnt)
{
	struct page_column high = page_column(rd, cnt), low = page_column(rd, cnt);

	for (size_t i = 0; i < cnt; i++)
		high.items[i] = high.items[i] << 32 | low.items[i];
	free(low.items);
	return high;
}

static inline int64_t page_signed(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Bytes of @str that are @units of UTF-16. */
static inline size_t page_utf8_len(const char *str, uint64_t units)
{
	size_t len = 0;

	while (units) {
		uint8_t lead = (uint8_t)str[len];

		units -= lead >= 0xf0 ? 2 : 1;
		len += lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	}
	return len;
}

static inline void page_strings(struct reader *rd, struct page *page)
{
	struct page_column lens;
	const char *text;
	size_t len;

	page->string_cnt = reader_uleb128(rd);
	lens = page_column(rd, page->string_cnt);
	page->strings = calloc(page->string_cnt + 1, sizeof(*page->strings));
	len = reader_uleb128(rd);
	text = reader_bytes(rd, len);
	assert_non_null(text);
	for (size_t i = 0; i < page->string_cnt; i++) {
		size_t own = page_utf8_len(text, lens.items[i]);

		page->strings[i] = strndup(text, own);
		text += own;
		len -= own;
	}
	assert_int_equal(len, 0);
	free(lens.items);
}

static inline void page_code(struct reader *rd, struct page *page)
{
	size_t cnt = reader_uleb128(rd);

	page->fn_name = page_column(rd, cnt);
	page->fn_system = page_column(rd, cnt);
	page->fn_file = page_column(rd, cnt);
	page->fn_line = page_column(rd, cnt);
	cnt = reader_uleb128(rd);
	page->map_path = page_column(rd, cnt);
	page->map_build_id = page_column(rd, cnt);
	page->map_start = page_wide(rd, cnt);
	page->map_limit = page_wide(rd, cnt);
	page->map_offset = page_wide(rd, cnt);
	page->map_flags = page_column(rd, cnt);
	cnt = reader_uleb128(rd);
	page->loc_mapping = page_column(rd, cnt);
	page->loc_address = page_wide(rd, cnt);
	page->loc_flags = page_column(rd, cnt);
	page->loc_kind = page_column(rd, cnt);
	page->loc_name = page_column(rd, cnt);
	page->loc_lines = page_column(rd, cnt);
	cnt = reader_uleb128(rd);
	page->line_function = page_column(rd, cnt);
	page->line_number = page_column(rd, cnt);
}

static inline void page_trie(struct reader *rd, struct page *page)
{
	size_t cnt = reader_uleb128(rd);

	page->trie_up = page_column(rd, cnt);
	page->trie_ref = page_column(rd, cnt);
	page->trie_parent = (struct page_column){calloc(cnt + 1, sizeof(uint64_t)), cnt};
	for (size_t i = 0; i < cnt; i++) {
		uint64_t parent = i;

		for (uint64_t up = page->trie_up.items[i]; up > 0; up--) {
			assert_true(parent > 0);
			parent = page->trie_parent.items[parent - 1];
		}
		page->trie_parent.items[i] = parent;
	}
}

static inline void page_labels(struct reader *rd, struct page *page)
{
	size_t cnt = 0;

	page->set_labels = page_column(rd, reader_uleb128(rd));
	for (size_t i = 0; i < page->set_labels.cnt; i++)
		cnt += page->set_labels.items[i];
	page->label_key = page_column(rd, cnt);
	page->label_is_string = page_column(rd, cnt);
	page->label_value = page_column(rd, cnt);
	page->label_unit = page_column(rd, cnt);
}

static inline void page_samples(struct reader *rd, struct page *page)
{
	size_t cnt = reader_uleb128(rd);

	page->value_type = page_column(rd, cnt);
	page->value_unit = page_column(rd, cnt);
	page->default_value = reader_uleb128(rd);
	for (int i = 0; i < 3 + 4; i++) /* period and times: the encoder's own test */
		reader_uleb128(rd);
	cnt = reader_uleb128(rd);
	page->sample_node = page_column(rd, cnt);
	for (size_t i = 1; i < cnt; i++)
		page->sample_node.items[i] += page->sample_node.items[i - 1];
	page->sample_set = page_column(rd, cnt);
	for (size_t i = 0; i < page->value_type.cnt; i++)
		page->values[i] = page_column(rd, cnt);
}

static inline void page_read(const struct buf *binary, struct page *page)
{
	struct reader rd;

	*page = (struct page){.strings = NULL};
	reader_init(&rd, binary->data, binary->len);
	assert_int_equal(reader_uleb128(&rd), 1);
	page_strings(&rd, page);
	page_code(&rd, page);
	page_trie(&rd, page);
	page_labels(&rd, page);
	page_samples(&rd, page);
	assert_int_equal(rd.err, 0);
	assert_int_equal(reader_left(&rd), 0);
}

static inline void page_deinit(struct page *page)
{
	struct page_column *const all[] = {
		&page->fn_name,	    &page->fn_system,	  &page->fn_file,
		&page->fn_line,	    &page->map_path,	  &page->map_build_id,
		&page->map_start,   &page->map_limit,	  &page->map_offset,
		&page->map_flags,   &page->loc_mapping,	  &page->loc_address,
		&page->loc_flags,   &page->loc_kind,	  &page->loc_name,
		&page->loc_lines,   &page->line_function, &page->line_number,
		&page->trie_up,	    &page->trie_ref,	  &page->trie_parent,
		&page->set_labels,  &page->label_key,	  &page->label_is_string,
		&page->label_value, &page->label_unit,	  &page->value_type,
		&page->value_unit,  &page->sample_node,	  &page->sample_set,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		free(all[i]->items);
	for (size_t i = 0; i < page->value_type.cnt; i++)
		free(page->values[i].items);
	for (size_t i = 0; i < page->string_cnt; i++)
		free(page->strings[i]);
	free(page->strings);
}

#endif
