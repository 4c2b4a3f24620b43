/* SPDX-License-Identifier: Apache-2.0 */
/* Source files: see source_text.h. */
#include "cli/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "elf/root_file.h"

enum { SOURCE_MAX_BYTES = 16 << 20, TAB_COLUMNS = 8 };

int source_text_open(const char *path)
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

int source_text_load(int fd, struct source_text *out)
{
	int err;

	*out = (struct source_text){0};
	buf_init(&out->text, SOURCE_MAX_BYTES);
	err = fs_read_fd(fd, &out->text);
	if (!err && !out->text.len)
		err = -ENOENT;
	return err ? err : split_lines(out);
}

int source_text_read(const char *path, struct source_text *out, struct buf *why)
{
	_cleanup_close_ int fd = -1;
	int err;

	*out = (struct source_text){0};
	if (!*path) {
		buf_add_str(why, "no source file is known: the profile has no lines of it");
		return -ENOENT;
	}
	fd = source_text_open(path);
	err = fd < 0 ? fd : source_text_load(fd, out);
	if (!err || err == -ENOMEM)
		return err;
	buf_printf(why, "%s: %s", path, fd >= 0 && err == -ENOENT ? "empty" : strerror(-err));
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
