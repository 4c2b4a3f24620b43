/* SPDX-License-Identifier: Apache-2.0 */
/*
 * triggers N: what probes count, each a number of times that is known, for N a multiple of 10:
 *
 *	leaf(i)            N calls from each of two lines of main(), and N from middle()
 *	getrandom          N system calls of 8 bytes each, from ask()
 *	fault()            N pages touched for the first time
 *	nested(5)          N / 10 calls that each call it 5 times more; bottom() at the end of each
 *	hop(i)             N / 10 calls, each of which ends in a jump to nested(0)
 *	waits(i)           N / 10 calls of 1 ms each
 *	heap(i)            N / 10 calls with a size from 1 to 1000 in turn, and the name "even" or
 *"odd"
 */
#include "keep_frame.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone))

static volatile long sink;

PROBED void leaf(long i)
{
	sink += i;
}

PROBED void middle(long i)
{
	leaf(i);
	KEEP_FRAME();
}

PROBED void ask(void)
{
	char bytes[8];

	if (getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes))
		sink += bytes[0];
}

PROBED void fault(char *page)
{
	*page = 1;
	KEEP_FRAME();
}

PROBED void bottom(void)
{
	sink++;
}

PROBED long nested(long depth)
{
	long result = 1;

	if (depth)
		result += nested(depth - 1);
	else
		bottom();
	sink++;
	return result;
}

PROBED long hop(long i)
{
	sink += i;
	return nested(0); /* a jump, with -O2 */
}

PROBED void waits(long i)
{
	const struct timespec time = {.tv_nsec = 1000000};

	nanosleep(&time, NULL);
	sink += i;
}

PROBED int heap(long bytes, const char *kind)
{
	sink += bytes + kind[0];
	return bytes % 2 ? -1 : (int)bytes;
}

int main(int argc, char **argv)
{
	long cnt = argc > 1 ? strtol(argv[1], NULL, 10) : 1000, page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, (size_t)(cnt * page), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Pages of their own, however large the kernel would like them. */
	if (pages == MAP_FAILED || madvise(pages, (size_t)(cnt * page), MADV_NOHUGEPAGE))
		return 1;
	for (long i = 0; i < cnt; i++) {
		leaf(i);
		leaf(-i); /* the other line */
		middle(i);
		ask();
		fault(pages + i * page);
		if (i % 10)
			continue;
		sink += nested(5);
		sink += hop(i);
		waits(i);
		heap(i / 10 % 1000 + 1, i / 10 % 2 ? "odd" : "even");
	}
	return 0;
}
