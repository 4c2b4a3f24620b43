/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_alloc: an allocator of its own, own_malloc() and own_free(), in the program itself. With an
 * argument it first allocates, then runs itself without by exec, which takes the blocks away.
 */
#include <stddef.h>
#include <unistd.h>

static _Alignas(16) char arena[1 << 20];
static size_t used;

__attribute__((noinline)) void *own_malloc(size_t bytes)
{
	void *block = arena + used;

	used += (bytes + 15) & ~(size_t)15;
	__asm__ volatile("" ::"r"(block) : "memory");
	return block;
}

__attribute__((noinline)) void own_free(void *block)
{
	__asm__ volatile("" ::"r"(block) : "memory");
}

static __attribute__((noinline)) void take(void)
{
	for (int i = 0; i < 40; i++) {
		void *block = own_malloc(100);

		if (i % 4)
			own_free(block);
	}
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	take();
	if (argc > 1)
		execl("/proc/self/exe", argv[0], (char *)NULL);
	return 0;
}
