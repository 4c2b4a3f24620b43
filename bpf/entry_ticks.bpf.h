/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters of a recording that outlives its process: their descriptors are gone with it, but
 * the map that is pinned with the programs still has the events (BPF_F_PRESERVE_ELEMS, 5.10).
 * Loaded where pins are wanted; run by BPF_PROG_TEST_RUN, on the CPU that the counter is of.
 */
#ifndef BPFPROF_ENTRY_TICKS_BPF_H
#define BPFPROF_ENTRY_TICKS_BPF_H

/* At load: events times possible CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(map_flags, BPF_F_PRESERVE_ELEMS);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} counters SEC(".maps");

BP_ARRAY(tick_read, struct bp_tick_read, BPF_F_MMAPABLE);

/* args[0]: which of counters. */
SEC("raw_tp")
int bp_read_ticks(struct bpf_raw_tracepoint_args *ctx)
{
	struct bpf_perf_event_value value = {};
	struct bp_tick_read *out;
	__u32 zero = 0;

	out = bpf_map_lookup_elem(&tick_read, &zero);
	if (!out)
		return 0;
	out->err = bpf_perf_event_read_value(&counters, (__u32)ctx->args[0], &value, sizeof(value));
	out->count = value.counter;
	out->enabled_ns = value.enabled;
	return 0;
}

#endif
