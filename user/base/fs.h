/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole reads, and outputs that appear whole or not at all. */
#ifndef BPFPROF_BASE_FS_H
#define BPFPROF_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* Append the content of @path to @out, at most out->max_bytes in all. /proc files included. 0 or
 * negative errno. */
int fs_read_file(const char *path, struct buf *out);
int fs_read_fd(int fd, struct buf *out);

/* @len bytes from @off on, through EINTR and short reads: how many (fewer: the file ends before
 * that), or negative errno. */
ssize_t fs_read_at(int fd, void *out, size_t len, uint64_t off);

/* First line of a small file (sysfs, /proc/sys) without its newline, as an owned string; NULL +
 * errno. */
char *fs_read_line(const char *path);

/* Write all of @len bytes, through EINTR and short writes. 0 or negative errno. */
int fs_write_all(int fd, const void *data, size_t len);

/*
 * An output file that becomes visible only when complete. fs_output_open() finds out *before*
 * recording whether the file can be written: it makes an unnamed file in the target's folder
 * (O_TMPFILE, so that a kill leaves nothing; a hidden named one where the file system lacks that).
 * Commit gives it its name. Anything that is not a regular file (a FIFO, /dev/stdout, /dev/null) is
 * opened and written directly. "-" is standard output, and so is "-.EXT", which tells a format
 * beside. A symbolic link to a regular file is
 * replaced itself, never what it points to. Under sudo the file belongs to $SUDO_UID.
 */
struct fs_output {
	char *path; /* owned: the final name */
	char *tmp_path; /* owned: named temporary, NULL with O_TMPFILE or a direct output */
	int fd;
	bool is_direct;
	bool force; /* replace an existing regular file */
};

/*
 * Errors: -EEXIST when a regular file (or a block device) is there and not @force, -EISDIR, -ENOENT
 * (no such folder), -EREMCHG when what is there is no file, and was put by another user into a
 * folder that all may write to, -EACCES, ... On failure @out is untouched.
 */
int fs_output_open(const char *path, bool force, struct fs_output *out);

/* Does @path name standard output: "-", or "-" and an extension? */
bool fs_output_is_stdout(const char *path);

/* Are both names one output? */
bool fs_output_is_same(const char *one, const char *two);

/* Write @data and give the file its name; closes in every case. 0 or negative errno (nothing
 * visible then). */
int fs_output_commit(struct fs_output *output, const void *data, size_t len);

/*
 * Will a file that is opened under the name @path, and its folder, be this user's own? Else root
 * writes by its capabilities alone. Names that are no regular files are.
 */
bool fs_output_is_ours(const char *path);

/* Close without leaving anything. */
void fs_output_abandon(struct fs_output *output);

#endif
