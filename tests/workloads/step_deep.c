/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion as deep as the argument says, to be single-stepped. */
#include <stdlib.h>

static volatile long sink;

static __attribute__((noinline)) long leaf(long value)
{
	return sink + value;
}

static __attribute__((noinline)) long descend(long depth)
{
	long value = depth ? descend(depth - 1) : leaf(1);

	sink = 0;
	return value + sink;
}

int main(int argc, char **argv)
{
	return argc == 2 ? descend(strtol(argv[1], NULL, 10)) != 1 : 2;
}
