/* SPDX-License-Identifier: Apache-2.0 */
/* From an address to its unit, to its functions and its line. */
#include "elf/dwarf_index_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/dwarf_const.h"
#include "elf/dwarf_ranges.h"
#include "elf/elf_priv.h"

enum {
	BUDGET_DEFAULT_BYTES = 64 << 20,
	FUEL_LEAST_BYTES = 1 << 20,
	/* Paths of source files, together. */
	PATHS_MAX_BYTES = 4 << 20,
	PATH_MAX_BYTES = 8192,
	ALT_LINK_MAX_BYTES = PATH_MAX_BYTES + BUILD_ID_MAX,
};

/* --- Opening --- */

static void open_alt(struct dwarf_index *index, const struct dwarf_index_opts *opts)
{
	struct dwarf_alt_link link;

	if (opts->alt_fd < 0 || dwarf_alt_link(index->image.elf, &link) ||
	    !dwarf_alt_is(&link, opts->alt_fd) ||
	    dwarf_image_open(&index->alt, opts->alt_fd, false, opts->root_fd >= 0, &index->account))
		return;
	index->has_alt = true;
	index->image.alt = &index->alt;
}

static int index_finish(struct dwarf_index *index, const struct dwarf_index_opts *opts)
{
	int err;

	index->split_files.account = &index->account;
	index->split_files.root_fd = opts->root_fd;
	index->budget_bytes = opts->budget_bytes ? opts->budget_bytes : BUDGET_DEFAULT_BYTES;
	buf_init(&index->path, PATH_MAX_BYTES);
	err = strtab_init(&index->paths);
	if (err)
		return err;
	if (opts->path && !(index->split_files.path = strdup(opts->path)))
		return -ENOMEM;
	open_alt(index, opts);
	return 0;
}

int dwarf_index_new(struct elf_file *elf, const struct dwarf_index_opts *opts,
		    struct dwarf_index **out)
{
	struct dwarf_index *index = calloc(1, sizeof(*index));
	int err;

	if (!index)
		return -ENOMEM;
	index->split_files.root_fd = -1;
	index->account.deadline_ns = opts->deadline_ns;
	err = dwarf_image_init(&index->image, elf, false, &index->account);
	if (!err)
		err = index_finish(index, opts);
	if (err) {
		dwarf_index_free(index);
		return err;
	}
	*out = index;
	return 0;
}

int dwarf_index_open(int fd, const struct dwarf_index_opts *opts, struct dwarf_index **out)
{
	struct elf_file *elf = elf_file_open_wary(fd, opts->root_fd >= 0);
	int err;

	if (!elf)
		return -errno;
	err = dwarf_index_new(elf, opts, out);
	if (err) {
		elf_file_free(elf);
		return err;
	}
	elf_cntl(elf->elf, ELF_C_FDDONE);
	(*out)->image.is_elf_owned = true;
	return 0;
}

void dwarf_index_free(struct dwarf_index *index)
{
	if (!index)
		return;
	dwarf_image_deinit(&index->image);
	dwarf_image_deinit(&index->alt);
	dwarf_split_files_deinit(&index->split_files);
	addr_map_deinit(&index->units);
	strtab_deinit(&index->paths);
	buf_deinit(&index->path);
	free(index);
}

int dwarf_alt_link(const struct elf_file *elf, struct dwarf_alt_link *out)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf->elf, scn))) {
		struct dwarf_alt_link link = {0};
		struct reader rd;
		Elf_Data *data;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS ||
		    strcmp(elf_section_name(elf, &shdr), ".gnu_debugaltlink"))
			continue;
		data = elf_section_bytes(scn, ALT_LINK_MAX_BYTES);
		if (!data)
			return -ENOENT;
		reader_init(&rd, data->d_buf, data->d_size);
		link.name = reader_cstr(&rd, NULL);
		link.build_id_len = reader_left(&rd);
		link.build_id = reader_bytes(&rd, link.build_id_len);
		if (rd.err || !*link.name || !link.build_id_len)
			return -ENOENT;
		*out = link;
		return 0;
	}
	return -ENOENT;
}

