/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent costs, and what follows from that. */
#include "agent/agent_priv.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/own_memory.h"
#include "proc/switches.h"

/* Tables are made of what runs already: that is not what a window costs. */
#define SETTLE_NS (5 * NSEC_PER_SEC)

/* Of recording: what those take who ask over HTTP is no reason to record less. */
static uint64_t recording_cpu_ns(const struct agent *agent)
{
	return clock_process_cpu_ns() - web_server_cpu_ns(agent->web);
}

static void mark(struct agent *agent, uint64_t clock_bpf_ns, uint64_t waits_bpf_ns)
{
	agent->meters = (struct agent_meters){
		.now_ns = clock_monotonic_ns(),
		.cpu_ns = recording_cpu_ns(agent),
		.clock_bpf_ns = clock_bpf_ns,
		.waits_bpf_ns = waits_bpf_ns,
		.switches = switches_read(),
	};
}

static uint64_t bpf_ns(const struct agent_capture *part)
{
	struct ledger_cost cost = {.bpf_run_ns = 0};

	if (part->capture)
		capture_cost(part->capture, &cost);
	return cost.bpf_run_ns;
}

void agent_settle(struct agent *agent)
{
	agent->settles_ns = clock_monotonic_ns() + SETTLE_NS;
}

void agent_note_settled(struct agent *agent)
{
	if (!agent->settles_ns || clock_monotonic_ns() < agent->settles_ns)
		return;
	agent->settles_ns = 0;
	mark(agent, bpf_ns(&agent->recording.clock), bpf_ns(&agent->recording.waits));
}

/* What has settled can be judged, when it has gone on for long enough: what drains and names cost
 * comes at the ends of windows. */
static bool can_be_judged(const struct agent *agent, const struct agent_recording *rec,
			  const struct raw_window *raw)
{
	uint64_t span_ns = clock_monotonic_ns() - agent->meters.now_ns;

	return !agent->settles_ns && span_ns >= agent->opts->record.interval_ns / 2 &&
	       !rec->waits.capture == !raw->waits;
}

static void take_cost(struct agent *agent, const struct raw_window *raw)
{
	const struct agent_meters before = agent->meters;
	const struct agent_meters *now = &agent->meters;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double span_ns;

	mark(agent, raw->ledger->cost.bpf_run_ns,
	     raw->waits ? raw->waits_ledger->cost.bpf_run_ns : 0);
	span_ns = (double)(now->now_ns - before.now_ns) * (double)(cpus > 0 ? cpus : 1);
	if (!(span_ns > 0))
		return;
	agent->cost.clock = (double)(now->clock_bpf_ns - before.clock_bpf_ns) / span_ns;
	agent->cost.waits = (double)(now->waits_bpf_ns - before.waits_bpf_ns) / span_ns;
	agent->cost.all = agent->cost.clock + agent->cost.waits +
			  (double)(now->cpu_ns - before.cpu_ns) / span_ns;
	agent->cost.switches =
		switches_rate(before.switches, now->switches, now->now_ns - before.now_ns);
}

static void forget(struct agent *agent)
{
	identities_forget(&agent->identities);
	name_memory_free(agent->memory);
	agent->memory = name_memory_new();
	own_memory_give_back();
}

/* What can be read again is forgotten where memory wants it; true: that did not do. */
static bool is_short_of_memory(struct agent *agent)
{
	uint64_t rss_bytes = own_rss_anon_bytes();
	enum memory_step step =
		memory_bound_step(&agent->memory_bound, clock_monotonic_ns(), rss_bytes);

	agent->values.rss_bytes = rss_bytes;
	if (step == MEMORY_FORGET_BEYOND)
		log_warn("memory: %llu MiB, --max-memory allows %llu: names and processes that "
			 "were kept are forgotten",
			 (unsigned long long)(rss_bytes >> 20),
			 (unsigned long long)(agent->memory_bound.max_bytes >> 20));
	if (step != MEMORY_KEEP)
		forget(agent);
	return step == MEMORY_SHORT;
}

static void tell(const struct agent *agent, enum rate_step step, uint64_t hz_before, bool is_memory)
{
	double percent = 100 * agent->cost.all, max = agent->opts->max_cpu_percent;
	const char *why = is_memory ? "memory is short" : "the agent's cost";

	switch (step) {
	case RATE_LOWERED:
	case RATE_RAISED:
		log_info("rate: %llu Hz instead of %llu: %s (%.2f %% of the CPU time, --max-cpu "
			 "allows %g %%)",
			 (unsigned long long)agent->rate.hz, (unsigned long long)hz_before,
			 step == RATE_RAISED ? "there is room" : why, percent, max);
		break;
	case RATE_WAITS_LESS:
	case RATE_WAITS_MORE:
		log_info("rate: stacks of waits may take %.1f %% of a CPU: %s (%.2f %% of the CPU "
			 "time, --max-cpu allows %g %%)",
			 (double)agent->rate.permille / 10,
			 step == RATE_WAITS_MORE ? "there is room" : why, percent, max);
		break;
	case RATE_WAITS_OFF:
		log_warn("rate: waits are not recorded for now: %s (%.2f %% of the CPU time, of "
			 "which waits %.2f %%; --max-cpu allows %g %%)",
			 why, percent, 100 * agent->cost.waits, max);
		break;
	case RATE_WAITS_ON:
		log_info("rate: waits are recorded again");
		break;
	case RATE_STUCK:
		log_warn(
			"rate: %.2f %% of the CPU time at the lowest rate, --max-cpu allows %g %%: "
			"nothing is left to lower",
			percent, max);
		break;
	case RATE_KEEP:
		break;
	}
}

int agent_adapt(struct agent *agent, struct agent_recording *rec, const struct raw_window *raw)
{
	uint64_t hz_before = agent->rate.hz;
	bool is_memory = is_short_of_memory(agent);
	enum rate_step step;

	agent->values.freq_hz = hz_before;
	if (!can_be_judged(agent, rec, raw))
		return 0;
	take_cost(agent, raw);
	step = rate_step(&agent->rate, agent->meters.now_ns, &agent->cost, is_memory);
	tell(agent, step, hz_before, is_memory);
	agent->values.freq_hz = agent->rate.hz;
	/* A change of waits takes another recording of them: the loop makes it. */
	return agent->rate.hz == hz_before ? 0
					   : capture_set_freq(rec->clock.capture, agent->rate.hz);
}
