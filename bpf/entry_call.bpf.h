/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The beginning of calls whose time is taken: calls.bpf.h. */
#ifndef BPFPROF_ENTRY_CALL_BPF_H
#define BPFPROF_ENTRY_CALL_BPF_H

static __always_inline int call_entry(struct pt_regs *ctx, __u32 event)
{
	struct bp_ctl *control;
	__u32 zero = 0;

	control = bpf_map_lookup_elem(&ctl, &zero);
	if (control && *(volatile __u32 *)&control->is_sampling &&
	    filter_wants((void *)bpf_get_current_task()))
		call_begins(ctx, event);
	return 0;
}

#define BP_CALL_ENTRY(event_)                                   \
	SEC("kprobe") int bp_call_##event_(struct pt_regs *ctx) \
	{                                                       \
		return call_entry(ctx, event_);                 \
	}

BP_EACH_EVENT(BP_CALL_ENTRY)

#endif
