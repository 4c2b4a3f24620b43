/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration that changes while the agent runs. */
#include "agent/agent_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

int agent_set_labels(struct agent *agent, const struct agent_opts *opts)
{
	struct fixed_label *fixed = calloc(opts->fixed_cnt + 1, sizeof(*fixed));
	size_t cnt = 0;
	bool has_host = false;

	if (!fixed)
		return -ENOMEM;
	/* Of a key that is there twice the last one counts. */
	for (size_t i = 0; i < opts->fixed_cnt; i++) {
		size_t at = 0;

		while (at < cnt && strcmp(fixed[at].key, opts->fixed[i].key))
			at++;
		fixed[at] = opts->fixed[i];
		cnt += at == cnt;
		has_host |= !strcmp(opts->fixed[i].key, "host");
	}
	if (!has_host && agent->host[0])
		fixed[cnt++] = (struct fixed_label){"host", agent->host};
	free(agent->fixed);
	agent->fixed = fixed;
	agent->fixed_cnt = cnt;
	return 0;
}

struct rate_opts agent_rate_opts(const struct agent_opts *opts)
{
	return (struct rate_opts){
		.max_hz = opts->record.freq_hz,
		.max_share = opts->max_cpu_percent / 100,
		.max_permille = opts->off_cpu ? opts->record.max_cpu_permille : 0,
	};
}

/* What is opened once stays as it was. */
static void keep_what_is_open(const struct agent *agent, const struct agent_opts *fresh)
{
	const struct agent_listen *one = &agent->opts->listen, *other = &fresh->listen;

	if (strcmp(agent->store_path, fresh->store))
		log_warn("configuration: another store takes effect when the agent is started "
			 "again");
	if (strcmp(one->address, other->address))
		log_warn("configuration: another address takes effect when the agent is started "
			 "again");
	if (agent->opts->policy_path && fresh->policy_path &&
	    strcmp(agent->opts->policy_path, fresh->policy_path))
		log_warn("configuration: another policy is in force, but is read again by itself "
			 "only when the agent is started again");
	if (!agent_opts_ship_alike(agent->opts, fresh))
		log_warn("configuration: other sinks take effect when the agent is started again");
}

/* The clock goes on at the rate in force: windows are of one. */
static int change_rate(struct agent *agent)
{
	int err = agent_take_window(agent, &agent->recording, false);

	return err ? err : capture_set_freq(agent->recording.clock.capture, agent->rate.hz);
}

/* The same as apply() while nothing is recorded: could it be? */
static int apply_in_pause(struct agent *agent, const struct agent_opts *fresh,
			  const struct rate_opts *wanted)
{
	struct rate before = agent->rate;
	struct agent_recording trial;
	int err;

	rate_init(&agent->rate, wanted);
	if (agent_opts_events_alike(agent->opts, fresh))
		return 0;
	err = agent_recording_open(agent, fresh, NULL, &trial);
	if (err)
		agent->rate = before;
	else
		agent_recording_end(&trial);
	return err;
}

/* Make @fresh what is in force. 0, or negative errno after log_error(): the old one is. */
static int apply(struct agent *agent, const struct agent_opts *fresh)
{
	struct rate before = agent->rate;
	struct rate_opts wanted = agent_rate_opts(fresh);
	bool is_alike = agent_opts_record_alike(agent->opts, fresh);
	int err = 0;

	if (!agent->recording.clock.capture)
		return apply_in_pause(agent, fresh, &wanted);
	if (!is_alike || before.opts.max_hz != wanted.max_hz)
		rate_init(&agent->rate, &wanted);
	if (!agent_opts_events_alike(agent->opts, fresh))
		err = agent_switch(agent, fresh);
	else if (!is_alike)
		err = agent_switch_waits(agent, fresh);
	if (!err && agent_opts_events_alike(agent->opts, fresh) && agent->rate.hz != before.hz)
		err = change_rate(agent);
	if (err)
		agent->rate = before;
	return err;
}

int agent_forgo_policy(struct agent *agent)
{
	struct agent_opts fresh, old = *agent->opts;
	_cleanup_(buf_deinit) struct buf why;
	struct rate_opts rate;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = agent_opts_reload(&fresh, agent->argc, agent->argv, false, &why);
	if (err)
		return err;
	rate = agent_rate_opts(&fresh);
	rate_init(&agent->rate, &rate);
	agent_policy_note(agent, &fresh);
	*agent->opts = fresh;
	err = agent_set_labels(agent, agent->opts);
	agent_opts_deinit(&old);
	return err;
}

/* What was recorded under a policy is stored by it. 0, or negative errno after log_error(). */
static int end_policy(struct agent *agent, const struct agent_opts *fresh)
{
	if (!agent->recording.clock.capture || (!agent->opts->policy.cnt && !fresh->policy.cnt))
		return 0;
	return agent_take_window(agent, &agent->recording, false);
}

void agent_reload(struct agent *agent)
{
	struct agent_opts fresh, old;
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (agent_opts_reload(&fresh, agent->argc, agent->argv, true, &why)) {
		log_warn("configuration: %s; the one before stays in force", buf_cstr(&why));
		agent->values.refused++;
		return;
	}
	keep_what_is_open(agent, &fresh);
	if (record_targets_check(&fresh.record) || end_policy(agent, &fresh) ||
	    apply(agent, &fresh)) {
		log_warn("configuration: the one before stays in force");
		agent->values.refused++;
		agent_opts_deinit(&fresh);
		return;
	}
	old = *agent->opts;
	agent_policy_note(agent, &fresh);
	*agent->opts = fresh;
	memory_bound_init(&agent->memory_bound, fresh.record.max_memory_bytes);
	/* The next window's labels, and the old ones are borrowed from the old options. */
	if (agent_set_labels(agent, agent->opts))
		agent->fixed_cnt = 0;
	agent_opts_deinit(&old);
	log_info("configuration: read again, %llu Hz, a window every %g s",
		 (unsigned long long)agent->rate.hz,
		 (double)agent->opts->record.interval_ns / (double)NSEC_PER_SEC);
}
