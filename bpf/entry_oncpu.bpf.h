/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Perf events: timers, PMU counters, software events. */
#ifndef BPFPROF_ENTRY_ONCPU_BPF_H
#define BPFPROF_ENTRY_ONCPU_BPF_H

SEC("perf_event")
int bp_oncpu(struct bpf_perf_event_data *ctx)
{
	struct bp_trigger trigger = {
		.is_user = ARCH_CTX_IS_USER(&ctx->regs),
		.ip = ARCH_CTX_IP(&ctx->regs),
		.sp = ARCH_CTX_SP(&ctx->regs),
		.fp = ARCH_CTX_FP(&ctx->regs),
		.is_32bit = ARCH_CTX_IS_32BIT(&ctx->regs),
		.value = ctx->sample_period,
	};

	return sample(ctx, &trigger);
}

#endif
