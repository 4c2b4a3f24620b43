/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording that goes on for months is asked between and within its windows. */
#include "capture/capture.h"

#include <bpf/bpf.h>

#include "capture/capture_priv.h"

int capture_count_cost(void)
{
	return bpf_enable_stats(BPF_STATS_RUN_TIME);
}

int capture_set_freq(struct capture *cap, uint64_t freq_hz)
{
	int err = samplers_set_freq(&cap->samplers, freq_hz);

	if (cap->samplers.cnt)
		cap->drain.prof->period = (int64_t)cap->samplers.items[0].event.period;
	return err;
}

const struct profile *capture_so_far(const struct capture *cap)
{
	return cap->drain.prof;
}
