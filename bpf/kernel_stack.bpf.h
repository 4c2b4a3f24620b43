/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel stack of a thread that waits: as it is remembered (kernel_memo.bpf.h), or by the
 * kernel's unwinder. */
#ifndef BPFPROF_KERNEL_STACK_BPF_H
#define BPFPROF_KERNEL_STACK_BPF_H

struct bp_kernel_stack {
	__u64 cnt;
	__u64 frames[BP_FRAMES_KERNEL]; /* leaf first */
	struct bp_stack_words words;
	__u64 pad[6]; /* to the end of a cache line */
};
_Static_assert(sizeof(struct bp_kernel_stack) % 64 == 0, "no cache line is another CPU's too");

/* By CPU number; at load: possible CPUs. What bp_switch takes is for bp_resumed on the same CPU. */
BP_ARRAY(kernel_stacks, struct bp_kernel_stack, 0);

/* At load: BP_KERNEL_MEMOS_PER_CPU for each possible CPU, which alone writes them. */
BP_ARRAY(kernel_memos, struct bp_kernel_memo, 0);

/* Stacks are aligned to their size. */
#define STACK_BASE(sp) ((sp) & ~(__u64)(ARCH_THREAD_BYTES - 1))

/* Where this CPU remembers a kernel stack of @owner. */
static __always_inline struct bp_kernel_memo *kernel_memo(__u32 cpu_nr, __u64 owner)
{
	__u32 nr = cpu_nr << BP_KERNEL_MEMO_BITS |
		   (__u32)(owner * 0x9e3779b97f4a7c15ULL >> (64 - BP_KERNEL_MEMO_BITS));

	return bpf_map_lookup_elem(&kernel_memos, &nr);
}

/* The stack of @owner, whose sp is @sp, into the CPU's, if it is one that is remembered. */
__noinline int kernel_recall(__u32 cpu_nr, __u64 owner, __u64 sp)
{
	struct bp_kernel_stack *stack = bpf_map_lookup_elem(&kernel_stacks, &cpu_nr);
	struct bp_kernel_memo *memo = kernel_memo(cpu_nr, owner);
	__u32 zero = 0, word_cnt, cnt;
	struct bp_ctl *control = bpf_map_lookup_elem(&ctl, &zero);
	__u64 last, end;

	if (!stack || !memo || !control || memo->owner != owner || memo->agreed < KM_AGAIN ||
	    memo->module_loads != control->module_loads)
		return 0;
	word_cnt = memo->word_cnt;
	cnt = memo->cnt;
	if (!cnt || cnt > KM_FRAMES || word_cnt > KM_WORDS)
		return 0;
	end = STACK_BASE(sp) + memo->top_off;
	if (bpf_probe_read_kernel(stack->words.words, word_cnt * 8, (void *)sp) ||
	    bpf_probe_read_kernel(&last, sizeof(last), (void *)(end - sizeof(last))) ||
	    !memo_holds(memo, stack->words.words, last, end - sp))
		return 0;
	memo->misses = 0;
	bpf_probe_read_kernel(stack->frames, cnt * 8, memo->frames);
	stack->cnt = cnt;
	return 1;
}

/* Turns of words_find_left() and words_find_right() over the CPU's copy. By themselves, so that the
 * verifier goes through one turn of each. */
__noinline __u64 kernel_find_left(__u32 cpu_nr, __u64 cnt, __u64 first, __u64 found)
{
	struct bp_kernel_stack *stack = bpf_map_lookup_elem(&kernel_stacks, &cpu_nr);

	return stack ? words_find_left(&stack->words, cnt, first, found) : 0;
}

__noinline __u64 kernel_find_right(__u32 cpu_nr, __u64 left, __u64 first)
{
	struct bp_kernel_stack *stack = bpf_map_lookup_elem(&kernel_stacks, &cpu_nr);

	return stack ? words_find_right(&stack->words, left, first) : WORDS_ELSEWHERE;
}

/* Remember the CPU's, of the stack of @owner that has the user's registers at @end. */
__noinline int kernel_learn(__u32 cpu_nr, __u64 owner, __u64 sp, __u64 end)
{
	struct bp_kernel_stack *stack = bpf_map_lookup_elem(&kernel_stacks, &cpu_nr);
	struct bp_kernel_memo *memo = kernel_memo(cpu_nr, owner);
	__u64 bytes = end - sp, found = 0, right;
	__u32 zero = 0, cnt;
	struct bp_ctl *control = bpf_map_lookup_elem(&ctl, &zero);

	if (!stack || !memo || !control || !memo_is_worth_learning(&memo->misses))
		return 0;
	if (memo->owner != owner || memo->module_loads != control->module_loads)
		memo->cnt = 0;
	cnt = stack->cnt;
	/* What is checked is what is read: 6.1 does not see it of two copies. */
	barrier_var(bytes);
	if (!cnt || cnt >= KM_FRAMES || bytes > sizeof(stack->words.words) ||
	    bpf_probe_read_kernel(stack->words.words, bytes & ~7ULL, (void *)sp) ||
	    bpf_probe_read_kernel(stack->words.frames, cnt * 8, stack->frames)) {
		memo->cnt = 0;
		return 0;
	}
	memo->owner = owner;
	memo->module_loads = control->module_loads;
	memo->top_off = end - STACK_BASE(sp);
	stack->words.cnt = bytes / 8;
	stack->words.frame_cnt = cnt;
	for (__u64 first = 0; first < KM_WORDS; first += KM_TURN)
		found = kernel_find_left(cpu_nr, cnt - 1, first, found);
	right = cnt - 1;
	for (__u64 turn = KM_WORDS / KM_TURN; turn-- > 0;)
		right = kernel_find_right(cpu_nr, right, turn * KM_TURN);
	memo_learn(memo, &stack->words, bytes, found, right);
	return 0;
}

/* The kernel stack of @task, a pointer that the verifier knows as a task's, which does not run and
 * waits as enum bp_part @part, into this CPU's. */
static __always_inline void kernel_stack_take(struct task_struct *task, __u32 part)
{
	__u64 sp = ARCH_SWITCHED_SP(task), owner = (__u64)task->pid << 8 | part;
	__u32 cpu_nr = bpf_get_smp_processor_id();
	struct bp_kernel_stack *stack = bpf_map_lookup_elem(&kernel_stacks, &cpu_nr);
	long bytes;

	if (!stack || (sp && kernel_recall(cpu_nr, owner, sp)))
		return;
	bytes = bpf_get_task_stack(task, stack->frames, sizeof(stack->frames), 0);
	stack->cnt = bytes > 0 ? (__u64)bytes / 8 : 0;
	if (sp)
		kernel_learn(cpu_nr, owner, sp, pointer_number(compat_other_user_regs(task)));
}

#endif
