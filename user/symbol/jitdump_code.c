/* SPDX-License-Identifier: Apache-2.0 */
/* Names and lines of single records. */
#include "symbol/jitdump_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/search.h"
#include "profile/ledger.h"
#include "symbol/addresses.h"

enum {
	/*
	 * V8 writes its addresses so much too high, to make good that perf puts the code behind
	 * the header of an ELF file ("kElfHeaderSize" in its perf-jit.cc).
	 */
	V8_LINE_SHIFT = 0x40,
	LINE_BYTES_MIN = 17, /* the address, the line, the column, and an empty name */
	LINES_ALIGN_BYTES = 8, /* what a record may be rounded up to */
};

struct dump_line {
	uint64_t off; /* from the start of the code */
	uint32_t nr; /* in the record */
	uint32_t line;
	const char *file; /* borrowed */
};

struct dump_lines {
	uint8_t *bytes; /* owned: the record */
	struct dump_line *items; /* owned: ascending */
	size_t cnt, cap;
};

static void lines_deinit(struct dump_lines *lines)
{
	free(lines->bytes);
	free(lines->items);
}

/* The record at @off; @head is its memory. 0, -EBADMSG, or negative errno. */
static int read_record(const struct dump_file *file, uint64_t off, uint8_t *head,
		       struct dump_record *out)
{
	ssize_t got = fs_read_at(file->fd, head, DUMP_HEAD_BYTES, off);
	struct reader rd;

	if (got < 0)
		return (int)got;
	reader_init(&rd, head, (size_t)got);
	rd.big_endian = file->is_big_endian;
	out->id = reader_u32(&rd);
	out->bytes = reader_u32(&rd);
	out->time_ns = reader_u64(&rd);
	out->off = off;
	out->body = rd;
	return rd.err;
}

int dump_code_move(const struct dump_file *file, const struct dump_code *code,
		   struct dump_move *out)
{
	uint8_t head[DUMP_HEAD_BYTES];
	struct dump_record record;
	int err = read_record(file, code->record_off, head, &record);

	if (err)
		return err;
	return dump_record_move(&record, out) ? 0 : -EBADMSG;
}

/* The name in the DUMP_LOAD @record into *@out, STRTAB_NONE when it has none. 0 or negative errno.
 */
static int read_name(const struct dump_file *file, const struct dump_record *record,
		     struct strtab *strings, uint32_t *out)
{
	/* Of a longer one enough that it is seen to be longer. */
	char text[JITDUMP_NAME_BYTES_MAX + 2], cut[JITDUMP_NAME_BYTES_MAX + 1];
	uint64_t bytes = record->bytes - DUMP_LOAD_BYTES;
	ssize_t got =
		fs_read_at(file->fd, text, bytes < sizeof(text) - 1 ? bytes : sizeof(text) - 1,
			   record->off + DUMP_LOAD_BYTES);
	size_t len;

	if (got < 0)
		return (int)got;
	*out = STRTAB_NONE;
	text[got] = '\0';
	len = strlen(text);
	/* Without an end it is not one, but for the long ones. */
	if (!len || (len == (size_t)got && len <= JITDUMP_NAME_BYTES_MAX))
		return 0;
	ledger_copy_name(cut, sizeof(cut), text);
	*out = strtab_add(strings, cut, strlen(cut));
	return *out == STRTAB_NONE ? -ENOMEM : 0;
}

static int line_cmp(const void *left, const void *right)
{
	const struct dump_line *lhs = left, *rhs = right;

	if (lhs->off != rhs->off)
		return lhs->off < rhs->off ? -1 : 1;
	return (lhs->nr > rhs->nr) - (lhs->nr < rhs->nr);
}

/* Do all of @lines lie in @load's code, and if so, from where are they counted? */
static bool place_lines(struct dump_lines *lines, const struct dump_load *load)
{
	uint64_t shift;

	if (!lines->cnt)
		return false;
	qsort(lines->items, lines->cnt, sizeof(*lines->items), line_cmp);
	shift = lines->items[0].off < V8_LINE_SHIFT ? 0 : V8_LINE_SHIFT;
	for (size_t i = 0; i < lines->cnt; i++)
		lines->items[i].off -= shift;
	return lines->items[lines->cnt - 1].off <= load->bytes;
}

