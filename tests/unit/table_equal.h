/* SPDX-License-Identifier: Apache-2.0 */
/* Two unwind tables, field by field. Include it after cmocka. */
#ifndef BPFPROF_TESTS_TABLE_EQUAL_H
#define BPFPROF_TESTS_TABLE_EQUAL_H

#include "unwind/table.h"

static inline void assert_tables_equal(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->rows.cnt, b->rows.cnt);
	assert_int_equal(a->rows.pages_cnt, b->rows.pages_cnt);
	assert_int_equal(a->rules.cnt, b->rules.cnt);
	assert_memory_equal(a->rows.items, b->rows.items, a->rows.cnt * sizeof(*a->rows.items));
	if (a->rows.pages_cnt)
		assert_memory_equal(a->rows.pages, b->rows.pages,
				    a->rows.pages_cnt * sizeof(*a->rows.pages));
	assert_memory_equal(a->rules.items, b->rules.items, a->rules.cnt * sizeof(*a->rules.items));
	assert_true(a->rows.first_page == b->rows.first_page);
	assert_true(a->rows.start_off == b->rows.start_off);
	assert_true(a->rows.end_off == b->rows.end_off);
	assert_ptr_equal(a->rules.arch, b->rules.arch);
	assert_int_equal(a->rules.refused_cnt, b->rules.refused_cnt);
	assert_int_equal(a->fdes_cnt, b->fdes_cnt);
	assert_int_equal(a->refused_cnt, b->refused_cnt);
}

#endif
