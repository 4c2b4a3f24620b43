/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes on an allocator's functions.
 *
 *	bp_heap_session	entry and return of what allocates, as one program: the entry says whether
 *			it wants the return ("uprobe: Add support for session consumer", 6.13)
 *	bp_heap_enter, bp_heap_leave	the same before that, where the return costs in any case
 *	bp_heap_free	entry of what frees
 *	bp_heap_exec	what the process has had is gone
 *
 * Which argument is what, the probe's cookie says (enum bp_heap_call). Allocators call each other
 * (calloc(), operator new, a resolver's malloc()), so only a thread's outermost call counts: while
 * one is under way, a call with a smaller stack pointer is inside it. One with a larger or the same
 * stack pointer means that the one under way has been left by longjmp() or an exception, and takes
 * its place. The return belongs to it when the stack pointer is what a return leaves.
 */
#ifndef BPFPROF_ENTRY_HEAP_BPF_H
#define BPFPROF_ENTRY_HEAP_BPF_H

/*
 * As no_private_stack of entry_probe.bpf.h: never called. Programs that share one have to be
 * attached by the same way.
 */
#define HEAP_NEVER_CALLED(name_)                       \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY); \
		__uint(max_entries, 1);                \
		__uint(key_size, 4);                   \
		__uint(value_size, 4);                 \
	} name_ SEC(".maps")
HEAP_NEVER_CALLED(heap_calls_none);
HEAP_NEVER_CALLED(heap_free_calls_none);

struct bp_heap_thread {
	__u64 sp; /* of the outermost call under way; 0: none */
	__u64 bytes; /* that it asks for */
	__u64 arg; /* posix_memalign(): where the result goes */
	__u64 key; /* of the new block */
	__u64 last_key; /* of the block allocated last; 0: something was freed since */
	struct bp_heap_block old; /* of realloc(), out of the table until it is known how it ends */
	__u64 old_key;
	__s64 until; /* sampled: bytes to the next point */
	__u32 call;
	__u32 proc;
	__u32 is_begun; /* until is set */
	__u32 freed_site; /* --heap=sites: of the block that is being freed */
	__u64 freed_bytes; /* its size */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bp_heap_thread);
} heap_threads SEC(".maps");

static __always_inline void heap_no_thread(void)
{
	struct bp_heap_ctl *control = heap_control();

	if (control)
		__sync_fetch_and_add(&control->no_thread, 1);
}

/* The current thread's, if its process is one of ours; @allocates: it counts where there is no
 * memory for it. Newer kernels have none for a processor without cmpxchg16b, say. */
static __always_inline struct bp_heap_thread *heap_thread(bool allocates)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bp_heap_thread *t = bpf_task_storage_get(&heap_threads, task, NULL, 0);
	__u32 tgid = current_tgid(), *proc;

	if (t && t->proc)
		return t;
	proc = bpf_map_lookup_elem(&heap_proc_of, &tgid);
	if (!proc || !*proc)
		return NULL;
	t = bpf_task_storage_get(&heap_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		t->proc = *proc;
	else if (allocates)
		heap_no_thread();
	return t;
}

/* Does a point of chance fall into the next @bytes of the thread? */
static __always_inline bool heap_draws(struct bp_heap_thread *t, __u64 bytes)
{
	if (!heap_cfg.rate_bytes)
		return true;
	if (!t->is_begun) {
		t->until = chance_gap(bpf_get_prandom_u32(), heap_cfg.rate_bytes);
		t->is_begun = 1;
	}
	t->until -= bytes;
	if (t->until > 0)
		return false;
	t->until = chance_gap(bpf_get_prandom_u32(), heap_cfg.rate_bytes);
	return true;
}

/* The arguments are read before it is known which are asked for: the compiler would add what it
 * has chosen to the context, and the verifier refuses to read from there. */
static __always_inline __u64 heap_asked(const struct pt_regs *ctx, __u32 call)
{
	__u64 first = ARCH_CTX_ARG0(ARCH_REGS(ctx)), second = ARCH_CTX_ARG1(ARCH_REGS(ctx));
	__u64 third = ARCH_CTX_ARG2(ARCH_REGS(ctx)), fourth = ARCH_CTX_ARG3(ARCH_REGS(ctx));

	barrier_var(first);
	barrier_var(second);
	barrier_var(third);
	barrier_var(fourth);
	switch (call) {
	case BP_HEAP_ALLOC:
	case BP_HEAP_BREAK:
		return first;
	case BP_HEAP_ALLOC_COUNT:
		return first * second;
	case BP_HEAP_OUT:
	case BP_HEAP_REMAP:
		return third;
	case BP_HEAP_REALLOC_COUNT:
		return second * third;
	case BP_HEAP_RUST_REALLOC:
		return fourth;
	default:
		return second;
	}
}

