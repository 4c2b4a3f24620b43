/* SPDX-License-Identifier: Apache-2.0 */
/* Files that tests make, and the programs that make them. Include it after cmocka. */
#ifndef BPFPROF_TESTS_SCRATCH_H
#define BPFPROF_TESTS_SCRATCH_H

#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A nameless file; close() it. */
static inline int bytes_to_fd(const void *bytes, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	return fd;
}

static inline int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	return remove(path);
}

/* @folder with all that is in it: 0, or what remove() or nftw() said. */
static inline int remove_tree(const char *folder)
{
	return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The program argv[0] in @folder, which must succeed. */
static inline void check_run_in(const char *folder, const char *const *argv)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addchdir_np(&actions, folder);
	assert_int_equal(posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ),
			 0);
	posix_spawn_file_actions_destroy(&actions);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* RUN_IN(folder, "cc", ...) */
#define RUN_IN(folder, ...) check_run_in(folder, (const char *const[]){__VA_ARGS__, NULL})

#endif
