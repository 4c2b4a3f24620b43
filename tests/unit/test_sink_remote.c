/* SPDX-License-Identifier: Apache-2.0 */
/* Receivers over HTTP without one: their URLs, what answers mean, and the bounds of what is sent.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "encode/decode.h"
#include "encode/gzip.h"
#include "encode/protobuf.h"
#include "fake_http.h"
#include "sink/otlp.h"
#include "sink_fixture.h"

enum { BODY_MAX = 4 << 20, SAMPLES_MAX = 16000 };

static int set_up(void **state)
{
	static struct sink_fixture fix;

	unsetenv("PYROSCOPE_USER");
	unsetenv("PYROSCOPE_PASSWORD");
	unsetenv("OTLP_USER");
	unsetenv("OTLP_PASSWORD");
	fixture_init(&fix, "web", "");
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
	return fixture_open(url, "id-of-host");
}

static int send_to(struct sink *sink, const struct sink_window *windows, size_t cnt)
{
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = sink->ops->send(sink, windows, cnt, &why);
	assert_true(!err == !why.len);
	buf_deinit(&why);
	return err;
}

/* --- URLs, who asks --- */

static void test_urls(void **state)
{
	static const struct {
		const char *url, *name; /* NULL: it is none */
	} cases[] = {
		{"pyroscope+http://host", "pyroscope+http://host:4040"},
		{"otlp+https://u:p@[::1]:443/a/b/?ca=/x&tenant=t%31",
		 "otlp+https://[::1]:443/a/b?tenant=t1"},
		{"otlp+http://:token@host/?tenant=a%26b", "otlp+http://host:4318?tenant=a%26b"},
		{"otlp://host", NULL},
		{"otlp+ftp://host", NULL},
		{"otlp+http://", NULL},
		{"otlp+http://host:0", NULL},
		{"otlp+http://host/a b", NULL},
		{"otlp+http://host/a%20", NULL},
		{"otlp+http://host?", NULL},
		{"otlp+http://host?tenant=", NULL},
		{"otlp+http://host?tenant=a%0d%0aX:", NULL},
		{"otlp+http://host?other=1", NULL},
		{"otlp+http://u%0a:p@host", NULL},
		{"pyroscopes+http://host", NULL},
	};
	struct buf name, why;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		buf_init(&name, BUF_NO_MAX);
		buf_init(&why, BUF_NO_MAX);
		assert_int_equal(sink_name(cases[i].url, &name, &why), cases[i].name ? 0 : -EINVAL);
		assert_string_equal(buf_cstr(&name), cases[i].name ? cases[i].name : "");
		buf_deinit(&name);
		buf_deinit(&why);
	}
}

static void test_headers(void **state)
{
	struct sink_fixture *fix = *state;
	struct sink *sink = must_open("pyroscope+https://us%65r:p%3Aw@host/x?tenant=one");

	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	assert_string_equal(fake.target, "https://host:4040/x/push.v1.PusherService/Push");
	assert_string_equal(buf_cstr(&fake.headers), "Content-Type: application/proto\n"
						     "Connect-Protocol-Version: 1\n"
						     "Authorization: Basic dXNlcjpwOnc=\n"
						     "X-Scope-OrgID: one\n");
	sink_close(sink);
	setenv("OTLP_PASSWORD", "token", 1);
	sink = must_open("otlp+http://host");
	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	assert_string_equal(fake.target, "http://host:4318/v1development/profiles");
	assert_string_equal(buf_cstr(&fake.headers), "Content-Type: application/x-protobuf\n"
						     "Content-Encoding: gzip\n"
						     "Authorization: Bearer token\n");
	sink_close(sink);
}

/* --- Answers --- */

