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

enum { MINI_MAX_BYTES = 64 << 20 }; /* Fedora's largest have a few MiB */

static const char debug_root[] = "/usr/lib/debug";

enum place {
	PLACE_BUILD_ID,
	PLACE_BESIDE,
	PLACE_SUBFOLDER,
	PLACE_DEBUG_ROOT,
	PLACE_LINK, /* in the folder itself, by the name in .gnu_debuglink */
	PLACE_NAME, /* likewise by the image's own */
};

/* Where to look in /usr/lib/debug and beside the image, and in a folder that the user has named. */
static const enum place usual_places[] = {PLACE_BUILD_ID, PLACE_BESIDE, PLACE_SUBFOLDER,
					  PLACE_DEBUG_ROOT};
static const enum place dir_places[] = {PLACE_BUILD_ID, PLACE_DEBUG_ROOT, PLACE_LINK, PLACE_NAME};

enum {
	USUAL_PLACES_CNT = sizeof(usual_places) / sizeof(*usual_places),
	DIR_PLACES_CNT = sizeof(dir_places) / sizeof(*dir_places),
};

struct search {
	const struct debug_query *query;
	enum debug_want want;
	struct debug_link link; /* name "": none */
	int host_fd; /* owned: our own root */
	size_t dirs_cnt;
};

/* One place to look at. */
struct spot {
	enum place place;
	const char *folder; /* that is searched; borrowed */
	int root_fd; /* that paths count from; borrowed, may be -1 */
};

static void search_end(const struct search *search)
{
	close(search->host_fd);
}

static struct search search_begin(const struct debug_query *query, enum debug_want want)
{
	struct search search = {
		.query = query,
		.want = want,
		.host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};

	while (query->debug_dirs && query->debug_dirs[search.dirs_cnt])
		search.dirs_cnt++;
	if (debug_link_read(query->elf, &search.link))
		search.link.name[0] = '\0';
	return search;
}

/* Spot @nr, in the order in which they are looked at; false behind the last. */
static bool search_spot(const struct search *search, size_t nr, struct spot *out)
{
	size_t in_dirs = search->dirs_cnt * DIR_PLACES_CNT;

	if (nr < in_dirs) {
		*out = (struct spot){
			.place = dir_places[nr % DIR_PLACES_CNT],
			.folder = search->query->debug_dirs[nr / DIR_PLACES_CNT],
			.root_fd = search->host_fd,
		};
		return true;
	}
	nr -= in_dirs;
	if (nr >= 2UL * USUAL_PLACES_CNT)
		return false;
	*out = (struct spot){
		.place = usual_places[nr / 2],
		.folder = debug_root,
		.root_fd = nr % 2 ? search->host_fd : search->query->root_fd,
	};
	return true;
}

void debug_id_path(const char *folder, const uint8_t *build_id, size_t len, const char *suffix,
		   struct buf *out)
{
	char hex[2 * BUILD_ID_MAX + 1];

	hex_format(build_id, len < BUILD_ID_MAX ? len : BUILD_ID_MAX, hex);
	buf_printf(out, "%s/.build-id/%.2s/%s%s", folder, hex, hex + 2, suffix);
}

