/* SPDX-License-Identifier: Apache-2.0 */
/* File tables of line tables: DWARF 4, section 6.2.4, items 11 and 12; DWARF 5, items 14 to 22. */
#include "elf/dwarf_line_files.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "elf/dwarf_const.h"

static int note(uint64_t **offs, size_t *cnt, size_t *cap, const struct reader *rd)
{
	int err = array_reserve(offs, cap, *cnt + 1, sizeof(**offs));

	if (!err)
		(*offs)[(*cnt)++] = reader_offset(rd);
	return err;
}

/* --- Before version 5: strings until an empty one --- */

static int read_old(struct dwarf_lines *lines, struct reader *rd)
{
	int err = 0;

	while (!err && !reader_done(rd) && *rd->pos) {
		err = note(&lines->dirs, &lines->dirs_cnt, &lines->dirs_cap, rd);
		reader_cstr(rd, NULL);
	}
	reader_skip(rd, 1);
	while (!err && !reader_done(rd) && *rd->pos) {
		err = note(&lines->files, &lines->files_cnt, &lines->files_cap, rd);
		reader_cstr(rd, NULL);
		for (int i = 0; i < 3; i++)
			reader_uleb128(rd); /* directory, time, length */
	}
	return err ? err : rd->err;
}

/* --- From version 5 on: counted, and the layout is described --- */

static int read_formats(struct dwarf_line_formats *formats, struct dwarf_sizes sizes,
			struct reader *rd)
{
	formats->cnt = reader_u8(rd);
	if (formats->cnt > LINES_FORMATS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < formats->cnt; i++) {
		uint64_t name = reader_uleb128(rd);
		uint64_t form = reader_uleb128(rd);
		int extent = form <= UINT16_MAX ? dwarf_form_extent((uint16_t)form, sizes) : 0;

		/* Entries of no bytes could be any number. */
		if (name > UINT16_MAX || !extent)
			return -EBADMSG;
		formats->items[i] = (struct dwarf_spec){
			.name = (uint16_t)name,
			.form = (uint16_t)form,
			.extent = (int8_t)extent,
		};
	}
	return rd->err;
}

static int read_entries(const struct dwarf_line_formats *formats, struct dwarf_sizes sizes,
			struct reader *rd, uint64_t **offs, size_t *cnt, size_t *cap)
{
	uint64_t left = reader_uleb128(rd);

	if (left && !formats->cnt)
		return -EBADMSG;
	for (; left && !rd->err; left--) {
		int err = note(offs, cnt, cap, rd);

		if (err)
			return err;
		for (size_t i = 0; i < formats->cnt; i++)
			dwarf_extent_skip(formats->items[i].extent, sizes, rd);
	}
	return rd->err;
}

static int read_new(struct dwarf_lines *lines, struct reader *rd)
{
	int err = read_formats(&lines->dir_formats, lines->sizes, rd);

	if (!err)
		err = read_entries(&lines->dir_formats, lines->sizes, rd, &lines->dirs,
				   &lines->dirs_cnt, &lines->dirs_cap);
	if (!err)
		err = read_formats(&lines->file_formats, lines->sizes, rd);
	if (!err)
		err = read_entries(&lines->file_formats, lines->sizes, rd, &lines->files,
				   &lines->files_cnt, &lines->files_cap);
	return err;
}

int dwarf_line_files_read(struct dwarf_lines *lines, struct reader *rd)
{
	return lines->sizes.version >= 5 ? read_new(lines, rd) : read_old(lines, rd);
}

/* --- Paths --- */

/* An entry of either table; a name of NULL: malformed. */
struct entry {
	const char *name;
	uint64_t dir;
};

static struct entry entry_new(const struct dwarf_lines *lines, const struct dwarf_unit *unit,
			      const struct dwarf_line_formats *formats, struct reader *rd)
{
	/* Strings of the table are the unit's, read by the sizes of the table. */
	struct dwarf_unit owner = {
		.image = lines->image,
		.sizes = lines->sizes,
		.str_offsets_base = unit->str_offsets_base,
	};
	struct entry entry = {0};

	for (size_t i = 0; i < formats->cnt && !rd->err; i++) {
		struct dwarf_value value;

		dwarf_value_read(&owner, &formats->items[i], rd, &value);
		if (formats->items[i].name == DW_LNCT_path)
			entry.name = dwarf_value_string(&owner, &value);
		else if (formats->items[i].name == DW_LNCT_directory_index)
			entry.dir = value.number;
	}
	if (rd->err)
		entry.name = NULL;
	return entry;
}

static struct entry entry_read(const struct dwarf_lines *lines, const struct dwarf_unit *unit,
			       const struct dwarf_line_formats *formats, uint64_t off)
{
	struct reader rd = dwarf_reader(lines->image, DWARF_LINE, off);
	struct entry entry;

	if (lines->sizes.version >= 5)
		return entry_new(lines, unit, formats, &rd);
	entry.name = reader_cstr(&rd, NULL);
	entry.dir = formats == &lines->file_formats ? reader_uleb128(&rd) : 0;
	return entry;
}

/* The directory of number @dir, where 0 is the compilation's and needs no saying before version 5.
 */
static const char *dir_name(const struct dwarf_lines *lines, const struct dwarf_unit *unit,
			    uint64_t dir)
{
	if (lines->sizes.version < 5 && !dir--)
		return NULL;
	if (dir >= lines->dirs_cnt)
		return NULL;
	return entry_read(lines, unit, &lines->dir_formats, lines->dirs[dir]).name;
}

static void add_part(struct buf *out, const char *part)
{
	size_t len = strlen(part);

	buf_add(out, part, len);
	if (len && part[len - 1] != '/')
		buf_add_char(out, '/');
}

int dwarf_lines_path(const struct dwarf_lines *lines, const struct dwarf_unit *unit, uint32_t file,
		     struct buf *out)
{
	uint64_t index = lines->sizes.version < 5 ? (uint64_t)file - 1 : file;
	const char *dir = NULL;
	struct entry entry;

	if (index >= lines->files_cnt)
		return -ENOENT;
	entry = entry_read(lines, unit, &lines->file_formats, lines->files[index]);
	if (!entry.name || !*entry.name)
		return -ENOENT;
	if (*entry.name != '/')
		dir = dir_name(lines, unit, entry.dir);
	if (*entry.name != '/' && (!dir || *dir != '/') && unit->comp_dir)
		add_part(out, unit->comp_dir);
	if (dir)
		add_part(out, dir);
	buf_add_str(out, entry.name);
	return out->err ? -ENOENT : 0;
}