static __always_inline bool heap_is_realloc(__u32 call)
{
	return call >= BP_HEAP_REALLOC && call <= BP_HEAP_REMAP;
}

/* The kernel's calls fail with -1, and none of them frees what it was given then. */
static __always_inline bool heap_is_kernels(__u32 call)
{
	return call >= BP_HEAP_REMAP && call <= BP_HEAP_BREAK;
}

static __always_inline bool heap_is_inside(const struct bp_heap_thread *t, __u64 sp)
{
	return t->sp && sp < t->sp;
}

/* The block at @addr, which is the thread's to give away, out of the table. */
static __always_inline bool heap_take(struct bp_heap_thread *t, struct bp_heap_proc *proc,
				      __u64 addr, struct bp_heap_block *out, __u64 *key)
{
	*key = bp_heap_key(t->proc, addr);
	__sync_fetch_and_add(&proc->frees, 1);
	if (live_take(*key, out))
		return true;
	__sync_fetch_and_add(&proc->unknown_frees, 1);
	return false;
}

/* The block that realloc() is given: until the call is over it is in no table, because from within
 * the call on its address may be another thread's. */
static __always_inline void heap_take_old(struct bp_heap_thread *t, struct bp_heap_proc *proc,
					  __u64 addr)
{
	__u64 key;

	t->old.site = t->old_key = 0;
	if (!addr || !heap_take(t, proc, addr, &t->old, &key))
		t->old.is_set = 0;
	t->old_key = addr ? key : 0;
}

/* realloc() has freed what it was given. */
static __always_inline void heap_drop_old(struct bp_heap_thread *t, struct bp_heap_proc *proc)
{
	bool is_temporary = t->old_key == t->last_key;

	if (!t->old_key)
		return;
	t->last_key = 0;
	if (t->old.is_set)
		heap_account_free(proc, &t->old, is_temporary);
	t->old.is_set = t->old_key = 0;
}

/* The call under way is not: it has jumped to the one that begins, at the stack pointer of both (as
 * reallocarray() to realloc()), or has been cut short. */
static __always_inline void heap_abandon(struct bp_heap_thread *t, struct bp_heap_proc *proc,
					 __u64 sp)
{
	__sync_fetch_and_add(sp == t->sp ? &proc->nested : &proc->cut_short, 1);
	if (!t->old_key)
		return;
	__sync_fetch_and_add(&proc->frees, -1);
	if (!t->old.is_set)
		__sync_fetch_and_add(&proc->unknown_frees, -1);
	else if (!live_put(t->old_key, &t->old))
		__sync_fetch_and_add(&proc->overflows, 1);
	t->old.is_set = t->old_key = 0;
}

/* The outermost call begins. Is its return of interest? */
HEAP_SUBPROG int heap_begin(struct pt_regs *ctx, struct bp_heap_thread *t, __u32 call)
{
	struct bp_heap_proc *proc = heap_proc(t->proc);
	bool draws;

	if (!proc)
		return 0;
	if (t->sp)
		heap_abandon(t, proc, ARCH_CTX_SP(ARCH_REGS(ctx)));
	t->bytes = heap_asked(ctx, call);
	if (call == BP_HEAP_BREAK && (__s64)t->bytes <= 0) {
		t->sp = 0;
		return 0;
	}
	t->call = call;
	t->arg = ARCH_CTX_ARG0(ARCH_REGS(ctx));
	draws = heap_draws(t, t->bytes);
	t->old_key = 0;
	if (heap_is_realloc(call))
		heap_take_old(t, proc, t->arg);
	if (draws) {
		t->sp = ARCH_CTX_SP(ARCH_REGS(ctx));
		return 1;
	}
	t->sp = 0;
	heap_drop_old(t, proc);
	__sync_fetch_and_add(&proc->passed_over, 1);
	__sync_fetch_and_add(&proc->asked_bytes, t->bytes);
	return 0;
}

/* A call of the current thread begins. Is its return of interest? */
HEAP_SUBPROG int heap_enter(struct pt_regs *ctx)
{
	struct bp_heap_thread *t = heap_thread(true);
	struct bp_heap_proc *proc;

	if (!t)
		return 0;
	if (!heap_is_inside(t, ARCH_CTX_SP(ARCH_REGS(ctx))))
		return heap_begin(ctx, t, bpf_get_attach_cookie(ctx));
	proc = heap_proc(t->proc);
	if (proc)
		__sync_fetch_and_add(&proc->nested, 1);
	return 0;
}

