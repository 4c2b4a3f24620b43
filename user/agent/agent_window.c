/* SPDX-License-Identifier: Apache-2.0 */
/* A window: from the kernel into the store. */
#include "agent/agent_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "profile/off_cpu.h"
#include "symbol/symbolizer.h"

/* Nobody waits for the names, but what the kernel's side fills meanwhile must be drained: so they
 * are bounded, and not made at a low priority, which on a busy machine lost samples. */
#define NAMES_BUDGET_NS (2 * NSEC_PER_SEC)
#define LINES_BUDGET_NS (300 * NSEC_PER_MSEC)
#define MAINTAIN_BUDGET_NS (50 * NSEC_PER_MSEC)

static int name_frames(struct agent *agent, struct agent_recording *rec,
		       const struct raw_window *raw)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct symbolizer_opts opts = {
		.no_inline = !agent->opts->inlines,
		.merge_clones = agent->opts->record.merge_clones,
		.memory = agent->memory,
		.lines_budget_ns = LINES_BUDGET_NS,
		.kernel = capture_kernel(rec->clock.capture),
		.start_ns = now_ns - raw->prof->duration_ns,
		.end_ns = now_ns,
		.jit_advice = &agent->jit_advice,
		.names_budget_ns = NAMES_BUDGET_NS,
	};
	uint64_t cpu_ns = clock_process_cpu_ns();
	int err = symbolizer_run(raw->prof, raw->modules, raw->module_cnt, &opts,
				 &raw->ledger->frames);

	raw->ledger->cost.symbolize_cpu_ns =
		clock_process_cpu_ns() - cpu_ns + capture_take_names_cpu_ns(rec->clock.capture);
	return err;
}

static const struct identity *identify(void *arg, const struct identity_key *key)
{
	struct agent *agent = arg;

	return identities_get(&agent->identities, key, clock_monotonic_ns());
}

static bool allows(const void *policy, const char *service)
{
	return config_allows(policy, service);
}

static int relabel_window(struct agent *agent, struct agent_recording *rec,
			  const struct raw_window *raw, struct agent_window *out)
{
	const struct config *config = &agent->opts->config;
	const struct policy *policy = &agent->opts->policy;
	const struct shares_opts shares = {
		.policy = policy,
		.facts = agent_opts_facts(agent->opts),
		/* A window begins and ends where hours do, about. */
		.now_ns = raw->prof->time_ns + raw->prof->duration_ns / 2,
		.seed = raw->prof->time_ns,
	};
	const struct relabel_opts opts = {
		.fixed = agent->fixed,
		.fixed_cnt = agent->fixed_cnt,
		.identify = identify,
		.arg = agent,
		.allows = config->policy_cnt ? allows : NULL,
		.policy = config,
		.shares = policy->cnt ? &shares : NULL,
		.events = rec->events,
		.event_cnt = rec->event_cnt,
		.has_waits = raw->off_cpu,
	};
	struct relabel_counts counts;
	int err = relabel(raw->prof, &opts, raw->ledger, out, &counts);

	for (size_t i = 0; !err && i < out->kind_cnt; i++) {
		int64_t kept = profile_total(out->prof, out->kinds[i].columns[0]);

		metric_count_add(&agent->values.seen, out->kinds[i].name,
				 (uint64_t)kept + counts.disabled[i] + counts.policy[i]);
		metric_count_add(&agent->values.dropped, "disabled", counts.disabled[i]);
		metric_count_add(&agent->values.dropped, "policy", counts.policy[i]);
	}
	return err;
}

static void note_losses(struct agent *agent, const struct ledger *ledger)
{
	for (uint32_t i = 0; i < ledger->stacks.truncated.cnt; i++)
		metric_count_add(&agent->values.stack_errors,
				 ledger->stacks.truncated.items[i].name,
				 ledger->stacks.truncated.items[i].cnt);
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		const struct ledger_reasons *lost = &ledger->events[i].sum.lost;

		for (uint32_t k = 0; k < lost->cnt; k++) {
			metric_count_add(&agent->values.seen, "lost", lost->items[k].cnt);
			metric_count_add(&agent->values.dropped, lost->items[k].name,
					 lost->items[k].cnt);
		}
	}
}

