/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures against the examples of the S3 API Reference, and where access keys are found. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "http/aws_sign.h"
#include "http/url.h"
#include "scratch.h"

#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define WELCOME_SHA256 "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"

static const struct aws_key example_key = {
	.id = "AKIAIOSFODNN7EXAMPLE",
	.secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

static void expect_signature(const struct aws_request *request, const char *wanted)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	aws_sign(request, &example_key, &out);
	assert_int_equal(out.err, 0);
	assert_string_equal(buf_cstr(&out), wanted);
	buf_deinit(&out);
}

static void test_examples(void **state)
{
	static const struct aws_header get_headers[] = {
		{"host", "examplebucket.s3.amazonaws.com"},
		{"range", "bytes=0-9"},
		{"x-amz-content-sha256", EMPTY_SHA256},
		{"x-amz-date", "20130524T000000Z"},
	};
	static const struct aws_header put_headers[] = {
		{"date", "Fri, 24 May 2013 00:00:00 GMT"},
		{"host", "examplebucket.s3.amazonaws.com"},
		{"x-amz-content-sha256", WELCOME_SHA256},
		{"x-amz-date", "20130524T000000Z"},
		{"x-amz-storage-class", "REDUCED_REDUNDANCY"},
	};
	struct aws_request request = {
		.method = "GET",
		.path = "/test.txt",
		.headers = get_headers,
		.header_cnt = 4,
		.body_sha256 = EMPTY_SHA256,
		.time = "20130524T000000Z",
		.region = "us-east-1",
		.service = "s3",
	};

	expect_signature(
		&request,
		"AWS4-HMAC-SHA256 "
		"Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
		"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
	request.method = "PUT";
	request.path = "/test%24file.text";
	request.headers = put_headers;
	request.header_cnt = 5;
	request.body_sha256 = WELCOME_SHA256;
	expect_signature(
		&request,
		"AWS4-HMAC-SHA256 "
		"Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
		"SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, "
		"Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

static void test_paths(void **state)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	http_url_add_path(&out, "/a/~b-c_d.e/%2E./(none)/$+ &=:@\xc3\xa4//~");
	assert_string_equal(buf_cstr(&out),
			    "/a/~b-c_d.e/%252E./%28none%29/%24%2B%20%26%3D%3A%40%C3%A4//~");
	buf_deinit(&out);
}

/* --- Keys --- */

static void test_files(void **state)
{
	static const char file[] = "# of all\n"
				   "aws_access_key_id = nobody's\n"
				   "[default]\r\n"
				   "aws_access_key_id = AKIA1\r\n"
				   "aws_secret_access_key=a/b+c=\r\n"
				   "region = eu-west-1\r\n"
				   "\n"
				   "[ other ]\n"
				   "; aws_access_key_id = commented\n"
				   "\taws_secret_access_key\t=\ts2\t\n"
				   "no equals sign\n"
				   "= \n"
				   "aws_session_token = t==\n"
				   "aws_access_key_id = AKIA2\n"
				   "[half]\naws_access_key_id = AKIA3\n"
				   "[odd]\naws_access_key_id = A B\naws_secret_access_key = s\n"
				   "[empty]\n"
				   "[last]\naws_access_key_id = A\naws_secret_access_key = s4";
	const size_t len = sizeof(file) - 1;
	struct aws_key key;

	assert_int_equal(aws_key_read(file, len, "default", &key), 0);
	assert_string_equal(key.id, "AKIA1");
	assert_string_equal(key.secret, "a/b+c=");
	assert_string_equal(key.token, "");
	assert_int_equal(aws_key_read(file, len, "other", &key), 0);
	assert_string_equal(key.id, "AKIA2");
	assert_string_equal(key.secret, "s2");
	assert_string_equal(key.token, "t==");
	assert_int_equal(aws_key_read(file, len, "half", &key), -EINVAL);
	assert_int_equal(aws_key_read(file, len, "odd", &key), -EINVAL);
	assert_int_equal(aws_key_read(file, len, "empty", &key), -ENOENT);
	assert_int_equal(aws_key_read(file, len, "nobody", &key), -ENOENT);
	assert_int_equal(aws_key_read(file, len, "", &key), -ENOENT);
	assert_int_equal(aws_key_read(NULL, 0, "default", &key), -ENOENT);
	assert_string_equal(key.id, "AKIA2");
	assert_int_equal(aws_key_read(file, len, "last", &key), 0);
	assert_string_equal(key.secret, "s4");
}

static void test_long_values(void **state)
{
	struct aws_key key;
	struct buf file;

	buf_init(&file, BUF_NO_MAX);
	buf_printf(&file, "[a]\naws_access_key_id = %0*d\naws_secret_access_key = s\n",
		   AWS_KEY_PART_MAX - 1, 1);
	assert_int_equal(aws_key_read(file.data, file.len, "a", &key), 0);
	buf_printf(&file, "aws_session_token = %0*d\n", AWS_TOKEN_MAX - 1, 1);
	assert_int_equal(aws_key_read(file.data, file.len, "a", &key), 0);
	assert_int_equal(strlen(key.token), AWS_TOKEN_MAX - 1);
	buf_printf(&file, "aws_session_token = %0*d\n", AWS_TOKEN_MAX, 1);
	assert_int_equal(aws_key_read(file.data, file.len, "a", &key), -EINVAL);
	buf_deinit(&file);
}

static void forget_environment(void)
{
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	unsetenv("AWS_SESSION_TOKEN");
	unsetenv("AWS_PROFILE");
	unsetenv("AWS_SHARED_CREDENTIALS_FILE");
}

/* What aws_key_find() says; @out has the key on success. */
static void expect_found(int err, const char *from, const char *why, struct aws_key *out)
{
	struct buf got_from, got_why;

	buf_init(&got_from, BUF_NO_MAX);
	buf_init(&got_why, BUF_NO_MAX);
	assert_int_equal(aws_key_find(out, &got_from, &got_why), err);
	assert_non_null(strstr(buf_cstr(&got_from), from));
	assert_non_null(strstr(buf_cstr(&got_why), why));
	assert_true(!err == !got_why.len);
	buf_deinit(&got_from);
	buf_deinit(&got_why);
}

static void write_text(const char *path, const char *text)
{
	struct fs_output output;

	assert_int_equal(fs_output_open(path, true, &output), 0);
	assert_int_equal(fs_output_commit(&output, text, strlen(text)), 0);
}

static void test_places(void **state)
{
	char folder[] = "/tmp/bpfprof-keys-XXXXXX", path[64];
	struct aws_key key;

	forget_environment();
	assert_non_null(mkdtemp(folder));
	setenv("HOME", folder, 1);
	expect_found(-ENOENT, "", "/.aws/credentials': No such file or directory: set $AWS_", &key);
	snprintf(path, sizeof(path), "%s/keys", folder);
	write_text(path, "[default]\naws_access_key_id = A\naws_secret_access_key = secret\n");
	setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
	setenv("AWS_SESSION_TOKEN", "of-no-key", 1);
	expect_found(0, "profile 'default' of '", "", &key);
	assert_string_equal(key.id, "A");
	assert_string_equal(key.token, "");
	setenv("AWS_PROFILE", "other", 1);
	expect_found(-ENOENT, "", "profile 'other' is not there, or has no key: set", &key);
	write_text(path, "[other]\naws_secret_access_key = secret\n");
	expect_found(-EINVAL, "", "profile 'other' has no whole key", &key);

	setenv("AWS_ACCESS_KEY_ID", "B", 1);
	expect_found(-EINVAL, "", "one of the first two is missing", &key);
	setenv("AWS_SECRET_ACCESS_KEY", "t", 1);
	expect_found(0, "$AWS_ACCESS_KEY_ID", "", &key);
	assert_string_equal(key.id, "B");
	assert_string_equal(key.secret, "t");
	assert_string_equal(key.token, "of-no-key");
	setenv("AWS_SESSION_TOKEN", "a\nX-Other: b", 1);
	expect_found(-EINVAL, "", "has spaces", &key);

	forget_environment();
	unsetenv("HOME");
	expect_found(-ENOENT, "", "set $AWS_ACCESS_KEY_ID", &key);
	remove_tree(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples), cmocka_unit_test(test_paths),
		cmocka_unit_test(test_files),	 cmocka_unit_test(test_long_values),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
