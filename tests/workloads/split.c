/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split CPU_SECONDS [--unlink]: a load whose answer is known. CPU time below
 *
 *	main > deal_deck > work_70 > burn	7/10
 *	main > deal_deck > work_20 > burn	2/10
 *	main > deal_deck > work_10 > burn	1/10
 *
 * All three call the same loop with the same count, so the shares are exact in work. The order is
 * shuffled anew for each ten calls: no sampling period can run in step with it. --unlink: delete
 * the own file first of all.
 */
#include "cpu_time.h"
#include "keep_frame.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DECK = 10, SEVENTY = 7, TWENTY = 2, LOOPS = 30000 };

static volatile uint64_t sink;

/* One multiplication waits for the next: the time does not depend on where the code happens to lie.
 */
static __attribute__((noinline)) void burn(void)
{
	uint64_t value = sink;

	KEEP_FRAME();
	for (int i = 0; i < LOOPS; i++)
		value = value * 6364136223846793005u + 1442695040888963407u;
	sink = value;
}

static __attribute__((noinline)) void work_70(void)
{
	burn();
	KEEP_FRAME();
}

static __attribute__((noinline)) void work_20(void)
{
	burn();
	KEEP_FRAME();
}

static __attribute__((noinline)) void work_10(void)
{
	burn();
	KEEP_FRAME();
}

static unsigned int random_below(unsigned int limit)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state % limit);
}

static __attribute__((noinline)) void deal_deck(void)
{
	void (*deck[DECK])(void);

	for (int i = 0; i < DECK; i++)
		deck[i] = i < SEVENTY ? work_70 : i < SEVENTY + TWENTY ? work_20 : work_10;
	for (unsigned int left = DECK; left > 0; left--) {
		unsigned int pick = random_below(left);
		void (*work)(void) = deck[pick];

		deck[pick] = deck[left - 1];
		work();
	}
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	double enough_s = argc > 1 ? strtod(argv[1], NULL) : 1;

	if (argc > 2 && !strcmp(argv[2], "--unlink") && unlink(argv[0])) {
		perror(argv[0]);
		return 1;
	}
	while (cpu_s() < enough_s)
		deal_deck();
	return 0;
}
