/* SPDX-License-Identifier: Apache-2.0 */
/* The store: what is read is what was stored, whoever reads and whenever. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile_dump.h"
#include "store_fixture.h"

static int set_up(void **state)
{
	static struct store_folder folder;

	store_folder_make(&folder);
	*state = &folder;
	return 0;
}

static int tear_down(void **state)
{
	store_folder_remove(*state);
	return 0;
}

/* @store holds the samples of @sum, and nothing else. */
static void assert_holds(struct store *store, struct profile *sum)
{
	struct store_coverage coverage;
	struct profile got;

	assert_int_equal(store_read(store, &store_everything, &got, NULL, &coverage), 0);
	assert_int_equal(coverage.damaged_cnt, 0);
	store_forget_header(&got);
	store_forget_header(sum);
	assert_same(sum, &got);
	profile_deinit(&got);
}

static void test_round_trip(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE), *reader;
	struct profile sum;

	profile_init(&sum);
	store_add_random(store, 0, 40, &sum);
	assert_holds(store, &sum);
	reader = store_must_open(*state, STORE_READ);
	assert_holds(reader, &sum);
	/* What the reader has read of the dictionary is added to. */
	store_add_random(store, 40, 60, &sum);
	assert_holds(reader, &sum);
	store_close(store);
	store_add_random(store = store_must_open(*state, STORE_WRITE), 60, 80, &sum);
	assert_holds(reader, &sum);
	store_close(reader);
	store_close(store);
	profile_deinit(&sum);
}

/* Not everybody on the host may read whom it works for; nor is a link followed to where its owner
 * wants a file. */
static void test_private(void **state)
{
	const struct store_folder *folder = *state;
	struct store *store = store_must_open(folder, STORE_WRITE);
	char other[128];
	struct stat st;

	assert_int_equal(stat(folder->path, &st), 0);
	assert_int_equal(st.st_mode & 0007, 0);
	store_close(store);
	snprintf(other, sizeof(other), "%s/link.db", folder->folder);
	assert_int_equal(symlink("/nonexistent/store.db", other), 0);
	assert_int_equal(store_open(other, STORE_WRITE, &store), -ELOOP);
}

static void test_replay(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct profile sum, prof;

	profile_init(&sum);
	store_add_random(store, 0, 5, &sum);
	random_profile(&prof, 1);
	assert_int_equal(store_add_nr(store, &prof, 3), -EEXIST);
	store_close(store);
	store = store_must_open(*state, STORE_WRITE);
	assert_int_equal(store_add_nr(store, &prof, 0), -EEXIST);
	assert_holds(store, &sum);
	store_close(store);
	profile_deinit(&prof);
	profile_deinit(&sum);
}

/* A frame that is stored without a name, in both of two windows, and named between and after. */
static void add_unnamed(struct store *store, uint64_t nr, uint64_t address)
{
	struct profile prof;
	uint32_t frames[2];

	profile_init(&prof);
	sample_header(&prof);
	frames[0] = profile_location(&prof, profile_mapping(&prof, "/bin/a", "aa"), address, 0);
	frames[1] = profile_named_location(&prof, "root", 0);
	profile_sample(&prof, profile_stack(&prof, frames, 2), profile_labels(&prof, NULL, 0),
		       (int64_t[]){1, 10});
	assert_int_equal(store_add_nr(store, &prof, nr), 0);
	profile_deinit(&prof);
}

/* Name what has no name "func_ADDRESS"; how many there were. */
static size_t name_all(struct store *store)
{
	struct profile named;
	uint32_t ids[8];
	char name[32];
	size_t cnt;

	assert_int_equal(store_unnamed(store, 8, &named, ids), 0);
	cnt = named.location_cnt;
	for (uint32_t i = 0; i < cnt; i++) {
		struct profile_line line = {.line = 7};

		snprintf(name, sizeof(name), "func_%" PRIx64, named.locations[i].address);
		line.function = profile_function(&named, name, name, "a.c", 1);
		profile_set_lines(&named, i, &line, 1);
	}
	assert_int_equal(store_set_names(store, &named, ids), 0);
	profile_deinit(&named);
	return cnt;
}

/* Every leaf is called by its address; how many samples there are. */
static size_t check_names(struct store *store)
{
	struct profile got;
	char name[32];
	size_t cnt;

	assert_int_equal(store_read(store, &store_everything, &got, NULL, NULL), 0);
	for (size_t i = 0; i < got.sample_cnt; i++) {
		uint32_t leaf = got.stack_locations[got.stacks[got.samples[i].stack].first];

		snprintf(name, sizeof(name), "func_%" PRIx64, got.locations[leaf].address);
		assert_string_equal(profile_location_name(&got, leaf, 0), name);
	}
	cnt = got.sample_cnt;
	profile_deinit(&got);
	return cnt;
}

static void test_names(void **state)
{
	static const struct store_limits limits = {.compact_after_ns = 1};
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct store *reader = store_must_open(*state, STORE_READ);

	add_unnamed(store, 0, 0x1000);
	add_unnamed(store, 1, 0x2000);
	assert_int_equal(name_all(store), 2);
	assert_int_equal(check_names(reader), 2);
	assert_int_equal(name_all(store), 0);
	add_unnamed(store, 2, 0x3000);
	store_close(store);
	store = store_must_open(*state, STORE_WRITE);
	assert_int_equal(name_all(store), 1);
	/* Known by its address, named or not, also to a writer that has read it from the file. */
	store_close(store);
	store = store_must_open(*state, STORE_WRITE);
	add_unnamed(store, 3, 0x1000);
	add_unnamed(store, 4, 0x3000);
	assert_int_equal(name_all(store), 0);
	assert_int_equal(check_names(reader), 3);
	for (uint64_t nr = 5; nr < 45; nr++) {
		add_unnamed(store, nr, 0x4000 + nr);
		assert_int_equal(name_all(store), 1);
	}
	while (store_maintain(store, &limits, STORE_NOON_NS + 3600 * NSEC_PER_SEC, 0) > 0)
		;
	assert_int_equal(check_names(reader), 43);
	assert_int_equal(check_names(store), 43);
	store_close(reader);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_private, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
