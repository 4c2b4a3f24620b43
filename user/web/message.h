/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a protobuf schema in both forms that the Connect protocol has (connectrpc.com,
 * "Connect Protocol Reference"): protobuf, and the JSON that protobuf.dev ("ProtoJSON Format") maps
 * it to, where 64-bit integers are texts. A writer is told every field with its number and its name
 * and does what its form needs; a reader has a table of the fields that it wants.
 */
#ifndef BPFPROF_WEB_MESSAGE_H
#define BPFPROF_WEB_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

enum { MESSAGE_DEPTH_MAX = 8, MESSAGE_TEXTS_MAX = 64 };

/* --- Writing --- */

struct message {
	bool is_json;
	struct buf *out; /* borrowed */
	struct json js;
	size_t begins[MESSAGE_DEPTH_MAX]; /* protobuf: of what is open */
	unsigned int depth;
};

/* Begin a message at the end of @out, and end it. */
void message_begin(struct message *msg, bool is_json, struct buf *out);
void message_end(struct message *msg);

/* Fields of one value; of what is 0 or "" nothing need be written. */
void message_str(struct message *msg, uint32_t number, const char *name, const char *value);
void message_strn(struct message *msg, uint32_t number, const char *name, const char *value,
		  size_t len);
void message_i64(struct message *msg, uint32_t number, const char *name, int64_t value);
void message_bool(struct message *msg, uint32_t number, const char *name, bool value);
void message_double(struct message *msg, uint32_t number, const char *name, double value);

/* A field that is a message: the fields told until its end are its. */
void message_open(struct message *msg, uint32_t number, const char *name);
void message_close(struct message *msg);

/* A field that is a list. Between: items, which are all of one kind. */
void message_list_begin(struct message *msg, const char *name);
void message_list_end(struct message *msg);
void message_item_open(struct message *msg, uint32_t number); /* until message_close() */
void message_item_str(struct message *msg, uint32_t number, const char *value);

/* A field that is a list of integers. */
void message_numbers_begin(struct message *msg, uint32_t number, const char *name);
void message_number(struct message *msg, int64_t value);
void message_numbers_end(struct message *msg);

/* --- Reading --- */

struct message_texts {
	char *items[MESSAGE_TEXTS_MAX]; /* owned */
	size_t cnt;
};

enum message_field_kind {
	MESSAGE_TEXT, /* char *, owned */
	MESSAGE_TEXTS, /* struct message_texts */
	MESSAGE_I64, /* int64_t */
	MESSAGE_ENUM, /* int64_t; in JSON by its name in `names`, too */
	MESSAGE_SECONDS, /* a double; int64_t nanoseconds, -1 where it is not one of these */
	MESSAGE_INSIDE, /* a message, of the fields in `inside`, read into a struct of its own */
	MESSAGE_IS_THERE, /* bool: a message that has something in it */
};

struct message_field {
	uint32_t number;
	const char *name, *other_name; /* in JSON: lowerCamelCase, and as in the schema */
	enum message_field_kind kind;
	size_t at; /* offsetof in what is read into */
	const struct message_field *inside;
	const char *const *names; /* NULL-terminated */
};

/*
 * Read the @len bytes at @data into @out (zeroed) as @fields, which end with number 0, say. Others
 * are skipped. 0; -EINVAL: malformed, with a text in @why; -ENOMEM. What was read then is the
 * caller's, too.
 */
int message_read(const void *data, size_t len, bool is_json, const struct message_field *fields,
		 void *out, struct buf *why);

#endif
