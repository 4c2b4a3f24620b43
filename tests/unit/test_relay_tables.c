/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables at a relay: one host makes each, and what was taken is there after a crash. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "fleet/fleet_symbols.h"
#include "relay/relay_tables.h"
#include "scratch.h"

enum { MAX_BYTES = 1000, ONE = 1, OTHER = 2 };

#define NOW_NS (1000 * NSEC_PER_SEC)

static char folder[128];

static int set_up(void **state)
{
	struct relay_tables *tables;

	snprintf(folder, sizeof(folder), "%s/tables-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(relay_tables_open(folder, MAX_BYTES, &tables), 0);
	*state = tables;
	return 0;
}

static int tear_down(void **state)
{
	relay_tables_close(*state);
	return remove_tree(folder);
}

/* As after a crash: nothing but the files is kept. */
static struct relay_tables *open_again(void **state)
{
	struct relay_tables *tables;

	relay_tables_close(*state);
	assert_int_equal(relay_tables_open(folder, MAX_BYTES, &tables), 0);
	*state = tables;
	return tables;
}

/* Build-ids "aa" and "bb", of which the second lacks lines, and one that no message can have. */
static void want(struct relay_tables *tables, uint64_t now_ns)
{
	struct fleet_modules wanted = {.cnt = 3, .cap = 3};

	wanted.items = calloc(3, sizeof(*wanted.items));
	assert_non_null(wanted.items);
	wanted.items[0] = (struct fleet_module){
		.build_id = strdup("aa"), .path = strdup("/bin/a"), .why = "no_file"};
	wanted.items[1] = (struct fleet_module){
		.build_id = strdup("bb"), .path = strdup("/bin/b"), .why = "no_lines"};
	wanted.items[2] = (struct fleet_module){
		.build_id = strdup("go/../x"), .path = strdup("/bin/c"), .why = "no_file"};
	relay_tables_want(tables, &wanted, now_ns);
	assert_int_equal(wanted.cnt, 0);
}

static int add_id(void *arg, const struct relay_wanted *wanted)
{
	assert_int_equal(wanted->needs_lines, !strcmp(wanted->build_id, "bb"));
	buf_add_str(arg, wanted->build_id);
	return 0;
}

/* What @host is told is wanted is @ids. */
static void assert_list(struct relay_tables *tables, uint64_t host, uint64_t now_ns,
			const char *ids)
{
	enum relay_symbols_answer what;
	struct buf answer, got;

	buf_init(&answer, BUF_NO_MAX);
	buf_init(&got, BUF_NO_MAX);
	relay_answer_begin(RELAY_SYMBOLS_WANTED, &answer);
	assert_int_equal(relay_tables_list(tables, host, now_ns, &answer), 0);
	assert_int_equal(relay_answer_end(&answer), 0);
	assert_int_equal(relay_answer_read(answer.data, answer.len, &what, add_id, &got), 0);
	assert_string_equal(buf_cstr(&got), ids);
	buf_deinit(&answer);
	buf_deinit(&got);
}

static bool claims(struct relay_tables *tables, const char *build_id, uint64_t host,
		   uint64_t now_ns)
{
	bool is_ours = false;

	assert_int_equal(relay_tables_claim(tables, build_id, host, now_ns, &is_ours), 0);
	return is_ours;
}

static void test_asked(void **state)
{
	struct relay_tables *tables = *state;
	struct buf answer;

	buf_init(&answer, BUF_NO_MAX);
	assert_true(relay_tables_is_due(tables, NOW_NS));
	assert_int_equal(relay_tables_list(tables, ONE, NOW_NS, &answer), -EAGAIN);
	assert_false(claims(tables, "aa", ONE, NOW_NS));
	want(tables, NOW_NS);
	/* Not again before somebody has asked, and not at once then. */
	assert_false(relay_tables_is_due(tables, NOW_NS + RELAY_TABLES_LIST_NS));
	assert_list(tables, ONE, NOW_NS, "aabb");
	assert_false(relay_tables_is_due(tables, NOW_NS + RELAY_TABLES_LIST_NS - 1));
	assert_true(relay_tables_is_due(tables, NOW_NS + RELAY_TABLES_LIST_NS));
	buf_deinit(&answer);
}

static void test_claims(void **state)
{
	const uint64_t over_ns = NOW_NS + FLEET_CLAIM_S * NSEC_PER_SEC;
	struct relay_tables *tables = *state;

	want(tables, NOW_NS);
	assert_true(claims(tables, "aa", ONE, NOW_NS));
	assert_false(claims(tables, "aa", OTHER, NOW_NS));
	assert_true(claims(tables, "aa", ONE, NOW_NS));
	assert_false(claims(tables, "cc", ONE, NOW_NS));
	assert_list(tables, OTHER, NOW_NS, "bb");
	assert_list(tables, ONE, NOW_NS, "aabb");
	/* It holds beyond the next list, and not for ever. */
	want(tables, NOW_NS + 1);
	assert_false(claims(tables, "aa", OTHER, over_ns - 1));
	assert_true(claims(tables, "aa", OTHER, over_ns));
	assert_false(claims(tables, "aa", ONE, over_ns));
}

/* What was taken is not wanted, from nobody, and is there until it is done. */
static void test_taken(void **state)
{
	struct relay_tables *tables = *state;
	char build_id[RELAY_BUILD_ID_MAX];
	struct buf message;

	buf_init(&message, BUF_NO_MAX);
	want(tables, NOW_NS);
	assert_int_equal(relay_tables_next(tables, build_id, &message), 0);
	assert_int_equal(relay_tables_put(tables, "aa", "table of aa", 11), 0);
	assert_int_equal(relay_tables_put(tables, "aa", "table", 5), -EEXIST);
	assert_list(tables, ONE, NOW_NS, "bb");
	tables = open_again(state);
	want(tables, NOW_NS);
	assert_list(tables, ONE, NOW_NS, "bb");
	assert_false(claims(tables, "aa", ONE, NOW_NS));
	assert_int_equal(relay_tables_put(tables, "aa", "table", 5), -EEXIST);
	assert_int_equal(relay_tables_state(tables).cnt, 1);
	assert_int_equal(relay_tables_state(tables).bytes, 11);
	assert_int_equal(relay_tables_next(tables, build_id, &message), 1);
	assert_string_equal(build_id, "aa");
	assert_string_equal(buf_cstr(&message), "table of aa");
	relay_tables_done(tables, "aa", false);
	assert_int_equal(relay_tables_next(tables, build_id, &message), 0);
	/* What the store said before that is older. */
	assert_list(tables, ONE, NOW_NS, "bb");
	tables = open_again(state);
	assert_int_equal(relay_tables_state(tables).cnt, 0);
	buf_deinit(&message);
}

/* One that the store does not take does not keep the others from it. */
static void test_turns(void **state)
{
	struct relay_tables *tables = *state;
	char build_id[RELAY_BUILD_ID_MAX];
	struct buf message, seen;

	buf_init(&message, BUF_NO_MAX);
	buf_init(&seen, BUF_NO_MAX);
	assert_int_equal(relay_tables_put(tables, "aa", "a", 1), 0);
	assert_int_equal(relay_tables_put(tables, "bb", "b", 1), 0);
	assert_int_equal(relay_tables_put(tables, "cc", "c", 1), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(relay_tables_next(tables, build_id, &message), 1);
		buf_add_str(&seen, build_id);
		if (i == 1)
			relay_tables_done(tables, build_id, false);
	}
	assert_string_equal(buf_cstr(&seen), "aabbccaa");
	buf_deinit(&message);
	buf_deinit(&seen);
}

static void test_refused(void **state)
{
	struct relay_tables *tables = *state;

	want(tables, NOW_NS);
	assert_int_equal(relay_tables_put(tables, "aa", "a", 1), 0);
	relay_tables_done(tables, "aa", true);
	want(tables, 2 * NOW_NS);
	assert_list(tables, ONE, 3 * NOW_NS, "bb");
	assert_false(claims(tables, "aa", ONE, 3 * NOW_NS));
}

static void test_full(void **state)
{
	struct relay_tables *tables = *state;
	static const char bytes[MAX_BYTES + 1];

	want(tables, NOW_NS);
	assert_int_equal(relay_tables_put(tables, "cc", bytes, MAX_BYTES - 1), 0);
	assert_true(claims(tables, "aa", ONE, NOW_NS));
	assert_int_equal(relay_tables_put(tables, "aa", bytes, 2), -EDQUOT);
	/* Nobody makes another one in vain. */
	assert_false(claims(tables, "aa", ONE, NOW_NS));
	assert_false(claims(tables, "bb", ONE, NOW_NS));
	relay_tables_done(tables, "cc", false);
	assert_true(claims(tables, "bb", ONE, NOW_NS));
	assert_int_equal(relay_tables_put(tables, "aa", bytes, 2), 0);
	/* For what is larger than all there is, others need not wait. */
	assert_int_equal(relay_tables_put(tables, "dd", bytes, MAX_BYTES + 1), -EFBIG);
	assert_true(claims(tables, "bb", ONE, NOW_NS));
}

/* What was being written when the relay ended is no table, nor is what somebody else has put there.
 */
static void test_leftovers(void **state)
{
	struct relay_tables *tables = *state;
	char path[256];
	int fd;

	assert_int_equal(relay_tables_put(tables, "aa", "a", 1), 0);
	snprintf(path, sizeof(path), "%s/symbols/.bb.new", folder);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	tables = open_again(state);
	assert_int_equal(relay_tables_state(tables).cnt, 1);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/symbols/aa", folder);
	assert_int_equal(unlink(path), 0);
	{
		char build_id[RELAY_BUILD_ID_MAX];
		struct buf message;

		buf_init(&message, BUF_NO_MAX);
		assert_int_equal(relay_tables_next(tables, build_id, &message), -ENOENT);
		assert_string_equal(build_id, "aa");
		buf_deinit(&message);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(test_asked),   CASE(test_claims), CASE(test_taken),     CASE(test_turns),
		CASE(test_refused), CASE(test_full),   CASE(test_leftovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
