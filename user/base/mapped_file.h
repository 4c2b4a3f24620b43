/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of others, mapped to be read. Whoever may write one can cut it short meanwhile, and a disk
 * may fail: what is not there any more then reads as zeros, instead of ending us by SIGBUS.
 */
#ifndef BPFPROF_BASE_MAPPED_FILE_H
#define BPFPROF_BASE_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct mapped_range;

/* All zero: nothing. */
struct mapped_file {
	const void *bytes;
	size_t len;
	struct mapped_range *range; /* where the handler of SIGBUS finds it */
};

/*
 * All of the file of @fd (which may be closed afterwards), as long as it is now. 0 and *@out
 * (mapped_file_close()), or negative errno: -ENODATA for an empty file. SIGBUS then has
 * a handler of ours, for the whole process; elsewhere than in what is mapped here, it does what it
 * did before.
 */
int mapped_file_open(int fd, struct mapped_file *out);

/* Was some of it read after it was gone? By any thread. */
bool mapped_file_is_cut(const struct mapped_file *file);
void mapped_file_close(struct mapped_file *file);

#endif
