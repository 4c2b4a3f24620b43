/* SPDX-License-Identifier: Apache-2.0 */
/* Code and source on this host: see function_code.h. */
#include "cli/function_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "elf/debug_file.h"
#include "elf/functions.h"
#include "elf/root_file.h"
#include "elf/segments.h"

enum { SOURCE_MAX_BYTES = 16 << 20, TAB_COLUMNS = 8 };

/* --- Code --- */

/* The file of @map, if it is the one that was profiled; or a negative errno and @why. */
static int open_image(const struct profile *prof, const struct profile_mapping *map,
		      struct buf *why)
{
	const char *path = profile_str(prof, map->path);
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	uint8_t build_id[BUILD_ID_MAX];
	char hex[2 * BUILD_ID_MAX + 1] = "";

	if (path[0] != '/' || profile_path_is_anon(path)) {
		buf_printf(why, "the code of %s is in no file", *path ? path : "this module");
		return -ENOENT;
	}
	if (!*profile_str(prof, map->build_id)) {
		buf_printf(why,
			   "the profile has no build-id of %s: another file could be there now",
			   path);
		return -ENOENT;
	}
	fd = root_file_open(root_fd, path);
	if (fd < 0) {
		buf_printf(why, "%s: %s", path, strerror(-fd));
		return -ENOENT;
	}
	hex_format(build_id, elf_build_id_fd(fd, build_id, sizeof(build_id)), hex);
	if (strcmp(hex, profile_str(prof, map->build_id))) {
		buf_printf(why, "%s has another build-id than what was profiled", path);
		return -ENOENT;
	}
	return take_fd(&fd);
}

/* What is to be added to @address of @map to have that in the file @fd: profiles of others hold
 * addresses as they were in memory. */
static int find_shift(const struct profile_mapping *map, int fd, uint64_t address, uint64_t *out)
{
	_cleanup_(elf_segments_deinit) struct elf_segments segments = {0};
	int err = elf_segments_read(fd, &segments);
	uint64_t vaddr = address;

	if (err == -ENOMEM)
		return err;
	if (!err && (map->start || map->limit) && address >= map->start &&
	    elf_segments_vaddr(&segments, address - map->start + map->file_off, &vaddr))
		vaddr = address;
	*out = vaddr - address;
	return 0;
}

/* The range of the function around @vaddr in the file @fd. 0; -ENOENT and @why; -ENOMEM. */
static int find_range(const char *path, int fd, uint64_t vaddr, uint64_t *start, uint64_t *len,
		      struct buf *why)
{
	_cleanup_(functions_deinit) struct functions functions = {0};
	_cleanup_(debug_file_deinit) struct debug_file debug = {.fd = -1};
	struct elf_file *elf = elf_file_open_unmapped(fd);
	struct debug_query query = {.elf = elf, .path = path, .root_fd = -1};
	uint8_t build_id[BUILD_ID_MAX];
	const struct function *function;
	int err = elf ? 0 : -errno;

	if (!err) {
		query.build_id = build_id;
		query.build_id_len = elf_build_id(elf, build_id, sizeof(build_id));
		err = debug_file_find(&query, DEBUG_WANT_SYMBOLS, &debug);
	}
	if (!err || err == -ENOENT)
		err = functions_from_elf(elf, &debug, &functions);
	elf_file_free(elf);
	if (err == -ENOMEM)
		return err;
	function = err ? NULL : functions_at(&functions, vaddr);
	*len = function ? functions_extent(&functions, function) : 0;
	if (!*len) {
		buf_printf(why, "no symbol of %s says where the function begins and ends", path);
		return -ENOENT;
	}
	*start = function->vaddr;
	return 0;
}

int function_code_find(const struct profile *prof, uint32_t mapping, uint64_t address,
		       struct function_code *out, struct buf *why)
{
	struct function_code code = {0};
	const struct profile_mapping *map;
	_cleanup_close_ int fd = -1;
	uint64_t start, len;
	int err;

	if (mapping == PROFILE_NONE) {
		buf_add_str(why, "the profile does not say in which file the code is");
		return -ENOENT;
	}
	map = &prof->mappings[mapping];
	fd = open_image(prof, map, why);
	if (fd < 0)
		return fd;
	err = find_shift(map, fd, address, &code.shift);
	if (!err)
		err = find_range(profile_str(prof, map->path), fd, address + code.shift, &start,
				 &len, why);
	if (err)
		return err;
	err = elf_code_read(fd, start, len, &code.code);
	if (err) {
		buf_printf(why, "%s: code at 0x%llx: %s", profile_str(prof, map->path),
			   (unsigned long long)start, strerror(-err));
		return err == -ENOMEM ? err : -ENOENT;
	}
	*out = code;
	return 0;
}

void function_code_deinit(struct function_code *code)
{
	elf_code_deinit(&code->code);
}

/* --- Source --- */

/* Absolute paths from our root; others from here, and not out of it. */
static int open_source(const char *path)
{
	_cleanup_close_ int folder =
		open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return folder < 0 ? -errno : root_file_open(folder, path);
}

static int split_lines(struct source_text *source)
{
	char *at = source->text.data, *end = at + source->text.len;

	while (at < end) {
		char *newline = memchr(at, '\n', (size_t)(end - at));

		if (array_reserve(&source->lines, &source->cap, source->cnt + 1,
				  sizeof(*source->lines)))
			return -ENOMEM;
		source->lines[source->cnt++] = (size_t)(at - source->text.data);
		at = newline ? newline + 1 : end;
		if (newline)
			*newline = '\0';
	}
	return 0;
}

int source_text_read(const char *path, struct source_text *out, struct buf *why)
{
	_cleanup_close_ int fd = -1;
	int err;

	*out = (struct source_text){0};
	buf_init(&out->text, SOURCE_MAX_BYTES);
	if (!*path) {
		buf_add_str(why, "no source file is known: the profile has no lines of it");
		return -ENOENT;
	}
	fd = open_source(path);
	err = fd < 0 ? fd : fs_read_fd(fd, &out->text);
	if (err == -ENOMEM)
		return err;
	if (!err && out->text.len)
		return split_lines(out);
	buf_printf(why, "%s: %s", path, err ? strerror(-err) : "empty");
	return -ENOENT;
}

void source_text_deinit(struct source_text *source)
{
	buf_deinit(&source->text);
	free(source->lines);
	*source = (struct source_text){0};
}

void source_text_line(const struct source_text *source, uint64_t nr, struct buf *out)
{
	size_t columns = 0;

	if (!nr || nr > source->cnt)
		return;
	for (const char *at = source->text.data + source->lines[nr - 1]; *at; at++) {
		size_t spaces = *at == '\t' ? TAB_COLUMNS - columns % TAB_COLUMNS : 0;

		columns += spaces ? spaces : 1;
		if (spaces)
			buf_printf(out, "%*s", (int)spaces, "");
		else if (*at != '\r' || at[1])
			buf_add_char(out, *at);
	}
}
