/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) OR Apache-2.0 */
/* Every capacity that is fixed at compile time, with the relations between them. What depends on
 * the host is in struct bp_config. */
#ifndef BPFPROF_LIMITS_H
#define BPFPROF_LIMITS_H

enum bp_limits {
	/*
	 * User frames kept: the BP_FRAMES_LEAF nearest the leaf and the BP_FRAMES_ROOT nearest the
	 * root. Between them the walk goes on and counts: frame i >= BP_FRAMES_LEAF is stored at
	 * BP_FRAMES_LEAF + (i - BP_FRAMES_LEAF) % BP_FRAMES_ROOT, so the last ones stay.
	 */
	BP_FRAMES_LEAF = 256,
	BP_FRAMES_ROOT = 256,
	BP_FRAMES_USER = BP_FRAMES_LEAF + BP_FRAMES_ROOT,

	/* The kernel's default kernel.perf_event_max_stack: bpf_get_stack() gives no more. */
	BP_FRAMES_KERNEL = 127,
	BP_FRAMES_MAX = BP_FRAMES_KERNEL + BP_FRAMES_USER,

	/* Steps of one walk, elided frames included; beyond it the stack is truncated as
	 * `too_deep`. */
	BP_WALK_MAX = 2048,
	BP_WALK_TURN = 32, /* steps of a turn; divides BP_WALK_MAX */

	/* Contexts that may nest on one CPU: a hard interrupt or NMI over preempted probe programs.
	 */
	BP_SLOTS_PER_CPU = 8,

	/* How far above sp a frame pointer may point and be believed: the largest frame we expect.
	 */
	BP_FP_FRAME_BYTES_MAX = 1 << 20,

	BP_EVENTS_SAMPLED = 6, /* -e, in one recording */
	BP_CALLS_MAX = 65536, /* calls whose time is taken, at once */
	BP_EVENTS_MAX = BP_EVENTS_SAMPLED + 2,
	BP_COMM_BYTES = 16,
	BP_GLOBS_MAX = 8,
	BP_GLOB_TOKENS_MAX = 31,
	BP_CGROUPS_MAX = 8,
	BP_CGROUP_DEPTH = 32,
	BP_LOG2_CNT = 40, /* powers of two of nanoseconds: up to 18 minutes */

	/* Kernel stacks of waits that are remembered; a power of two. */
	BP_KERNEL_MEMO_BITS = 4,
	BP_KERNEL_MEMOS_PER_CPU = 1 << BP_KERNEL_MEMO_BITS,

	/* User stacks of waits that are remembered; a power of two. */
	BP_USER_MEMO_BITS = 4,
	BP_USER_MEMOS_PER_CPU = 1 << BP_USER_MEMO_BITS,

	/* Threads whose times are kept where the kernel cannot keep them with the task (5.10). */
	BP_THREADS_TABLE = 32768,

	/* Probes of one hash look-up before the table counts as full there. */
	BP_PROBES_MAX = 32,

	/* Maple tree levels: 16^8 ranges. Red-black tree: 2 * log2(64 Ki mappings), and some. */
	BP_MAPLE_DEPTH = 8,
	BP_RBTREE_DEPTH = 48,

	/* An executable's path: its last BP_PATH_PARTS components, BP_PATH_BYTES in all. */
	BP_PATH_PARTS = 32,
	BP_PATH_BYTES = 2048,

	/* Of an executable, where its file is gone: ELF and program headers and the first notes. */
	BP_EXE_HEAD_BYTES = 1024,
	BP_NAME_BYTES = 256,

	/*
	 * Snapshots (struct bp_snapshot): frames of both kinds before it, executable mappings, and
	 * how many mappings and holes are looked at to find them. Per CPU not more than one in
	 * BP_SNAPSHOT_PERIOD_NS on average, BP_SNAPSHOT_BURST in a row.
	 */
	BP_SNAPSHOT_FRAMES = 192,
	BP_SNAPSHOT_VMAS = 64,
	BP_SNAPSHOT_VMA_STEPS = 192,
	BP_SNAPSHOT_STACK_BYTES = 65536,
	BP_SNAPSHOT_PRICE_BYTES = 16384, /* each costs a period more */
	BP_SNAPSHOT_PAGE_BYTES = 4096, /* or a part of a larger page */
	/* Below sp: registers that an epilogue has popped, which GCC's tables still find there. */
	BP_SNAPSHOT_BELOW_SP = 128,
	/* Above where the main thread's stack began, which nobody unwinds into. */
	BP_SNAPSHOT_ABOVE_START = 64,
	BP_SNAPSHOT_REGS = 32,
	BP_SNAPSHOT_PERIOD_NS = 1000000,
	BP_SNAPSHOT_BURST = 128,
};

_Static_assert((BP_FRAMES_ROOT & (BP_FRAMES_ROOT - 1)) == 0,
	       "the root window is addressed by a mask");
_Static_assert(BP_WALK_MAX >= BP_FRAMES_USER, "the walk reaches what is kept");

#endif
