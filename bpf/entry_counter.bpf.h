/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Perf events: timers, PMU counters, software events. */
#ifndef BPFPROF_ENTRY_COUNTER_BPF_H
#define BPFPROF_ENTRY_COUNTER_BPF_H

static __always_inline int counter_entry(struct bpf_perf_event_data *ctx, __u32 event)
{
	struct bp_trigger trigger = {
		.is_user = ARCH_CTX_IS_USER(&ctx->regs),
		.ip = ARCH_CTX_IP(&ctx->regs),
		.sp = ARCH_CTX_SP(&ctx->regs),
		.fp = ARCH_CTX_FP(&ctx->regs),
		.is_32bit = ARCH_CTX_IS_32BIT(&ctx->regs),
		.value = ctx->sample_period,
		.event = event,
	};

	return sample(ctx, &trigger);
}

#define BP_COUNTER_ENTRY(event_)                               \
	SEC("perf_event")                                      \
	int bp_oncpu_##event_(struct bpf_perf_event_data *ctx) \
	{                                                      \
		return counter_entry(ctx, event_);             \
	}

BP_EACH_EVENT(BP_COUNTER_ENTRY)

#endif