static void test_statuses(void **state)
{
	static const struct {
		uint32_t status;
		int pyroscope, otlp;
	} cases[] = {
		{200, 0, 0},
		{202, 0, 0},
		{301, -EACCES, -EACCES},
		{400, -EINVAL, -EINVAL},
		{401, -EACCES, -EACCES},
		{403, -EACCES, -EACCES},
		{404, -EACCES, -EACCES},
		{413, -EINVAL, -EINVAL},
		{415, -EACCES, -EACCES},
		{422, -EINVAL, -EINVAL},
		{429, -EAGAIN, -EAGAIN},
		{500, -EAGAIN, -EINVAL},
		{501, -EAGAIN, -EINVAL},
		{502, -EAGAIN, -EAGAIN},
		{503, -EAGAIN, -EAGAIN},
		{504, -EAGAIN, -EAGAIN},
	};
	struct sink_fixture *fix = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct fake_answer answer = {.status = cases[i].status, .body = "why\n"};
		struct sink *sink = must_open("pyroscope+http://host");

		fake_begin(&answer, 1);
		assert_int_equal(send_to(sink, &fix->window, 1), cases[i].pyroscope);
		assert_int_equal(sink->counts.windows, !cases[i].pyroscope);
		assert_int_equal(sink->counts.rows, cases[i].pyroscope ? 0 : 12);
		sink_close(sink);
		fake_begin(&answer, 1);
		sink = must_open("otlp+http://host");
		assert_int_equal(send_to(sink, &fix->window, 1), cases[i].otlp);
		sink_close(sink);
	}
}

static void test_retry_after(void **state)
{
	static const struct fake_answer answers[] = {
		{.status = 429, .retry_after_s = 7},
		{.err = -ECONNRESET},
		{.status = 503, .retry_after_s = 1000000},
	};
	struct sink_fixture *fix = *state;
	struct sink *sink = must_open("otlp+http://host");

	fake_begin(answers, 3);
	assert_int_equal(send_to(sink, &fix->window, 1), -EAGAIN);
	assert_int_equal(sink->retry_after_ns, 7 * NSEC_PER_SEC);
	assert_int_equal(send_to(sink, &fix->window, 1), -ECONNRESET);
	assert_int_equal(sink->retry_after_ns, 0);
	assert_int_equal(send_to(sink, &fix->window, 1), -EAGAIN);
	assert_int_equal(sink->retry_after_ns, 3600 * NSEC_PER_SEC);
	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	assert_int_equal(sink->retry_after_ns, 0);
	assert_memory_equal(fake.bodies[0].data, fake.bodies[3].data, fake.bodies[3].len);
	sink_close(sink);
}

/* What was taken is not sent again because of what came after it; what is lost is not sent. */
static void test_taken_windows(void **state)
{
	static const struct fake_answer answers[] = {{.status = 200}, {.status = 503}};
	struct sink_fixture *fix = *state;
	struct sink_window windows[] = {fix->window, fixture_lost(18), fix->window};
	struct sink *sink = must_open("pyroscope+http://host");

	windows[2].seq = windows[2].last_seq = 30;
	fake_begin(answers, 2);
	assert_int_equal(send_to(sink, windows, 3), -EAGAIN);
	assert_int_equal(fake.cnt, 2);
	assert_int_equal(send_to(sink, windows, 3), 0);
	assert_int_equal(fake.cnt, 3);
	assert_int_equal(sink->counts.windows, 1 + 3 + 1);
	assert_int_equal(sink->counts.rows, 24);
	sink_close(sink);
}

/* --- Pyroscope's bounds --- */

/* What one request has. */
struct pushed {
	size_t profiles, labels_max, samples_max, bytes_max;
	int64_t sum; /* of the first values */
	uint64_t last_ns;
	char service[64];
};

