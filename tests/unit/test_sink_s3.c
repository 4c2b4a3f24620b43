/* SPDX-License-Identifier: Apache-2.0 */
/* S3 without one: its URLs, what is put where, and what its errors mean. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hmap.h"
#include "encode/decode.h"
#include "fake_http.h"
#include "sink/s3.h"
#include "sink/s3_answer.h"
#include "sink/s3_url.h"
#include "sink_fixture.h"

static int set_up(void **state)
{
	static struct sink_fixture fix;

	setenv("AWS_ACCESS_KEY_ID", "AKIA1", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
	unsetenv("AWS_SESSION_TOKEN");
	unsetenv("AWS_SHARED_CREDENTIALS_FILE");
	unsetenv("AWS_PROFILE");
	unsetenv("AWS_REGION");
	unsetenv("AWS_DEFAULT_REGION");
	unsetenv("HOME");
	fixture_init(&fix, "web", "\xc3\xa4/.. $(x)&?#");
	fake_begin(NULL, 0);
	*state = &fix;
	return 0;
}

static int tear_down(void **state)
{
	fixture_deinit(*state);
	fake_begin(NULL, 0);
	return 0;
}

static struct sink *must_open(const char *url)
{
	return fixture_open(url, "host");
}

/* Sends, and expects the reason to have @told. */
static int send_told(struct sink *sink, const struct sink_window *windows, size_t cnt,
		     const char *told)
{
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = sink->ops->send(sink, windows, cnt, &why);
	if (!err != !why.len || !strstr(buf_cstr(&why), told))
		fail_msg("'%s' has no '%s'", buf_cstr(&why), told);
	assert_null(strstr(buf_cstr(&why), "hidden"));
	buf_deinit(&why);
	return err;
}

/* --- URLs --- */

static void test_urls(void **state)
{
	static const struct {
		const char *url, *name; /* NULL: it is none */
	} cases[] = {
		{"s3://bucket", "s3://bucket"},
		{"s3://bucket/", "s3://bucket"},
		{"s3://AKIA:a%2Fb+c@bucket.name/a/b~//?region=eu-west-1&ca=/x",
		 "s3://bucket.name/a/b~"},
		{"s3://bucket/a%20%C3%A4?endpoint=http://host:9000/",
		 "s3://bucket/a%20%C3%A4?endpoint=http://host:9000"},
		{"s3://bucket?endpoint=https%3A%2F%2F[::1]",
		 "s3://bucket?endpoint=https://[::1]:443"},
		{"s3:bucket", NULL},
		{"s3://", NULL},
		{"s3://ab", NULL},
		{"s3://bucket:80", NULL},
		{"s3://.bucket", NULL},
		{"s3://buc%20ket", NULL},
		{"s3://0123456789012345678901234567890123456789012345678901234567890123", NULL},
		{"s3://AKIA@bucket", NULL},
		{"s3://:secret@bucket", NULL},
		{"s3://AKIA:a/b@bucket", NULL},
		{"s3://AKIA/b@bucket", NULL},
		{"s3://bucket//a", NULL},
		{"s3://bucket/a//b", NULL},
		{"s3://bucket/a/../b", NULL},
		{"s3://bucket/.", NULL},
		{"s3://bucket/a%2F", NULL},
		{"s3://bucket/a%2Fb", "s3://bucket/a/b"},
		{"s3://bucket/%ff", NULL},
		{"s3://bucket/%0a", NULL},
		{"s3://bucket?", NULL},
		{"s3://bucket?tenant=a", NULL},
		{"s3://bucket?region=a/b", NULL},
		{"s3://bucket?region=", NULL},
		{"s3://bucket?endpoint=host", NULL},
		{"s3://bucket?endpoint=http://host/path", NULL},
		{"s3://bucket?endpoint=http://u:p@host", NULL},
		{"s3://bucket?endpoint=http://host:0", NULL},
		{"s3://bucket?endpoint=http://[a%26b]", NULL},
		{"s3://bucket?endpoint=http://[fe80::1%2525eth0]", NULL},
	};
	struct buf name, why;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		buf_init(&name, BUF_NO_MAX);
		buf_init(&why, BUF_NO_MAX);
		if (sink_name(cases[i].url, &name, &why) != (cases[i].name ? 0 : -EINVAL))
			fail_msg("%s: %s", cases[i].url, buf_cstr(&why));
		assert_string_equal(buf_cstr(&name), cases[i].name ? cases[i].name : "");
		buf_deinit(&name);
		buf_deinit(&why);
	}
	setenv("AWS_REGION", "no/where", 1);
	buf_init(&name, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(sink_name("s3://bucket", &name, &why), -EINVAL);
	assert_string_equal(buf_cstr(&why), "the region's name is none");
	buf_deinit(&why);
}

