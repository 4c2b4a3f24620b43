/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as bytes: they come back as they were, and what the compiler does not write is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "table_equal.h"
#include "unwind/table_file.h"

enum { BIG_PAGES = 48000 };

/* A table made by hand: three pages, four rules, an escape to each. */
static void small_table(struct unwind_table *out)
{
	static const struct bp_rule rules[] = {
		{.kind = BP_RULE_DEREF, .cfa_reg = 7, .cfa_off = 16, .ra_save = BP_SAVE_CFA},
		{.kind = BP_RULE_REG, .cfa_reg = 7, .ra_save = BP_SAVE_REG, .ra_off = 5},
	};

	memset(out, 0, sizeof(*out));
	assert_int_equal(rule_set_init(&out->rules, &cfi_arch_x86_64), 0);
	out->rules.items = realloc(out->rules.items, 4 * sizeof(*out->rules.items));
	assert_non_null(out->rules.items);
	memcpy(out->rules.items + 2, rules, sizeof(rules));
	out->rules.cnt = out->rules.cap = 4;
	assert_int_equal(rows_init(&out->rows, 0x1fe00, 0x20810), 0);
	rows_put(&out->rows, 0x1fe00, 0x40);
	rows_put(&out->rows, 0x1fe10, BP_RULE16_ESCAPE | 2);
	rows_put(&out->rows, 0x20600, BP_RULE16_ESCAPE | 3);
	rows_put(&out->rows, 0x20700, RULE16_UNSUPPORTED);
	assert_int_equal(rows_finish(&out->rows), 0);
	assert_int_equal(out->rows.pages_cnt, 3);
}

static void table_deinit(struct unwind_table *table)
{
	rows_deinit(&table->rows);
	rule_set_deinit(&table->rules);
}

static const struct file_stamp a_source = {.uid = 1, .gid = 2, .size_bytes = 3, .mtime_s = 4};

/* The parts of an encoded small_table(). */
struct parts {
	struct table_header header;
	struct row_page pages[3];
	uint32_t rows[7];
	struct bp_rule rules[4];
} __attribute__((packed));

static void small_parts(struct parts *out)
{
	_cleanup_(table_deinit) struct unwind_table table;
	_cleanup_free_ void *file = NULL;
	size_t len;

	small_table(&table);
	file = table_file_encode(&table, &a_source, &len);
	assert_non_null(file);
	assert_int_equal(len, sizeof(*out));
	memcpy(out, file, sizeof(*out));
}

static int decode_bytes(const void *data, size_t len)
{
	void *copy = malloc(len ? len : 1);
	struct unwind_table *table;

	memcpy(copy, data, len);
	errno = 0;
	table = table_file_decode(copy, len, &a_source);
	unwind_table_free(table);
	return table ? 0 : errno;
}

/* As one who knows the format would have it: with the right checksum. */
static int decode_forged(struct parts *parts)
{
	parts->header.seal.checksum = seal_checksum(parts, sizeof(*parts));
	return decode_bytes(parts, sizeof(*parts));
}

static void test_every_byte_counts(void **state)
{
	struct parts parts;
	uint8_t *bytes = (uint8_t *)&parts;

	small_parts(&parts);
	assert_int_equal(decode_bytes(&parts, sizeof(parts)), 0);
	for (size_t i = 0; i < sizeof(parts); i++) {
		bytes[i] ^= 0x10;
		assert_int_not_equal(decode_bytes(&parts, sizeof(parts)), 0);
		bytes[i] ^= 0x10;
		assert_int_equal(decode_bytes(&parts, i), EBADMSG);
	}
}

/* Set one field of a good file to a value that no compiler writes. */
#define assert_refused(field, value, want_errno)                      \
	do {                                                          \
		struct parts forged;                                  \
                                                                      \
		small_parts(&forged);                                 \
		assert_int_equal(decode_forged(&forged), 0);          \
		forged.field = (value);                               \
		assert_int_equal(decode_forged(&forged), want_errno); \
	} while (0)