static void read_sample(struct reader message, struct pushed *out)
{
	struct pb_field field;
	struct profile prof;
	struct buf raw, why;

	assert_true(pb_next(&message, &field));
	assert_int_equal(field.number, 1);
	buf_init(&raw, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	profile_init(&prof);
	assert_int_equal(gzip_inflate(field.bytes.pos, reader_left(&field.bytes), &raw), 0);
	assert_int_equal(pprof_decode(raw.data, raw.len, &prof, &why), 0);
	out->profiles++;
	out->samples_max = prof.sample_cnt > out->samples_max ? prof.sample_cnt : out->samples_max;
	out->bytes_max = raw.len > out->bytes_max ? raw.len : out->bytes_max;
	out->sum += profile_total(&prof, 0);
	assert_true(prof.time_ns > out->last_ns);
	out->last_ns = prof.time_ns;
	profile_deinit(&prof);
	buf_deinit(&raw);
	buf_deinit(&why);
}

static void read_label(struct reader message, struct pushed *out)
{
	struct pb_field name, value;

	assert_true(pb_next(&message, &name) && pb_next(&message, &value));
	assert_false(pb_next(&message, &name));
	if (reader_left(&name.bytes) == 12 && !memcmp(name.bytes.pos, "service_name", 12))
		snprintf(out->service, sizeof(out->service), "%.*s", (int)reader_left(&value.bytes),
			 (const char *)value.bytes.pos);
}

static void read_push(const struct buf *body, struct pushed *out)
{
	struct pb_field series, field;
	struct reader rd;

	reader_init(&rd, body->data, body->len);
	while (pb_next(&rd, &series)) {
		size_t labels = 0;

		assert_int_equal(series.number, 1);
		while (pb_next(&series.bytes, &field)) {
			if (field.number == 1)
				read_label(field.bytes, out);
			else
				read_sample(field.bytes, out);
			labels += field.number == 1;
		}
		out->labels_max = labels > out->labels_max ? labels : out->labels_max;
	}
	assert_int_equal(rd.err, 0);
}

static void read_pushes(struct pushed *out)
{
	*out = (struct pushed){.profiles = 0};
	for (size_t i = 0; i < fake.cnt; i++)
		read_push(&fake.bodies[i], out);
}

/* The first batch alone, with @cnt rows of stacks of their own, whose names are @name_len long. */
static struct sink_row *fill_rows(struct sink_fixture *fix, size_t cnt, int name_len,
				  int64_t **values)
{
	struct sink_row *rows = calloc(cnt, sizeof(*rows));
	const uint32_t labels = fix->rows[0].label_set;
	char name[4096];

	*values = calloc(2 * cnt, sizeof(**values));
	assert_true(rows && *values);
	for (size_t i = 0; i < cnt; i++) {
		uint32_t location;

		snprintf(name, sizeof(name), "%0*zu", name_len, i);
		location = profile_named_location(&fix->dict, name, 0);
		rows[i] = (struct sink_row){profile_stack(&fix->dict, &location, 1), labels};
		(*values)[2 * i] = 1;
		(*values)[2 * i + 1] = SINK_PERIOD_NS;
	}
	fix->batches[0].rows = rows;
	fix->batches[0].values = *values;
	fix->batches[0].row_cnt = cnt;
	fix->window.batch_cnt = 1;
	return rows;
}

static void test_pyroscope_bounds(void **state)
{
	static const struct {
		size_t rows;
		int name_len;
		size_t profiles;
	} cases[] = {{40000, 8, 3}, {3000, 4000, 4}, {1, 10, 1}};
	struct sink_fixture *fix = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sink *sink = must_open("pyroscope+http://host");
		struct pushed pushed;
		int64_t *values;
		struct sink_row *rows = fill_rows(fix, cases[i].rows, cases[i].name_len, &values);

		fake_begin(NULL, 0);
		assert_int_equal(send_to(sink, &fix->window, 1), 0);
		read_pushes(&pushed);
		assert_int_equal(pushed.sum, cases[i].rows);
		assert_true(pushed.samples_max <= SAMPLES_MAX);
		assert_true(pushed.bytes_max <= BODY_MAX);
		assert_int_equal(pushed.profiles, cases[i].profiles);
		free(rows);
		free(values);
		sink_close(sink);
	}
}

static void test_pyroscope_labels(void **state)
{
	struct sink_fixture *fix = *state;
	struct sink *sink = must_open("pyroscope+http://host");
	struct profile_label labels[40];
	struct pushed pushed;
	char key[16];

	fix->window.batch_cnt = 1;
	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	read_pushes(&pushed);
	/* The last one's, which has none. */
	assert_string_equal(pushed.service, "unknown_service");
	assert_int_equal(pushed.labels_max, 4);
	assert_int_equal(pushed.profiles, 2);
	/* More than there may be, of which two are one there. */
	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof(key), i == 1 ? "k/%d" : "k.%d", i / 2);
		labels[i] = fixture_label(&fix->dict, key, "x");
		if (i > 1)
			labels[i].key =
				profile_string(&fix->dict, (snprintf(key, 16, "l%d", i), key));
	}
	fix->rows[0].label_set = profile_labels(&fix->dict, labels, 40);
	fix->batches[0].row_cnt = 1;
	fix->window.seq = fix->window.last_seq = 18;
	fake_begin(NULL, 0);
	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	read_pushes(&pushed);
	assert_int_equal(pushed.labels_max, 30);
	sink_close(sink);
}

/* --- OTLP --- */

/* How many profiles there are in all requests, none of which is too large; and the sum of values.
 */
