/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembered kernel stacks: threads in one stack's memory, system call after system call, each with
 * a gap of random size below the user's registers and locals that keep what was there before. What
 * is recalled is what the unwinder would have said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/types.h>
#include <string.h>

#include "kernel_memo.bpf.h"

enum {
	STACK_WORDS = 512,
	DEEPEST = 12,
	CALL_SITES = 40,
	CHAINS = 6,
	CALLS = 4000,
	SEEDS = 50,
	RA = 0x1000, /* return addresses are from here on */
};

/* A chain of calls, leaf first: frame j has size[j] words, the return address the highest. */
struct chain {
	uint64_t frames[DEEPEST];
	uint32_t size[DEEPEST];
	uint32_t cnt;
};

struct machine {
	uint64_t random;
	uint64_t stack[STACK_WORDS]; /* the user's registers are behind it */
	struct chain chains[CHAINS];
	uint32_t gap_max;
	struct bp_kernel_memo memos[CHAINS];
	uint32_t recalled, wrong;
};

static uint32_t below(struct machine *machine, uint32_t end)
{
	machine->random = machine->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(machine->random >> 33) % end;
}

/* A call site belongs to one function, hence the size of the frame that it returns to. */
static void make_chains(struct machine *machine)
{
	uint32_t sizes[CALL_SITES];

	for (uint32_t i = 0; i < CALL_SITES; i++)
		sizes[i] = 2 + below(machine, 20);
	for (uint32_t c = 0; c < CHAINS; c++) {
		struct chain *chain = &machine->chains[c];

		chain->cnt = 2 + below(machine, DEEPEST - 1);
		for (uint32_t j = 0; j < chain->cnt; j++) {
			uint32_t site = below(machine, CALL_SITES);

			chain->frames[j] = RA + site;
			/* The frame above the one whose return address is at this site. */
			chain->size[j] = j ? sizes[chain->frames[j - 1] - RA] : 8;
		}
		/* All enter the kernel at one place, from which one function is called. */
		chain->frames[chain->cnt - 1] = RA + CALL_SITES;
		chain->frames[chain->cnt - 2] = RA + CALL_SITES + 1;
		chain->size[chain->cnt - 1] = 5;
	}
}

/* The thread goes down @chain; locals are written now and then. Returns sp, as an index. */
static uint32_t enter(struct machine *machine, const struct chain *chain)
{
	uint32_t at = STACK_WORDS, gap = machine->gap_max ? below(machine, machine->gap_max) : 0;

	for (uint32_t j = chain->cnt; j-- > 0;) {
		machine->stack[--at] = chain->frames[j];
		if (j == chain->cnt - 1)
			at -= gap;
		for (uint32_t k = 1; k < chain->size[j]; k++)
			if (!below(machine, 3))
				at--;
			else
				machine->stack[--at] = below(machine, 1000);
	}
	return at;
}

static void copy_words(const struct machine *machine, uint32_t sp, struct bp_stack_words *out)
{
	out->cnt = STACK_WORDS - sp;
	memcpy(out->words, machine->stack + sp,
	       (out->cnt < KM_WORDS ? out->cnt : KM_WORDS) * sizeof(uint64_t));
}

/* As kernel_learn() does. */
static void learn(struct bp_kernel_memo *memo, struct bp_stack_words *copy, uint64_t end_off)
{
	uint64_t cnt = copy->frame_cnt - 1, found = 0, right = cnt;

	for (uint64_t first = 0; first < KM_WORDS; first += KM_TURN)
		found = words_find_left(copy, cnt, first, found);
	for (uint64_t turn = KM_WORDS / KM_TURN; turn-- > 0;)
		right = words_find_right(copy, right, turn * KM_TURN);
	memo_learn(memo, copy, end_off, found, right);
}