/* The block that the outermost call has returned; 0: none. */
static __always_inline __u64 heap_result(const struct pt_regs *ctx, const struct bp_heap_thread *t)
{
	__u64 result = ARCH_CTX_RESULT(ARCH_REGS(ctx)), block = 0;

	if (t->call == BP_HEAP_OUT)
		return !(__u32)result && !bpf_probe_read_user(&block, 8, (void *)t->arg) ? block
											 : 0;
	return heap_is_kernels(t->call) && result == ~0ULL ? 0 : result;
}

/* It has failed: nothing has changed, but that realloc(block, 0) frees. */
static __always_inline void heap_fail(struct bp_heap_thread *t, struct bp_heap_proc *proc)
{
	if (t->old_key && heap_is_realloc(t->call) && !heap_is_kernels(t->call) && !t->bytes) {
		heap_drop_old(t, proc);
		return;
	}
	__sync_fetch_and_add(&proc->failed, 1);
	if (t->old.is_set && t->old_key && !live_put(t->old_key, &t->old))
		__sync_fetch_and_add(&proc->overflows, 1);
	t->old.is_set = t->old_key = 0;
}

/* A return. If it is the outermost call's, and that has allocated, t->key is of the block, and this
 * the number of the process; else 0. */
HEAP_SUBPROG int heap_returned(struct pt_regs *ctx, struct bp_heap_thread *t)
{
	struct bp_heap_proc *proc;
	__u64 block;

	if (!t->sp || ARCH_CTX_SP(ARCH_REGS(ctx)) != t->sp + 8 * ARCH_CALL_PUSHES)
		return 0;
	proc = heap_proc(t->proc);
	if (!proc)
		return 0;
	block = heap_result(ctx, t);
	t->key = block ? bp_heap_key(t->proc, block) : 0;
	if (!block || block >> BP_HEAP_ADDR_BITS || block & 7) {
		t->sp = 0;
		heap_fail(t, proc);
		return 0;
	}
	/* A signal's handler that allocates now is inside the call. */
	heap_drop_old(t, proc);
	return t->proc;
}

/* The block @t->key is @site's. */
static __always_inline void heap_add(struct bp_heap_thread *t, struct bp_heap_proc *proc,
				     __u32 site)
{
	struct bp_heap_block block = {
		.born_ns = bpf_ktime_get_ns(), .bytes = t->bytes, .site = site, .is_set = 1};
	struct bp_heap_block before;
	bool is_live;

	__sync_fetch_and_add(&proc->recorded, 1);
	__sync_fetch_and_add(&proc->asked_bytes, block.bytes);
	if (live_take(t->key, &before)) {
		__sync_fetch_and_add(&proc->unseen_frees, 1);
		heap_account_free(proc, &before, false);
	}
	is_live = live_put(t->key, &block);
	if (!is_live)
		__sync_fetch_and_add(&proc->overflows, 1);
	heap_account_alloc(proc, &block, is_live);
	t->last_key = t->key;
}

/* The outermost call is over; its block is @site's. */
HEAP_SUBPROG int heap_record(struct bp_heap_thread *t, __u32 site)
{
	struct bp_heap_proc *proc = heap_proc(t->proc);
	struct bp_heap_ctl *control;

	if (proc)
		heap_add(t, proc, site);
	t->sp = 0;
	control = site ? NULL : heap_control();
	if (control)
		__sync_fetch_and_add(&control->sites_full, 1);
	return 0;
}

static __always_inline void heap_leave(struct pt_regs *ctx)
{
	struct bp_heap_thread *t = heap_thread(false);
	__u32 proc = t ? heap_returned(ctx, t) : 0;

	if (proc)
		heap_record(t, heap_find_site(ctx, proc, true));
}

/* Of session programs, which are at the probe's place first and where the call returns to then: 1
 * says that the return is not wanted. */
SEC("kprobe")
int bp_heap_session(struct pt_regs *ctx)
{
	if (takes_tail_call)
		bpf_tail_call(ctx, &heap_calls_none, 0);
	/* bpf_session_is_return() has other arguments in other kernels. */
	if (ARCH_CTX_IP(ARCH_REGS(ctx)) == bpf_get_func_ip(ctx))
		return !heap_enter(ctx);
	heap_leave(ctx);
	return 0;
}

SEC("kprobe")
int bp_heap_enter(struct pt_regs *ctx)
{
	if (takes_tail_call)
		bpf_tail_call(ctx, &heap_calls_none, 0);
	heap_enter(ctx);
	return 0;
}

SEC("kprobe")
int bp_heap_leave(struct pt_regs *ctx)
{
	if (takes_tail_call)
		bpf_tail_call(ctx, &heap_calls_none, 0);
	heap_leave(ctx);
	return 0;
}

