/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in protobuf and in its JSON: writing. */
#include "web/message.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "encode/protobuf.h"

void message_begin(struct message *msg, bool is_json, struct buf *out)
{
	*msg = (struct message){.is_json = is_json, .out = out};
	json_init(&msg->js, out);
	if (is_json)
		json_object_begin(&msg->js);
}

void message_end(struct message *msg)
{
	assert(!msg->depth);
	if (msg->is_json)
		json_object_end(&msg->js);
}

void message_str(struct message *msg, uint32_t number, const char *name, const char *value)
{
	message_strn(msg, number, name, value, strlen(value));
}

void message_strn(struct message *msg, uint32_t number, const char *name, const char *value,
		  size_t len)
{
	if (!msg->is_json) {
		if (len)
			pb_add_bytes(msg->out, number, value, len);
		return;
	}
	json_key(&msg->js, name);
	json_strn(&msg->js, value, len);
}

/* A 64-bit integer is a text in JSON, whose numbers are doubles to many readers. */
static void add_number(struct json *js, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	json_str(js, text);
}

void message_i64(struct message *msg, uint32_t number, const char *name, int64_t value)
{
	if (!msg->is_json) {
		pb_add_nonzero(msg->out, number, (uint64_t)value);
		return;
	}
	json_key(&msg->js, name);
	add_number(&msg->js, value);
}

void message_bool(struct message *msg, uint32_t number, const char *name, bool value)
{
	if (!msg->is_json) {
		pb_add_nonzero(msg->out, number, value);
		return;
	}
	json_key(&msg->js, name);
	json_bool(&msg->js, value);
}

void message_double(struct message *msg, uint32_t number, const char *name, double value)
{
	char text[32];
	int len;

	if (!msg->is_json) {
		if (value != 0)
			pb_add_double(msg->out, number, value);
		return;
	}
	assert(isfinite(value));
	len = snprintf(text, sizeof(text), "%.17g", value);
	json_key(&msg->js, name);
	json_encoded(&msg->js, text, (size_t)len);
}

static void open_field(struct message *msg, uint32_t number)
{
	assert(msg->depth < MESSAGE_DEPTH_MAX);
	msg->begins[msg->depth++] = pb_begin(msg->out, number);
}

void message_open(struct message *msg, uint32_t number, const char *name)
{
	if (msg->is_json)
		json_key(&msg->js, name);
	message_item_open(msg, number);
}

void message_item_open(struct message *msg, uint32_t number)
{
	if (!msg->is_json) {
		open_field(msg, number);
		return;
	}
	msg->depth++;
	json_object_begin(&msg->js);
}

void message_close(struct message *msg)
{
	msg->depth--;
	if (msg->is_json)
		json_object_end(&msg->js);
	else
		pb_end(msg->out, msg->begins[msg->depth]);
}

void message_list_begin(struct message *msg, const char *name)
{
	if (!msg->is_json)
		return;
	json_key(&msg->js, name);
	json_array_begin(&msg->js);
}

void message_list_end(struct message *msg)
{
	if (msg->is_json)
		json_array_end(&msg->js);
}

void message_item_str(struct message *msg, uint32_t number, const char *value)
{
	if (msg->is_json)
		json_str(&msg->js, value);
	else
		pb_add_bytes(msg->out, number, value, strlen(value));
}

void message_numbers_begin(struct message *msg, uint32_t number, const char *name)
{
	if (msg->is_json)
		message_list_begin(msg, name);
	else
		open_field(msg, number);
}

void message_number(struct message *msg, int64_t value)
{
	if (msg->is_json)
		add_number(&msg->js, value);
	else
		pb_add_varint(msg->out, (uint64_t)value);
}

void message_numbers_end(struct message *msg)
{
	if (msg->is_json)
		message_list_end(msg);
	else
		pb_end(msg->out, msg->begins[--msg->depth]);
}
