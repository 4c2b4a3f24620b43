/* SPDX-License-Identifier: Apache-2.0 */
/* Opening .dwo files and packages, and finding the unit in them. */
#include "elf/dwarf_split.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "elf/dwarf_const.h"
#include "elf/dwarf_cu.h"
#include "elf/root_file.h"

enum {
	PATH_MAX_BYTES = 4096,
	UNITS_TRIED_MAX = 1 << 16, /* of a .dwo file; all but one are of types */
	INDEX_HEADER_BYTES = 16,
	COLUMNS_MAX = 8,
};

/* --- Files --- */

/* Open "@dir/@name" (just "@name" without @dir) into @out; false when that is no DWARF file. */
static bool open_image(const struct dwarf_split_files *files, const char *dir, size_t dir_len,
		       const char *name, struct dwarf_image *out)
{
	_cleanup_(buf_deinit) struct buf path;
	_cleanup_close_ int host_fd = -1;
	_cleanup_close_ int fd = -1;

	buf_init(&path, PATH_MAX_BYTES);
	buf_add(&path, dir, dir_len);
	if (dir_len)
		buf_add_char(&path, '/');
	buf_add_str(&path, name);
	if (path.err)
		return false;
	if (files->root_fd < 0)
		host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = root_file_open(files->root_fd < 0 ? host_fd : files->root_fd, buf_cstr(&path));
	if (fd < 0 || dwarf_image_open(out, fd, true, files->root_fd >= 0, files->account))
		return false;
	files->account->fuel_bytes += dwarf_image_bytes(out) * DWARF_FUEL_PASSES;
	return true;
}

/* --- Packages --- */

/* The index by unit id: a hash table of ids, one of rows, and a matrix of parts. */
struct package_index {
	struct reader rd; /* at the ids */
	uint32_t columns_cnt, units_cnt, slots_cnt;
};

static bool package_index_read(struct dwarf_image *package, struct package_index *out)
{
	struct reader rd = dwarf_reader(package, DWARF_CU_INDEX, 0);
	struct package_index index = {0};
	uint64_t bytes;

	/* Version 2 has 4 bytes here; 5 has 2, and as many of padding. */
	reader_skip(&rd, 4);
	index.columns_cnt = reader_u32(&rd);
	index.units_cnt = reader_u32(&rd);
	index.slots_cnt = reader_u32(&rd);
	if (rd.err || !index.columns_cnt || index.columns_cnt > COLUMNS_MAX || !index.slots_cnt ||
	    (index.slots_cnt & (index.slots_cnt - 1)))
		return false;
	bytes = 12ULL * index.slots_cnt + 4ULL * index.columns_cnt +
		8ULL * index.columns_cnt * index.units_cnt;
	index.rd = rd;
	*out = index;
	return bytes <= reader_left(&rd);
}

static uint32_t index_u32(const struct package_index *index, uint64_t off)
{
	struct reader rd = index->rd;

	reader_skip(&rd, off);
	return reader_u32(&rd);
}

/* The row, from 1 on, of unit @dwo_id; 0: it is not there. */
static uint32_t package_row(const struct package_index *index, uint64_t dwo_id)
{
	uint64_t mask = index->slots_cnt - 1;
	uint64_t slot = dwo_id & mask, stride = (dwo_id >> 32 & mask) | 1;

	for (uint32_t i = 0; i < index->slots_cnt; i++, slot = (slot + stride) & mask) {
		struct reader rd = index->rd;
		uint32_t row = index_u32(index, 8ULL * index->slots_cnt + 4 * slot);
		uint64_t id;

		reader_skip(&rd, 8 * slot);
		id = reader_u64(&rd);
		if (!row)
			return 0;
		if (id == dwo_id)
			return row <= index->units_cnt ? row : 0;
	}
	return 0;
}

/* Where in its section the part of kind @section of @row begins; 0 when it has none. */
static uint64_t package_part(const struct package_index *index, uint32_t row, uint32_t section)
{
	uint64_t columns_off = 12ULL * index->slots_cnt;
	uint64_t row_off = columns_off + 4ULL * index->columns_cnt * row;

	for (uint32_t i = 0; i < index->columns_cnt; i++)
		if (index_u32(index, columns_off + 4ULL * i) == section)
			return index_u32(index, row_off + 4ULL * i);
	return 0;
}

