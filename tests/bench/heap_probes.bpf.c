/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What probes on malloc and free cost by themselves, and with the least that a tool can do there:
 * beside heap_probes.c. The memleak_* programs are the shape of bcc's tool of that name: entry and
 * return of malloc, entry of free, three hashes and the kernel's own stack map.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define HASH(name_, key_, value_, cnt_)          \
	struct {                                 \
		__uint(type, BPF_MAP_TYPE_HASH); \
		__uint(max_entries, cnt_);       \
		__type(key, key_);               \
		__type(value, value_);           \
	} name_ SEC(".maps")

struct allocation {
	__u64 bytes, born_ns;
	int stack;
};

struct combined {
	__u64 bytes, objects;
};

HASH(sizes, __u64, __u64, 10240);
HASH(allocations, __u64, struct allocation, 1000000);
HASH(combined, __u64, struct combined, 10240);

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 10240);
	__uint(key_size, 4);
	__uint(value_size, 127 * 8);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} runs SEC(".maps");

SEC("kprobe")
int empty(struct pt_regs *ctx __attribute__((unused)))
{
	return 0;
}

/* As a session: the return is not wanted. */
SEC("kprobe")
int no_return(struct pt_regs *ctx __attribute__((unused)))
{
	return 1;
}

SEC("kprobe")
int count(struct pt_regs *ctx __attribute__((unused)))
{
	__u32 zero = 0;
	__u64 *cnt = bpf_map_lookup_elem(&runs, &zero);

	if (cnt)
		++*cnt;
	return 0;
}

SEC("kprobe")
int memleak_enter(struct pt_regs *ctx)
{
	__u64 tid = bpf_get_current_pid_tgid(), size = PT_REGS_PARM1(ctx);

	bpf_map_update_elem(&sizes, &tid, &size, BPF_ANY);
	return 0;
}

SEC("kprobe")
int memleak_leave(struct pt_regs *ctx)
{
	__u64 tid = bpf_get_current_pid_tgid(), addr = PT_REGS_RC(ctx), stack;
	__u64 *size = bpf_map_lookup_elem(&sizes, &tid);
	struct allocation allocation = {0};
	struct combined *sum, first = {0};

	if (!size)
		return 0;
	allocation.bytes = *size;
	bpf_map_delete_elem(&sizes, &tid);
	if (!addr)
		return 0;
	allocation.born_ns = bpf_ktime_get_ns();
	allocation.stack = (int)bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	bpf_map_update_elem(&allocations, &addr, &allocation, BPF_ANY);
	stack = (__u64)allocation.stack;
	sum = bpf_map_lookup_elem(&combined, &stack);
	if (!sum) {
		bpf_map_update_elem(&combined, &stack, &first, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&combined, &stack);
	}
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->bytes, allocation.bytes);
	__sync_fetch_and_add(&sum->objects, 1);
	return 0;
}

SEC("kprobe")
int memleak_free(struct pt_regs *ctx)
{
	__u64 addr = PT_REGS_PARM1(ctx), stack, bytes;
	struct allocation *allocation = bpf_map_lookup_elem(&allocations, &addr);
	struct combined *sum;

	if (!allocation)
		return 0;
	stack = (__u64)allocation->stack;
	bytes = allocation->bytes;
	bpf_map_delete_elem(&allocations, &addr);
	sum = bpf_map_lookup_elem(&combined, &stack);
	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->bytes, -bytes);
	__sync_fetch_and_add(&sum->objects, -1);
	return 0;
}

char licence[] SEC("license") = "GPL";
