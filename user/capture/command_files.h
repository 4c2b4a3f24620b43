/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a command is going to map, before it runs. */
#ifndef BPFPROF_CAPTURE_COMMAND_FILES_H
#define BPFPROF_CAPTURE_COMMAND_FILES_H

#include <stddef.h>
#include <sys/types.h>

/* @fd, open for reading, and @path are borrowed for the call. */
typedef void command_file_fn(void *arg, int fd, const char *path);

/*
 * Call @fn once for each file of @program, which is looked for as execvp() does: the libraries of
 * LD_PRELOAD, the program (of a script: its interpreter), and what these need (DT_NEEDED), where
 * the dynamic linker looks (ld.so(8)). What is loaded later is not among them. The number of files;
 * 0: there is no such program.
 */
size_t command_files_each(const char *program, command_file_fn *fn, void *arg);

/* The same of process @tgid, which has just called exec and whose dynamic linker has mapped nothing
 * yet: by its own environment, but in our root. */
size_t command_files_of_process(pid_t tgid, command_file_fn *fn, void *arg);

#endif
