/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/command_files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "elf/elf_file.h"
#include "elf/needed.h"
#include "event/ld_cache.h"

enum { LD_CACHE_MAX_BYTES = 16 << 20, ENVIRON_MAX_BYTES = 8 << 20, DEPTH_MAX = 64 };

struct file_id {
	dev_t dev;
	ino_t ino;
};

struct command_files {
	command_file_fn *fn;
	void *arg;
	const char *preload, *library_path, *path; /* of its environment: borrowed, NULL */
	struct buf ld_cache; /* of the dynamic linker */
	int depth; /* files that have asked for each other */
	struct file_id *seen; /* owned */
	size_t seen_cnt, seen_cap;
};

/* A file that is looked for in folders. */
struct wanted {
	struct command_files *files;
	const char *name;
	const char *origin; /* the folder of who asks, or NULL */
	int access; /* as of access() */
};

/* What a file needs. */
struct needer {
	struct command_files *files;
	const char *origin; /* its folder, or NULL */
};

static void visit(struct command_files *files, const char *path);

static bool is_new(struct command_files *files, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || array_reserve(&files->seen, &files->seen_cap, files->seen_cnt + 1,
					    sizeof(*files->seen)))
		return false;
	for (size_t i = 0; i < files->seen_cnt; i++)
		if (files->seen[i].dev == st.st_dev && files->seen[i].ino == st.st_ino)
			return false;
	files->seen[files->seen_cnt++] = (struct file_id){st.st_dev, st.st_ino};
	return true;
}

/* Call @fn for each of the names in @list between characters of @seps, until it says true. */
static bool each_name(const char *list, const char *seps,
		      bool (*fn)(void *arg, const char *name, size_t len), void *arg)
{
	while (list && *list) {
		size_t len = strcspn(list, seps);

		if (len && fn(arg, list, len))
			return true;
		list += len + strspn(list + len, seps);
	}
	return false;
}

/* "$ORIGIN" and "${ORIGIN}" are what a folder may begin with; other tokens lead nowhere. */
static bool try_folder(void *arg, const char *folder, size_t len)
{
	static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
	const struct wanted *wanted = arg;
	const char *origin = "";
	char path[PATH_MAX];

	for (size_t i = 0; wanted->origin && i < sizeof(tokens) / sizeof(*tokens); i++) {
		size_t token_len = strlen(tokens[i]);

		if (len < token_len || strncmp(folder, tokens[i], token_len))
			continue;
		origin = wanted->origin;
		folder += token_len;
		len -= token_len;
	}
	snprintf(path, sizeof(path), "%s%.*s/%s", origin, (int)len, folder, wanted->name);
	if (access(path, wanted->access))
		return false;
	visit(wanted->files, path);
	return true;
}

static int try_cached(void *arg, const char *name, const char *path)
{
	const struct wanted *wanted = arg;

	if (strcmp(name, wanted->name) || access(path, R_OK))
		return 0;
	visit(wanted->files, path);
	return 1;
}

static void on_needed(void *arg, const char *name, const char *folders)
{
	const struct needer *needer = arg;
	struct command_files *files = needer->files;
	struct wanted wanted = {files, name, needer->origin, R_OK};

	if (strchr(name, '/'))
		visit(files, name);
	else if (!each_name(files->library_path, ":;", try_folder, &wanted) &&
		 !each_name(folders, ":", try_folder, &wanted) &&
		 ld_cache_for_each(buf_cstr(&files->ld_cache), files->ld_cache.len, try_cached,
				   &wanted) != 1)
		each_name("/lib64:/usr/lib64:/lib:/usr/lib", ":", try_folder, &wanted);
}

/* A script's interpreter, NUL-terminated in @out, which has @max bytes. */
static bool read_interpreter(int fd, char *out, size_t max)
{
	ssize_t len = fs_read_at(fd, out, max - 1, 0);
	char *start;

	if (len < 3 || out[0] != '#' || out[1] != '!')
		return false;
	out[len] = '\0';
	start = out + 2 + strspn(out + 2, " \t");
	start[strcspn(start, " \t\n")] = '\0';
	memmove(out, start, strlen(start) + 1);
	return *out == '/';
}

static void visit(struct command_files *files, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char interpreter[256], origin[PATH_MAX];
	struct needer needer = {files, NULL};
	struct elf_file *elf;

	if (fd < 0 || !is_new(files, fd))
		return;
	if (read_interpreter(fd, interpreter, sizeof(interpreter))) {
		visit(files, interpreter);
		return;
	}
	files->fn(files->arg, fd, path);
	elf = elf_file_open_unmapped(fd);
	if (!elf)
		return;
	if (realpath(path, origin)) {
		*strrchr(origin, '/') = '\0';
		needer.origin = origin;
	}
	if (files->depth++ < DEPTH_MAX)
		elf_each_needed(elf, on_needed, &needer);
	files->depth--;
	elf_file_free(elf);
}

static bool on_preloaded(void *arg, const char *name, size_t len)
{
	struct needer needer = {arg, NULL};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s", (int)len, name);
	on_needed(&needer, path, NULL);
	return false;
}

/* All that is asked for has its settings. */
static size_t each_file(struct command_files *files, const char *program)
{
	struct wanted wanted = {files, program, NULL, X_OK};
	size_t cnt;

	buf_init(&files->ld_cache, LD_CACHE_MAX_BYTES);
	fs_read_file("/etc/ld.so.cache", &files->ld_cache);
	each_name(files->preload, ": ", on_preloaded, files);
	cnt = files->seen_cnt;
	if (strchr(program, '/'))
		visit(files, program);
	else
		each_name(files->path, ":", try_folder, &wanted);
	cnt = files->seen_cnt > cnt ? files->seen_cnt : 0;
	buf_deinit(&files->ld_cache);
	free(files->seen);
	return cnt;
}

size_t command_files_each(const char *program, command_file_fn *fn, void *arg)
{
	struct command_files files = {
		.fn = fn,
		.arg = arg,
		.preload = getenv("LD_PRELOAD"),
		.library_path = getenv("LD_LIBRARY_PATH"),
		.path = getenv("PATH"),
	};

	return each_file(&files, program);
}

/* The value of @name, which ends in '=', in @env: strings, each NUL-terminated. */
static const char *find_setting(const struct buf *env, const char *name)
{
	const char *text = buf_cstr(env), *end = text + env->len;

	for (; text < end; text += strlen(text) + 1)
		if (!strncmp(text, name, strlen(name)))
			return text + strlen(name);
	return NULL;
}

size_t command_files_of_process(pid_t tgid, command_file_fn *fn, void *arg)
{
	_cleanup_(buf_deinit) struct buf env;
	struct command_files files = {.fn = fn, .arg = arg};
	char path[64];

	buf_init(&env, ENVIRON_MAX_BYTES);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)tgid);
	if (!fs_read_file(path, &env)) {
		files.preload = find_setting(&env, "LD_PRELOAD=");
		files.library_path = find_setting(&env, "LD_LIBRARY_PATH=");
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)tgid);
	return each_file(&files, path);
}
