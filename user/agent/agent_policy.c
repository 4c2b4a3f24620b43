/* SPDX-License-Identifier: Apache-2.0 */
/* The policy in force, as the agent's loop follows it. */
#include "agent/agent_priv.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"

bool agent_policy_records(const struct agent *agent)
{
	const struct policy_facts facts = agent_opts_facts(agent->opts);

	return policy_records(&agent->opts->policy, &facts, clock_realtime_ns());
}

uint64_t agent_policy_change_ns(const struct agent *agent)
{
	const uint64_t now_ns = clock_realtime_ns();
	const uint64_t next_ns = policy_next_change_ns(&agent->opts->policy, now_ns);

	return next_ns == UINT64_MAX ? UINT64_MAX : clock_monotonic_ns() + (next_ns - now_ns);
}

void agent_policy_note(struct agent *agent, const struct agent_opts *fresh)
{
	const char *version = fresh->policy_file.version;
	const bool is_first = !agent->policy_since_ns;

	if (!is_first && !strcmp(agent->opts->policy_file.version, version))
		return;
	agent->policy_since_ns = clock_monotonic_ns();
	if (*version)
		log_info("policy: version %s, %zu rules", version, fresh->policy_file.policy.cnt);
	else if (!is_first)
		log_info("policy: none any more");
}

static void tell_fetcher(const struct policy_counts *counts, struct metrics_values *values)
{
	const uint64_t asked_ns = counts->asked_ns, now_ns = clock_monotonic_ns();

	values->policy_answers.cnt = 0;
	metric_count_add(&values->policy_answers, "new", counts->fetched);
	metric_count_add(&values->policy_answers, "unchanged", counts->unchanged);
	metric_count_add(&values->policy_answers, "failed", counts->failed);
	metric_count_add(&values->policy_answers, "refused", counts->refused);
	values->policy_asked_s = asked_ns && now_ns > asked_ns
					 ? (double)(now_ns - asked_ns) / (double)NSEC_PER_SEC
					 : 0;
}

void agent_policy_tell(struct agent *agent)
{
	struct metrics_values *values = &agent->values;
	const char *version = agent->opts->policy_file.version;

	values->is_recording = agent->recording.clock.capture != NULL;
	values->policy.cnt = 0;
	values->policy_age_s = 0;
	if (agent->fetcher.counts)
		tell_fetcher(agent->fetcher.counts, values);
	if (!*version)
		return;
	metric_count_add(&values->policy, version, 1);
	values->policy_age_s =
		(double)(clock_monotonic_ns() - agent->policy_since_ns) / (double)NSEC_PER_SEC;
}
