/* SPDX-License-Identifier: Apache-2.0 */
/* Where a bare name may be found. */
#include "event/target_search.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"
#include "elf/root_file.h"
#include "event/ld_cache.h"
#include "proc/maps_line.h"

/* What others may make us read. */
enum {
	MAPS_MAX_BYTES =
		64 << 20, /* a process may have 65,530 mappings, or what its admin allows */
	CACHE_MAX_BYTES = 16 << 20,
	FOLDER_ENTRIES_MAX = 100000,
	CANDIDATES_MAX = 64,
};

enum { RANK_NONE, RANK_VERSION, RANK_LIBRARY, RANK_EXACT };

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#endif

static const char *const library_folders[] = {
	"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64",	      "/usr/lib64", "/lib",
	"/usr/lib",	   "/usr/local/lib",	  "/usr/local/lib64",
};

static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static void candidate_deinit(struct candidate *candidate)
{
	free(candidate->path);
	free(candidate->map_path);
}

static void candidates_clear(struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->cnt; i++)
		candidate_deinit(&candidates->items[i]);
	candidates->cnt = 0;
	candidates->rank = RANK_NONE;
}

void candidates_deinit(struct candidates *candidates)
{
	candidates_clear(candidates);
	free(candidates->items);
	*candidates = (struct candidates){0};
}

static bool has_path(const struct candidates *candidates, const char *path)
{
	for (size_t i = 0; i < candidates->cnt; i++) {
		if (!strcmp(candidates->items[i].path, path))
			return true;
	}
	return false;
}