static void expect_place(const char *url, const char *wanted)
{
	struct s3_url parsed;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	assert_null(s3_url_parse(url, &parsed));
	s3_url_add_host(&parsed, &out);
	s3_url_add_path(&parsed, &out);
	assert_string_equal(buf_cstr(&out), wanted);
	buf_deinit(&out);
}

static void test_places(void **state)
{
	expect_place("s3://bucket", "bucket.s3.us-east-1.amazonaws.com");
	setenv("AWS_DEFAULT_REGION", "eu-west-1", 1);
	expect_place("s3://bucket/a%20b", "bucket.s3.eu-west-1.amazonaws.com/a%20b");
	setenv("AWS_REGION", "eu-west-2", 1);
	expect_place("s3://bucket", "bucket.s3.eu-west-2.amazonaws.com");
	expect_place("s3://bucket.name/x", "s3.eu-west-2.amazonaws.com/bucket.name/x");
	expect_place("s3://bucket?region=cn-north-1", "bucket.s3.cn-north-1.amazonaws.com.cn");
	expect_place("s3://bucket/x?endpoint=http://host:9000", "host:9000/bucket/x");
	expect_place("s3://bucket/x?endpoint=http://host:80", "host/bucket/x");
	expect_place("s3://bucket/x?endpoint=https://[::1]", "[::1]/bucket/x");
	expect_place("s3://bucket?endpoint=https://host:80", "host:80/bucket");
}

/* --- What is put --- */

/* The value of the last request's header @name ("host: "), up to its line's end. */
static const char *header_of(const char *name, char out[static 512])
{
	const char *line = strstr(buf_cstr(&fake.headers), name);

	assert_non_null(line);
	line += strlen(name);
	snprintf(out, 512, "%.*s", (int)strcspn(line, "\n"), line);
	return out;
}

static void test_objects(void **state)
{
	struct sink_fixture *fix = *state;
	struct sink *sink = must_open("s3://bucket/pre%20fix?endpoint=http://host:9000");
	const struct sink_window lost = fixture_lost(20);
	char text[512], wanted[512];
	struct profile prof;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(send_told(sink, &fix->window, 1, ""), 0);
	assert_int_equal(fake.cnt, 4);
	assert_string_equal(fake.method, "PUT");
	snprintf(wanted, sizeof(wanted),
		 "http://host:9000/bucket/pre%%20fix/%%25C3%%25A4%%252F..%%2520%%2524%%2528x%%2529"
		 "%%2526%%253F%%2523/off-cpu/20261125T010200Z-alpha-%08x-17.pb.gz",
		 (unsigned int)(hash_bytes("host", 4) >> 32));
	assert_string_equal(fake.target, wanted);
	profile_init(&prof);
	assert_int_equal(pprof_decode(fake.bodies[0].data, fake.bodies[0].len, &prof, &why), 0);
	assert_int_equal(profile_total(&prof, 0), 6);
	profile_deinit(&prof);
	assert_string_equal(header_of("host: ", text), "host:9000");
	assert_string_equal(header_of("content-type: ", text), "application/gzip");
	assert_non_null(strstr(header_of("authorization: ", text),
			       "SignedHeaders=content-md5;content-type;host;x-amz-content-sha256;"
			       "x-amz-date, Signature="));
	assert_int_equal(sink->counts.rows, 12);

	/* Once taken, it is not put again. */
	assert_int_equal(send_told(sink, &fix->window, 1, ""), 0);
	assert_int_equal(fake.cnt, 4);
	setenv("AWS_SESSION_TOKEN", "token==", 1);
	assert_int_equal(send_told(sink, &lost, 1, ""), 0);
	assert_int_equal(fake.cnt, 5);
	assert_non_null(strstr(fake.target, "/bucket/pre%20fix/%28lost%29/20261125T010200Z-"));
	assert_non_null(strstr(buf_cstr(&fake.bodies[4]), "\"samples\":99"));
	assert_string_equal(header_of("content-type: ", text), "application/json");
	assert_string_equal(header_of("x-amz-security-token: ", text), "token==");
	assert_non_null(strstr(header_of("authorization: ", text), "x-amz-security-token, Sig"));
	assert_int_equal(sink->counts.windows, 1 + 3);
	sink_close(sink);
	buf_deinit(&why);
}

