/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent and the process that records for it read of each other; the first byte chooses. A
 * request as it is, or one that is put together from numbers and three texts: what it asks for is
 * within its bounds, is written as a request that is read as the same again, and becomes a command
 * line or is refused with a line. An answer: all its bytes are the head's, the line's or the
 * profile's.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/on_demand.h"
#include "agent/recording_message.h"
#include "base/clock.h"
#include "fuzz_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NUMBERS_BYTES = 20, TEXTS = 3 };

static bool is_same_text(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

static void check_written(const struct web_capture *capture)
{
	struct web_capture again;
	struct buf out, why;

	buf_init(&out, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	if (recording_request_write(capture, &out, &why) || why.len ||
	    recording_request_read(out.data, out.len, &again) || again.kind != capture->kind ||
	    again.duration_ns != capture->duration_ns || again.hz != capture->hz ||
	    again.pid != capture->pid || !is_same_text(again.comm, capture->comm) ||
	    !is_same_text(again.cgroup, capture->cgroup) ||
	    !is_same_text(again.event, capture->event))
		abort();
	buf_deinit(&out);
	buf_deinit(&why);
}

static void check_arguments(const struct web_capture *capture)
{
	struct on_demand_args args;
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = on_demand_args_make(capture, &args, &why);
	if (err ? err != -EINVAL || !why.len : why.len || args.items[args.cnt])
		abort();
	on_demand_args_deinit(&args);
	buf_deinit(&why);
}

static void check_request(const uint8_t *data, size_t size)
{
	void *copy = image_copy(data, size);
	struct web_capture capture;

	if (!recording_request_read(copy, size, &capture)) {
		if (size != RECORDING_REQUEST_BYTES ||
		    (unsigned int)capture.kind > WEB_CAPTURE_OFF_CPU ||
		    capture.duration_ns > WEB_CAPTURE_SECONDS_MAX * NSEC_PER_SEC ||
		    capture.hz > WEB_CAPTURE_HZ_MAX)
			abort();
		check_written(&capture);
		check_arguments(&capture);
	}
	free(copy);
}

/* The texts, each up to a NUL, into their fields, which they may fill. */
static void check_made_request(const uint8_t *data, size_t size)
{
	static const size_t fields[TEXTS] = {RECORDING_COMM_BYTES, RECORDING_CGROUP_BYTES,
					     RECORDING_EVENT_BYTES};
	uint8_t request[RECORDING_REQUEST_BYTES] = {0};
	size_t at = NUMBERS_BYTES, from = NUMBERS_BYTES;

	if (size < NUMBERS_BYTES)
		return;
	memcpy(request, data, NUMBERS_BYTES);
	for (int i = 0; i < TEXTS; i++) {
		size_t len = strnlen((const char *)data + from, size - from);

		memcpy(request + at, data + from, len < fields[i] ? len : fields[i]);
		at += fields[i];
		from += len < size - from ? len + 1 : len;
	}
	check_request(request, sizeof(request));
}

static void check_answer(const uint8_t *data, size_t size)
{
	void *copy = image_copy(data, size);
	struct buf out, line;
	int err;

	buf_init(&out, BUF_NO_MAX);
	buf_init(&line, BUF_NO_MAX);
	err = recording_answer_read(copy, size, &out, &line);
	if (err > 0 || line.len > RECORDING_LINE_BYTES_MAX || (err && out.len) ||
	    (!err && RECORDING_ANSWER_HEAD_BYTES + line.len + out.len != size))
		abort();
	buf_deinit(&out);
	buf_deinit(&line);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0:
		check_request(data + 1, size - 1);
		break;
	case 1:
		check_made_request(data + 1, size - 1);
		break;
	default:
		check_answer(data + 1, size - 1);
	}
	return 0;
}
