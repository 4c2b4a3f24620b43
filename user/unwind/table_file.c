/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a table is copying its three arrays; most of this file doubts what it reads. */
#include "unwind/table_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reader.h"

enum { REG_MAX = 31 };

const struct seal table_file_seal = {
	.magic = {'b', 'p', 'f', 'p', 'r', 'o', 'w', 's'},
	.format = TABLE_FORMAT_VERSION,
	.rules = TABLE_COMPILER_VERSION,
};

_Static_assert(sizeof(struct table_header) % _Alignof(uint64_t) == 0, "arrays are used in place");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files hold our arrays as they are");

static size_t file_bytes(const struct table_header *header)
{
	return sizeof(*header) + header->pages_cnt * sizeof(struct row_page) +
	       header->rows_cnt * sizeof(uint32_t) + header->rules_cnt * sizeof(struct bp_rule);
}

void *table_file_encode(const struct unwind_table *table, const struct file_stamp *source,
			size_t *len_out)
{
	const struct table_header header = {
		.seal = table_file_seal,
		.source = *source,
		.start_off = table->rows.start_off,
		.end_off = table->rows.end_off,
		.first_page = table->rows.first_page,
		.machine = table->rules.arch->machine,
		.pages_cnt = (uint32_t)table->rows.pages_cnt,
		.rows_cnt = (uint32_t)table->rows.cnt,
		.rules_cnt = (uint32_t)table->rules.cnt,
		.fdes_cnt = (uint32_t)table->fdes_cnt,
		.refused_cnt = (uint32_t)table->refused_cnt,
		.rules_refused_cnt = (uint32_t)table->rules.refused_cnt,
		.tracks_bx = table->rules.tracks_bx,
	};
	const struct seal_part parts[] = {
		{&header, sizeof(header)},
		{table->rows.pages, header.pages_cnt * sizeof(struct row_page)},
		{table->rows.items, header.rows_cnt * sizeof(uint32_t)},
		{table->rules.items, header.rules_cnt * sizeof(struct bp_rule)},
	};

	return seal_join(parts, sizeof(parts) / sizeof(*parts), len_out);
}

/* Versions, source and checksum: is it whole, and of this file? */
static int header_check(const struct table_header *header, const void *file, size_t len,
			const struct file_stamp *source)
{
	int err = seal_check(&header->seal, &table_file_seal);

	if (err)
		return err;
	if (memcmp(&header->source, source, sizeof(*source)) != 0)
		return -ESTALE;
	if (header->pages_cnt > ROW_PAGES_MAX || header->rows_cnt > ROWS_MAX ||
	    header->rules_cnt > BP_RULES_MAX || file_bytes(header) != len ||
	    header->seal.checksum != seal_checksum(file, len))
		return -EBADMSG;
	return 0;
}

/* Are the pages those of start_off .. end_off, as rows_init() makes them? */
static bool bounds_are_valid(const struct table_header *header)
{
	uint64_t last = (header->end_off - 1) >> BP_ROW_PAGE_BITS;

	if (header->start_off >= header->end_off)
		return !header->first_page && !header->pages_cnt;
	return header->first_page == header->start_off >> BP_ROW_PAGE_BITS &&
	       header->pages_cnt == last - header->first_page + 1;
}

/* Keys of a page ascend from 0. */
static bool page_is_valid(const uint32_t *rows, uint32_t cnt)
{
	bool ascends = true;

	if (!cnt)
		return true;
	for (uint32_t i = 1; i < cnt; i++)
		ascends &= row_key(rows[i]) > row_key(rows[i - 1]);
	return ascends && !row_key(rows[0]) && row_key(rows[cnt - 1]) <= BP_ROW_KEY_MASK;
}

/* Pages share no rows and leave none out, so a table holds no more than its file does. */
static bool rows_are_valid(const struct rows *rows, size_t rules_cnt)
{
	uint32_t first = 0, greatest = 0;

	for (size_t i = 0; i < rows->pages_cnt; i++) {
		const struct row_page *page = &rows->pages[i];

		if (page->first != first || page->cnt > 1 << BP_ROW_PAGE_BITS ||
		    page->cnt > rows->cnt - first || !page_is_valid(rows->items + first, page->cnt))
			return false;
		first += page->cnt;
	}
	/* The escape bit is a row's highest: the greatest row has the greatest index. */
	for (size_t i = 0; i < rows->cnt; i++)
		greatest = rows->items[i] > greatest ? rows->items[i] : greatest;
	return first == rows->cnt &&
	       (rule16_is_inline(row_rule16(greatest)) ||
		(size_t)(row_rule16(greatest) & ~BP_RULE16_ESCAPE) < rules_cnt);
}

