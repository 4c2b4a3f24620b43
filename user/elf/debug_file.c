/* SPDX-License-Identifier: Apache-2.0 */
/* Where separate symbols may lie (debug_file.h), and whether what lies there is the right thing. */
#include "elf/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/log.h"
#include "elf/debug_link.h"
#include "elf/debuginfod.h"
#include "elf/dwarf_image.h"
#include "elf/dwarf_index.h"
#include "elf/elf_priv.h"
#include "elf/root_file.h"
#include "elf/symtab.h"

enum {
	BUILD_ID_MAX_BYTES = 64, /* SHA-1 makes 20 */
	MINI_MAX_BYTES = 64 << 20, /* Fedora's largest have a few MiB */
};

static const char debug_root[] = "/usr/lib/debug";

enum place {
	PLACE_BUILD_ID,
	PLACE_BESIDE,
	PLACE_SUBFOLDER,
	PLACE_DEBUG_ROOT,
	PLACE_CNT,
};

struct search {
	const struct debug_query *query;
	enum debug_want want;
	struct debug_link link; /* name "": none */
};

static void build_id_path(const uint8_t *build_id, size_t len, struct buf *out)
{
	char hex[2 * BUILD_ID_MAX_BYTES + 1];

	hex_format(build_id, len < BUILD_ID_MAX_BYTES ? len : BUILD_ID_MAX_BYTES, hex);
	buf_printf(out, "%s/.build-id/%.2s/%s.debug", debug_root, hex, hex + 2);
}

/* The path of one place into @out. False when the image does not name it. */
static bool place_path(const struct search *search, enum place place, struct buf *out)
{
	const struct debug_query *query = search->query;
	const char *slash = query->path[0] == '/' ? strrchr(query->path, '/') : NULL;
	int folder_len = slash ? (int)(slash - query->path) : 0;

	buf_reset(out);
	if (place == PLACE_BUILD_ID) {
		if (query->build_id_len < 2)
			return false;
		build_id_path(query->build_id, query->build_id_len, out);
		return !out->err;
	}
	if (!search->link.name[0] || !slash)
		return false;
	buf_printf(out, "%s%.*s%s/%s", place == PLACE_DEBUG_ROOT ? debug_root : "", folder_len,
		   query->path, place == PLACE_SUBFOLDER ? "/.debug" : "", search->link.name);
	return !out->err;
}

static bool is_same_machine(const struct elf_file *left, const struct elf_file *right)
{
	return left->ehdr.e_machine == right->ehdr.e_machine &&
	       left->ehdr.e_ident[EI_CLASS] == right->ehdr.e_ident[EI_CLASS] &&
	       left->ehdr.e_ident[EI_DATA] == right->ehdr.e_ident[EI_DATA];
}

/* 0 when @debug, read from @fd, was split off the image. */
static int check_identity(const struct search *search, const struct elf_file *debug, int fd)
{
	const struct debug_query *query = search->query;
	uint8_t build_id[BUILD_ID_MAX_BYTES];

	if (!is_same_machine(query->elf, debug))
		return -ESTALE;
	if (!query->build_id_len)
		return debug_link_check(&search->link, fd);
	if (elf_build_id(debug, build_id, sizeof(build_id)) != query->build_id_len ||
	    memcmp(build_id, query->build_id, query->build_id_len) != 0)
		return -ESTALE;
	return 0;
}

static bool has_wanted(const struct elf_file *elf, enum debug_want want)
{
	return want == DEBUG_WANT_LINES ? dwarf_is_there(elf) : symtab_is_full(elf);
}

/* The file at @path, open as *@fd, if it is the one: 0 and *@out, which then owns the descriptor,
 * or negative errno. */
static int take_file(const struct search *search, int *fd, const char *path, bool is_in_root,
		     struct debug_file *out)
{
	struct elf_file *elf = elf_file_open_wary(*fd);
	char *copy;
	int err;