bool dwarf_alt_is(const struct dwarf_alt_link *link, int fd)
{
	/* Not elf_build_id_fd(): such a file has no program headers. */
	struct elf_file *alt = elf_file_open_unmapped(fd);
	uint8_t build_id[BUILD_ID_MAX];
	size_t len = alt ? elf_build_id(alt, build_id, sizeof(build_id)) : 0;

	elf_file_free(alt);
	return link->build_id_len == len && !memcmp(link->build_id, build_id, len);
}

/* --- Memory --- */

size_t dwarf_index_bytes(const struct dwarf_index *index)
{
	return index->account.held_bytes;
}

/* A unit that is held. */
struct held {
	struct dwarf_image *image;
	struct dwarf_unit_slot *slot;
};

struct held_list {
	struct held *items; /* owned */
	size_t cnt, cap;
};

static int list_held(struct dwarf_image *image, struct held_list *list)
{
	for (size_t i = 0; i < image->slots_cnt; i++) {
		int err;

		if (!image->slots[i].cu)
			continue;
		err = array_reserve(&list->items, &list->cap, list->cnt + 1, sizeof(*list->items));
		if (err)
			return err;
		list->items[list->cnt++] = (struct held){image, &image->slots[i]};
	}
	return 0;
}

static int compare_held(const void *left, const void *right)
{
	uint64_t a = ((const struct held *)left)->slot->cu->used_at;
	uint64_t b = ((const struct held *)right)->slot->cu->used_at;

	return (a > b) - (a < b);
}

/*
 * Beyond the budget a quarter of it is freed, so that the list is not made for every lookup. The
 * unit used last stays: one that is larger than the budget would be read for every address in it.
 */
static void forget_old(struct dwarf_index *index)
{
	size_t keep_bytes = index->budget_bytes / 4 * 3;
	struct held_list list = {0};

	if (index->account.held_bytes <= index->budget_bytes)
		return;
	if (!list_held(&index->image, &list) && !list_held(&index->alt, &list) && list.cnt)
		qsort(list.items, list.cnt, sizeof(*list.items), compare_held);
	for (size_t i = 0; i + 1 < list.cnt && index->account.held_bytes > keep_bytes; i++)
		dwarf_cu_drop(list.items[i].image, list.items[i].slot);
	free(list.items);
}

/* --- Units by address --- */

/* The table that the unit before had: many share one. */
struct last_abbrevs {
	struct dwarf_abbrevs abbrevs;
	struct dwarf_sizes sizes;
	uint64_t off;
	bool is_valid;
};

static bool is_same_table(const struct last_abbrevs *last, const struct dwarf_unit *unit,
			  uint64_t code)
{
	return last->is_valid && last->off == unit->abbrev_off &&
	       !memcmp(&last->sizes, &unit->sizes, sizeof(last->sizes)) &&
	       dwarf_abbrevs_find(&last->abbrevs, code);
}

/* Read what the first entry says; of the abbreviations only as many as that takes. */
static int read_root_only(struct dwarf_unit *unit, struct last_abbrevs *last)
{
	struct reader rd = dwarf_unit_reader(unit, unit->root_off);
	uint64_t code = reader_uleb128(&rd);
	int err;

	if (rd.err || !code)
		return -EBADMSG;
	if (!is_same_table(last, unit, code)) {
		dwarf_abbrevs_deinit(&last->abbrevs);
		last->is_valid = false;
		err = dwarf_abbrevs_read(unit->image, unit->abbrev_off, unit->sizes, code,
					 &last->abbrevs);
		if (err)
			return err;
		last->off = unit->abbrev_off;
		last->sizes = unit->sizes;
		last->is_valid = true;
	}
	unit->abbrevs = last->abbrevs;
	err = dwarf_unit_read_root(unit);
	unit->abbrevs = (struct dwarf_abbrevs){0};
	return err;
}

