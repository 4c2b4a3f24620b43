/* SPDX-License-Identifier: Apache-2.0 */
/* Who may send to a relay, and for whom. */
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

#include "base/log.h"
#include "relay/relay_tokens.h"
#include "scratch.h"

#define ONE "0123456789abcdef-one"
#define TWO "0123456789abcdef-two"

static bool allows(const struct relay_token_list *list, const char *token, const char *host)
{
	return relay_token_list_allow(list, token, strlen(token), host);
}

static void test_globs(void **state)
{
	struct relay_token_list list;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(relay_token_list_parse(strdup("# who\n\n  web-*\t" ONE " \n"
						       "db1 " TWO "\r\ndb2   " TWO),
						&list, &why),
			 -EINVAL);
	assert_non_null(strstr(buf_cstr(&why), "(line 3)")); /* a blank behind it */
	assert_null(strstr(buf_cstr(&why), ONE));
	buf_reset(&why);
	assert_int_equal(relay_token_list_parse(strdup("# who\n\n  web-*\t" ONE "\ndb1 " TWO
						       "\r\ndb2   " TWO),
						&list, &why),
			 0);
	assert_int_equal(list.cnt, 3);
	assert_true(allows(&list, ONE, NULL));
	assert_true(allows(&list, ONE, "web-1"));
	assert_false(allows(&list, ONE, "db1"));
	assert_true(allows(&list, TWO, "db1"));
	assert_true(allows(&list, TWO, "db2"));
	assert_false(allows(&list, TWO, "db3"));
	assert_false(allows(&list, TWO, "web-1"));
	assert_false(allows(&list, ONE "x", NULL));
	assert_false(allows(&list, "", NULL));
	assert_false(relay_token_list_allow(&list, ONE, strlen(ONE) - 1, NULL));
	relay_token_list_deinit(&list);
	buf_deinit(&why);
}

static void test_refused(void **state)
{
	static const char *const texts[] = {"alone", "host short", "host\n", "h " ONE "\nalone",
					    "host 0123456789\001abcdefg"};
	struct relay_token_list list;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		buf_reset(&why);
		assert_int_equal(relay_token_list_parse(strdup(texts[i]), &list, &why), -EINVAL);
		assert_true(why.len);
	}
	buf_deinit(&why);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_refresh(void **state)
{
	char path[] = "/tmp/bpfprof-tokens-XXXXXX";
	struct relay_tokens tokens;

	close(mkstemp(path));
	log_set_level(LOG_QUIET);
	write_file(path, "* " ONE "\n");
	assert_int_equal(relay_tokens_open(path, &tokens), 0);
	assert_true(relay_tokens_allow(&tokens, "Bearer " ONE, "any"));
	assert_false(relay_tokens_allow(&tokens, "Bearer " TWO, NULL));
	assert_false(relay_tokens_allow(&tokens, NULL, NULL));
	write_file(path, "* " TWO "\n\n");
	relay_tokens_refresh(&tokens, false);
	assert_false(relay_tokens_allow(&tokens, "Bearer " ONE, NULL));
	assert_true(relay_tokens_allow(&tokens, "Basic OjAxMjM0NTY3ODlhYmNkZWYtdHdv", NULL));
	/* What is wrong, or not there, changes nothing. */
	write_file(path, "nonsense");
	relay_tokens_refresh(&tokens, true);
	assert_true(relay_tokens_allow(&tokens, "Bearer " TWO, NULL));
	write_file(path, "* " ONE "\n");
	assert_int_equal(chmod(path, 0644), 0);
	relay_tokens_refresh(&tokens, false);
	assert_true(relay_tokens_allow(&tokens, "Bearer " TWO, NULL));
	assert_int_equal(unlink(path), 0);
	relay_tokens_refresh(&tokens, false);
	relay_tokens_refresh(&tokens, true);
	assert_true(relay_tokens_allow(&tokens, "Bearer " TWO, NULL));
	relay_tokens_close(&tokens);
	assert_int_equal(relay_tokens_open(path, &tokens), -EACCES);
	relay_tokens_close(&tokens);
}

static void test_none(void **state)
{
	struct relay_tokens tokens;

	assert_int_equal(relay_tokens_open(NULL, &tokens), 0);
	assert_true(relay_tokens_allow(&tokens, NULL, "any"));
	relay_tokens_refresh(&tokens, true);
	relay_tokens_close(&tokens);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refresh),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
