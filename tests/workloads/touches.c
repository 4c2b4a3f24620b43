/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touches N: N pages touched for the first time, at an even pace of some 10,000 a second.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile uint64_t sink;

int main(int argc, char **argv)
{
	long cnt = argc > 1 ? strtol(argv[1], NULL, 10) : 1000, page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, (size_t)(cnt * page), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return 1;
	/* One fault for each, whatever the machine does with large pages. */
	madvise(pages, (size_t)(cnt * page), MADV_NOHUGEPAGE);
	for (long i = 0; i < cnt; i++) {
		pages[i * page] = 1;
		for (int j = 0; j < 50000; j++)
			sink += (uint64_t)j;
	}
	return 0;
}