static bool find_in_package(struct dwarf_image *package, uint64_t dwo_id, struct dwarf_unit *unit)
{
	struct package_index index;
	uint32_t row;

	if (!package_index_read(package, &index))
		return false;
	row = package_row(&index, dwo_id);
	if (!row || dwarf_unit_init(package, package_part(&index, row, DW_SECT_INFO), unit))
		return false;
	unit->abbrev_off += package_part(&index, row, DW_SECT_ABBREV);
	if (dwarf_unit_read_root(unit))
		return false;
	unit->str_offsets_base += package_part(&index, row, DW_SECT_STR_OFFSETS);
	if (unit->sizes.version >= 5)
		unit->rnglists_base += package_part(&index, row, DW_SECT_RNGLISTS);
	return unit->has_dwo_id && unit->dwo_id == dwo_id;
}

static bool take_from_package(struct dwarf_split_files *files, uint64_t dwo_id,
			      struct dwarf_unit *unit)
{
	if (!files->is_package_tried) {
		_cleanup_(buf_deinit) struct buf name;

		files->is_package_tried = true;
		buf_init(&name, PATH_MAX_BYTES);
		buf_printf(&name, "%s.dwp", files->path);
		files->has_package =
			!name.err && open_image(files, "", 0, buf_cstr(&name), &files->package);
	}
	return files->has_package && find_in_package(&files->package, dwo_id, unit);
}

/* --- .dwo files --- */

static bool find_in_dwo(struct dwarf_image *image, uint64_t dwo_id, struct dwarf_unit *unit)
{
	if (dwarf_units_read(image))
		return false;
	for (size_t i = 0; i < image->slots_cnt && i < UNITS_TRIED_MAX; i++) {
		if (dwarf_unit_init(image, image->slots[i].off, unit))
			return false;
		if (unit->type != DW_UT_compile && unit->type != DW_UT_split_compile)
			continue;
		if (!dwarf_unit_read_root(unit) && unit->has_dwo_id && unit->dwo_id == dwo_id)
			return true;
		dwarf_unit_deinit(unit);
	}
	return false;
}

static bool try_dwo(const struct dwarf_split_files *files, const char *dir, size_t dir_len,
		    const char *name, uint64_t dwo_id, struct dwarf_split *split)
{
	if (!open_image(files, dir, dir_len, name, &split->image))
		return false;
	if (find_in_dwo(&split->image, dwo_id, &split->unit))
		return true;
	dwarf_image_deinit(&split->image);
	return false;
}

static bool take_from_dwo(const struct dwarf_split_files *files, const struct dwarf_unit *skeleton,
			  struct dwarf_split *split)
{
	const char *name = skeleton->dwo_name;
	const char *slash = strrchr(files->path, '/');
	const char *dir = slash ? files->path : ".";
	size_t dir_len = slash ? (size_t)(slash - files->path) : 1;
	const char *base = strrchr(name, '/');
	uint64_t id = skeleton->dwo_id;

	if (*name == '/') {
		if (try_dwo(files, "", 0, name, id, split))
			return true;
	} else if (skeleton->comp_dir &&
		   try_dwo(files, skeleton->comp_dir, strlen(skeleton->comp_dir), name, id, split))
		return true;
	if (*name != '/' && try_dwo(files, dir, dir_len, name, id, split))
		return true;
	return base && try_dwo(files, dir, dir_len, base + 1, id, split);
}

struct dwarf_split *dwarf_split_find(struct dwarf_split_files *files, struct dwarf_unit *skeleton)
{
	struct dwarf_split *split;

	files->is_asked |= skeleton->dwo_name != NULL;
	if (!files->path || !skeleton->dwo_name || !skeleton->has_dwo_id)
		return NULL;
	split = calloc(1, sizeof(*split));
	if (!split)
		return NULL;
	if (!take_from_package(files, skeleton->dwo_id, &split->unit)) {
		dwarf_unit_deinit(&split->unit);
		split->unit = (struct dwarf_unit){0};
		if (!take_from_dwo(files, skeleton, split)) {
			dwarf_split_free(split);
			return NULL;
		}
	}
	split->unit.skeleton = skeleton;
	return split;
}

void dwarf_split_free(struct dwarf_split *split)
{
	if (!split)
		return;
	dwarf_unit_deinit(&split->unit);
	dwarf_image_deinit(&split->image);
	free(split);
}

void dwarf_split_files_deinit(struct dwarf_split_files *files)
{
	if (files->has_package)
		dwarf_image_deinit(&files->package);
	free(files->path);
	*files = (struct dwarf_split_files){0};
}
