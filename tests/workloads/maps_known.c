/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps_known: takes memory from the kernel, and prints for each function that does what a profile
 * of it has to say: its name, then allocated objects and bytes, live objects and bytes, bytes at
 * the peak, temporary objects. All of it lives at once at the end, when the peak is.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "keep_frame.h"

enum { HELD = 3, HELD_BYTES = 1 << 16, PASSED = 100, PAGE_BYTES = 4096, GROWN = 8, RAISED = 5 };

#define MAP(bytes) mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)

static __attribute__((noinline)) void hold(void)
{
	for (int i = 0; i < HELD; i++)
		MAP(HELD_BYTES);
	KEEP_FRAME();
}

static __attribute__((noinline)) void *grow(void *block, size_t bytes)
{
	block = mremap(block, PAGE_BYTES, bytes, MREMAP_MAYMOVE);
	KEEP_FRAME();
	return block;
}

/* Neither of them changes anything. */
static __attribute__((noinline)) void fail(void *block)
{
	MAP(0);
	mremap(block, PAGE_BYTES, 0, MREMAP_MAYMOVE);
	sbrk(0);
	KEEP_FRAME();
}

static __attribute__((noinline)) void raise_break(void)
{
	for (int i = 0; i < RAISED; i++)
		sbrk(PAGE_BYTES);
	KEEP_FRAME();
}

static __attribute__((noinline)) void pass(void)
{
	for (int i = 0; i < PASSED; i++)
		munmap(MAP(PAGE_BYTES), PAGE_BYTES);
	KEEP_FRAME();
}

/* Without memory from the kernel. At the peak is what is live, and one block that is temporary. */
static void tell(const char *name, int blocks, int each_bytes, int live, int temporary)
{
	char line[128];
	int at_peak = live + !!temporary;
	int len = snprintf(line, sizeof(line), "%s %d %d %d %d %d %d\n", name, blocks,
			   blocks * each_bytes, live, live * each_bytes, at_peak * each_bytes,
			   temporary);

	if (write(1, line, (size_t)len) != len)
		_exit(1);
}

int main(void)
{
	void *first = MAP(PAGE_BYTES);

	hold();
	fail(first);
	first = grow(first, GROWN * PAGE_BYTES);
	raise_break();
	pass();
	tell("hold", HELD, HELD_BYTES, HELD, 0);
	tell("fail", 0, 0, 0, 0);
	tell("main", 1, PAGE_BYTES, 0, 0);
	tell("grow", 1, GROWN * PAGE_BYTES, 1, 0);
	tell("raise_break", RAISED, PAGE_BYTES, RAISED, 0);
	tell("pass", PASSED, PAGE_BYTES, 0, PASSED);
	return first == MAP_FAILED;
}
