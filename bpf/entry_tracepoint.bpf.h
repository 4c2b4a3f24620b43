/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tracepoints: the context is the record, as its format file in tracefs describes it. */
#ifndef BPFPROF_ENTRY_TRACEPOINT_BPF_H
#define BPFPROF_ENTRY_TRACEPOINT_BPF_H

static __always_inline int tracepoint_entry(void *ctx, __u32 event)
{
	struct bp_trigger trigger = {.value = 1, .event = event};

	return sample(ctx, &trigger);
}

#define BP_TRACEPOINT_ENTRY(event_)                   \
	SEC("tracepoint")                             \
	int bp_tracepoint_##event_(void *ctx)         \
	{                                             \
		return tracepoint_entry(ctx, event_); \
	}

BP_EACH_EVENT(BP_TRACEPOINT_ENTRY)

#endif
