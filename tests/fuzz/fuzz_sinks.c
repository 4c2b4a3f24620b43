/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What receivers of OTLP and S3 answer, where people say that sinks are, how services are called,
 * and files of access keys; the first byte chooses. What an answer says is one line; the name of a
 * sink is its URL without who asks, and has itself as its name; no service leads out of the folder
 * of files; no access key has bytes that end a header.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "encode/text.h"
#include "http/aws_key.h"
#include "sink/objects.h"
#include "sink/otlp.h"
#include "sink/s3_answer.h"
#include "sink/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const uint8_t *data, size_t size)
{
	uint64_t rejected;
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	otlp_read_answer(data, size, &rejected, &text);
	if (rejected > INT64_MAX || strpbrk(buf_cstr(&text), "\r\n") ||
	    strlen(buf_cstr(&text)) != text.len)
		abort();
	buf_deinit(&text);
}

static void check_url(const char *url)
{
	struct buf name, again, why;

	buf_init(&name, BUF_NO_MAX);
	buf_init(&again, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	if (!sink_name(url, &name, &why)) {
		if (sink_name(buf_cstr(&name), &again, &why) ||
		    strcmp(buf_cstr(&name), buf_cstr(&again)) != 0 ||
		    (strncmp(url, "file:", 5) != 0 && strchr(buf_cstr(&name), '@')))
			abort();
	} else if (!why.len) {
		abort();
	}
	buf_deinit(&name);
	buf_deinit(&again);
	buf_deinit(&why);
}

static void check_service(const char *service)
{
	struct buf name;

	buf_init(&name, BUF_NO_MAX);
	sink_add_plain(&name, service);
	if (!name.len || name.len > 120 || *name.data == '.' || strchr(name.data, '/'))
		abort();
	buf_deinit(&name);
}

static void check_line(const char *text, size_t size)
{
	const size_t len = strnlen(text, size);

	if (len == size || !text_is_utf8(text, len))
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			abort();
}

static void check_s3_answer(const uint8_t *data, size_t size)
{
	struct s3_answer answer;
	const int err = s3_answer_read(data, size, &answer);

	if (!err != !!*answer.code)
		abort();
	check_line(answer.code, sizeof(answer.code));
	check_line(answer.message, sizeof(answer.message));
	check_line(answer.region, sizeof(answer.region));
	check_line(answer.endpoint, sizeof(answer.endpoint));
	check_line(answer.request_time, sizeof(answer.request_time));
	check_line(answer.server_time, sizeof(answer.server_time));
}

static bool is_value(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

static void check_keys(const uint8_t *data, size_t size)
{
	struct aws_key key;

	if (aws_key_read(data, size, "default", &key))
		return;
	if (!*key.id || !*key.secret || !is_value(key.id) || !is_value(key.secret) ||
	    !is_value(key.token))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = NULL;

	if (!size)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	switch ((uint8_t)(data[0] - '0') % 5) {
	case 0:
		check_answer(data + 1, size - 1);
		break;
	case 1:
		check_url(text);
		break;
	case 2:
		check_service(text);
		break;
	case 3:
		check_s3_answer(data + 1, size - 1);
		break;
	default:
		check_keys(data + 1, size - 1);
	}
	return 0;
}