	if (!elf)
		return -errno;
	err = check_identity(search, elf, *fd);
	/* Nothing in it, as in an image whose link leads back to itself: look on. */
	if (!err && !has_wanted(elf, search->want))
		err = -ENOENT;
	copy = err ? NULL : strdup(path);
	if (!err && !copy)
		err = -ENOMEM;
	if (err) {
		elf_file_free(elf);
		return err;
	}
	*out = (struct debug_file){
		.kind = DEBUG_FULL,
		.elf = elf,
		.fd = take_fd(fd),
		.path = copy,
		.is_in_root = is_in_root,
	};
	return 0;
}

/* The same for what lies at @path below @root_fd. */
static int try_file(const struct search *search, int root_fd, const char *path,
		    struct debug_file *out)
{
	_cleanup_close_ int fd = root_file_open(root_fd, path);

	if (fd < 0)
		return fd;
	return take_file(search, &fd, path, root_fd == search->query->root_fd, out);
}

static const char *wanted_name(enum debug_want want)
{
	return want == DEBUG_WANT_LINES ? "lines" : "symbols";
}

static const char *verdict(int err)
{
	if (!err)
		return "taken";
	return err == -ESTALE ? "belongs to another image" : strerror(-err);
}

static int try_place(const struct search *search, enum place place, int root_fd,
		     struct debug_file *out)
{
	_cleanup_(buf_deinit) struct buf path = {0};
	int err;

	if (root_fd < 0)
		return -ENOENT;
	buf_init(&path, PATH_MAX);
	if (!place_path(search, place, &path))
		return path.err == -ENOMEM ? -ENOMEM : -ENOENT;
	err = try_file(search, root_fd, buf_cstr(&path), out);
	if (err != -ENOENT && err != -ENOTDIR)
		log_debug("%s of '%s': '%s' %s: %s", wanted_name(search->want), search->query->path,
			  buf_cstr(&path),
			  root_fd == search->query->root_fd ? "in its root" : "on this host",
			  verdict(err));
	return err;
}

static int find_separate(const struct search *search, struct debug_file *out)
{
	_cleanup_close_ int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int roots[] = {search->query->root_fd, host_fd};

	for (int place = 0; place < PLACE_CNT; place++) {
		for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
			int err = try_place(search, place, roots[i], out);

			if (!err || err == -ENOMEM)
				return err;
		}
	}
	return -ENOENT;
}

/* What a server has sent. */
static int find_served(const struct search *search, struct debug_file *out)
{
	const struct debug_query *query = search->query;
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	int err;

	if (!query->debuginfod)
		return -ENOENT;
	fd = debuginfod_open(query->debuginfod, DEBUGINFOD_DEBUG_FILE, query->build_id,
			     query->build_id_len, &path);
	if (fd < 0)
		return fd == -ENOMEM ? -ENOMEM : -ENOENT;
	err = take_file(search, &fd, path, false, out);
	log_debug("%s of '%s': '%s' from debuginfod: %s", wanted_name(search->want), query->path,
		  path, verdict(err));
	return err && err != -ENOMEM ? -ENOENT : err;
}

static int find_mini(const struct debug_query *query, struct debug_file *out)
{
	_cleanup_(buf_deinit) struct buf image = {0};
	struct elf_file *elf;
	size_t len;
	int err;

	buf_init(&image, MINI_MAX_BYTES);
	err = debug_data_unpack(query->elf, &image);
	if (err) {
		if (err != -ENOENT)
			log_debug("symbols of '%s': .gnu_debugdata: %s", query->path,
				  strerror(-err));
		return err == -ENOMEM ? -ENOMEM : -ENOENT;
	}
	elf = elf_file_from_memory(image.data, image.len);
	if (!elf)
		return errno == ENOMEM ? -ENOMEM : -ENOENT;
	if (!is_same_machine(query->elf, elf) || !symtab_is_full(elf)) {
		elf_file_free(elf);
		return -ENOENT;
	}
	*out = (struct debug_file){.kind = DEBUG_MINI, .elf = elf, .image = buf_take(&image, &len)};
	return 0;
}