/* Said when it changes, not each time. */
static void tell_store(struct agent *agent)
{
	const struct spool *spool = &agent->spool;

	agent->values.store_errors += !!spool->err;
	if (spool->err && !agent->is_store_ill)
		log_warn("store '%s': %s; windows are kept in memory, up to %zu MiB, and stored "
			 "when it can take them again",
			 agent->store_path, strerror(-spool->err), spool->max_bytes >> 20);
	else if (!spool->err && agent->is_store_ill)
		log_info("store '%s': works again; %llu windows were dropped meanwhile",
			 agent->store_path, (unsigned long long)spool->dropped_windows);
	agent->is_store_ill = spool->err != 0;
}

static void maintain(struct agent *agent)
{
	const struct store_limits limits = {
		.max_age_ns = agent->opts->retain_ns,
		.max_bytes = agent->opts->max_store_bytes,
		.compact_after_ns = agent->opts->compact_after_ns,
	};
	struct store_sizes sizes;
	int err = store_maintain(agent->store, &limits, clock_realtime_ns(), MAINTAIN_BUDGET_NS);

	if (err < 0 && !agent->is_store_ill)
		log_debug("store '%s': clearing up: %s", agent->store_path, strerror(-err));
	if (!store_sizes(agent->store, &sizes))
		agent->values.spool_bytes = sizes.file_bytes;
}

/* What the processes that ship have told. */
static void take_shipped(struct agent *agent, uint64_t now_ns)
{
	struct metrics_values *values = &agent->values;

	values->acked.cnt = values->retries.cnt = values->quarantined.cnt = 0;
	values->rejected.cnt = values->dict_rows.cnt = values->sent_bytes.cnt =
		values->lag_windows.cnt = 0;
	values->lag_s.cnt = values->ship_cpu_ms.cnt = 0;
	values->uploads.cnt = values->upload_bytes.cnt = 0;
	for (size_t i = 0; i < agent->shippings.cnt; i++) {
		const struct shipping *shipping = &agent->shippings.items[i];
		struct ship_counts *counts = shipping->counts;
		const uint64_t oldest_ns = counts->oldest_ns;
		const uint64_t lag_ns = oldest_ns && now_ns > oldest_ns ? now_ns - oldest_ns : 0;

		metric_count_add(&values->acked, shipping->label, counts->acked);
		metric_count_add(&values->retries, shipping->label, counts->retries);
		metric_count_add(&values->quarantined, shipping->label, counts->quarantined);
		metric_count_add(&values->rejected, shipping->label, counts->rejected);
		metric_count_add(&values->dict_rows, shipping->label, counts->dict_rows);
		metric_count_add(&values->sent_bytes, shipping->label, counts->sent_bytes);
		metric_count_add(&values->uploads, shipping->label, counts->uploads);
		metric_count_add(&values->upload_bytes, shipping->label, counts->upload_bytes);
		metric_count_add(&values->lag_windows, shipping->label, counts->lag_windows);
		metric_count_add(&values->lag_s, shipping->label, lag_ns / NSEC_PER_SEC);
		metric_count_add(&values->ship_cpu_ms, shipping->label,
				 counts->cpu_ns / NSEC_PER_MSEC);
	}
}