/*
 * From a slot to its number in the map of units, and back. Of units at one place the first has it,
 * so its number is the greater: a linker that keeps one function of several equal ones keeps the
 * first, and GNU ld lets the others' entries point to it as well.
 */
static size_t unit_number(const struct dwarf_image *image, size_t slot)
{
	return image->slots_cnt - 1 - slot;
}

static int add_units(struct dwarf_image *image, struct dwarf_spans *spans)
{
	struct last_abbrevs last = {0};
	int err = 0;

	for (size_t i = 0; !err && i < image->slots_cnt; i++) {
		struct dwarf_unit unit;

		if (dwarf_unit_init(image, image->slots[i].off, &unit) || unit.type == DW_UT_type ||
		    unit.type == DW_UT_split_type)
			continue;
		err = read_root_only(&unit, &last);
		/* A broken unit loses its own names only. */
		if (!err)
			err = dwarf_spans_add(spans, &unit, &unit.where,
					      (uint32_t)unit_number(image, i));
		else if (err == -EBADMSG)
			err = 0;
	}
	dwarf_abbrevs_deinit(&last.abbrevs);
	return err;
}

static int map_units(struct dwarf_index *index)
{
	struct dwarf_spans spans = {0};
	int err;

	if (index->is_mapped)
		return 0;
	index->is_mapped = true;
	err = dwarf_units_read(&index->image);
	/* Out of fuel: what was found is still good. */
	if (!err || err == -E2BIG)
		err = add_units(&index->image, &spans);
	if (!err || err == -E2BIG)
		err = addr_map_build(spans.items, spans.cnt, &index->units);
	dwarf_spans_deinit(&spans);
	return err;
}

/* --- Lookups --- */

int dwarf_index_begin(struct dwarf_index *index)
{
	uint64_t bytes = dwarf_image_bytes(&index->image);
	int err = 0;

	if (dwarf_is_late(&index->account))
		return -ETIME;
	forget_old(index);
	if (index->has_alt)
		bytes += dwarf_image_bytes(&index->alt);
	if (index->split_files.has_package)
		bytes += dwarf_image_bytes(&index->split_files.package);
	index->account.fuel_bytes = bytes * DWARF_FUEL_PASSES + FUEL_LEAST_BYTES;
	index->lookup++;
	if (index->paths.bytes_len > PATHS_MAX_BYTES) {
		strtab_deinit(&index->paths);
		err = strtab_init(&index->paths);
	}
	return err ? err : map_units(index);
}

struct dwarf_cu *dwarf_index_cu(struct dwarf_index *index, uint64_t vaddr, uint64_t *lo,
				uint64_t *hi)
{
	uint32_t number = addr_map_piece(&index->units, vaddr, lo, hi);
	struct dwarf_image *image = &index->image;
	struct dwarf_cu *cu;

	if (number == (uint32_t)ADDR_MAP_NONE)
		return NULL;
	cu = dwarf_cu_get(image, &image->slots[unit_number(image, number)]);
	if (!cu)
		return NULL;
	cu->used_at = index->lookup;
	dwarf_cu_need_code(cu, &index->split_files);
	dwarf_cu_need_lines(cu);
	return cu;
}

uint32_t dwarf_index_path(struct dwarf_index *index, const struct dwarf_cu *cu, uint32_t file)
{
	uint32_t id;

	buf_reset(&index->path);
	if (dwarf_lines_path(&cu->lines, &cu->unit, file, &index->path))
		return STRTAB_EMPTY;
	id = strtab_add(&index->paths, buf_cstr(&index->path), index->path.len);
	return id == STRTAB_NONE ? (uint32_t)STRTAB_EMPTY : id;
}

bool dwarf_index_is_split(const struct dwarf_index *index)
{
	return index->split_files.is_asked;
}
