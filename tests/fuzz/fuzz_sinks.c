/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a receiver of OTLP answers, where people say that sinks are, and how services are called;
 * the first byte chooses. What an answer says is one line; the name of a sink is its URL without
 * who asks, and has itself as its name; no service leads out of the folder of files.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sink/objects.h"
#include "sink/otlp.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = NULL;

	if (!size)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	switch (data[0] % 3) {
	case 0:
		check_answer(data + 1, size - 1);
		break;
	case 1:
		check_url(text);
		break;
	default:
		check_service(text);
	}
	return 0;
}