/* The longest name that there can be is one that S3 takes. */
static void test_long_names(void **state)
{
	struct sink_fixture *fix = *state;
	char url[400], service[400];
	struct sink *sink;
	size_t len;

	fixture_deinit(fix);
	memset(service, '$', sizeof(service));
	service[sizeof(service) - 1] = '\0';
	fixture_init(fix, service, service);
	fix->batches[0].kind = fix->batches[1].kind = service;
	fix->window.seq = fix->window.last_seq = UINT64_MAX;
	snprintf(url, sizeof(url), "s3://bucket/%0255d?endpoint=http://host", 1);
	sink = must_open(url);
	assert_int_equal(send_told(sink, &fix->window, 1, ""), 0);
	/* Each '%' of a name is three bytes of the URL. */
	len = strlen(fake.target) - strlen("http://host/bucket/");
	for (const char *chr = fake.target; *chr; chr++)
		len -= *chr == '%' ? 2 : 0;
	assert_in_range(len, 500, 1024);
	sink_close(sink);
}

/* A secret in the URL is used before those of the environment. */
static void test_keys(void **state)
{
	struct sink_fixture *fix = *state;
	struct sink *sink = must_open("s3://bucket");
	char first[512], second[512], text[512];

	assert_int_equal(send_told(sink, &fix->window, 1, ""), 0);
	assert_non_null(strstr(header_of("authorization: ", first), "Credential=AKIA1/"));
	sink_close(sink);
	sink = must_open("s3://AKIA1:other%2Fsecret@bucket");
	assert_int_equal(send_told(sink, &fix->window, 1, ""), 0);
	assert_string_not_equal(header_of("authorization: ", second), first);
	sink_close(sink);
	setenv("AWS_SESSION_TOKEN", "of-another-key", 1);
	sink = must_open("s3://AKIA2:hidden@bucket");
	assert_int_equal(send_told(sink, &fix->window, 1, ""), 0);
	assert_non_null(strstr(header_of("authorization: ", text), "Credential=AKIA2/"));
	assert_null(strstr(buf_cstr(&fake.headers), "x-amz-security-token"));
	sink_close(sink);

	unsetenv("AWS_ACCESS_KEY_ID");
	sink = must_open("s3://bucket");
	fake_begin(NULL, 0);
	assert_int_equal(send_told(sink, &fix->window, 1, "one of the first two is missing"),
			 -EACCES);
	unsetenv("AWS_SECRET_ACCESS_KEY");
	assert_int_equal(send_told(sink, &fix->window, 1, "set $AWS_ACCESS_KEY_ID and"), -ENOENT);
	assert_int_equal(fake.cnt, 0);
	sink_close(sink);
}

/* --- Answers --- */

#define XML(code, more)                                                  \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" code \
	"</Code><Message>its message</Message>" more "</Error>"

