/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers, byte by byte: see recording_message.h. */
#include "agent/recording_message.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/reader.h"

enum { ERRNO_MAX = 4095 }; /* of Linux (include/linux/err.h) */

/* --- Requests --- */

static void add_u32(struct buf *out, uint32_t value)
{
	value = htole32(value);
	buf_add(out, &value, sizeof(value));
}

static void add_u64(struct buf *out, uint64_t value)
{
	value = htole64(value);
	buf_add(out, &value, sizeof(value));
}

static int add_text(const char *name, const char *text, size_t bytes, struct buf *out,
		    struct buf *why)
{
	static const char zeros[RECORDING_CGROUP_BYTES];
	size_t len = text ? strlen(text) : 0;

	if (len >= bytes || (text && !len)) {
		buf_printf(why, "%s: %s", name, len ? "too long" : "empty");
		return -EINVAL;
	}
	buf_add(out, text ? text : "", len);
	buf_add(out, zeros, bytes - len);
	return out->err;
}

int recording_request_write(const struct web_capture *capture, struct buf *out, struct buf *why)
{
	int err;

	add_u64(out, capture->duration_ns);
	add_u32(out, capture->kind);
	add_u32(out, capture->hz);
	add_u32(out, capture->pid);
	err = add_text("comm", capture->comm, RECORDING_COMM_BYTES, out, why);
	if (!err)
		err = add_text("cgroup", capture->cgroup, RECORDING_CGROUP_BYTES, out, why);
	if (!err)
		err = add_text("event", capture->event, RECORDING_EVENT_BYTES, out, why);
	return err;
}

/* NULL where it is empty. */
static const char *read_text(struct reader *rd, size_t bytes)
{
	struct reader field = reader_sub(rd, bytes);
	const char *text = reader_cstr(&field, NULL);

	if (field.err)
		reader_fail(rd);
	return text && *text ? text : NULL;
}

int recording_request_read(const void *data, size_t len, struct web_capture *out)
{
	struct web_capture capture = {.client_fd = -1};
	struct reader rd;
	uint32_t kind;

	reader_init(&rd, data, len);
	capture.duration_ns = reader_u64(&rd);
	kind = reader_u32(&rd);
	capture.hz = reader_u32(&rd);
	capture.pid = reader_u32(&rd);
	capture.comm = read_text(&rd, RECORDING_COMM_BYTES);
	capture.cgroup = read_text(&rd, RECORDING_CGROUP_BYTES);
	capture.event = read_text(&rd, RECORDING_EVENT_BYTES);
	if (rd.err || reader_left(&rd) || kind > WEB_CAPTURE_OFF_CPU ||
	    capture.duration_ns > WEB_CAPTURE_SECONDS_MAX * NSEC_PER_SEC ||
	    capture.hz > WEB_CAPTURE_HZ_MAX)
		return -EINVAL;
	capture.kind = (enum web_capture_kind)kind;
	*out = capture;
	return 0;
}

/* --- Answers --- */

void recording_answer_write(int err, const struct buf *line, struct buf *out)
{
	add_u32(out, (uint32_t)err);
	add_u32(out, (uint32_t)line->len);
	buf_add(out, line->data, line->len);
}

int recording_answer_read(const void *data, size_t len, struct buf *out, struct buf *line)
{
	const void *text;
	struct reader rd;
	size_t line_len;
	int32_t err;

	reader_init(&rd, data, len);
	err = (int32_t)reader_u32(&rd);
	line_len = reader_u32(&rd);
	text = reader_bytes(&rd, line_len);
	if (rd.err || err > 0 || err < -ERRNO_MAX || line_len > RECORDING_LINE_BYTES_MAX)
		return -EBADMSG;
	buf_add(line, text, line_len);
	if (err)
		return err;
	len = reader_left(&rd);
	buf_add(out, reader_bytes(&rd, len), len);
	return out->err ? out->err : line->err;
}
