/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in protobuf and in its JSON: reading. */
#include "web/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_reader.h"
#include "base/parse.h"
#include "encode/protobuf.h"

enum { NUMBER_BYTES = 32, MESSAGE_NAME_BYTES = 64, INSIDE_MAX = 2 /* messages in each other */ };

/* A text of the client's, without NUL, as a string; @slot had none or an earlier one, which the
 * last replaces. */
static int take_text(char **slot, const char *data, size_t len)
{
	char *text;

	if (len && memchr(data, '\0', len))
		return -EINVAL;
	text = strndup(len ? data : "", len);
	if (!text)
		return -ENOMEM;
	free(*slot);
	*slot = text;
	return 0;
}

static int take_string(const struct message_field *field, char *at, const char *data, size_t len)
{
	struct message_texts *texts;
	int err;

	if (field->kind == MESSAGE_TEXT)
		return take_text((char **)at, data, len);
	if (field->kind != MESSAGE_TEXTS)
		return -EINVAL;
	texts = (struct message_texts *)at;
	if (texts->cnt == MESSAGE_TEXTS_MAX)
		return -EINVAL;
	err = take_text(&texts->items[texts->cnt], data, len);
	texts->cnt += err ? 0 : 1;
	return err;
}

/* --- JSON --- */

static int read_object(struct json_reader *js, const struct message_field *fields, char *out,
		       unsigned int depth);

/* A number, which may be a text; as it is written, "" where it is too long for any. */
static int read_number_text(struct json_reader *js, char text[static NUMBER_BYTES])
{
	const char *begin;
	size_t len;

	text[0] = '\0';
	if (json_peek(js) == '"') {
		begin = json_read_str(js);
		len = js->text.len;
	} else {
		begin = (const char *)js->rd.pos;
		json_read_skip(js);
		len = (size_t)((const char *)js->rd.pos - begin);
	}
	if (js->rd.err || !len || len >= NUMBER_BYTES)
		return -EINVAL;
	memcpy(text, begin, len);
	text[len] = '\0';
	return 0;
}

static int read_i64(struct json_reader *js, int64_t *out)
{
	char text[NUMBER_BYTES];
	struct json_reader number;
	int err = read_number_text(js, text);

	if (err)
		return err;
	json_reader_init(&number, text, strlen(text));
	*out = json_read_i64(&number);
	err = number.rd.err || json_peek(&number) ? -EINVAL : 0;
	json_reader_deinit(&number);
	return err;
}

/* By its name or its number. */
static int read_enum(struct json_reader *js, const struct message_field *field, int64_t *out)
{
	struct json_reader before = *js;
	char text[MESSAGE_NAME_BYTES];

	if (json_peek(js) != '"')
		return read_i64(js, out);
	snprintf(text, sizeof(text), "%s", json_read_str(js));
	for (int64_t i = 0; field->names[i]; i++) {
		if (!strcmp(field->names[i], text)) {
			*out = i;
			return js->rd.err;
		}
	}
	before.text = js->text;
	*js = before;
	return read_i64(js, out);
}

static int read_seconds(struct json_reader *js, int64_t *out)
{
	char text[NUMBER_BYTES];
	uint64_t ns;
	int err = read_number_text(js, text);

	*out = -1;
	if (!err && !text[strspn(text, "0123456789.")] && !parse_duration_ns(text, &ns) &&
	    ns <= INT64_MAX)
		*out = (int64_t)ns;
	return err;
}

static int read_json_texts(struct json_reader *js, const struct message_field *field, char *at)
{
	int err = 0;

	json_read_array(js);
	while (!err && json_read_item(js)) {
		json_read_str(js);
		err = js->rd.err ? js->rd.err
				 : take_string(field, at, buf_cstr(&js->text), js->text.len);
	}
	return err;
}

