/* SPDX-License-Identifier: Apache-2.0 */
/* A program of each kind that expressions are for: it counts what --where wants, sums up --weight,
 * and counts by --hist. Beside expr_tool.c. */
#include "shim.bpf.h"

#include "expr.bpf.h"

#include "expr_tool.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct expr_sums);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} hist SEC(".maps");

static __always_inline void count(__u64 key)
{
	__u64 *cnt, one = 1;

	cnt = bpf_map_lookup_elem(&hist, &key);
	if (cnt)
		__sync_fetch_and_add(cnt, 1);
	else
		bpf_map_update_elem(&hist, &key, &one, BPF_NOEXIST);
}

static __always_inline int entry(__u32 event, void *ctx)
{
	__u32 zero = 0;
	struct expr_sums *sum = bpf_map_lookup_elem(&sums, &zero);

	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->ran, 1);
	if (!expr_where(event, ctx))
		return 0;
	__sync_fetch_and_add(&sum->kept, 1);
	__sync_fetch_and_add(&sum->weight, expr_weight(event, ctx));
	count(expr_hist(event, ctx));
	return 0;
}

SEC("kprobe")
int expr_kprobe(void *ctx)
{
	return entry(0, ctx);
}

SEC("tracepoint")
int expr_tracepoint(void *ctx)
{
	return entry(1, ctx);
}

SEC("perf_event")
int expr_perf_event(void *ctx)
{
	return entry(2, ctx);
}

/* All slots, as a product's program may have them. */
const volatile __u32 which;

SEC("kprobe")
int expr_all(void *ctx)
{
	__u64 result = 0;

	for (__u32 i = 0; i < BP_EXPR_EVENTS; i++)
		if (which == i && expr_where(i, ctx))
			result += expr_weight(i, ctx) + expr_hist(i, ctx);
	return (int)result;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
