/* SPDX-License-Identifier: Apache-2.0 */
/* Odd frames, to be single-stepped: alloca, variable and realigned arrays, large frames,
 * shrink-wrapped and tail-calling functions, many arguments, setjmp. Exits with 0 when it computed
 * what it should. */
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

enum { ROUNDS = 3, DEPTH = 24, BIG = 100000 };

static volatile long sink;
static jmp_buf target;

static NOINLINE long use(const volatile unsigned char *bytes, long cnt)
{
	long sum = 0;

	for (long i = 0; i < cnt; i += 7)
		sum += bytes[i];
	return sum;
}

static NOINLINE long with_alloca(long cnt)
{
	unsigned char *bytes = alloca((unsigned long)cnt);

	for (long i = 0; i < cnt; i += 7)
		bytes[i] = (unsigned char)i;
	return use(bytes, cnt);
}

static NOINLINE long with_array(long cnt)
{
	unsigned char bytes[cnt];

	memset(bytes, (int)cnt, (unsigned long)cnt);
	return use(bytes, cnt);
}

/* The frame is aligned beyond what the ABI gives: its CFA cannot be told from rsp. */
static NOINLINE long realigned(long seed)
{
	unsigned char bytes[64] __attribute__((aligned(64)));

	for (int i = 0; i < 64; i++)
		bytes[i] = (unsigned char)(seed + i);
	return use(bytes, 64) + !!((uintptr_t)bytes & 63);
}

/* The same, and of unknown size: gcc keeps the CFA in r10, then in memory (DRAP). */
static NOINLINE long realigned_alloca(long cnt, ...)
{
	unsigned char fixed[32] __attribute__((aligned(64)));
	unsigned char *bytes = alloca((unsigned long)cnt);
	va_list args;
	long sum;

	va_start(args, cnt);
	sum = va_arg(args, long);
	va_end(args);
	for (long i = 0; i < cnt; i += 7)
		bytes[i] = (unsigned char)(i + sum);
	for (int i = 0; i < 32; i++)
		fixed[i] = (unsigned char)i;
	return use(bytes, cnt) + use(fixed, 32) + realigned(sum) + !!((uintptr_t)fixed & 63);
}

static NOINLINE long big_frame(int depth)
{
	unsigned char bytes[BIG];

	bytes[depth] = (unsigned char)depth;
	bytes[BIG - 1 - depth] = 1;
	sink += bytes[depth];
	return depth ? big_frame(depth - 1) + bytes[BIG - 1 - depth] : use(bytes, 0);
}

typedef float vec8 __attribute__((vector_size(32)));

/* A vector's spill slot wants 32 bytes of alignment. */
static NOINLINE long vectors(int cnt)
{
	volatile vec8 sum = {0};
	vec8 step = {1, 2, 3, 4, 5, 6, 7, 8};

	for (int i = 0; i < cnt; i++) {
		sum += step;
		sink += realigned(i);
	}
	return (long)sum[3];
}

/* The frame is only made where it is needed. */
static NOINLINE long shrink_wrapped(long value, const long *other)
{
	long a, b, c;

	if (!other)
		return value;
	if (value < 0)
		return -value;
	a = use((const unsigned char *)other, 8);
	b = with_alloca(value + 16);
	c = realigned(a);
	return a + b + c + *other;
}

static NOINLINE long tail_even(long cnt);

static NOINLINE long tail_odd(long cnt)
{
	sink++;
	return cnt ? tail_even(cnt - 1) : 1;
}

static NOINLINE long tail_even(long cnt)
{
	sink++;
	return cnt ? tail_odd(cnt - 1) : 0;
}

static NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	return a + use((unsigned char *)&i, 8) * b + c * d + e * f + g * h + i;
}

struct wide {
	long words[9];
};

static NOINLINE struct wide by_value(struct wide in)
{
	struct wide out = in;

	for (int i = 0; i < 9; i++)
		out.words[i] += many(i, 2, 3, 4, 5, 6, 7, 8, in.words[i]);
	return out;
}

static NOINLINE long recurse(long depth, long (*leaf)(long))
{
	long here = depth * 3;

	if (!depth)
		return leaf(40);
	return recurse(depth - 1, leaf) + here;
}

static NOINLINE void jump_back(int depth)
{
	volatile long local = depth;

	if (!depth)
		longjmp(target, 5);
	jump_back(depth - 1);
	sink += local;
}

static NOINLINE long jumps(void)
{
	volatile long sum = 0;
	int value = setjmp(target);

	if (value)
		return value + sum;
	sum = 2;
	jump_back(6);
	return 0;
}

static NOINLINE long choose(int which)
{
	static const long values[2] = {3, 4};

	switch (which) {
	case 0:
		return with_array(33);
	case 1:
		return with_alloca(33);
	case 2:
		return realigned_alloca(50, 3L);
	case 3:
		return vectors(3);
	case 4:
		return shrink_wrapped(5, values) + shrink_wrapped(-5, values) +
		       shrink_wrapped(1, NULL);
	case 5:
		return tail_even(9) + tail_odd(8);
	case 6:
		return by_value((struct wide){.words = {1, 2, 3, 4, 5, 6, 7, 8, 9}}).words[4];
	case 7:
		return recurse(DEPTH, with_alloca) + recurse(DEPTH, realigned);
	case 8:
		return big_frame(3);
	default:
		return jumps();
	}
}

int main(void)
{
	long first = 0, again = 0;

	for (int round = 0; round < ROUNDS; round++) {
		again = 0;
		for (int which = 0; which < 10; which++)
			again += choose(which);
		first = round ? first : again;
	}
	return first != again || jumps() != 7;
}