/* One wait: is it recalled, and rightly? Else it is learned. */
static void wait_in(struct machine *machine, uint32_t c)
{
	const struct chain *chain = &machine->chains[c];
	struct bp_kernel_memo *memo = &machine->memos[c % 3];
	static struct bp_stack_words copy;
	uint32_t sp = enter(machine, chain);

	copy_words(machine, sp, &copy);
	if (memo->cnt && memo->agreed >= KM_AGAIN &&
	    memo_holds(memo, copy.words, machine->stack[STACK_WORDS - 1],
		       8 * (STACK_WORDS - (uint64_t)sp))) {
		memo->misses = 0;
		machine->recalled++;
		machine->wrong += memo->cnt != chain->cnt ||
				  memcmp(memo->frames, chain->frames, chain->cnt * 8) != 0;
		return;
	}
	if (!memo_is_worth_learning(&memo->misses) || copy.cnt > KM_WORDS)
		return;
	copy.frame_cnt = chain->cnt;
	memcpy(copy.frames, chain->frames, chain->cnt * 8);
	learn(memo, &copy, 8 * (STACK_WORDS - (uint64_t)sp));
}

static void run(uint32_t gap_max, uint32_t *recalled, uint32_t *wrong)
{
	*recalled = *wrong = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		static struct machine machine;

		memset(&machine, 0, sizeof(machine));
		machine.random = seed * 7919;
		machine.gap_max = gap_max;
		make_chains(&machine);
		/* Mostly the same wait again and again, as threads do. */
		for (uint32_t i = 0; i < CALLS; i++)
			wait_in(&machine, i / 100 % 2 ? below(&machine, CHAINS) : i / 500 % CHAINS);
		*recalled += machine.recalled;
		*wrong += machine.wrong;
	}
}

static void test_no_gap(void **state)
{
	uint32_t recalled, wrong;

	run(0, &recalled, &wrong);
	assert_int_equal(wrong, 0);
	assert_true(recalled > SEEDS * CALLS / 4);
}

static void test_random_gap(void **state)
{
	uint32_t recalled, wrong;

	run(64, &recalled, &wrong);
	assert_int_equal(wrong, 0);
	assert_true(recalled > SEEDS * CALLS / 8);
}

/* Two ways to find the frames: with one gap they stay in doubt, with others the doubt goes. */
static void test_doubt(void **state)
{
	struct bp_stack_words copy = {
		.cnt = 8,
		.words = {5, RA + 1, RA + 1, 7, RA + 2, 9, 9, RA + 3},
		.frame_cnt = 3,
		.frames = {RA + 1, RA + 2, RA + 3},
	};
	struct bp_kernel_memo memo = {0};

	for (int i = 0; i < 2 * KM_AGAIN; i++)
		learn(&memo, &copy, 64);
	assert_int_equal(memo.cnt, 3);
	assert_true(memo.agreed < KM_AGAIN);
	copy.words[2] = 0;
	learn(&memo, &copy, 64);
	assert_true(memo.agreed >= KM_AGAIN);
	assert_true(memo_holds(&memo, copy.words, RA + 3, 64));
	assert_false(memo_holds(&memo, copy.words, RA + 2, 64));
	copy.words[4] = 0;
	assert_false(memo_holds(&memo, copy.words, RA + 3, 64));
}

/* The unwinder's addresses are not the stack's where something has replaced these, as kretprobes
 * do. */
static void test_not_there(void **state)
{
	struct bp_stack_words copy = {
		.cnt = 4,
		.words = {5, RA + 1, RA + 2, RA + 3},
		.frame_cnt = 3,
		.frames = {RA + 1, RA + 7, RA + 3},
	};
	struct bp_kernel_memo memo = {0};

	learn(&memo, &copy, 32);
	assert_int_equal(memo.cnt, 0);
	copy.frames[1] = RA + 2;
	copy.words[3] = 0;
	learn(&memo, &copy, 32);
	assert_int_equal(memo.cnt, 0);
}

static void test_worth_learning(void **state)
{
	uint32_t learned = 0, misses = 0;

	for (int i = 0; i < 1000; i++)
		learned += memo_is_worth_learning(&misses);
	/* In bursts from 0, 1, 2, 4, ... 64 times 8 on. */
	assert_int_equal(learned, 8 * 2 * KM_AGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_gap),	       cmocka_unit_test(test_random_gap),
		cmocka_unit_test(test_doubt),	       cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_worth_learning),
	};

	return cmocka_run_group_tests_name("bpf/kernel_memo", tests, NULL, NULL);
}
