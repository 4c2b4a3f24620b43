/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is free goes back to the system, whichever thread has used it. Sanitizers have an
 * allocator of their own, of which none of this holds. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/own_memory.h"

#define MIB (1ULL << 20)

/* AddressSanitizer's keeps what is freed. gcc and clang say in different ways that it is there; its
 * runtime is. */
extern void __asan_init(void) __attribute__((weak));
#define IS_OUR_MALLOC (!__asan_init)

enum { THREADS = 4, BLOCKS = 4096, BLOCK_BYTES = 2000, KEPT_BYTES = 64 };

struct use {
	void *kept; /* one small block behind all that is freed */
	pthread_barrier_t *barrier;
};

/* 8 MB in small blocks, of which the last is kept. */
static void *use_much(void *arg)
{
	struct use *use = arg;
	void **blocks = calloc(BLOCKS, sizeof(*blocks));

	if (!blocks)
		return NULL;
	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK_BYTES);
		if (blocks[i])
			memset(blocks[i], 1, BLOCK_BYTES);
	}
	use->kept = malloc(KEPT_BYTES);
	/* All at once, so that none takes what another has freed. */
	pthread_barrier_wait(use->barrier);
	for (size_t i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	free(blocks);
	return NULL;
}

static uint64_t rss_after_threads(struct use uses[static THREADS])
{
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		uses[i].barrier = &barrier;
		assert_int_equal(pthread_create(&threads[i], NULL, use_much, &uses[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	return own_rss_anon_bytes();
}

static void test_threads(void **state)
{
	struct use uses[THREADS] = {{NULL}};
	uint64_t before = own_rss_anon_bytes(), after;

	assert_true(before > 0);
	after = rss_after_threads(uses);
	own_memory_give_back();
	/* 33 MB were in use; what is kept is 256 bytes. */
	if (IS_OUR_MALLOC) {
		assert_true(own_rss_anon_bytes() < before + 2 * MIB);
		assert_true(after < before + 40 * MIB);
	}
	for (size_t i = 0; i < THREADS; i++)
		free(uses[i].kept);
}

/* Large blocks are given back as they are freed, also after larger ones have been. */
static void test_large_blocks(void **state)
{
	uint64_t before;
	char *one, *other;

	one = malloc(16 * MIB);
	assert_non_null(one);
	free(one);
	before = own_rss_anon_bytes();
	one = malloc(8 * MIB);
	other = malloc(8 * MIB);
	assert_non_null(one);
	assert_non_null(other);
	memset(one, 1, 8 * MIB);
	memset(other, 1, 8 * MIB);
	assert_true(own_rss_anon_bytes() >= before + 16 * MIB - MIB / 4);
	free(one);
	if (IS_OUR_MALLOC)
		assert_true(own_rss_anon_bytes() < before + 9 * MIB);
	free(other);
	if (IS_OUR_MALLOC)
		assert_true(own_rss_anon_bytes() < before + MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* Before the heap has free room for such blocks. */
		cmocka_unit_test(test_large_blocks),
		cmocka_unit_test(test_threads),
	};

	own_memory_keep_little();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
