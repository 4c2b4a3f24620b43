/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up task for tests of the unwinder: one executable whose rows the test writes, one mapping
 * of code without a file, stacks that are literal arrays of words.
 */
#ifndef BPFPROF_TESTS_UNWIND_FIXTURE_H
#define BPFPROF_TESTS_UNWIND_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bpfhost.h"
#include "unwind/rows.h"

enum {
	TEXT = 0x400000, /* where FILE_OFF of the executable is mapped */
	TEXT_BYTES = 0x20000,
	FILE_OFF = 0x8000,
	UNBUILT = 0x600000, /* an executable that userspace has not looked at yet */
	JIT = 0x700000,
	STACK = 0x10000000,
	ALT_STACK = 0x8000000, /* of signal handlers: below, as it may be */
	STACK_MAPPING_BYTES = 0x1000000,
	STACKS_CNT = 2,
};

struct stack_words {
	uint64_t start;
	const uint64_t *words;
	size_t cnt;
};

static struct stack_words stacks[STACKS_CNT];
static struct bpfhost_mapping mappings[] = {
	{TEXT, TEXT + TEXT_BYTES, FILE_OFF, 0, true},
	{UNBUILT, UNBUILT + 0x1000, 0, 0, true},
	{JIT, JIT + 0x1000, 0, BP_EXE_NONE, true},
	{ALT_STACK, ALT_STACK + STACK_MAPPING_BYTES, 0, BP_EXE_NONE, false},
	{STACK, STACK + STACK_MAPPING_BYTES, 0, BP_EXE_NONE, false},
};

static int stack_read(void *ctx, uint64_t vaddr, void *out, size_t bytes)
{
	for (size_t i = 0; i < STACKS_CNT; i++) {
		uint64_t off = vaddr - stacks[i].start;

		if (vaddr < stacks[i].start || off >= stacks[i].cnt * 8 ||
		    bytes > stacks[i].cnt * 8 - off)
			continue;
		memcpy(out, (const char *)stacks[i].words + off, bytes);
		return 0;
	}
	return -1;
}

static const struct bpfhost_task task = {
	.mappings = mappings,
	.mappings_cnt = sizeof(mappings) / sizeof(mappings[0]),
	.read = stack_read,
};

/* From text offset @at on, @rule16 holds. */
struct test_row {
	uint32_t at;
	uint16_t rule16;
};

#define RULE(index) (uint16_t)(BP_RULE16_ESCAPE | (index))
#define INLINE(on_fp, cfa_units, slot) \
	(uint16_t)((on_fp)*BP_RULE16_BASE_FP | (cfa_units) << BP_RULE16_CFA_SHIFT | (slot))

static void use_rows(const struct test_row *test_rows, size_t cnt, const struct bp_rule *rules,
		     size_t rules_cnt)
{
	struct rows rows;
	int id;

	assert_int_equal(rows_init(&rows, FILE_OFF, FILE_OFF + TEXT_BYTES), 0);
	for (size_t i = 0; i < cnt; i++)
		rows_put(&rows, FILE_OFF + test_rows[i].at, test_rows[i].rule16);
	assert_int_equal(rows_finish(&rows), 0);
	id = bpfhost_add_rows(&rows, rules, rules_cnt, true);
	assert_true(id >= BP_EXE_FIRST);
	mappings[0].exe_id = (uint32_t)id;
	rows_deinit(&rows);
}

static void use_stack(size_t index, uint64_t start, const uint64_t *words, size_t cnt)
{
	stacks[index] = (struct stack_words){start, words, cnt};
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define USE_ROWS(rows, rules) use_rows(rows, COUNT(rows), rules, COUNT(rules))
#define USE_STACK(...)                                       \
	use_stack(0, STACK, (const uint64_t[]){__VA_ARGS__}, \
		  COUNT(((const uint64_t[]){__VA_ARGS__})))

static void expect_frames(const struct bpfhost_walk *walk, uint32_t outcome, const uint64_t *ips,
			  uint32_t cnt)
{
	if (walk->outcome != outcome || walk->total != cnt)
		fail_msg("outcome %u with %u frames, expected %u with %u", walk->outcome,
			 walk->total, outcome, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t ip = bpfhost_frame_ip(&task, bpfhost_frame(walk, i));

		if (ip != ips[i])
			fail_msg("frame %u is %lx, expected %lx", i, ip, ips[i]);
	}
}

/* The walk from @regs_, with its frames, leaf first. */
#define EXPECT(regs_, outcome_, ...)                                \
	do {                                                        \
		static const uint64_t ips_[] = {__VA_ARGS__};       \
		struct bpfhost_walk walk_;                          \
                                                                    \
		bpfhost_walk(&task, &(regs_), false, &walk_);       \
		expect_frames(&walk_, outcome_, ips_, COUNT(ips_)); \
	} while (0)

#endif
