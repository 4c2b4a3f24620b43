/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Perf events: timers, PMU counters, software events. */
#ifndef BPFPROF_ENTRY_COUNTER_BPF_H
#define BPFPROF_ENTRY_COUNTER_BPF_H

/*
 * What was counted on this CPU since the last sample. In frequency mode the kernel's period is of
 * the sample before, where software counts (perf_swevent_set_period()), and hits that are missed
 * are in none.
 */
static __always_inline __u64 counter_advance(struct bpf_perf_event_data *ctx, __u32 event)
{
	__u32 cpu_nr = bpf_get_smp_processor_id();
	struct bp_cpu *cpu = bpf_map_lookup_elem(&cpus, &cpu_nr);
	struct bpf_perf_event_value now;
	__u64 before;

	if (!cpu || bpf_perf_prog_read_value(ctx, &now, sizeof(now)))
		return ctx->sample_period;
	before = cpu->hits[event].sampled_cnt;
	cpu->hits[event].sampled_cnt = now.counter;
	/* A CPU that was away begins again. */
	return now.counter - (now.counter >= before ? before : 0);
}

static __always_inline int counter_entry(struct bpf_perf_event_data *ctx, __u32 event)
{
	struct bp_trigger trigger = {
		.is_user = ARCH_CTX_IS_USER(&ctx->regs),
		.ip = ARCH_CTX_IP(&ctx->regs),
		.sp = ARCH_CTX_SP(&ctx->regs),
		.fp = ARCH_CTX_FP(&ctx->regs),
		.is_32bit = ARCH_CTX_IS_32BIT(&ctx->regs),
		.value =
			cfg.events[event].period ? ctx->sample_period : counter_advance(ctx, event),
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