/* The thread frees a block: the number of its process, when it is known and who frees it is asked.
 */
HEAP_SUBPROG int heap_freed(struct pt_regs *ctx, struct bp_heap_thread *t)
{
	__u64 addr = ARCH_CTX_ARG0(ARCH_REGS(ctx)), key;
	struct bp_heap_proc *proc = heap_proc(t->proc);
	struct bp_heap_block block;
	bool is_known;

	/* Inside a realloc(), which has given it away already. */
	if (!proc || heap_is_inside(t, ARCH_CTX_SP(ARCH_REGS(ctx))))
		return 0;
	is_known = heap_take(t, proc, addr, &block, &key);
	if (is_known) {
		heap_account_free(proc, &block, key == t->last_key);
		t->freed_site = block.site;
		t->freed_bytes = block.bytes;
	}
	t->last_key = 0;
	return is_known && heap_cfg.pairs ? t->proc : 0;
}

/* What the thread frees was allocated at one site and is freed at another. */
HEAP_SUBPROG int heap_pair(struct bp_heap_thread *t, __u32 free_site)
{
	struct bp_heap_pair pair = {.alloc_site = t->freed_site, .free_site = free_site};
	struct bp_heap_pair_sum *sum = bpf_map_lookup_elem(&heap_pairs, &pair), none = {};
	struct bp_heap_ctl *control = heap_control();
	__u64 objects = heap_objects(t->freed_bytes);

	if (!sum) {
		bpf_map_update_elem(&heap_pairs, &pair, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&heap_pairs, &pair);
	}
	if (sum) {
		__sync_fetch_and_add(&sum->objects, objects);
		__sync_fetch_and_add(&sum->bytes, heap_bytes(objects, t->freed_bytes));
	} else if (control) {
		__sync_fetch_and_add(&control->pairs_full, 1);
	}
	return 0;
}

SEC("kprobe")
int bp_heap_free(struct pt_regs *ctx)
{
	struct bp_heap_thread *t = ARCH_CTX_ARG0(ARCH_REGS(ctx)) ? heap_thread(false) : NULL;
	__u32 proc = t ? heap_freed(ctx, t) : 0;

	if (takes_tail_call)
		bpf_tail_call(ctx, &heap_free_calls_none, 0);
	if (proc)
		heap_pair(t, heap_find_site(ctx, proc, false));
	return 0;
}

/* Userspace is to probe what the process maps. */
static __always_inline void heap_tell(__u32 tgid, __u32 parent, bool is_other_task)
{
	struct bp_heap_event event = {
		.tgid = tgid,
		.parent = parent,
		.is_other_task = is_other_task,
		.time_ns = bpf_ktime_get_ns(),
	};

	bpf_ringbuf_output(&heap_ring, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

/* The process @tgid, whose number is @nr (0: a COMMAND, which begins here), is another program. One
 * that has not allocated keeps its number. */
static __always_inline void heap_exec(__u32 tgid, __u32 *nr)
{
	struct bp_heap_proc *proc = heap_proc(*nr);
	__u32 next;

	if (!proc)
		return;
	bpf_task_storage_delete(&heap_threads, bpf_get_current_task_btf());
	if (*nr && !proc->recorded && !proc->passed_over && !proc->failed)
		return;
	if (*nr)
		proc->is_over = 1;
	next = proc_new(tgid, proc->start_ns);
	if (next)
		*nr = next;
	else
		bpf_map_delete_elem(&heap_proc_of, &tgid);
}

SEC("raw_tp/sched_process_exec")
int bp_heap_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tgid = current_tgid();
	__u32 *nr = bpf_map_lookup_elem(&heap_proc_of, &tgid);

	if (!nr)
		return 0;
	heap_exec(tgid, nr);
	heap_tell(tgid, 0, ctx->args[1] != bpf_get_current_pid_tgid() >> 32);
	return 0;
}

/* A child of ours: it begins with nothing. What it frees of its parent's blocks, of which it has
 * copies, is unknown. */
SEC("raw_tp/sched_process_fork")
int bp_heap_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (void *)ctx->args[1];
	__u32 tgid = current_tgid(), child_tgid = task_tgid(child);
	__u32 *nr = bpf_map_lookup_elem(&heap_proc_of, &tgid), next;

	if (!heap_cfg.follows || !nr || !*nr || child_tgid == tgid)
		return 0;
	next = proc_new(child_tgid, BPF_CORE_READ(child, start_boottime));
	if (next && !bpf_map_update_elem(&heap_proc_of, &child_tgid, &next, BPF_ANY))
		heap_tell(child_tgid, tgid, false);
	return 0;
}

#endif
