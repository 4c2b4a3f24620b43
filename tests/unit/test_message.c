/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: what is written in both forms, what is read of both, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "web/message.h"

struct inner {
	char *text;
	int64_t number;
};

struct outer {
	char *text;
	struct message_texts texts;
	int64_t number, choice, step_ns;
	struct inner inner;
	bool is_there;
};

static const char *const choices[] = {"NONE", "ONE", "TWO", NULL};

static const struct message_field inner_fields[] = {
	{1, "text", "text", MESSAGE_TEXT, offsetof(struct inner, text), NULL, NULL},
	{2, "number", "number", MESSAGE_I64, offsetof(struct inner, number), NULL, NULL},
	{0},
};

static const struct message_field outer_fields[] = {
	{1, "aText", "a_text", MESSAGE_TEXT, offsetof(struct outer, text), NULL, NULL},
	{2, "texts", "texts", MESSAGE_TEXTS, offsetof(struct outer, texts), NULL, NULL},
	{3, "number", "number", MESSAGE_I64, offsetof(struct outer, number), NULL, NULL},
	{4, "choice", "choice", MESSAGE_ENUM, offsetof(struct outer, choice), NULL, choices},
	{5, "step", "step", MESSAGE_SECONDS, offsetof(struct outer, step_ns), NULL, NULL},
	{6, "inner", "inner", MESSAGE_INSIDE, offsetof(struct outer, inner), inner_fields, NULL},
	{300, "other", "other", MESSAGE_IS_THERE, offsetof(struct outer, is_there), NULL, NULL},
	{0},
};

static void outer_deinit(struct outer *outer)
{
	free(outer->text);
	free(outer->inner.text);
	for (size_t i = 0; i < outer->texts.cnt; i++)
		free(outer->texts.items[i]);
}

static int read_bytes(const void *data, size_t len, bool is_json, struct outer *out)
{
	struct buf why;
	int err;

	*out = (struct outer){.number = 0};
	buf_init(&why, BUF_NO_MAX);
	err = message_read(data, len, is_json, outer_fields, out, &why);
	assert_int_equal(err != 0, why.len != 0);
	buf_deinit(&why);
	return err;
}

static void check_outer(const struct outer *got)
{
	assert_string_equal(got->text, "a\"\n");
	assert_int_equal(got->texts.cnt, 2);
	assert_string_equal(got->texts.items[0], "");
	assert_string_equal(got->texts.items[1], "two");
	assert_int_equal(got->number, INT64_MIN);
	assert_int_equal(got->choice, 2);
	assert_int_equal(got->step_ns, 15500000000);
	assert_string_equal(got->inner.text, "in");
	assert_int_equal(got->inner.number, 7);
	assert_true(got->is_there);
}

static void write_outer(bool is_json, struct buf *out)
{
	struct message msg;

	buf_init(out, BUF_NO_MAX);
	message_begin(&msg, is_json, out);
	message_str(&msg, 1, "aText", "a\"\n");
	message_list_begin(&msg, "texts");
	message_item_str(&msg, 2, "");
	message_item_str(&msg, 2, "two");
	message_list_end(&msg);
	message_i64(&msg, 3, "number", INT64_MIN);
	message_i64(&msg, 4, "choice", 2);
	message_double(&msg, 5, "step", 15.5);
	message_open(&msg, 6, "inner");
	message_str(&msg, 1, "text", "in");
	message_i64(&msg, 2, "number", 7);
	message_close(&msg);
	message_open(&msg, 300, "other");
	message_numbers_begin(&msg, 1, "numbers");
	message_number(&msg, 300);
	message_number(&msg, -1);
	message_numbers_end(&msg);
	message_close(&msg);
	message_end(&msg);
	assert_int_equal(out->err, 0);
}

static void test_both_forms(void **state)
{
	struct outer got;
	struct buf out;

	for (int is_json = 0; is_json < 2; is_json++) {
		write_outer(is_json, &out);
		assert_int_equal(read_bytes(out.data, out.len, is_json, &got), 0);
		check_outer(&got);
		outer_deinit(&got);
		buf_deinit(&out);
	}
}

