/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling by bytes, with the kernel side's own code: its logarithm, its exponential and its
 * variance against the mathematics library's, and over many recordings the sums against the truth.
 * The seed is fixed: it passes or fails for good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/types.h>
#include <math.h>

#include "abi.h"
#include "heap_chance.bpf.h"

static uint64_t state = 0x9e3779b97f4a7c15ULL;

static uint32_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

static void test_log2(void **unused)
{
	static const uint32_t draws[] = {1, 2, 3, 255, 65537, 1u << 31, 0x7fffffff, 0xffffffff};

	for (size_t i = 0; i < sizeof(draws) / sizeof(*draws); i++) {
		double want = 32 - log2(draws[i]);
		double got = (double)chance_minus_log2(draws[i]) / (1 << CHANCE_LOG2_BITS);

		assert_true(fabs(got - want) < 3e-6);
	}
}

static void test_gap_has_the_mean(void **unused)
{
	double sum = 0, squares = 0;
	enum { CNT = 200000 };

	for (int i = 0; i < CNT; i++) {
		double gap = (double)chance_gap(draw(), 524288) / 524288;

		sum += gap;
		squares += gap * gap;
	}
	/* Mean and standard deviation of an exponential variable are the same: 1. */
	assert_true(fabs(sum / CNT - 1) < 4 / sqrt(CNT));
	assert_true(fabs(squares / CNT - 2) < 4 * sqrt(20.0 / CNT));
}

static void test_probability(void **unused)
{
	static const uint64_t rates[] = {2, 4096, 524288, 64 << 20};

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		for (uint64_t bytes = 16; bytes < 1ULL << 40; bytes = bytes * 3 + 1) {
			double want = -expm1(-(double)bytes / (double)rates[i]);
			double got = (double)chance_of(bytes, rates[i]) / 4294967296.0;

			/* Steps of 2^-32. */
			assert_true(fabs(got - want) < 2e-6 * want + 1.0 / 4294967296.0);
		}
	}
}

/* Of blocks of many sizes, what the recorded ones count as. */
struct estimate {
	double objects, bytes, variance;
};

static struct estimate record(uint64_t rate, int cnt)
{
	struct estimate sum = {0};
	int64_t until = (int64_t)chance_gap(draw(), rate);

	for (int i = 0; i < cnt; i++) {
		uint64_t bytes = 16ULL << (i % 13), objects;

		until -= (int64_t)bytes;
		if (until > 0)
			continue;
		until = (int64_t)chance_gap(draw(), rate);
		objects = chance_objects(bytes, rate);
		sum.objects += ldexp((double)objects, -BP_HEAP_UNIT_BITS);
		sum.bytes += ldexp((double)(objects * bytes), -BP_HEAP_UNIT_BITS);
		sum.variance += ldexp((double)chance_variance(objects, bytes), BP_VARIANCE_SHIFT);
	}
	return sum;
}

static void test_sums_are_unbiased(void **unused)
{
	enum { SEEDS = 300, CNT = 13 * 4000 };
	const double objects = CNT, bytes = 4000.0 * 16 * 8191;
	double object_sum = 0, byte_sum = 0, byte_squares = 0, variance_sum = 0;
	int within = 0;

	for (int i = 0; i < SEEDS; i++) {
		struct estimate got = record(65536, CNT);

		object_sum += got.objects;
		byte_sum += got.bytes;
		byte_squares += (got.bytes - bytes) * (got.bytes - bytes);
		variance_sum += got.variance;
		within += fabs(got.bytes - bytes) < 1.96 * sqrt(got.variance);
	}
	assert_true(fabs(object_sum / SEEDS / objects - 1) < 0.02);
	assert_true(fabs(byte_sum / SEEDS / bytes - 1) <
		    4 * sqrt(byte_squares / SEEDS / SEEDS) / bytes);
	/* What it says of its error is what its error is. */
	assert_true(fabs(variance_sum / byte_squares - 1) < 0.25);
	assert_in_range(within, SEEDS * 91 / 100, SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log2),
		cmocka_unit_test(test_gap_has_the_mean),
		cmocka_unit_test(test_probability),
		cmocka_unit_test(test_sums_are_unbiased),
	};

	return cmocka_run_group_tests_name("heap_chance", tests, NULL, NULL);
}
