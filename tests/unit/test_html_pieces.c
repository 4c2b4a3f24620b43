/* SPDX-License-Identifier: Apache-2.0 */
/* The report in pieces, for who reads it while it is made; and what is there instead of one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode/encoder.h"
#include "sample_profile.h"

struct gathered {
	struct buf all;
	size_t first_len, second_len, cnt, fails_at;
};

static int gather(void *gathered_ptr, struct buf *out)
{
	struct gathered *gathered = gathered_ptr;

	if (++gathered->cnt == gathered->fails_at)
		return -EPIPE;
	buf_add(&gathered->all, out->data, out->len);
	if (gathered->cnt == 1)
		gathered->first_len = out->len;
	if (gathered->cnt == 2)
		gathered->second_len = out->len;
	buf_reset(out);
	return 0;
}

static int encode_in_pieces(const struct profile *prof, uint64_t max_bytes, bool is_near,
			    struct gathered *gathered, struct buf *last)
{
	struct encoder_sink sink = {max_bytes, gather, gathered};
	struct encoder_opts opts = {.value = PROFILE_NONE, .sink = &sink, .is_near = is_near};
	int err;

	buf_init(&gathered->all, BUF_NO_MAX);
	buf_init(last, BUF_NO_MAX);
	err = encoder_html.encode(prof, &opts, last);
	buf_add(&gathered->all, buf_cstr(last), last->len);
	return err;
}

/* The beginning that all have; what is drawn first; then the rest. */
static void pieces_are_the_whole(void **state)
{
	struct buf whole, last, head;
	struct profile prof;

	(void)state;
	profile_init(&prof);
	sample_profile(&prof);
	buf_init(&head, BUF_NO_MAX);
	html_add_head(&head);
	for (int is_near = 0; is_near < 2; is_near++) {
		struct encoder_opts opts = {.value = PROFILE_NONE, .is_near = is_near};
		struct gathered gathered = {.cnt = 0};

		buf_init(&whole, BUF_NO_MAX);
		assert_int_equal(encoder_html.encode(&prof, &opts, &whole), 0);
		assert_int_equal(encode_in_pieces(&prof, UINT64_MAX, is_near, &gathered, &last), 0);
		assert_int_equal(gathered.cnt, is_near ? 3 : 2);
		assert_string_equal(buf_cstr(&gathered.all), buf_cstr(&whole));
		assert_int_equal(gathered.first_len, head.len);
		assert_memory_equal(whole.data, head.data, head.len);
		whole.data[gathered.first_len + gathered.second_len] = '\0';
		assert_non_null(strstr(whole.data, "<script>drawFirst();</script>"));
		assert_null(strstr(whole.data, "id=\"facts\""));
		buf_deinit(&gathered.all);
		buf_deinit(&last);
		buf_deinit(&whole);
	}
	buf_deinit(&head);
	profile_deinit(&prof);
}

static void pieces_end_where_nobody_takes_them(void **state)
{
	struct profile prof;
	struct buf last;

	(void)state;
	profile_init(&prof);
	sample_profile(&prof);
	for (size_t at = 1; at <= 3; at++) {
		struct gathered gathered = {.fails_at = at};

		assert_int_equal(encode_in_pieces(&prof, UINT64_MAX, true, &gathered, &last),
				 -EPIPE);
		assert_int_equal(gathered.cnt, at);
		buf_deinit(&gathered.all);
		buf_deinit(&last);
	}
	profile_deinit(&prof);
}

/* As much as it may be, and no less than it is. */
static void what_may_be_large_is_made_whole(void **state)
{
	struct gathered gathered = {.cnt = 0};
	struct profile prof;
	struct buf last;

	(void)state;
	profile_init(&prof);
	sample_profile(&prof);
	assert_int_equal(encode_in_pieces(&prof, 1 << 20, true, &gathered, &last), 0);
	assert_int_equal(gathered.cnt, 0);
	assert_true(last.len > 0);
	buf_deinit(&gathered.all);
	buf_deinit(&last);
	profile_deinit(&prof);
}

static void a_failure_is_text(void **state)
{
	struct buf html;

	(void)state;
	buf_init(&html, BUF_NO_MAX);
	html_add_failure(&html, "no <b>");
	assert_non_null(strstr(html.data, "<p id=\"failed\" class=\"failed\">no &lt;b&gt;</p>"));
	assert_ptr_equal(strstr(html.data, "<title>"), html.data);
	buf_reset(&html);
	html_add_break(&html, "no <b>");
	assert_ptr_equal(strstr(html.data, "</script>\n<p id=\"failed\""), html.data);
	assert_null(strstr(html.data, "<b>"));
	buf_deinit(&html);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_the_whole),
		cmocka_unit_test(pieces_end_where_nobody_takes_them),
		cmocka_unit_test(what_may_be_large_is_made_whole),
		cmocka_unit_test(a_failure_is_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
