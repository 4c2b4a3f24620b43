/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/command_files.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_file.h"
#include "elf/needed.h"

struct file_id {
	dev_t dev;
	ino_t ino;
};

struct command_files {
	command_file_fn *fn;
	void *arg;
	struct file_id *seen; /* owned */
	size_t seen_cnt, seen_cap;
};

/* A file that is looked for in folders. */
struct wanted {
	struct command_files *files;
	const char *name;
	int access; /* as of access() */
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

static bool try_folder(void *arg, const char *folder, size_t len)
{
	struct wanted *wanted = arg;
	char path[4096];

	snprintf(path, sizeof(path), "%.*s/%s", (int)len, folder, wanted->name);
	if (access(path, wanted->access))
		return false;
	visit(wanted->files, path);
	return true;
}

static void on_needed(void *arg, const char *name)
{
	static const char folders[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
				      "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
				      "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";
	struct wanted wanted = {arg, name, R_OK};

	if (strchr(name, '/'))
		visit(arg, name);
	else if (!each_name(getenv("LD_LIBRARY_PATH"), ":", try_folder, &wanted))
		each_name(folders, ":", try_folder, &wanted);
}

/* A script's interpreter, NUL-terminated in @out, which has @max bytes. */
static bool read_interpreter(int fd, char *out, size_t max)
{
	ssize_t len = pread(fd, out, max - 1, 0);
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
	char interpreter[256];
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
	elf_each_needed(elf, on_needed, files);
	elf_file_free(elf);
}

static bool on_preloaded(void *arg, const char *name, size_t len)
{
	char path[4096];

	snprintf(path, sizeof(path), "%.*s", (int)len, name);
	on_needed(arg, path);
	return false;
}

size_t command_files_each(const char *program, command_file_fn *fn, void *arg)
{
	struct command_files files = {.fn = fn, .arg = arg};
	struct wanted wanted = {&files, program, X_OK};
	size_t cnt;

	each_name(getenv("LD_PRELOAD"), ": ", on_preloaded, &files);
	cnt = files.seen_cnt;
	if (strchr(program, '/'))
		visit(&files, program);
	else
		each_name(getenv("PATH"), ":", try_folder, &wanted);
	cnt = files.seen_cnt > cnt ? files.seen_cnt : 0;
	free(files.seen);
	return cnt;
}
