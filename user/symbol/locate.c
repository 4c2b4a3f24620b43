/* SPDX-License-Identifier: Apache-2.0 */
/* One place after the other, each file held against the build-id. */
#include "symbol/locate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/debug_file.h"
#include "elf/debuginfod.h"
#include "elf/elf_file.h"
#include "elf/root_file.h"

/* In a folder; %s of the lists below. */
enum shape {
	SHAPE_ID, /* .build-id/12/ab34... */
	SHAPE_PATH, /* the whole path below the folder */
	SHAPE_NAME, /* the last part of the path */
	SHAPE_CNT,
};

struct search {
	const struct image_id *image;
	int root_fd; /* our own */
};

/* Is @fd the image, or what was split off it? Not elf_build_id_fd(): debug files have no content
 * where program headers point. */
static bool is_image(const struct search *search, int fd)
{
	struct elf_file *elf = elf_file_open_unmapped(fd);
	uint8_t build_id[BUILD_ID_MAX];
	size_t len = elf ? elf_build_id(elf, build_id, sizeof(build_id)) : 0;

	elf_file_free(elf);
	return len == search->image->build_id_len &&
	       !memcmp(build_id, search->image->build_id, len);
}

/* The file at @path if it is the one; negative errno. */
static int try_path(const struct search *search, const char *path)
{
	_cleanup_close_ int fd = root_file_open(search->root_fd, path);

	if (fd < 0)
		return fd;
	if (!is_image(search, fd)) {
		log_debug("'%s' is another build of '%s'", path, search->image->path);
		return -ESTALE;
	}
	log_debug("'%s' is '%s'", path, search->image->path);
	return take_fd(&fd);
}

/* The image in @folder ("" is our root), or with @suffix its debug file; negative errno. */
static int try_folder(const struct search *search, const char *folder, const char *suffix)
{
	const char *path = search->image->path;
	const char *name = strrchr(path, '/');
	int fd = -ENOENT;

	for (int shape = 0; shape < SHAPE_CNT && fd < 0; shape++) {
		_cleanup_(buf_deinit) struct buf out = {0};

		buf_init(&out, PATH_MAX);
		if (shape == SHAPE_ID)
			debug_id_path(folder, search->image->build_id, search->image->build_id_len,
				      suffix, &out);
		else if (name)
			buf_printf(&out, "%s%s%s", folder, shape == SHAPE_PATH ? path : name,
				   suffix);
		if (out.len && !out.err)
			fd = try_path(search, buf_cstr(&out));
	}
	return fd;
}

static int try_folders(const struct search *search, const char *const *dirs, const char *suffix)
{
	int fd = -ENOENT;

	for (; dirs && *dirs && fd < 0; dirs++)
		fd = try_folder(search, *dirs, suffix);
	return fd;
}

static int try_served(const struct search *search, struct debuginfod *debuginfod)
{
	static const enum debuginfod_kind kinds[] = {DEBUGINFOD_DEBUG_FILE, DEBUGINFOD_EXECUTABLE};
	int fd = -ENOENT;

	for (size_t i = 0; debuginfod && i < sizeof(kinds) / sizeof(*kinds) && fd < 0; i++) {
		_cleanup_free_ char *path = NULL;

		fd = debuginfod_open(debuginfod, kinds[i], search->image->build_id,
				     search->image->build_id_len, &path);
	}
	return fd;
}

struct module *locate_module(const struct image_id *image, const struct symbol_sources *sources)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct search search = {.image = image, .root_fd = root_fd};
	int fd;

	if (root_fd < 0 || image->build_id_len < 2 || image->build_id_len > BUILD_ID_MAX) {
		errno = root_fd < 0 ? errno : ENOENT;
		return NULL;
	}
	fd = try_folders(&search, sources->debug_dirs, "");
	if (fd < 0 && image->path[0] == '/')
		fd = try_path(&search, image->path);
	if (fd < 0)
		fd = try_folders(&search, sources->debug_dirs, ".debug");
	if (fd < 0)
		fd = try_folder(&search, "/usr/lib/debug", ".debug");
	if (fd < 0)
		fd = try_served(&search, sources->debuginfod);
	if (fd < 0) {
		errno = ENOENT;
		return NULL;
	}
	return module_of_file(image->path, fd);
}
