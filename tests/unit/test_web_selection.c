/* SPDX-License-Identifier: Apache-2.0 */
/* What a selection reads from a store, with its ledger, and what a client is told where it cannot.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/ledger.h"
#include "store_fixture.h"
#include "web/selection.h"

enum { WINDOWS = 3 };

struct stored {
	struct store_folder folder;
	struct profile sum; /* of all windows */
	struct web_site site;
	struct web_reply reply;
};

static int set_up(void **state)
{
	struct stored *stored = calloc(1, sizeof(*stored));
	struct store *store;

	assert_non_null(stored);
	store_folder_make(&stored->folder);
	store = store_must_open(&stored->folder, STORE_WRITE);
	profile_init(&stored->sum);
	store_add_random(store, 0, WINDOWS, &stored->sum);
	store_close(store);
	web_site_init(&stored->site, NULL, stored->folder.path);
	web_reply_init(&stored->reply);
	*state = stored;
	return 0;
}

static int tear_down(void **state)
{
	struct stored *stored = *state;

	web_reply_deinit(&stored->reply);
	web_site_deinit(&stored->site);
	profile_deinit(&stored->sum);
	store_folder_remove(&stored->folder);
	free(stored);
	return 0;
}

/* What "GET @text" selects, an hour after the first window; on success @out is to be released. */
static int read_target(struct stored *stored, const char *text, struct profile *out)
{
	struct web_request request = {.client_fd = -1,
				      .now_ns = STORE_NOON_NS + 1800 * NSEC_PER_SEC};
	struct web_selection selection;
	struct web_target target;
	int err;

	assert_int_equal(web_target_parse(text, &target, NULL), 0);
	request.target = &target;
	err = web_selection_init(&selection, &request, "from", "to", &stored->reply);
	if (!err)
		err = web_selection_read(&selection, &stored->site, out, &stored->reply);
	web_selection_deinit(&selection);
	web_target_deinit(&target);
	return err;
}

static void test_read(void **state)
{
	struct stored *stored = *state;
	struct ledger ledger, wanted;
	struct profile prof;

	assert_int_equal(read_target(stored, "/?by=none", &prof), 0);
	assert_int_equal(profile_total(&prof, 0), profile_total(&stored->sum, 0));
	assert_int_equal(profile_total(&prof, 1), profile_total(&stored->sum, 1));
	assert_int_equal(profile_get_ledger(&prof, &ledger), 0);
	assert_int_equal(profile_get_ledger(&stored->sum, &wanted), 0);
	assert_int_equal(ledger.event_cnt, wanted.event_cnt);
	ledger_deinit(&ledger);
	ledger_deinit(&wanted);
	profile_deinit(&prof);

	/* Nothing there is no failure, and has no ledger. */
	assert_int_equal(read_target(stored, "/?from=-2h&to=-1h", &prof), 0);
	assert_int_equal(prof.sample_cnt, 0);
	assert_int_equal(profile_get_ledger(&prof, &ledger), -ENOENT);
	profile_deinit(&prof);
}

static void test_unknown_kind(void **state)
{
	struct stored *stored = *state;
	struct profile prof;

	assert_int_equal(read_target(stored, "/?kind=no%20such", &prof), -ENOENT);
	assert_int_equal(stored->reply.status, 404);
	assert_non_null(strstr(buf_cstr(&stored->reply.body), "of kind 'no such'"));
}

static void test_no_store(void **state)
{
	struct stored *stored = *state;
	struct profile prof;

	assert_int_equal(unlink(stored->folder.path), 0);
	assert_true(read_target(stored, "/", &prof) < 0);
	assert_true(stored->reply.status >= 400);
}

static void test_status(void **state)
{
	static const struct {
		int err, status;
	} cases[] = {{-ENOENT, 404}, {-EBUSY, 503}, {-ENOMEM, 503}, {-EBADMSG, 500}};
	const struct store_source store = {.why = ""};
	struct web_reply reply;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		web_reply_init(&reply);
		web_reply_fail_store(&reply, &store, "cpu", cases[i].err);
		assert_int_equal(reply.status, cases[i].status);
		web_reply_deinit(&reply);
	}
}

static void test_number(void **state)
{
	static const struct {
		const char *target;
		int err;
		uint64_t number;
	} cases[] = {
		{"/", 0, 7},
		{"/?n=2", 0, 2},
		{"/?n=9", 0, 9},
		{"/?n=1", -EINVAL, 0},
		{"/?n=10", -EINVAL, 0},
		{"/?n=", -EINVAL, 0},
		{"/?n=-3", -EINVAL, 0},
		{"/?n=3x", -EINVAL, 0},
	};
	struct web_request request = {.client_fd = -1};
	struct web_target target;
	struct web_reply reply;
	uint64_t number;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		web_reply_init(&reply);
		assert_int_equal(web_target_parse(cases[i].target, &target, NULL), 0);
		request.target = &target;
		assert_int_equal(web_number_of(&request, "n", 2, 9, 7, &reply, &number),
				 cases[i].err);
		if (cases[i].err)
			assert_int_equal(reply.status, 400);
		else
			assert_int_equal(number, cases[i].number);
		web_target_deinit(&target);
		web_reply_deinit(&reply);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_kind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_store, set_up, tear_down),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