/* The path of @spot into @out. False when the image does not name it. */
static bool spot_path(const struct search *search, const struct spot *spot, struct buf *out)
{
	const struct debug_query *query = search->query;
	const char *slash = query->path[0] == '/' ? strrchr(query->path, '/') : NULL;
	int folder_len = slash ? (int)(slash - query->path) : 0;

	buf_reset(out);
	if (spot->place == PLACE_BUILD_ID) {
		if (query->build_id_len < 2)
			return false;
		debug_id_path(spot->folder, query->build_id, query->build_id_len, ".debug", out);
		return !out->err;
	}
	if (!slash || (!search->link.name[0] && spot->place != PLACE_NAME))
		return false;
	if (spot->place == PLACE_NAME)
		buf_printf(out, "%s%s", spot->folder, slash);
	else if (spot->place == PLACE_LINK)
		buf_printf(out, "%s/%s", spot->folder, search->link.name);
	else
		buf_printf(out, "%s%.*s%s/%s", spot->place == PLACE_DEBUG_ROOT ? spot->folder : "",
			   folder_len, query->path, spot->place == PLACE_SUBFOLDER ? "/.debug" : "",
			   search->link.name);
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
	uint8_t build_id[BUILD_ID_MAX];

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
	struct elf_file *elf = elf_file_open_wary(*fd, is_in_root);
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

static int try_spot(const struct search *search, const struct spot *spot, struct debug_file *out)
{
	_cleanup_(buf_deinit) struct buf path = {0};
	int err;

	if (spot->root_fd < 0)
		return -ENOENT;
	buf_init(&path, PATH_MAX);
	if (!spot_path(search, spot, &path))
		return path.err == -ENOMEM ? -ENOMEM : -ENOENT;
	err = try_file(search, spot->root_fd, buf_cstr(&path), out);
	if (err != -ENOENT && err != -ENOTDIR)
		log_debug("%s of '%s': '%s' %s: %s", wanted_name(search->want), search->query->path,
			  buf_cstr(&path),
			  spot->root_fd == search->host_fd ? "on this host" : "in its root",
			  verdict(err));
	return err;
}

static int find_separate(const struct search *search, struct debug_file *out)
{
	struct spot spot;

	for (size_t nr = 0; search_spot(search, nr, &spot); nr++) {
		int err = try_spot(search, &spot, out);

		if (!err || err == -ENOMEM)
			return err;
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

int debug_file_find(const struct debug_query *query, enum debug_want want, struct debug_file *out)
{
	struct search search;
	int err;

	if (has_wanted(query->elf, want))
		return -ENOENT;
	search = search_begin(query, want);
	err = find_separate(&search, out);
	search_end(&search);
	if (err == -ENOENT)
		err = find_served(&search, out);
	return err == -ENOENT && want == DEBUG_WANT_SYMBOLS ? find_mini(query, out) : err;
}

bool debug_file_is_missed(const struct debug_query *query)
{
	struct debug_file found = {0};
	struct search search;
	int err;

	if (has_wanted(query->elf, DEBUG_WANT_SYMBOLS))
		return false;
	search = search_begin(query, DEBUG_WANT_SYMBOLS);
	err = find_separate(&search, &found);
	search_end(&search);
	if (err)
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
	struct search search = search_begin(query, DEBUG_WANT_SYMBOLS);
	_cleanup_(buf_deinit) struct buf path;
	uint64_t hash = 0;
	struct spot spot;
	struct stat st;

	buf_init(&path, PATH_MAX);
	if (query->root_fd >= 0 && !fstat(query->root_fd, &st))
		hash = hash_mix(hash_mix(hash, st.st_dev), st.st_ino);
	for (size_t nr = 0; search_spot(&search, nr, &spot); nr++) {
		hash = hash_mix(hash, nr);
		if (spot.root_fd >= 0 && spot_path(&search, &spot, &path) &&
		    !root_file_stat(spot.root_fd, buf_cstr(&path), &st))
			hash = hash_stat(hash, &st);
	}
	search_end(&search);
	return hash;
}

/* --- What dwz has moved out --- */

static int try_alt(const struct dwarf_alt_link *link, int root_fd, const char *path)
{
	_cleanup_close_ int fd = root_fd < 0 ? -1 : root_file_open(root_fd, path);

	return fd >= 0 && dwarf_alt_is(link, fd) ? take_fd(&fd) : -ENOENT;
}

/* Names that @link may have on this host, in the folders that the user has named. */
static int try_alt_dirs(const struct dwarf_alt_link *link, const char *const *dirs, int host_fd)
{
	const char *slash = strrchr(link->name, '/');

	for (; dirs && *dirs; dirs++) {
		_cleanup_(buf_deinit) struct buf by_name = {0}, by_id = {0};
		int fd = -ENOENT;

		buf_init(&by_name, PATH_MAX);
		buf_init(&by_id, PATH_MAX);
		debug_id_path(*dirs, link->build_id, link->build_id_len, ".debug", &by_id);
		buf_printf(&by_name, "%s/.dwz/%s", *dirs, slash ? slash + 1 : link->name);
		if (!by_id.err)
			fd = try_alt(link, host_fd, buf_cstr(&by_id));
		if (fd < 0 && !by_name.err)
			fd = try_alt(link, host_fd, buf_cstr(&by_name));
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

int debug_alt_open(const struct debug_query *query, const struct elf_file *elf, const char *path,
		   int root_fd)
{
	_cleanup_close_ int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(buf_deinit) struct buf by_name = {0}, by_id = {0};
	const int roots[] = {root_fd, host_fd};
	const char *slash = strrchr(path, '/');
	struct dwarf_alt_link link;
	int fd;

	if (dwarf_alt_link(elf, &link))
		return -ENOENT;
	buf_init(&by_name, PATH_MAX);
	buf_init(&by_id, PATH_MAX);
	if (link.name[0] != '/' && slash)
		buf_add(&by_name, path, (size_t)(slash + 1 - path));
	buf_add_str(&by_name, link.name);
	debug_id_path(debug_root, link.build_id, link.build_id_len, ".debug", &by_id);
	fd = try_alt_dirs(&link, query->debug_dirs, host_fd);
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots) && fd < 0; i++) {
		if (!by_name.err)
			fd = try_alt(&link, roots[i], buf_cstr(&by_name));
		if (fd < 0 && !by_id.err)
			fd = try_alt(&link, roots[i], buf_cstr(&by_id));
	}
	return fd < 0 ? -ENOENT : fd;
}