/* The entries of @rd, which is a DUMP_DEBUG_INFO behind what all records begin with. */
static int parse_lines(struct reader *rd, const struct dump_load *load, struct dump_lines *lines)
{
	uint64_t start = reader_u64(rd), cnt = reader_u64(rd);
	const char *file = "";

	if (start != load->start || cnt > reader_left(rd) / LINE_BYTES_MIN)
		return -EBADMSG;
	if (array_reserve(&lines->items, &lines->cap, cnt, sizeof(*lines->items)))
		return -ENOMEM;
	for (; lines->cnt < cnt; lines->cnt++) {
		struct dump_line line = {.off = reader_u64(rd) - start, .nr = lines->cnt};
		const char *name;

		line.line = reader_u32(rd);
		reader_u32(rd); /* the column, by some */
		name = reader_cstr(rd, NULL);
		if (!name)
			return -EBADMSG;
		if (strcmp(name, "\xff") != 0) /* else: as before */
			file = name;
		line.file = file;
		lines->items[lines->cnt] = line;
	}
	if (reader_left(rd) >= LINES_ALIGN_BYTES)
		return -EBADMSG;
	return place_lines(lines, load) ? 0 : -EBADMSG;
}

/* The lines of @load's code. 0; -EBADMSG: none that can be believed; negative errno. */
static int read_lines(const struct dump_file *file, uint64_t off, const struct dump_load *load,
		      struct dump_lines *lines)
{
	uint8_t head[DUMP_HEAD_BYTES];
	struct dump_record record;
	struct reader rd;
	ssize_t got;
	int err = read_record(file, off, head, &record);

	if (err)
		return err;
	if (record.id != DUMP_DEBUG_INFO || record.bytes < DUMP_DEBUG_BYTES ||
	    record.bytes > JITDUMP_LINES_BYTES_MAX)
		return -EBADMSG;
	lines->bytes = malloc(record.bytes);
	if (!lines->bytes)
		return -ENOMEM;
	got = fs_read_at(file->fd, lines->bytes, record.bytes, off);
	if (got < 0)
		return (int)got;
	reader_init(&rd, lines->bytes, (size_t)got);
	rd.big_endian = file->is_big_endian;
	reader_skip(&rd, DUMP_RECORD_BYTES);
	return parse_lines(&rd, load, lines);
}

/* The line that governs @off in the code; NULL: that is before the first. */
static const struct dump_line *find_line(const struct dump_lines *lines, uint64_t off)
{
	size_t cnt = SEARCH_CNT(i, lines->cnt, lines->items[i].off <= off);

	return cnt ? &lines->items[cnt - 1] : NULL;
}

static int set_line(const struct dump_line *line, struct strtab *strings, struct jitdump_name *out)
{
	char cut[JITDUMP_NAME_BYTES_MAX + 1];

	if (!line || !line->file[0])
		return 0;
	ledger_copy_name(cut, sizeof(cut), line->file);
	out->file = strtab_add(strings, cut, strlen(cut));
	out->line = line->line;
	return out->file == STRTAB_NONE ? -ENOMEM : 0;
}

static int name_lines(struct dump_file *file, const struct dump_code *code,
		      const struct dump_load *load, const uint64_t *addresses, size_t cnt,
		      struct strtab *strings, struct jitdump_name *names)
{
	_cleanup_(lines_deinit) struct dump_lines lines = {0};
	int err = read_lines(file, code->debug_off, load, &lines);

	dump_file_is_late(file, lines.cnt * 8);
	if (err)
		return err == -EBADMSG ? 0 : err;
	for (size_t i = 0; i < cnt && !err; i++)
		err = set_line(find_line(&lines, addresses[i] - code->start), strings, &names[i]);
	return err;
}

int dump_code_name(struct dump_file *file, const struct dump_code *code, const uint64_t *addresses,
		   size_t cnt, struct strtab *strings, struct jitdump_name *names)
{
	uint8_t head[DUMP_HEAD_BYTES];
	struct dump_record record;
	struct dump_load load;
	uint32_t name = STRTAB_NONE;
	size_t named_cnt = 0;
	int err = code->record_off ? read_record(file, code->record_off, head, &record) : -EBADMSG;

	if (!err && !dump_record_load(&record, &load))
		err = -EBADMSG;
	if (!err)
		err = read_name(file, &record, strings, &name);
	/* A move may say that more has come than was there. */
	while (name != STRTAB_NONE && named_cnt < cnt &&
	       addresses[named_cnt] - code->start < load.bytes)
		named_cnt++;
	for (size_t i = 0; i < cnt; i++)
		names[i] = (struct jitdump_name){
			.name = i < named_cnt ? name : STRTAB_NONE,
			.file = STRTAB_EMPTY,
		};
	if (err || !named_cnt || !code->debug_off || dump_file_is_late(file, 1))
		return err == -EBADMSG ? 0 : err;
	return name_lines(file, code, &load, addresses, named_cnt, strings, names);
}
