/* SPDX-License-Identifier: Apache-2.0 */
/* Code on this host: see function_code.h. */
#include "cli/function_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "elf/debug_file.h"
#include "elf/functions.h"
#include "elf/root_file.h"
#include "elf/segments.h"

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
