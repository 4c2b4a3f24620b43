/* SPDX-License-Identifier: Apache-2.0 */
/* Compaction changes no sum, but shares out time; retention says what it dropped, fsck sees what is
 * missing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <sqlite3.h>

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

static void maintain(struct store *store, const struct store_limits *limits, uint64_t now_ns)
{
	int more;

	while ((more = store_maintain(store, limits, now_ns, 0)) > 0)
		;
	assert_int_equal(more, 0);
}

/* No findings, or as many as are expected, the first of which has @text in it. */
static void check_fsck(struct store *store, int cnt, const char *text)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(store_fsck(store, &out), cnt);
	if (cnt && !strstr(buf_cstr(&out), text))
		fail_msg("no '%s' in: %s", text, buf_cstr(&out));
	buf_deinit(&out);
}

/* Every window and its neighbours, so that compaction crosses minutes. */
static void test_compaction(void **state)
{
	static const struct store_limits limits = {.compact_after_ns = 3600 * NSEC_PER_SEC};
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct store *reader = store_must_open(*state, STORE_READ);
	struct store_coverage before, after;
	struct profile sum, got;
	struct ledger ledger;

	profile_init(&sum);
	store_add_random(store, 0, 100, &sum);
	store_forget_header(&sum);
	assert_int_equal(store_coverage(store, 0, UINT64_MAX, &before), 0);
	assert_int_equal(store_read(reader, &store_everything, &got, NULL, NULL), 0);
	profile_deinit(&got);
	/* The last 40 windows are too young. */
	maintain(store, &limits, STORE_NOON_NS + 3600 * NSEC_PER_SEC + 60 * STORE_WINDOW_NS);
	assert_int_equal(store_read(store, &store_everything, &got, &ledger, &after), 0);
	assert_int_equal(after.window_cnt, before.window_cnt);
	assert_int_equal(after.covered_ns, before.covered_ns);
	assert_int_equal(after.last_ns, before.last_ns);
	assert_int_equal(ledger.events[0].sum.ticks, 100 * 5940);
	ledger_deinit(&ledger);
	store_forget_header(&got);
	assert_same(&sum, &got);
	profile_deinit(&got);
	check_fsck(store, 0, NULL);
	/* The reader has seen the dictionary before its chunks were put together. */
	assert_int_equal(store_read(reader, &store_everything, &got, NULL, &after), 0);
	assert_int_equal(after.damaged_cnt, 0);
	store_forget_header(&got);
	assert_same(&sum, &got);
	profile_deinit(&got);
	for (uint64_t nr = 0; nr < 100; nr++)
		assert_int_equal(store_add_nr(store, &sum, nr), -EEXIST);
	store_close(reader);
	store_close(store);
	profile_deinit(&sum);
}

static bool has_comm(const struct profile *prof, const struct profile_sample *sample,
		     const char *comm)
{
	const struct profile_label_set *set = &prof->label_sets[sample->label_set];

	for (uint32_t i = set->first; i < set->first + set->cnt; i++)
		if (!strcmp(profile_str(prof, prof->labels[i].key), "comm"))
			return !strcmp(profile_str(prof, prof->labels[i].str), comm);
	return false;
}

/* What the samples of @comm have of value @column. */
static int64_t sum_of(const struct profile *prof, const char *comm, uint32_t column)
{
	int64_t sum = 0;

	for (size_t i = 0; i < prof->sample_cnt; i++)
		if (has_comm(prof, &prof->samples[i], comm))
			sum += prof->values[i * prof->value_type_cnt + column];
	return sum;
}

/* Time that was sampled: compaction keeps each stack's samples and each label set's time, which the
 * samples of a minute then share. */
static void test_compaction_of_time(void **state)
{
	static const struct store_limits limits = {.compact_after_ns = 1};
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct profile before, after;

	for (uint64_t nr = 0; nr < 12; nr++) {
		struct profile prof;

		random_profile(&prof, nr * 77 + 1);
		prof.period = 5;
		assert_int_equal(store_add_nr(store, &prof, nr), 0);
		profile_deinit(&prof);
	}
	assert_int_equal(store_read(store, &store_everything, &before, NULL, NULL), 0);
	maintain(store, &limits, STORE_NOON_NS + 700 * NSEC_PER_SEC);
	check_fsck(store, 0, NULL);
	assert_int_equal(store_read(store, &store_everything, &after, NULL, NULL), 0);
	assert_int_equal(sum_of(&before, "x", 0), sum_of(&after, "x", 0));
	assert_int_equal(sum_of(&before, "x", 1), sum_of(&after, "x", 1));
	assert_int_equal(sum_of(&before, "y", 1), sum_of(&after, "y", 1));
	assert_true(sum_of(&after, "y", 1) > 0);
	for (size_t i = 0; i < after.sample_cnt; i++)
		assert_true(after.values[i * 2 + 1] >= 3 * after.values[i * 2] &&
			    after.values[i * 2 + 1] <= 8 * after.values[i * 2]);
	profile_deinit(&before);
	profile_deinit(&after);
	store_close(store);
}

