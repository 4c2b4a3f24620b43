/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streaming JSON writer into a struct buf: it owns commas, quoting and UTF-8 repair (an invalid
 * byte becomes U+FFFD), the caller names keys and values. Small
 * texts are read with cJSON, large ones with base/json_reader.h.
 */
#ifndef BPFPROF_BASE_JSON_H
#define BPFPROF_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { JSON_DEPTH_MAX = 32 };

struct json {
	struct buf *out; /* borrowed */
	int depth;
	bool has_items[JSON_DEPTH_MAX];
	bool after_key;
	bool at_break;
};

void json_init(struct json *js, struct buf *out);
void json_object_begin(struct json *js);
void json_object_end(struct json *js);
void json_array_begin(struct json *js);
void json_array_end(struct json *js);
void json_key(struct json *js, const char *key);
void json_str(struct json *js, const char *value);
void json_strn(struct json *js, const char *value, size_t len);
void json_u64(struct json *js, uint64_t value);
void json_i64(struct json *js, int64_t value);
void json_double(struct json *js, double value); /* %.6g; NaN and infinities become null */
void json_bool(struct json *js, bool value);

/* The next key or value begins a line. */
void json_break(struct json *js);

/* A value that is JSON already, as another struct json wrote it. */
void json_encoded(struct json *js, const char *value, size_t len);

/* key + value in one call */
void json_kv_str(struct json *js, const char *key, const char *value);
void json_kv_u64(struct json *js, const char *key, uint64_t value);
void json_kv_i64(struct json *js, const char *key, int64_t value);
void json_kv_double(struct json *js, const char *key, double value);

#endif