static void test_bytes(void **state)
{
	static const char json[] =
		"{\"aText\":\"a\\\"\\n\",\"texts\":[\"\",\"two\"],\"number\":"
		"\"-9223372036854775808\",\"choice\":\"2\",\"step\":15.5,\"inner\":{\"text\":"
		"\"in\",\"number\":\"7\"},\"other\":{\"numbers\":[\"300\",\"-1\"]}}";
	static const uint8_t protobuf[] =
		"\x0a\x03"
		"a\"\n"
		"\x12\x00\x12\x03"
		"two"
		"\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x20\x02"
		"\x29\x00\x00\x00\x00\x00\x00\x2f\x40\x32\x06\x0a\x02"
		"in"
		"\x10\x07"
		"\xe2\x12\x0e\x0a\x0c\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	struct buf out;

	write_outer(true, &out);
	assert_string_equal(buf_cstr(&out), json);
	buf_deinit(&out);
	write_outer(false, &out);
	assert_int_equal(out.len, sizeof(protobuf) - 1);
	assert_memory_equal(out.data, protobuf, out.len);
	buf_deinit(&out);
}

/* What JSON may look like. */
static void test_json(void **state)
{
	static const char text[] =
		" { \"a_text\" : \"x\", \"a_text\":\"a\\\"\\n\", \"unknown\": [{\"a\":[1]}], "
		"\"texts\": [\"\", \"two\"], \"number\": -9223372036854775808, \"choice\":"
		"\"TWO\", \"step\": \"15.5\", \"inner\": {\"number\": 7, \"text\": \"in\"}, "
		"\"other\": {\"x\": null} } ";
	static const char defaults[] = "{\"aText\":null,\"other\":{},\"step\":1e3}";
	struct outer got;

	assert_int_equal(read_bytes(text, strlen(text), true, &got), 0);
	check_outer(&got);
	outer_deinit(&got);
	assert_int_equal(read_bytes(defaults, strlen(defaults), true, &got), 0);
	assert_null(got.text);
	assert_false(got.is_there);
	assert_int_equal(got.step_ns, -1);
	outer_deinit(&got);
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{} {}",
		"{\"number\":1.5}",
		"{\"number\":\"x\"}",
		"{\"number\":\"1 \"x}",
		"{\"number\":9223372036854775808}",
		"{\"texts\":\"x\"}",
		"{\"texts\":[1]}",
		"{\"aText\":1}",
		"{\"aText\":\"\\u0000\"}",
		"{\"choice\":\"THREE\"}",
		"{\"inner\":1}",
		"{\"inner\":{\"text\":}}",
		"{\"other\":1}",
		"{\"number\":\"\"}",
		"{\"number\":00000000000000000000000000000000000000001}",
	};
	static const char *const bytes[] = {
		"\x08\x01",
		"\x0a\005x",
		"\x1a\x01x",
		"\x29\x01",
		"\x0b",
		"\x32\x01\x08",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	};
	struct outer got;
	struct buf many;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (read_bytes(texts[i], strlen(texts[i]), true, &got) != -EINVAL)
			fail_msg("%s", texts[i]);
		outer_deinit(&got);
	}
	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) {
		if (read_bytes(bytes[i], strlen(bytes[i]), false, &got) != -EINVAL)
			fail_msg("bytes %zu", i);
		outer_deinit(&got);
	}
	buf_init(&many, BUF_NO_MAX);
	for (int i = 0; i <= MESSAGE_TEXTS_MAX; i++)
		buf_add(&many, "\x12\x01x", 3);
	assert_int_equal(read_bytes(many.data, many.len, false, &got), -EINVAL);
	assert_int_equal(got.texts.cnt, MESSAGE_TEXTS_MAX);
	outer_deinit(&got);
	buf_deinit(&many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_forms),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("web/message", tests, NULL, NULL);
}