static void test_errors(void **state)
{
	static const struct {
		struct fake_answer answer;
		int err;
		const char *told;
	} cases[] = {
		{{.status = 204}, 0, ""},
		{{.status = 404, .body = XML("NoSuchBucket", "")},
		 -EACCES,
		 "bucket 'bucket': HTTP status 404, NoSuchBucket: its message: make it"},
		{{.status = 403, .body = XML("AccessDenied", "")},
		 -EACCES,
		 "AccessDenied: its message: the access key of $AWS_ACCESS_KEY_ID needs"},
		{{.status = 403, .body = XML("SignatureDoesNotMatch", "")},
		 -EACCES,
		 "is the access key of $AWS_ACCESS_KEY_ID right"},
		{{.status = 400, .body = XML("ExpiredToken", "")}, -EACCES, "still valid?"},
		{{.status = 403,
		  .body = XML("RequestTimeTooSkewed", "<RequestTime>20261125T010203Z</RequestTime>"
						      "<ServerTime>2026-11-25T02:02:03Z"
						      "</ServerTime>")},
		 -EACCES,
		 ": it is 2026-11-25T02:02:03Z there, and was 20261125T010203Z here: set the"},
		{{.status = 403, .body = XML("RequestTimeTooSkewed", "")},
		 -EACCES,
		 "its message: set the clock of this host"},
		{{.status = 301,
		  .wanted = "eu-west-1",
		  .body = XML("PermanentRedirect", "<Endpoint>b.s3.amazonaws.com</Endpoint>")},
		 -EACCES,
		 "the bucket is in region 'eu-west-1', not 'us-east-1': ?region=eu-west-1 in"},
		{{.status = 307,
		  .body = XML("TemporaryRedirect", "<Endpoint>b.s3-eu-west-1.amazonaws.com"
						   "</Endpoint>")},
		 -EAGAIN,
		 "the bucket is at 'b.s3-eu-west-1.amazonaws.com', not at 'bucket.s3.us-east-1"},
		{{.status = 400,
		  .body = XML("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>")},
		 -EACCES,
		 "the bucket is in region 'eu-west-1'"},
		{{.status = 301}, -EACCES, "name the bucket's region (now 'us-east-1')"},
		{{.status = 503, .body = XML("SlowDown", ""), .retry_after_s = 7},
		 -EAGAIN,
		 "SlowDown: its message: not before 7 s are over"},
		{{.status = 500, .body = XML("InternalError", "")}, -EAGAIN, "InternalError"},
		{{.status = 409, .body = XML("OperationAborted", "")}, -EAGAIN, "Operation"},
		{{.status = 400, .body = XML("BadDigest", "")}, -EAGAIN, "damaged on the way"},
		{{.status = 400, .body = XML("XAmzContentSHA256Mismatch", "")},
		 -EAGAIN,
		 "damaged on the way"},
		{{.status = 400, .body = XML("RequestTimeout", "")}, -EAGAIN, "RequestTimeout"},
		{{.status = 400, .body = XML("EntityTooLarge", "")}, -EINVAL, "EntityTooLarge"},
		{{.status = 400, .body = XML("KeyTooLongError", "")}, -EINVAL, "KeyTooLong"},
		{{.status = 400, .body = "<html>\r\nno</html>"},
		 -EINVAL,
		 "HTTP status 400: <html>\?\?no</html>"},
		{{.status = 404},
		 -EACCES,
		 "HTTP status 404: is that S3, at 'bucket.s3.us-east-1.amazonaws.com'?"},
		{{.err = -ECONNREFUSED}, -ECONNREFUSED, "does the server run"},
	};
	struct sink_fixture *fix = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sink *sink = must_open("s3://bucket");

		fake_begin(&cases[i].answer, 1);
		assert_int_equal(send_told(sink, &fix->window, 1, cases[i].told), cases[i].err);
		assert_int_equal(sink->counts.windows, !cases[i].err);
		assert_int_equal(sink->counts.rows, cases[i].err ? 0 : 12);
		assert_int_equal(sink->retry_after_ns / NSEC_PER_SEC,
				 cases[i].answer.retry_after_s);
		sink_close(sink);
	}
}

