/* SPDX-License-Identifier: Apache-2.0 */
/* In which order tables are built: what was sampled waits for nothing that was not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdbool.h>
#include <unistd.h>

#include "capture/row_builder.h"
#include "unwind/table_cache.h"

enum { PATIENCE_MS = 30 * 1000 };

/* Which files hold up who builds their table: by the first byte of their build-ids. */
enum { SLOW = 1, QUICK };

static sem_t started, go_on; /* of SLOW */

/* Tables are built by the functions below: they have none, but take their time. */
struct cache_dir *table_cache_open(const char *base, uint64_t max_bytes)
{
	(void)base;
	(void)max_bytes;
	return NULL;
}

struct unwind_table *table_cache_get(struct cache_dir *cache, int fd, const uint8_t *build_id,
				     size_t len)
{
	(void)cache;
	(void)fd;
	(void)len;
	if (*build_id == SLOW) {
		sem_post(&started);
		while (sem_wait(&go_on) && errno == EINTR)
			;
	}
	errno = ENODATA;
	return NULL;
}

static int set_up(void **state)
{
	struct row_builder *builder;

	sem_init(&started, 0, 0);
	sem_init(&go_on, 0, 0);
	builder = row_builder_start();
	*state = builder;
	return builder ? 0 : -1;
}

static int tear_down(void **state)
{
	sem_post(&go_on);
	row_builder_stop(*state);
	sem_destroy(&started);
	sem_destroy(&go_on);
	return 0;
}

static void ask(struct row_builder *builder, uint32_t exe_id, uint8_t kind, bool is_urgent)
{
	struct module module = {.fd = STDIN_FILENO, .build_id = {kind}, .build_id_len = 20};

	assert_int_equal(row_builder_ask(builder, exe_id, &module, is_urgent), 0);
}

/* The executable whose table is finished next. */
static uint32_t finished(struct row_builder *builder, bool *is_urgent)
{
	struct pollfd wait = {.fd = row_builder_fd(builder), .events = POLLIN};
	struct unwind_table *table = NULL;
	uint32_t exe_id;

	while (!row_builder_take(builder, &exe_id, is_urgent, &table))
		assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
	assert_null(table);
	return exe_id;
}

static void sampled_ones_pass_a_large_one_that_is_only_mapped(void **state)
{
	struct row_builder *builder = *state;
	bool is_urgent;

	ask(builder, 1, SLOW, false);
	sem_wait(&started);
	ask(builder, 2, QUICK, false);
	ask(builder, 3, QUICK, true);
	assert_int_equal(finished(builder, &is_urgent), 3);
	assert_true(is_urgent);
	/* What waits behind the large one, and is sampled meanwhile. */
	row_builder_hurry(builder, 2);
	assert_int_equal(finished(builder, &is_urgent), 2);
	assert_true(is_urgent);
	sem_post(&go_on);
	assert_int_equal(finished(builder, &is_urgent), 1);
	assert_false(is_urgent);
}

static void mapped_ones_do_not_wait_for_a_large_one_that_is_sampled(void **state)
{
	struct row_builder *builder = *state;
	bool is_urgent;

	ask(builder, 1, SLOW, true);
	sem_wait(&started);
	ask(builder, 2, QUICK, false);
	assert_int_equal(finished(builder, &is_urgent), 2);
	assert_false(is_urgent);
	sem_post(&go_on);
	assert_int_equal(finished(builder, &is_urgent), 1);
	assert_true(is_urgent);
}

static void stopping_forgets_what_waits(void **state)
{
	struct row_builder *builder = *state;

	ask(builder, 1, SLOW, false);
	sem_wait(&started);
	for (uint32_t id = 2; id < 100; id++)
		ask(builder, id, QUICK, id % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sampled_ones_pass_a_large_one_that_is_only_mapped,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			mapped_ones_do_not_wait_for_a_large_one_that_is_sampled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stopping_forgets_what_waits, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
