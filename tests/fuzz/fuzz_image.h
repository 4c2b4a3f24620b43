/* SPDX-License-Identifier: Apache-2.0 */
/* An input in memory of exactly its length, so that a read beyond it is seen, and as a file. */
#ifndef BPFPROF_TESTS_FUZZ_IMAGE_H
#define BPFPROF_TESTS_FUZZ_IMAGE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A copy; free() it. */
static inline void *image_copy(const uint8_t *data, size_t len)
{
	void *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	if (len)
		memcpy(copy, data, len);
	return copy;
}

/* One nameless file, whose content is replaced by each call. */
static inline int image_fd(const uint8_t *data, size_t len)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
	return fd;
}

#endif
