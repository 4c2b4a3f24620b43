/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_known [PAIRS [LIVE]]: allocates in ways whose sums are known, and prints them, a line for
 * each function that allocates: NAME OBJECTS BYTES LIVE_OBJECTS LIVE_BYTES PEAK_BYTES TEMPORARY.
 *
 * One thread at a time allocates, so the peak is of one moment: when grow() is done. PAIRS further
 * blocks are allocated and freed, LIVE more stay (defaults 1000 and 100).
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "keep_frame.h"

enum { GROWN = 200, HANDED = 50 };

static void *grown[GROWN], *handed[HANDED], *kept_realloc;
static jmp_buf back;

static __attribute__((noinline)) void *grow(size_t bytes)
{
	void *volatile block = malloc(bytes);

	KEEP_FRAME();
	return block;
}

static __attribute__((noinline)) void *zeroed(size_t cnt, size_t bytes)
{
	void *volatile block = calloc(cnt, bytes);

	KEEP_FRAME();
	return block;
}

static __attribute__((noinline)) void *again(void *from, size_t bytes)
{
	void *volatile block = realloc(from, bytes);

	KEEP_FRAME();
	return block;
}

static __attribute__((noinline)) void *array(void *from, size_t cnt)
{
	void *volatile block = reallocarray(from, cnt, 10);

	KEEP_FRAME();
	return block;
}

static __attribute__((noinline)) void *aligned(size_t bytes)
{
	void *volatile block = memalign(64, bytes);

	KEEP_FRAME();
	return block;
}

static __attribute__((noinline)) void *by_pointer(size_t bytes)
{
	void *block = NULL;

	if (posix_memalign(&block, 128, bytes))
		abort();
	KEEP_FRAME();
	return block;
}

static __attribute__((noinline)) void *pair(size_t bytes)
{
	void *volatile block = malloc(bytes);

	KEEP_FRAME();
	return block;
}

static __attribute__((noinline)) void *keep(size_t bytes)
{
	void *volatile block = malloc(bytes);

	KEEP_FRAME();
	return block;
}

static __attribute__((noinline)) void *hand_over(size_t bytes)
{
	void *volatile block = malloc(bytes);

	KEEP_FRAME();
	return block;
}

static void *allocating(void *arg)
{
	for (int i = 0; i < HANDED; i++)
		handed[i] = hand_over(100);
	return arg;
}

static void *freeing(void *arg)
{
	for (int i = 0; i < HANDED; i++)
		free(handed[i]);
	return arg;
}

/* One allocates, another one frees. */
static void cross(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, allocating, NULL) || pthread_join(thread, NULL) ||
	    pthread_create(&thread, NULL, freeing, NULL) || pthread_join(thread, NULL))
		abort();
}

/* What must change nothing. */
static void nothing(void)
{
	void *volatile none = NULL;

	free(none);
	none = grow(SIZE_MAX / 4);
	if (none || again(grown[0], SIZE_MAX / 4))
		abort();
	if (!setjmp(back))
		longjmp(back, 1);
}

static void print(const char *name, long objects, long bytes, long live, long live_bytes, long peak,
		  long temporary)
{
	char line[128];
	int len = snprintf(line, sizeof(line), "%s %ld %ld %ld %ld %ld %ld\n", name, objects, bytes,
			   live, live_bytes, peak, temporary);

	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		abort();
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? strtol(argv[1], NULL, 10) : 1000,
	     live = argc > 2 ? strtol(argv[2], NULL, 10) : 100;

	for (long i = 0; i < live; i++)
		if (!keep(32))
			return 1;
	for (int i = 0; i < GROWN; i++)
		grown[i] = grow(1000);
	nothing();
	for (int i = 0; i < GROWN; i += 2)
		free(grown[i]);
	for (long i = 0; i < pairs; i++)
		free(pair(48));
	for (int i = 0; i < 10; i++)
		free(zeroed(3, 10));
	for (int i = 1; i <= 10; i++)
		kept_realloc = again(kept_realloc, 10 * (size_t)i);
	free(again(again(NULL, 7), 0)); /* frees, and gives NULL */
	free(array(array(NULL, 2), 3));
	free(aligned(200));
	free(by_pointer(300));
	cross();
	print("keep", live, 32 * live, live, 32 * live, 32 * live, 0);
	print("grow", 200, 200000, 100, 100000, 200000, 0);
	print("pair", pairs, 48 * pairs, 0, 0, 0, pairs);
	print("zeroed", 10, 300, 0, 0, 0, 10);
	print("again", 11, 557, 1, 100, 0, 10);
	print("array", 2, 50, 0, 0, 0, 2);
	print("aligned", 1, 200, 0, 0, 0, 1);
	print("by_pointer", 1, 300, 0, 0, 0, 1);
	print("hand_over", HANDED, 100 * HANDED, 0, 0, 0, 0);
	/* As the kernel ends processes that take too much. */
	if (argc > 3)
		raise(SIGKILL);
	return errno == EFAULT;
}