static void publish(struct agent *agent, const struct ledger *ledger)
{
	struct metrics_values *values = &agent->values;
	const struct spool *spool = &agent->spool;
	uint64_t told_ns = spool->cnt ? spool->items[0].window.end_ns : 0;
	uint64_t now_ns = clock_realtime_ns(), waiting = 0;

	for (size_t i = 0; i < spool->cnt; i++)
		waiting += spool->items[i].window.sample_cnt;
	values->waiting = waiting;
	values->waiting_windows = spool->cnt;
	values->spool_oldest_s =
		told_ns && now_ns > told_ns ? (double)(now_ns - told_ns) / NSEC_PER_SEC : 0;
	values->stored = spool->stored_samples;
	values->windows = spool->stored_windows;
	values->cpu_s = (double)clock_process_cpu_ns() / NSEC_PER_SEC;
	values->http_cpu_s = (double)web_server_cpu_ns(agent->web) / NSEC_PER_SEC;
	values->bpf_s += (double)ledger->cost.bpf_run_ns / NSEC_PER_SEC;
	values->kernel_bytes = ledger->cost.kernel_bytes;
	take_shipped(agent, now_ns);
	agent_policy_tell(agent);
	metrics_set(&agent->metrics, values);
	notify_send(
		&agent->notify,
		"STATUS=%llu Hz, %.2f %% of the CPU time (%.2f %% in BPF programs), %llu windows "
		"stored%s",
		(unsigned long long)agent->rate.hz, 100 * agent->cost.all,
		100 * (agent->cost.clock + agent->cost.waits),
		(unsigned long long)spool->stored_windows,
		spool->err ? ", the store takes none" : "");
}

/* What the spool has dropped since it was asked last. */
static void note_dropped(struct agent *agent, uint64_t before, bool is_ill)
{
	uint64_t dropped = agent->spool.dropped_samples - before;

	if (dropped)
		metric_count_add(&agent->values.dropped, is_ill ? "store_full" : "store_error",
				 dropped);
}

static struct store_origin origin_of(const struct capture_origin *from)
{
	struct store_origin origin = {.instance = from->instance, .epoch = from->epoch};

	memcpy(origin.boot_id, from->boot_id, sizeof(origin.boot_id) - 1);
	return origin;
}

static int finish(struct agent *agent, struct agent_recording *rec, struct raw_window *raw,
		  bool is_last)
{
	_cleanup_(agent_window_deinit) struct agent_window window = {
		.origin = origin_of(&raw->origin),
	};
	uint64_t dropped_before = agent->spool.dropped_samples;
	int err = name_frames(agent, rec, raw);

	if (!err && raw->off_cpu)
		err = off_cpu_finish(raw->prof, raw->off_cpu);
	if (!err)
		err = relabel_window(agent, rec, raw, &window);
	if (err)
		return err;
	identities_end_window(&agent->identities);
	note_losses(agent, raw->ledger);
	window.start_ns = raw->prof->time_ns;
	window.end_ns = raw->prof->time_ns + raw->prof->duration_ns;
	window.ledger = take_ptr(raw->ledger);
	spool_add(&agent->spool, &window, clock_monotonic_ns());
	if (is_last)
		spool_flush(&agent->spool, clock_monotonic_ns(), true);
	note_dropped(agent, dropped_before, agent->spool.err);
	/* It is on the disk, or in our memory while the store is ill. */
	return capture_commit(rec->clock.capture);
}

int agent_take_window(struct agent *agent, struct agent_recording *rec, bool is_last)
{
	_cleanup_(raw_window_deinit) struct raw_window raw = {.prof = NULL};
	uint64_t start_ns = clock_monotonic_ns(), drained_ns;
	struct ledger_cost cost;
	int err = raw_window_take(rec, &raw);

	rec->window_nr++;
	if (!err && !is_last)
		err = agent_adapt(agent, rec, &raw);
	if (!err)
		err = raw_window_join(rec, agent->opts->off_cpu, &raw);
	if (err) {
		log_error("window %llu: %s", (unsigned long long)rec->window_nr, strerror(-err));
		return err;
	}
	drained_ns = clock_monotonic_ns();
	cost = raw.ledger->cost;
	err = finish(agent, rec, &raw, is_last);
	if (err)
		log_error("window %llu: %s", (unsigned long long)rec->window_nr, strerror(-err));
	tell_store(agent);
	if (!is_last)
		maintain(agent);
	agent->values.drain_s = (double)(drained_ns - start_ns) / NSEC_PER_SEC;
	agent->values.finish_s = (double)(clock_monotonic_ns() - drained_ns) / NSEC_PER_SEC;
	publish(agent, &(const struct ledger){.cost = cost});
	return err;
}
