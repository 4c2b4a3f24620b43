/* SPDX-License-Identifier: Apache-2.0 */
/* Large arrays on huge pages. */
#include "base/huge_pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MANY_BYTES = 2 << 20 };

void huge_pages_prefer(void *data, size_t bytes)
{
	const int err_before = errno;
	size_t in_page;

	if (bytes < MANY_BYTES)
		return;
	/* All of a mapping of malloc()'s: mremap(2) moves no part of one with other advice. */
	in_page = (uintptr_t)data & ((size_t)sysconf(_SC_PAGESIZE) - 1);
	madvise((char *)data - in_page, bytes + in_page, MADV_HUGEPAGE);
	errno = err_before;
}
