/* SPDX-License-Identifier: Apache-2.0 */
/* Format files of tracepoints. */
#include "event/tracepoint_format.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/reader.h"

enum {
	FIELDS_MAX = 256,
	FIELD_END_MAX = 65536, /* records are a page at most; what says more is no format */
};

static const char data_loc[] = "__data_loc ";
static const char rel_loc[] =
	"__rel_loc "; /* from the field's own end on: no program reads those */

struct text {
	const char *pos;
	size_t len;
};

static struct text trim(struct text text)
{
	while (text.len && isspace((unsigned char)*text.pos)) {
		text.pos++;
		text.len--;
	}
	while (text.len && isspace((unsigned char)text.pos[text.len - 1]))
		text.len--;
	return text;
}

static bool cut_prefix(struct text *text, const char *prefix)
{
	size_t len = strlen(prefix);

	if (text->len < len || memcmp(text->pos, prefix, len))
		return false;
	text->pos += len;
	text->len -= len;
	return true;
}

/* The next part of @rd up to a ';', and whether it was "@key:", which is cut off. */
static bool next_part(struct reader *rd, const char *key, struct text *out)
{
	struct text part;

	part.pos = reader_until(rd, ';', &part.len);
	if (!part.pos)
		return false;
	part = trim(part);
	if (!cut_prefix(&part, key))
		return false;
	*out = part;
	return true;
}

static bool part_number(struct reader *rd, const char *key, uint64_t max, uint64_t *out)
{
	struct text part;
	struct reader number;

	if (!next_part(rd, key, &part))
		return false;
	reader_init(&number, part.pos, part.len);
	*out = reader_number(&number, 10);
	return !number.err && reader_done(&number) && *out <= max;
}

static bool is_name_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_';
}

/* "unsigned long args[6]": the name, and the type without it. -EBADMSG: not of this form. */
static int split_declaration(struct text decl, struct event_field *field)
{
	struct text name = decl, bounds = {decl.pos + decl.len, 0};
	const char *bracket = memchr(decl.pos, '[', decl.len);
	int len;

	/* "char[] filename" of a __data_loc has its brackets before the name. */
	if (bracket && decl.pos[decl.len - 1] == ']') {
		name.len = (size_t)(bracket - decl.pos);
		bounds = (struct text){bracket, decl.len - name.len};
	}
	name = trim(name);
	decl.len = (size_t)(name.pos + name.len - decl.pos);
	for (name.pos += name.len, name.len = 0; name.pos > decl.pos && is_name_byte(name.pos[-1]);)
		name.pos--, name.len++;
	decl.len -= name.len;
	decl = trim(decl);
	if (!name.len || !decl.len)
		return -EBADMSG;
	field->is_array = bounds.len;
	field->name = strndup(name.pos, name.len);
	len = asprintf(&field->type, "%.*s%.*s", (int)decl.len, decl.pos, (int)bounds.len,
		       bounds.pos);
	if (len < 0)
		field->type = NULL;
	return field->name && field->type ? 0 : -ENOMEM;
}

static bool is_characters(const struct event_field *field)
{
	const char *type = field->type;

	if (!field->is_array && !field->is_data_loc)
		return false;
	if (!strncmp(type, "const ", 6))
		type += 6;
	return !strncmp(type, "char", 4) && !is_name_byte(type[4]) && !strchr(type, '*');
}

/* 0; -EBADMSG: no field that can be offered; -ENOMEM. */
static int parse_field(const char *line, size_t len, struct event_field *out)
{
	uint64_t off, size, is_signed;
	struct text decl;
	struct reader rd;
	int err;

	reader_init(&rd, line, len);
	if (memchr(line, '\0', len) || !next_part(&rd, "field:", &decl) ||
	    !part_number(&rd, "offset:", FIELD_END_MAX, &off) ||
	    !part_number(&rd, "size:", FIELD_END_MAX - off, &size) ||
	    !part_number(&rd, "signed:", 1, &is_signed) || cut_prefix(&decl, rel_loc))
		return -EBADMSG;
	*out = (struct event_field){
		.off = (uint32_t)off, .size = (uint32_t)size, .is_signed = is_signed};
	out->is_data_loc = cut_prefix(&decl, data_loc);
	err = decl.len ? split_declaration(decl, out) : -EBADMSG;
	if (!err && (!strncmp(out->name, "common_", 7) || (out->is_data_loc && size != 4)))
		err = -EBADMSG;
	if (err)
		event_field_deinit(out);
	else
		out->is_string = is_characters(out);
	return err;
}

static int add_field(struct tracepoint_format *format, const char *line, size_t len)
{
	struct event_field field;
	int err = parse_field(line, len, &field);

	if (err)
		return err == -EBADMSG ? 0 : err;
	err = format->cnt < FIELDS_MAX ? array_reserve(&format->fields, &format->cap,
						       format->cnt + 1, sizeof(*format->fields))
				       : -EBADMSG;
	if (err)
		event_field_deinit(&field);
	else
		format->fields[format->cnt++] = field;
	return err;
}

int tracepoint_format_parse(const char *text, size_t len, struct tracepoint_format *out)
{
	struct tracepoint_format format = {0};
	bool has_id = false;
	struct reader rd;
	const char *line;
	size_t line_len;
	int err = 0;

	reader_init(&rd, text, len);
	while (!err && (line = reader_until(&rd, '\n', &line_len))) {
		struct text words = {line, line_len};

		if (cut_prefix(&words, "ID: ")) {
			struct reader number;

			reader_init(&number, words.pos, words.len);
			format.id = reader_number(&number, 10);
			has_id = !number.err;
		} else {
			err = add_field(&format, line, line_len);
		}
	}
	if (!err && !has_id)
		err = -EBADMSG;
	if (err)
		tracepoint_format_deinit(&format);
	else
		*out = format;
	return err;
}

void tracepoint_format_deinit(struct tracepoint_format *format)
{
	for (size_t i = 0; i < format->cnt; i++)
		event_field_deinit(&format->fields[i]);
	free(format->fields);
	*format = (struct tracepoint_format){0};
}

static bool is_alike(const struct event_field *one, const struct event_field *two)
{
	return !strcmp(one->name, two->name) && !strcmp(one->type, two->type) &&
	       one->off == two->off && one->size == two->size && one->is_signed == two->is_signed &&
	       one->is_data_loc == two->is_data_loc;
}

void tracepoint_format_intersect(struct tracepoint_format *format,
				 const struct tracepoint_format *other)
{
	size_t kept = 0;

	for (size_t i = 0; i < format->cnt; i++) {
		bool found = false;

		for (size_t k = 0; k < other->cnt && !found; k++)
			found = is_alike(&format->fields[i], &other->fields[k]);
		if (found)
			format->fields[kept++] = format->fields[i];
		else
			event_field_deinit(&format->fields[i]);
	}
	format->cnt = kept;
}