static size_t count_profiles(int64_t *sum)
{
	size_t cnt = 0;

	*sum = 0;
	for (size_t i = 0; i < fake.cnt; i++) {
		struct pb_field resource, scopes, profile, sample, value;
		struct buf raw;
		struct reader rd;

		buf_init(&raw, BUF_NO_MAX);
		assert_int_equal(gzip_inflate(fake.bodies[i].data, fake.bodies[i].len, &raw), 0);
		assert_true(raw.len <= BODY_MAX);
		reader_init(&rd, raw.data, raw.len);
		while (pb_next(&rd, &resource))
			while (resource.number == 1 && pb_next(&resource.bytes, &scopes))
				while (scopes.number == 2 && pb_next(&scopes.bytes, &profile)) {
					cnt += profile.number == 2;
					while (profile.number == 2 &&
					       pb_next(&profile.bytes, &sample))
						while (sample.number == 2 &&
						       sample.wire == PB_BYTES &&
						       pb_next(&sample.bytes, &value))
							if (value.number == 4)
								*sum += (int64_t)reader_uleb128(
									&value.bytes);
				}
		buf_deinit(&raw);
	}
	return cnt;
}

static void test_otlp_profiles(void **state)
{
	struct sink_fixture *fix = *state;
	struct sink *sink = must_open("otlp+http://host");
	int64_t sum;

	/* Of each service: samples with their period, off_cpu. */
	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	assert_int_equal(count_profiles(&sum), 4);
	assert_int_equal(sum, 21 + 15000);
	/* The time of one is not its number's any more. */
	fix->cpu_values[1]++;
	fix->window.last_seq++;
	fake_begin(NULL, 0);
	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	assert_int_equal(count_profiles(&sum), 5);
	assert_int_equal(sum, 21 + 15000 + 6 * SINK_PERIOD_NS + 1);
	/* Nothing but zeroes is nothing to send. */
	memset(fix->cpu_values, 0, sizeof(fix->cpu_values));
	memset(fix->off_values, 0, sizeof(fix->off_values));
	fix->window.last_seq++;
	fake_begin(NULL, 0);
	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	assert_int_equal(fake.cnt, 0);
	sink_close(sink);
}

static void test_otlp_bounds(void **state)
{
	struct sink_fixture *fix = *state;
	struct sink *sink = must_open("otlp+http://host");
	int64_t *values, sum;
	struct sink_row *rows = fill_rows(fix, 20000, 600, &values);

	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	assert_true(fake.cnt > 2);
	assert_int_equal(count_profiles(&sum), fake.cnt);
	assert_int_equal(sum, 20000);
	assert_int_equal(sink->counts.rows, 20000);
	free(rows);
	free(values);
	sink_close(sink);
}

static void test_otlp_answers(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int err;
		uint64_t rejected;
		const char *text;
	} cases[] = {
		{"", 0, 0, 0, ""},
		{"\x0a\x00", 2, 0, 0, ""},
		{"\x0a\x07\x08\x03\x12\x03so\n", 9, 0, 3, "so?"},
		{"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, 0, 0, ""},
		{"\x12\x01x\x0a\x02\x08\x05", 7, 0, 5, ""},
		{"\x0a\x09\x08\x03", 4, -EBADMSG, 0, ""},
		{"\x0a\x02\x08\x80", 4, -EBADMSG, 0, ""},
		{"\xff", 1, -EBADMSG, 0, ""},
	};
	struct sink_fixture *fix = *state;
	const struct fake_answer answer = {
		.status = 200, .body = cases[2].bytes, .body_len = cases[2].len};
	struct sink *sink = must_open("otlp+http://host");

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t rejected = 99;
		struct buf text;

		buf_init(&text, BUF_NO_MAX);
		assert_int_equal(otlp_read_answer(cases[i].bytes, cases[i].len, &rejected, &text),
				 cases[i].err);
		assert_int_equal(rejected, cases[i].rejected);
		assert_string_equal(buf_cstr(&text), cases[i].text);
		buf_deinit(&text);
	}
	fake_begin(&answer, 1);
	assert_int_equal(send_to(sink, &fix->window, 1), 0);
	assert_int_equal(sink->counts.rejected, 3);
	sink_close(sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_urls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_headers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_statuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_retry_after, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_taken_windows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pyroscope_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pyroscope_labels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_otlp_profiles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_otlp_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_otlp_answers, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