static uint64_t rows_of(const struct store_folder *folder, const char *sql)
{
	sqlite3_stmt *stmt;
	uint64_t rows;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(folder->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	rows = (uint64_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return rows;
}

static void test_compacts_to_minutes(void **state)
{
	static const struct store_limits limits = {.compact_after_ns = 1};
	struct store *store = store_must_open(*state, STORE_WRITE);

	store_add_random(store, 0, 60, NULL);
	maintain(store, &limits, STORE_NOON_NS + 700 * NSEC_PER_SEC);
	store_close(store);
	assert_int_equal(rows_of(*state, "SELECT count(*) FROM window"), 10);
	assert_int_equal(rows_of(*state, "SELECT count(DISTINCT seq) FROM batch"), 10);
	assert_true(rows_of(*state, "SELECT count(*) FROM dict") < 32);
}

/* An epoch that was left out of a minute is not taken for one that is there. */
static void test_gap_of_epochs(void **state)
{
	static const struct store_limits limits = {.compact_after_ns = 1};
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct profile prof;

	random_profile(&prof, 5);
	assert_int_equal(store_add_nr(store, &prof, 0), 0);
	assert_int_equal(store_add_nr(store, &prof, 2), 0);
	assert_int_equal(store_add_nr(store, &prof, 5), 0);
	maintain(store, &limits, STORE_NOON_NS + 700 * NSEC_PER_SEC);
	assert_int_equal(store_add_nr(store, &prof, 2), -EEXIST);
	assert_int_equal(store_add_nr(store, &prof, 5), -EEXIST);
	assert_int_equal(store_add_nr(store, &prof, 1), 0);
	check_fsck(store, 0, NULL);
	profile_deinit(&prof);
	store_close(store);
}

static void test_retention_by_age(void **state)
{
	static const struct store_limits limits = {.max_age_ns = 1000 * NSEC_PER_SEC};
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct store_coverage before, after;
	struct profile kept, dropped, got;

	profile_init(&kept);
	profile_init(&dropped);
	store_add_random(store, 0, 150, &dropped);
	store_add_random(store, 150, 200, &kept);
	assert_int_equal(store_coverage(store, 0, UINT64_MAX, &before), 0);
	maintain(store, &limits,
		 STORE_NOON_NS + 150 * STORE_WINDOW_NS + limits.max_age_ns + NSEC_PER_SEC);
	assert_int_equal(store_read(store, &store_everything, &got, NULL, &after), 0);
	assert_int_equal(after.window_cnt, 50);
	assert_int_equal(after.tombstone_cnt, 1);
	assert_int_equal(after.tombstone_samples, profile_total(&dropped, 0));
	assert_int_equal(profile_total(&got, 1), profile_total(&kept, 1));
	check_fsck(store, 0, NULL);
	profile_deinit(&got);
	profile_deinit(&kept);
	profile_deinit(&dropped);
	store_close(store);
}

static void test_retention_by_bytes(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct store_limits limits = {.max_age_ns = 0};
	struct store_sizes before, after;
	struct store_coverage coverage;
	struct stat st;

	store_add_random(store, 0, 200, NULL);
	assert_int_equal(store_sizes(store, &before), 0);
	assert_int_equal(before.window_cnt, 200);
	limits.max_bytes = before.file_bytes / 2;
	maintain(store, &limits, STORE_NOON_NS);
	assert_int_equal(store_sizes(store, &after), 0);
	assert_true(after.file_bytes <= limits.max_bytes);
	assert_true(after.window_cnt > 0 && after.window_cnt < 200);
	assert_int_equal(stat(((struct store_folder *)*state)->path, &st), 0);
	assert_true((uint64_t)st.st_size <= limits.max_bytes);
	assert_int_equal(store_coverage(store, 0, UINT64_MAX, &coverage), 0);
	assert_int_equal(coverage.tombstone_cnt, 1);
	assert_int_equal(coverage.tombstone_samples,
			 before.kinds[0].samples - after.kinds[0].samples);
	check_fsck(store, 0, NULL);
	store_close(store);
}

/* When the last window of a day goes, so does its dictionary. */
static void test_generations(void **state)
{
	const uint64_t day = 86400 / 10; /* windows */
	struct store_limits limits = {.max_age_ns = 86400 * NSEC_PER_SEC};
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct profile sum, got;

	profile_init(&sum);
	for (uint64_t i = 0; i < 4; i++)
		store_add_random(store, i * day, i * day + 2, &sum);
	assert_int_equal(store_read(store, &store_everything, &got, NULL, NULL), 0);
	store_forget_header(&got);
	store_forget_header(&sum);
	assert_same(&sum, &got);
	profile_deinit(&got);
	profile_deinit(&sum);
	maintain(store, &limits, STORE_NOON_NS + (3 * day + 4000) * STORE_WINDOW_NS);
	check_fsck(store, 0, NULL);
	store_close(store);
	assert_int_equal(rows_of(*state, "SELECT count(*) FROM generation"), 1);
	assert_int_equal(rows_of(*state, "SELECT count(DISTINCT generation) FROM dict"), 1);
}

static void change(const struct store_folder *folder, const char *sql)
{
	char *message = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(folder->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	sqlite3_close(db);
}

/* What fsck says of a store of 10 windows after @sql, and how many batches a read passes over. */
static void check_changed(const char *sql, int cnt, const char *text, uint64_t damaged)
{
	struct store_folder own;
	struct store_coverage coverage;
	struct store *store;
	struct profile got;

	store_folder_make(&own);
	store = store_must_open(&own, STORE_WRITE);
	store_add_random(store, 0, 10, NULL);
	store_close(store);
	change(&own, sql);
	store = store_must_open(&own, STORE_READ);
	check_fsck(store, cnt, text);
	assert_int_equal(store_read(store, &store_everything, &got, NULL, &coverage), 0);
	assert_int_equal(coverage.damaged_cnt, damaged);
	profile_deinit(&got);
	store_close(store);
	store_folder_remove(&own);
}

#define FIFTH "(SELECT seq FROM window ORDER BY seq LIMIT 1 OFFSET 4)"

static void test_fsck(void **state)
{
	check_changed("SELECT 1", 0, NULL, 0);
	check_changed("DELETE FROM batch WHERE seq=" FIFTH, 1,
		      "0 batches, but it was stored with 1", 0);
	check_changed("DELETE FROM batch WHERE seq=" FIFTH "; DELETE FROM window WHERE seq=" FIFTH,
		      1, "missing or doubled", 0);
	check_changed("DELETE FROM window WHERE seq=" FIFTH, 2, "what it belongs to", 0);
	check_changed(
		"INSERT INTO window SELECT seq+1, last_seq+1, prev_seq, start_ns, end_ns, "
		"covered_ns, windows, source, epoch+1000, last_epoch+1000, generation, "
		"is_compact, batches, epochs, ledger FROM window WHERE seq=" FIFTH ";"
		"INSERT INTO batch SELECT NULL, seq+1, kind, rows, samples, total, sums, blob "
		"FROM batch WHERE seq=" FIFTH,
		4, "missing or doubled", 1);
	check_changed("UPDATE batch SET samples=samples+1 WHERE seq=" FIFTH, 1, "its sums are not",
		      0);
	check_changed("UPDATE batch SET blob=(SELECT blob FROM batch ORDER BY seq LIMIT 1) WHERE "
		      "seq=" FIFTH,
		      1, "damaged", 1);
	check_changed("UPDATE window SET ledger=x'00' WHERE seq=" FIFTH, 1, "its ledger", 0);
	/* All that came to the dictionary after the chunk is out of reach. */
	check_changed("DELETE FROM dict WHERE nr=1", 11, "dictionary 1", 10);
	check_changed("UPDATE tombstone SET samples=1", 0, NULL, 0);
}

/* A ledger's event and the samples of the kind that says it is of it. */
static void test_fsck_ledger(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct store_kind kind = store_cpu_kind;
	struct store_window window = {
		.origin = {.boot_id = "b"}, .end_ns = 5, .kinds = &kind, .kind_cnt = 1};
	struct profile prof;
	struct ledger ledger;

	random_profile(&prof, 9);
	ledger_init(&ledger);
	ledger.event_cnt = 1;
	ledger_copy_name(ledger.events[0].name, LEDGER_NAME_MAX, "cpu-clock");
	ledger_copy_name(kind.event, LEDGER_NAME_MAX, "cpu-clock");
	ledger.events[0].sum.recorded = (uint64_t)profile_total(&prof, 0);
	window.prof = &prof;
	window.ledger = &ledger;
	assert_int_equal(store_add(store, &window, NULL), 0);
	check_fsck(store, 0, NULL);
	ledger.events[0].sum.recorded++;
	window.origin.epoch++;
	assert_int_equal(store_add(store, &window, NULL), 0);
	check_fsck(store, 1, "but its ledger has");
	ledger_deinit(&ledger);
	profile_deinit(&prof);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_compaction, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_compaction_of_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_compacts_to_minutes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gap_of_epochs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_retention_by_age, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_retention_by_bytes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_generations, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fsck, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fsck_ledger, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