static struct search search_of(const struct debug_query *query, enum debug_want want)
{
	struct search search = {.query = query, .want = want};

	if (debug_link_read(query->elf, &search.link))
		search.link.name[0] = '\0';
	return search;
}

int debug_file_find(const struct debug_query *query, enum debug_want want, struct debug_file *out)
{
	struct search search;
	int err;

	if (has_wanted(query->elf, want))
		return -ENOENT;
	search = search_of(query, want);
	err = find_separate(&search, out);
	if (err == -ENOENT)
		err = find_served(&search, out);
	return err == -ENOENT && want == DEBUG_WANT_SYMBOLS ? find_mini(query, out) : err;
}

bool debug_file_is_missed(const struct debug_query *query)
{
	struct debug_file found;
	struct search search;

	if (has_wanted(query->elf, DEBUG_WANT_SYMBOLS))
		return false;
	search = search_of(query, DEBUG_WANT_SYMBOLS);
	if (find_separate(&search, &found))
		return true;
	debug_file_deinit(&found);
	return false;
}

void debug_file_deinit(struct debug_file *debug)
{
	elf_file_free(debug->elf);
	if (debug->kind == DEBUG_FULL)
		close(debug->fd);
	free(debug->image);
	free(debug->path);
	*debug = (struct debug_file){0};
}

static uint64_t hash_stat(uint64_t hash, const struct stat *st)
{
	hash = hash_mix(hash, st->st_dev);
	hash = hash_mix(hash, st->st_ino);
	hash = hash_mix(hash, (uint64_t)st->st_size);
	hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_sec);
	return hash_mix(hash, (uint64_t)st->st_mtim.tv_nsec);
}

uint64_t debug_places_hash(const struct debug_query *query)
{
	_cleanup_close_ int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct search search = {.query = query};
	const int roots[] = {query->root_fd, host_fd};
	_cleanup_(buf_deinit) struct buf path;
	uint64_t hash = 0;
	struct stat st;

	buf_init(&path, PATH_MAX);
	if (debug_link_read(query->elf, &search.link))
		search.link.name[0] = '\0';
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		if (roots[i] < 0 || fstat(roots[i], &st))
			continue;
		hash = hash_mix(hash_mix(hash, st.st_dev), st.st_ino);
		for (int place = 0; place < PLACE_CNT; place++) {
			hash = hash_mix(hash, (uint64_t)place);
			if (place_path(&search, place, &path) &&
			    !root_file_stat(roots[i], buf_cstr(&path), &st))
				hash = hash_stat(hash, &st);
		}
	}
	return hash;
}

/* --- What dwz has moved out --- */

static int try_alt(const struct dwarf_alt_link *link, int root_fd, const char *path)
{
	_cleanup_close_ int fd = root_fd < 0 ? -1 : root_file_open(root_fd, path);

	return fd >= 0 && dwarf_alt_is(link, fd) ? take_fd(&fd) : -ENOENT;
}

int debug_alt_open(const struct elf_file *elf, const char *path, int root_fd)
{
	_cleanup_close_ int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(buf_deinit) struct buf by_name = {0}, by_id = {0};
	const int roots[] = {root_fd, host_fd};
	const char *slash = strrchr(path, '/');
	struct dwarf_alt_link link;

	if (dwarf_alt_link(elf, &link))
		return -ENOENT;
	buf_init(&by_name, PATH_MAX);
	buf_init(&by_id, PATH_MAX);
	if (link.name[0] != '/' && slash)
		buf_add(&by_name, path, (size_t)(slash + 1 - path));
	buf_add_str(&by_name, link.name);
	build_id_path(link.build_id, link.build_id_len, &by_id);
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		int fd = by_name.err ? -ENOENT : try_alt(&link, roots[i], buf_cstr(&by_name));

		if (fd < 0 && !by_id.err)
			fd = try_alt(&link, roots[i], buf_cstr(&by_id));
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}