static bool save_is_valid(uint8_t save, int32_t off)
{
	return save <= BP_SAVE_SP && (save != BP_SAVE_REG || (off >= 0 && off <= REG_MAX));
}

static bool rule_is_valid(const struct bp_rule *rule)
{
	return rule->kind < BP_RULE_KIND_CNT && rule->cfa_reg <= REG_MAX &&
	       rule->cfa_index <= REG_MAX + 1 && rule->bx_slot >= -1 && rule->is_eh_return <= 1 &&
	       !rule->pad && save_is_valid(rule->fp_save, rule->fp_off) &&
	       save_is_valid(rule->ra_save, rule->ra_off);
}

static bool rules_are_valid(const struct rule_set *rules)
{
	if (rules->cnt <= (RULE16_UNSUPPORTED & ~BP_RULE16_ESCAPE) ||
	    rules->items[RULE16_GAP & ~BP_RULE16_ESCAPE].kind != BP_RULE_GAP ||
	    rules->items[RULE16_UNSUPPORTED & ~BP_RULE16_ESCAPE].kind != BP_RULE_UNSUPPORTED)
		return false;
	for (size_t i = 0; i < rules->cnt; i++) {
		if (!rule_is_valid(&rules->items[i]))
			return false;
	}
	return true;
}

/* The next @len bytes, within the image. */
static void *next_array(struct reader *rd, void *image, size_t len)
{
	size_t off = reader_offset(rd);

	reader_skip(rd, len);
	return (uint8_t *)image + off;
}

/* The table whose arrays follow @header in @image, which stays the caller's. False: not one that
 * we write. */
static bool table_fill(struct unwind_table *table, const struct table_header *header, void *image,
		       struct reader *rd)
{
	struct rows *rows = &table->rows;
	struct rule_set *rules = &table->rules;

	*table = (struct unwind_table){
		.rows = {.cnt = header->rows_cnt,
			 .cap = header->rows_cnt,
			 .pages_cnt = header->pages_cnt,
			 .first_page = header->first_page,
			 .start_off = header->start_off,
			 .end_off = header->end_off},
		.rules = {.cnt = header->rules_cnt,
			  .cap = header->rules_cnt,
			  .refused_cnt = header->rules_refused_cnt,
			  .tracks_bx = header->tracks_bx},
		.fdes_cnt = header->fdes_cnt,
		.refused_cnt = header->refused_cnt,
	};
	hmap_init(&rules->by_content);
	if (header->machine <= UINT16_MAX)
		rules->arch = cfi_arch_of((uint16_t)header->machine);
	rows->pages = next_array(rd, image, rows->pages_cnt * sizeof(*rows->pages));
	rows->items = next_array(rd, image, rows->cnt * sizeof(*rows->items));
	rules->items = next_array(rd, image, rules->cnt * sizeof(*rules->items));
	return !rd->err && rules->arch && header->tracks_bx <= 1 && bounds_are_valid(header) &&
	       rules_are_valid(rules) && rows_are_valid(rows, rules->cnt);
}

struct unwind_table *table_file_decode(void *data, size_t len, const struct file_stamp *source)
{
	_cleanup_free_ void *image = data;
	_cleanup_free_ struct unwind_table *table = malloc(sizeof(*table));
	struct table_header header;
	const void *bytes;
	struct reader rd;
	int err;

	if (!table)
		return NULL;
	reader_init(&rd, image, len);
	bytes = reader_bytes(&rd, sizeof(header));
	if (!bytes) {
		errno = EBADMSG;
		return NULL;
	}
	memcpy(&header, bytes, sizeof(header));
	err = header_check(&header, image, len, source);
	if (!err && !table_fill(table, &header, image, &rd))
		err = -EBADMSG;
	if (err) {
		errno = -err;
		return NULL;
	}
	table->image = take_ptr(image);
	return take_ptr(table);
}