static int read_json_field(struct json_reader *js, const struct message_field *field, char *at,
			   unsigned int depth)
{
	if (json_peek(js) == 'n') { /* null is the default */
		json_read_skip(js);
		return 0;
	}
	switch (field->kind) {
	case MESSAGE_TEXT:
		json_read_str(js);
		return js->rd.err ? js->rd.err
				  : take_string(field, at, buf_cstr(&js->text), js->text.len);
	case MESSAGE_TEXTS:
		return read_json_texts(js, field, at);
	case MESSAGE_I64:
		return read_i64(js, (int64_t *)at);
	case MESSAGE_ENUM:
		return read_enum(js, field, (int64_t *)at);
	case MESSAGE_SECONDS:
		return read_seconds(js, (int64_t *)at);
	case MESSAGE_INSIDE:
		return read_object(js, field->inside, at, depth + 1);
	case MESSAGE_IS_THERE:
		json_read_object(js);
		while (json_read_key(js)) {
			*(bool *)at = true;
			json_read_skip(js);
		}
		return 0;
	}
	return -EINVAL;
}

static const struct message_field *field_named(const struct json_reader *js,
					       const struct message_field *fields)
{
	for (; fields->number; fields++)
		if (json_text_is(js, fields->name) || json_text_is(js, fields->other_name))
			return fields;
	return NULL;
}

static int read_object(struct json_reader *js, const struct message_field *fields, char *out,
		       unsigned int depth)
{
	int err = depth < INSIDE_MAX ? 0 : -EINVAL;

	json_read_object(js);
	while (!err && json_read_key(js)) {
		const struct message_field *field = field_named(js, fields);

		if (field)
			err = read_json_field(js, field, out + field->at, depth);
		else
			json_read_skip(js);
	}
	return err ? err : js->rd.err;
}

static int read_json(const void *data, size_t len, const struct message_field *fields, void *out)
{
	struct json_reader js;
	int err;

	json_reader_init(&js, data, len);
	err = read_object(&js, fields, out, 0);
	if (!err && (json_peek(&js) || js.rd.pos != js.rd.end))
		err = -EINVAL;
	json_reader_deinit(&js);
	return err;
}

/* --- protobuf --- */

static int read_protobuf(struct reader rd, const struct message_field *fields, char *out,
			 unsigned int depth);

static int64_t nanoseconds_of(uint64_t bits)
{
	double seconds;

	memcpy(&seconds, &bits, sizeof(seconds));
	if (!(seconds >= 0 && seconds < (double)INT64_MAX / NSEC_PER_SEC))
		return -1;
	return (int64_t)(seconds * NSEC_PER_SEC + 0.5);
}

static int read_pb_field(const struct pb_field *got, const struct message_field *field, char *at,
			 unsigned int depth)
{
	const char *data = (const char *)got->bytes.pos;

	if ((field->kind == MESSAGE_I64 || field->kind == MESSAGE_ENUM) && got->wire == PB_VARINT) {
		*(int64_t *)at = (int64_t)got->value;
		return 0;
	}
	if (field->kind == MESSAGE_SECONDS && got->wire == PB_FIXED64) {
		*(int64_t *)at = nanoseconds_of(got->value);
		return 0;
	}
	if (got->wire != PB_BYTES)
		return -EINVAL;
	if (field->kind == MESSAGE_INSIDE)
		return read_protobuf(got->bytes, field->inside, at, depth + 1);
	if (field->kind == MESSAGE_IS_THERE) {
		*(bool *)at |= reader_left(&got->bytes) > 0;
		return 0;
	}
	return take_string(field, at, data, reader_left(&got->bytes));
}

static int read_protobuf(struct reader rd, const struct message_field *fields, char *out,
			 unsigned int depth)
{
	struct pb_field got;
	int err = depth < INSIDE_MAX ? 0 : -EINVAL;

	while (!err && pb_next(&rd, &got)) {
		const struct message_field *field = fields;

		while (field->number && field->number != got.number)
			field++;
		if (field->number)
			err = read_pb_field(&got, field, out + field->at, depth);
	}
	return err ? err : rd.err;
}

int message_read(const void *data, size_t len, bool is_json, const struct message_field *fields,
		 void *out, struct buf *why)
{
	struct reader rd;
	int err;

	reader_init(&rd, data, len);
	err = is_json ? read_json(data, len, fields, out) : read_protobuf(rd, fields, out, 0);
	if (!err || err == -ENOMEM)
		return err;
	buf_printf(why, "the request is no %s of this message", is_json ? "JSON" : "protobuf");
	return -EINVAL;
}