static void test_forged_header(void **state)
{
	assert_refused(header.seal.magic[7], 'S', EBADMSG);
	assert_refused(header.seal.format, TABLE_FORMAT_VERSION + 1, ESTALE);
	assert_refused(header.seal.rules, TABLE_COMPILER_VERSION + 1, ESTALE);
	assert_refused(header.source.uid, 0, ESTALE);
	assert_refused(header.source.gid, 0, ESTALE);
	assert_refused(header.source.size_bytes, 4, ESTALE);
	assert_refused(header.source.mtime_s, 5, ESTALE);
	assert_refused(header.source.mtime_ns, 1, ESTALE);
	assert_refused(header.machine, EM_386, EBADMSG);
	assert_refused(header.machine, 0x10000 | EM_X86_64, EBADMSG);
	assert_refused(header.start_off, 0x20000, EBADMSG);
	assert_refused(header.start_off, 0x40000, EBADMSG);
	assert_refused(header.end_off, 0x20000, EBADMSG);
	assert_refused(header.end_off, UINT64_MAX, EBADMSG);
	assert_refused(header.first_page, 0, EBADMSG);
	assert_refused(header.pages_cnt, 2, EBADMSG);
	assert_refused(header.pages_cnt, ROW_PAGES_MAX + 1, EBADMSG);
	assert_refused(header.rows_cnt, 6, EBADMSG);
	assert_refused(header.rows_cnt, UINT32_MAX, EBADMSG);
	assert_refused(header.rules_cnt, 3, EBADMSG);
	assert_refused(header.rules_cnt, BP_RULES_MAX + 1, EBADMSG);
}

static void test_forged_content(void **state)
{
	assert_refused(pages[0].first, 1, EBADMSG);
	assert_refused(pages[1].first, 0, EBADMSG);
	assert_refused(pages[2].cnt, 0, EBADMSG);
	assert_refused(pages[2].cnt, (1 << BP_ROW_PAGE_BITS) + 1, EBADMSG);
	assert_refused(pages[2].cnt, UINT32_MAX, EBADMSG);
	assert_refused(rows[0], forged.rows[0] | 1, EBADMSG);
	assert_refused(rows[2], forged.rows[1], EBADMSG);
	assert_refused(rows[2], forged.rows[2] | 1 << BP_ROW_PAGE_BITS, EBADMSG);
	assert_refused(rows[1], (BP_RULE16_ESCAPE | 4U) << 16 | 0x700, EBADMSG);
	assert_refused(rows[1], 0xffff0000U | 0x700, EBADMSG);
	assert_refused(rules[0].kind, BP_RULE_UNSUPPORTED, EBADMSG);
	assert_refused(rules[1].kind, BP_RULE_GAP, EBADMSG);
	assert_refused(rules[2].kind, BP_RULE_KIND_CNT, EBADMSG);
	assert_refused(rules[2].cfa_reg, 32, EBADMSG);
	assert_refused(rules[2].fp_save, BP_SAVE_SP + 1, EBADMSG);
	assert_refused(rules[2].ra_save, BP_SAVE_SP + 1, EBADMSG);
	assert_refused(rules[3].ra_off, 32, EBADMSG);
	assert_refused(rules[3].ra_off, -1, EBADMSG);
	assert_refused(rules[3].pad, 1, EBADMSG);
}

static void check_coding(const struct unwind_table *table)
{
	struct unwind_table *copy;
	size_t len;
	void *file = table_file_encode(table, &a_source, &len);

	assert_non_null(file);
	copy = table_file_decode(file, len, &a_source);
	assert_non_null(copy);
	assert_tables_equal(table, copy);
	unwind_table_free(copy);
}

/* As many rows as the largest libraries have, gaps as whole pages, and none at all. */
static void test_sizes(void **state)
{
	struct unwind_table table = {.fdes_cnt = 7, .refused_cnt = 8};

	assert_int_equal(rule_set_init(&table.rules, &cfi_arch_aarch64), 0);
	assert_int_equal(rows_init(&table.rows, 0, 0), 0);
	check_coding(&table);
	assert_int_equal(rows_init(&table.rows, 0x123, (uint64_t)BIG_PAGES << BP_ROW_PAGE_BITS), 0);
	for (uint64_t off = 0x123, i = 0; off < table.rows.end_off; off += 100, i++) {
		bool is_gap = off >> BP_ROW_PAGE_BITS & 1;

		rows_put(&table.rows, off, is_gap ? RULE16_GAP : (uint16_t)(i % 0x3fff));
	}
	assert_int_equal(rows_finish(&table.rows), 0);
	assert_true(table.rows.cnt > 400000);
	check_coding(&table);
	table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte_counts),
		cmocka_unit_test(test_forged_header),
		cmocka_unit_test(test_forged_content),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
