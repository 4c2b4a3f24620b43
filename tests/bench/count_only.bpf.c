/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a sampling program can do: count. Beside count_only.c. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#include "count_only.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counts);
} counts SEC(".maps");

/* The processor's own word for the mode it was interrupted in. */
static __always_inline int is_kernel_mode(const struct bpf_perf_event_data *ctx)
{
#ifdef __TARGET_ARCH_arm64
	return (ctx->regs.pstate & 0xf) != 0;
#else
	return (ctx->regs.cs & 3) == 0;
#endif
}

SEC("perf_event")
int count_only(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0, tid = (__u32)bpf_get_current_pid_tgid();
	struct counts *mine = bpf_map_lookup_elem(&counts, &zero);

	if (!mine)
		return 0;
	mine->ran++;
	if (!tid)
		mine->idle++;
	else if (is_kernel_mode(ctx))
		mine->kernel++;
	return 0;
}

char licence[] SEC("license") = "GPL";
