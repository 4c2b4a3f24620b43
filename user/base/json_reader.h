/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pulling values out of JSON that we did not write, over a struct reader: no tree, no recursion,
 * whole 64-bit integers; its cost is that of the bytes it goes over. (cJSON, which the ledger is
 * read with, makes ~80 bytes of every number of a file that may have a gigabyte of them, and
 * doubles of integers.)
 *
 *	json_read_object(js);
 *	while (json_read_key(js)) {
 *		if (json_text_is(js, "name"))
 *			json_read_str(js);		then it is in js->text
 *		else
 *			json_read_skip(js);
 *	}
 *
 * The first failure is sticky in js->rd.err (-EBADMSG): reads then return 0 or false, loops end.
 */
#ifndef BPFPROF_BASE_JSON_READER_H
#define BPFPROF_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/reader.h"

struct json_reader {
	struct reader rd;
	struct buf text; /* the last string or key, unescaped */
	bool is_first; /* of the array or object at hand */
};

/* @data is borrowed. */
void json_reader_init(struct json_reader *js, const void *data, size_t len);
void json_reader_deinit(struct json_reader *js);

/* The byte that the next value begins with: '{', '[', '"', a digit, ...; 0 at the end. */
char json_peek(struct json_reader *js);

/* Enter an array, whose items json_read_item() goes through: true when there is one more, which has
 * to be read or skipped; false when the array has been left. */
void json_read_array(struct json_reader *js);
bool json_read_item(struct json_reader *js);

/* Enter an object; the same with json_read_key(), which puts the key into text. */
void json_read_object(struct json_reader *js);
bool json_read_key(struct json_reader *js);

/* Is the last key or string @text? */
bool json_text_is(const struct json_reader *js, const char *text);

/* A string into js->text, as UTF-8; half a surrogate pair becomes U+FFFD. Borrowed until the next
 * read; "" on failure. */
const char *json_read_str(struct json_reader *js);

/* Integers; fractions, exponents and what is out of range are failures. */
int64_t json_read_i64(struct json_reader *js);
uint64_t json_read_u64(struct json_reader *js);

/* Go over a value, whatever it is. Of its inside only strings and the depth are checked. */
void json_read_skip(struct json_reader *js);

#endif
