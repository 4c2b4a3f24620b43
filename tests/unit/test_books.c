/* SPDX-License-Identifier: Apache-2.0 */
/* The account of what nothing ticks for: what no program has seen is told as never_ran, once, on
 * its CPU; what came between two recordings as lost, once, and is none of the runs that are not
 * ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/books.h"

/* @runs: as the kernel counts them; 0: it is not asked. */
static void close_runs(struct books *books, uint64_t runs, uint64_t misses, struct ledger *ledger)
{
	ledger_init(ledger);
	ledger->event_cnt = 1;
	assert_int_equal(books_close_counted(books, runs, misses, &ledger->events[0]), 0);
}

static void close_window(struct books *books, uint64_t misses, struct ledger *ledger)
{
	close_runs(books, 0, misses, ledger);
}

/* The event's row of @cpu: @ticks happened, and @never of them without us. */
static void assert_row(struct ledger *ledger, int32_t cpu, uint64_t ticks, uint64_t never)
{
	const struct ledger_row *row = ledger_row(&ledger->events[0], cpu);

	assert_non_null(row);
	assert_int_equal(row->ticks, ticks);
	assert_int_equal(row->ran, ticks - never);
	assert_int_equal(row->never_ran_busy, never);
	assert_int_equal(row->never_ran_idle, 0);
}

static void test_waits(void **state)
{
	uint32_t numbers[] = {0, 3};
	const struct number_set present = {.items = numbers, .cnt = 2};
	struct bp_event_counters counters = {.ran = 100, .recorded = 60, .filtered = 40};
	struct ledger ledger;
	struct books books;

	assert_int_equal(books_init(&books, &present, -1), 0);
	books_add(&books, 0, &counters);
	counters.unseen = 7;
	books_add(&books, 1, &counters);
	close_window(&books, 0, &ledger);
	assert_row(&ledger, 0, 100, 0);
	assert_row(&ledger, 3, 107, 7);
	ledger_deinit(&ledger);

	/* Misses are a sum since the beginning, and of no CPU in particular. */
	counters.unseen = 2;
	books_add(&books, 0, &counters);
	close_window(&books, 5, &ledger);
	assert_row(&ledger, 0, 107, 7);
	assert_row(&ledger, 3, 0, 0);
	ledger_deinit(&ledger);

	books_add(&books, 1, &counters);
	close_window(&books, 5, &ledger);
	assert_row(&ledger, 0, 0, 0);
	assert_row(&ledger, 3, 102, 2);
	ledger_deinit(&ledger);
	books_deinit(&books);
}

static void test_between(void **state)
{
	uint32_t numbers[] = {2, 3};
	const struct number_set present = {.items = numbers, .cnt = 2};
	struct bp_event_counters counters = {.ran = 50, .recorded = 50, .ran_off = 10};
	struct ledger ledger;
	struct books books;

	assert_int_equal(books_init(&books, &present, -1), 0);
	/* Of the ten that were passed over three were nobody's. */
	books_note_between(&books, 3);
	books_add(&books, 1, &counters);
	close_runs(&books, 60, 0, &ledger);
	ledger_sum(&ledger);
	assert_true(ledger_balances(&ledger, NULL));
	assert_int_equal(ledger.events[0].sum.ran, 53);
	assert_int_equal(ledger.events[0].sum.kernel_runs, 53);
	assert_int_equal(ledger_reasons_sum(&ledger.events[0].sum.lost), 3);
	ledger_deinit(&ledger);

	counters.ran_off = 0;
	books_add(&books, 0, &counters);
	close_runs(&books, 110, 0, &ledger);
	ledger_sum(&ledger);
	assert_true(ledger_balances(&ledger, NULL));
	assert_int_equal(ledger.events[0].sum.ran, 50);
	assert_int_equal(ledger_reasons_sum(&ledger.events[0].sum.lost), 0);
	ledger_deinit(&ledger);
	books_deinit(&books);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_between),
	};

	return cmocka_run_group_tests_name("capture/books", tests, NULL, NULL);
}