/* Strings are copied; @map_path may be NULL. */
static int add_candidate(struct candidates *candidates, int rank, const char *path,
			 const char *map_path)
{
	struct candidate fresh;

	if (rank < candidates->rank || rank == RANK_NONE)
		return 0;
	if (rank > candidates->rank)
		candidates_clear(candidates);
	candidates->rank = rank;
	if (has_path(candidates, path) || candidates->cnt == CANDIDATES_MAX)
		return 0;
	if (array_reserve(&candidates->items, &candidates->cap, candidates->cnt + 1, sizeof(fresh)))
		return -ENOMEM;
	fresh = (struct candidate){
		.path = strdup(path),
		.map_path = map_path ? strdup(map_path) : NULL,
	};
	if (!fresh.path || (map_path && !fresh.map_path)) {
		candidate_deinit(&fresh);
		return -ENOMEM;
	}
	candidates->items[candidates->cnt++] = fresh;
	return 0;
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* musl's C library is its dynamic linker. */
static bool is_musl(const char *name, const char *file)
{
	return !strcmp(name, "libc") &&
	       (!strncmp(file, "ld-musl-", 8) || !strncmp(file, "libc.musl-", 10));
}

int target_name_rank(const char *name, const char *file)
{
	size_t len = strlen(name);
	const char *rest = file + len;

	if (is_musl(name, file))
		return RANK_LIBRARY;
	if (!len || strncmp(file, name, len) != 0)
		return RANK_NONE;
	if (!*rest)
		return RANK_EXACT;
	if (!strcmp(rest, ".so") || !strncmp(rest, ".so.", 4))
		return RANK_LIBRARY;
	if (strstr(name, ".so"))
		return rest[0] == '.' && isdigit((unsigned char)rest[1]) ? RANK_LIBRARY : RANK_NONE;
	if (rest[0] == '-' && isdigit((unsigned char)rest[1]) && ends_in(rest, ".so"))
		return RANK_VERSION;
	return RANK_NONE;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What a person would type for @file: "libssl" where no ".so" was typed. */
static void offer_file(struct suggest *near, const char *file)
{
	char name[NAME_MAX + 1];
	char *end;

	snprintf(name, sizeof(name), "%s", file);
	end = strstr(name, ".so");
	if (end && !strstr(near->places[0].typed, ".so"))
		*end = '\0';
	suggest_offer(near, name);
}

/* --- What a process has mapped --- */

struct mapped_search {
	const struct target_root *root;
	const char *name;
	struct candidates *candidates;
	struct suggest *near;
};

/* The path of a mapping as its process would write it: without "(deleted)" and the folder that it
 * was chrooted to. Cut into @out. */
static void mapped_path(const struct target_root *root, const struct maps_line *line,
			char out[static PATH_MAX])
{
	size_t folder_len = strlen(root->folder);
	const char *path;

	snprintf(out, PATH_MAX, "%.*s", (int)(line->path_len < PATH_MAX ? line->path_len : 0),
		 line->path);
	if (ends_in(out, " (deleted)"))
		out[strlen(out) - strlen(" (deleted)")] = '\0';
	path = out + folder_len;
	if (folder_len && !strncmp(out, root->folder, folder_len) && *path == '/')
		memmove(out, path, strlen(path) + 1);
}

static int look_at_mapping(const struct mapped_search *search, const struct maps_line *line)
{
	char path[PATH_MAX], map_path[128];
	bool is_path = search->name[0] == '/';
	int rank;

	mapped_path(search->root, line, path);
	if (path[0] != '/')
		return 0;
	if (!is_path)
		offer_file(search->near, base_name(path));
	rank = is_path ? (strcmp(path, search->name) ? RANK_NONE : RANK_EXACT)
		       : target_name_rank(search->name, base_name(path));
	if (!rank)
		return 0;
	snprintf(map_path, sizeof(map_path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 (int)search->root->tgid, line->start, line->end);
	return add_candidate(search->candidates, rank, path, map_path);
}

static void buf_cleanup(struct buf *buf)
{
	buf_deinit(buf);
}

int target_search_mapped(const struct target_root *root, const char *name,
			 struct candidates *candidates, struct suggest *near)
{
	const struct mapped_search search = {root, name, candidates, near};
	_cleanup_(buf_cleanup) struct buf maps;
	struct reader rd;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)root->tgid);
	buf_init(&maps, MAPS_MAX_BYTES);
	err = fs_read_file(path, &maps);
	reader_init(&rd, buf_cstr(&maps), maps.len);
	while (!err && !reader_done(&rd)) {
		struct maps_line line;
		size_t len;
		const char *text = reader_until(&rd, '\n', &len);

		if (maps_line_parse(text, len, &line) && line.is_exec && line.is_file)
			err = look_at_mapping(&search, &line);
	}
	return err;
}

/* --- The dynamic linker's cache --- */

static int look_at_entry(void *arg, const char *name, const char *path)
{
	const struct mapped_search *search = arg;

	offer_file(search->near, name);
	return add_candidate(search->candidates, target_name_rank(search->name, name), path, NULL);
}

int target_search_cache(const struct target_root *root, const char *name,
			struct candidates *candidates, struct suggest *near)
{
	struct mapped_search search = {root, name, candidates, near};
	_cleanup_close_ int fd = root_file_open(root->fd, "/etc/ld.so.cache");
	_cleanup_(buf_cleanup) struct buf cache;
	int err;

	buf_init(&cache, CACHE_MAX_BYTES);
	if (fd < 0 || fs_read_fd(fd, &cache))
		return 0;
	err = ld_cache_for_each(buf_cstr(&cache), cache.len, look_at_entry, &search);
	return err == -EBADMSG ? 0 : err;
}

/* --- Folders --- */

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

static int look_in_folder(const struct target_root *root, const char *folder, const char *name,
			  struct candidates *candidates)
{
	_cleanup_close_ int fd = root_folder_open(root->fd, folder);
	_cleanup_(close_folder) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int err = 0;

	if (!dir)
		return 0;
	take_fd(&fd);
	for (int i = 0; !err && i < FOLDER_ENTRIES_MAX && (entry = readdir(dir)); i++) {
		int rank = target_name_rank(name, entry->d_name);
		char path[PATH_MAX];

		/* Folders of that name, and programs, are not what is looked for here. */
		if (!rank || !strstr(entry->d_name, ".so"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		err = add_candidate(candidates, rank, path, NULL);
	}
	return err;
}

int target_search_folders(const struct target_root *root, const char *name,
			  struct candidates *candidates)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(library_folders) / sizeof(*library_folders); i++)
		err = look_in_folder(root, library_folders[i], name, candidates);
	return err;
}

int target_search_programs(const struct target_root *root, const char *name,
			   struct candidates *candidates)
{
	const char *folders = root->is_own ? getenv("PATH") : NULL;
	struct reader rd;

	if (!folders || !*folders)
		folders = default_path;
	reader_init(&rd, folders, strlen(folders));
	while (!reader_done(&rd)) {
		size_t len;
		const char *folder = reader_until(&rd, ':', &len);
		char path[PATH_MAX];
		struct stat st;

		if (!len || folder[0] != '/' || len + strlen(name) + 2 > sizeof(path))
			continue;
		snprintf(path, sizeof(path), "%.*s/%s", (int)len, folder, name);
		if (!root_file_stat(root->fd, path, &st) && S_ISREG(st.st_mode) &&
		    (st.st_mode & S_IXUSR))
			return add_candidate(candidates, RANK_EXACT, path, NULL);
	}
	return 0;
}