/* What failed in its middle is put again from the window's start, under the same names. */
static void test_again(void **state)
{
	static const struct fake_answer answers[] = {{.status = 200}, {.status = 503}};
	struct sink_fixture *fix = *state;
	struct sink *sink = must_open("s3://bucket");
	char target[sizeof(fake.target)];

	fake_begin(answers, 2);
	assert_int_equal(send_told(sink, &fix->window, 1, "503"), -EAGAIN);
	assert_int_equal(fake.cnt, 2);
	assert_int_equal(sink->counts.rows, 0);
	memcpy(target, fake.target, sizeof(target));
	assert_int_equal(send_told(sink, &fix->window, 1, ""), 0);
	assert_int_equal(fake.cnt, 6);
	assert_memory_equal(fake.bodies[0].data, fake.bodies[2].data, fake.bodies[2].len);
	assert_memory_equal(fake.bodies[1].data, fake.bodies[3].data, fake.bodies[3].len);
	assert_int_equal(sink->counts.rows, 12);
	sink_close(sink);
}

static void expect_answer(const char *text, int err, const char *code, const char *message)
{
	struct s3_answer answer;

	if (s3_answer_read(text, strlen(text), &answer) != err)
		fail_msg("%s", text);
	assert_string_equal(answer.code, code);
	assert_string_equal(answer.message, message);
}

static void test_answers(void **state)
{
	char text[2048];

	expect_answer("<Error><Code>A</Code></Error>", 0, "A", "");
	expect_answer("\xef\xbb\xbf<?xml?> <!-- <Error> --><Error a='>' b=\"/>\">"
		      "<Message>a &lt;b&gt; &amp;amp; &quot;&apos;&#65;&#x42;&#228;&x;&#;&#x;&\r\n"
		      "\xc3\xa4\xff</Message ><Code>A</Code><Code>B</Code></Error>rest<",
		      0, "A", "a <b> &amp; \"'AB?\?\?\?&\?\?\xc3\xa4?");
	expect_answer("<Error><Extra><Code>no</Code></Extra><Empty/><Code x='y'>A</Code>"
		      "<Message>a<b>c</b>d</Message></Error>",
		      0, "A", "");
	expect_answer("<Error><Code></Code><Code>A</Code></Error>", 0, "A", "");
	expect_answer("", -EBADMSG, "", "");
	expect_answer("text", -EBADMSG, "", "");
	expect_answer("<", -EBADMSG, "", "");
	expect_answer("<>", -EBADMSG, "", "");
	expect_answer("<Error", -EBADMSG, "", "");
	expect_answer("<Error/>", -EBADMSG, "", "");
	expect_answer("<Error>", -EBADMSG, "", "");
	expect_answer("<Error></Error>", -EBADMSG, "", "");
	expect_answer("<Errors><Code>A</Code></Errors>", -EBADMSG, "", "");
	expect_answer("<Error><Code>A</Code>", -EBADMSG, "", "");
	expect_answer("<Error><Code a='>A</Code></Error>", -EBADMSG, "", "");
	expect_answer("<!DOCTYPE x><Error><Code>A</Code></Error>", -EBADMSG, "", "");
	expect_answer("<Error><Code><![CDATA[A]]></Code></Error>", -EBADMSG, "", "");
	expect_answer("<!-- <Error><Code>A</Code></Error>", -EBADMSG, "", "");
	expect_answer("<a><a><a><a><a><a><a><a><Error><Code>A</Code></Error>", -EBADMSG, "", "");
	snprintf(text, sizeof(text),
		 "<Error><Code>%064d</Code><Message>%0254d\xc3\xa4</Message>"
		 "</Error>",
		 0, 0);
	{
		struct s3_answer answer;

		assert_int_equal(s3_answer_read(text, strlen(text), &answer), 0);
		assert_int_equal(strlen(answer.code), 63);
		assert_int_equal(strlen(answer.message), 254);
	}
}

static void test_depth(void **state)
{
	struct s3_answer answer;
	struct buf text;

	for (int depth = 14; depth < 18; depth++) {
		buf_init(&text, BUF_NO_MAX);
		buf_add_str(&text, "<Error><Code>A</Code>");
		for (int i = 1; i < depth; i++)
			buf_add_str(&text, "<a>");
		for (int i = 1; i < depth; i++)
			buf_add_str(&text, "</a>");
		buf_add_str(&text, "</Error>");
		assert_int_equal(s3_answer_read(text.data, text.len, &answer),
				 depth > 16 ? -EBADMSG : 0);
		buf_deinit(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_urls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_objects, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_keys, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
