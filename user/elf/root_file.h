/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files as another process sees them: paths that must not lead out of its root. */
#ifndef BPFPROF_ELF_ROOT_FILE_H
#define BPFPROF_ELF_ROOT_FILE_H

#include <sys/stat.h>

/*
 * Open @path, taken from the folder @root_fd as if that were "/": absolute symbolic links and ".."
 * stay below it (openat2(2), Linux 5.6). Where that call is missing or forbidden, a path with any
 * symbolic link or ".." in it is refused. Only a regular file is opened for reading; anything else
 * is not touched (O_PATH tells). The descriptor (owned, O_CLOEXEC); -EINVAL for what is no regular
 * file; -ENOENT, -ELOOP and the like.
 */
int root_file_open(int root_fd, const char *path);

/* The same, for a file whose folder anybody may write to: a symbolic link as the last part of @path
 * is not followed, but no regular file. */
int root_file_open_nofollow(int root_fd, const char *path);

/* The same for a folder, to be read by fdopendir(); -ENOTDIR for anything else. */
int root_folder_open(int root_fd, const char *path);

/* What lies there, in the end, whatever it is: 0 and *@out, or negative errno. It is not opened. */
int root_file_stat(int root_fd, const char *path, struct stat *out);

/* The regular file that the O_PATH descriptor @path_fd (stays the caller's) stands for, opened for
 * reading. As above. */
int root_file_reopen(int path_fd);

#endif
