/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's life: set up, loop, end. */
#include "agent/agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_priv.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/guard.h"
#include "capture/own_memory.h"
#include "cli/confinement.h"
#include "symbol/demangle.h"

/* Whoever runs is looked up that often, and the manager's watchdog told. */
#define SLICE_NS NSEC_PER_SEC
/* While nothing may be recorded: may it again? */
#define PAUSE_LOOK_NS (2 * NSEC_PER_SEC)

/* --- Set-up --- */

/* Its folder, if only that is missing: root's alone. */
static void make_store_folder(const struct agent_opts *opts)
{
	const char *file = agent_opts_store_file(opts), *slash = strrchr(file, '/');
	char *folder = slash && slash != file ? strndup(file, (size_t)(slash - file)) : NULL;

	if (folder)
		mkdir(folder, 0700);
	free(folder);
}

static int open_store(struct agent *agent)
{
	const char *file = agent_opts_store_file(agent->opts);

	agent->store_path = strdup(file);
	return agent->store_path ? store_open(file, STORE_WRITE, &agent->store) : -ENOMEM;
}

static int add_to_store(void *arg, const struct agent_window *window)
{
	struct store_window stored = agent_window_stored(window);

	return store_add(((struct agent *)arg)->store, &stored, NULL);
}

static int add_tombstone(void *arg, uint64_t start_ns, uint64_t end_ns, uint64_t window_cnt,
			 uint64_t sample_cnt, const char *reason)
{
	return store_add_tombstone(((struct agent *)arg)->store, start_ns, end_ns, window_cnt,
				   sample_cnt, reason);
}

static int init(struct agent *agent)
{
	const struct spool_sink sink = {agent, add_to_store, add_tombstone};
	const struct rate_opts rate = agent_rate_opts(agent->opts);
	int err;

	/* For good: who records anew may no longer ask for it. */
	agent->stats_fd = capture_count_cost();
	if (agent->stats_fd < 0)
		log_warn("--max-cpu: the kernel does not tell what its programs cost "
			 "(CAP_SYS_ADMIN is needed); only the agent's own CPU time is bounded");
	metrics_init(&agent->metrics);
	rate_init(&agent->rate, &rate);
	memory_bound_init(&agent->memory_bound, agent->opts->record.max_memory_bytes);
	spool_init(&agent->spool, &sink, SPOOL_MAX_BYTES);
	if (gethostname(agent->host, sizeof(agent->host) - 1))
		agent->host[0] = '\0';
	agent_policy_note(agent, agent->opts);
	err = agent_set_labels(agent, agent->opts);
	err = err ? err : identities_init(&agent->identities, cgroup_root());
	agent->memory = name_memory_new();
	if (err || !agent->memory) {
		log_error("agent: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	err = events_open(&agent->events, agent->opts->config_path,
			  agent_opts_policy_file(agent->opts));
	if (err)
		log_error("signals, or the configuration's folder: %s", strerror(-err));
	/* One may have been fetched since the options were read. */
	agent->events.reloads = agent_opts_policy_is_url(agent->opts);
	return err;
}

static void open_notify(struct agent *agent)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int err =
		notify_open(name, getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"), &agent->notify);

	if (err)
		log_warn("$NOTIFY_SOCKET '%s': %s; nobody is told how the agent is", name,
			 strerror(-err));
}

static void deinit(struct agent *agent)
{
	policy_fetcher_stop(&agent->fetcher);
	shippings_stop(&agent->shippings);
	agent_web_close(agent);
	agent_recording_close(&agent->recording);
	spool_deinit(&agent->spool);
	store_close(agent->store);
	identities_deinit(&agent->identities);
	name_memory_free(agent->memory);
	events_close(&agent->events);
	notify_close(&agent->notify);
	metrics_deinit(&agent->metrics);
	if (agent->stats_fd >= 0)
		close(agent->stats_fd);
	free(agent->fixed);
	free(agent->store_path);
}

static int begin(struct agent *agent)
{
	int err = agent_recording_open(agent, agent->opts, NULL, &agent->recording);

	err = err ? err : agent_recording_start(&agent->recording, NULL);
	agent_settle(agent);
	return err;
}

/* A policy that was kept may be of another kernel, or of another host. */
static int begin_first(struct agent *agent)
{
	int err = begin(agent);

	if (!err || !agent_opts_policy_is_url(agent->opts) || !agent->opts->policy_file.policy.cnt)
		return err;
	log_warn("policy: it cannot be recorded here; none is in force until it is another");
	return agent_forgo_policy(agent) ? err : begin(agent);
}

static void tell_start(const struct agent *agent)
{
	const struct agent_opts *opts = agent->opts;

	log_info("agent: recording %s at %llu Hz%s%s, a window every %g s into '%s'",
		 agent->recording.events[0], (unsigned long long)agent->rate.hz,
		 agent->recording.event_cnt > 1 ? ", further events" : "",
		 agent->recording.permille ? ", and where threads wait" : "",
		 (double)opts->record.interval_ns / (double)NSEC_PER_SEC, agent->store_path);
	notify_send(&agent->notify, "READY=1\nSTATUS=recording");
}

static void confine_agent(struct agent *agent)
{
	const struct recorder recorder = {
		.writes_as_others = !fs_output_is_ours(agent->store_path),
		.is_agent = true,
	};

	demangle_preload();
	confine_recorder(&recorder);
}

/* --- The loop --- */

static uint64_t earlier(uint64_t one, uint64_t two)
{
	return one < two ? one : two;
}

static bool is_forbidden(const struct agent *agent)
{
	return guard_file_counts(LEDGER_STOP_FILE, NULL);
}

static bool is_off(const struct agent *agent)
{
	return !agent_policy_records(agent);
}

static void take_reload(struct agent *agent)
{
	if (agent->events.reloads) {
		agent->events.reloads = false;
		agent_reload(agent);
	}
}

/* Until it is looked again whether something may be recorded. */
static int pause_ms(const struct agent *agent)
{
	const uint64_t now_ns = clock_monotonic_ns();
	const uint64_t until_ns = earlier(now_ns + PAUSE_LOOK_NS, agent_policy_change_ns(agent));

	return until_ns > now_ns ? (int)((until_ns - now_ns) / NSEC_PER_MSEC) + 1 : 0;
}

/* Nothing may be recorded for now: what is recorded is stored, then we wait while @holds. 0, or
 * negative errno after log_error(). */
static int pause_while(struct agent *agent, bool (*holds)(const struct agent *agent))
{
	struct agent_recording old = agent->recording;
	int err;

	old.ends = true;
	agent_recording_stop(&old);
	err = agent_take_window(agent, &old, true);
	agent_recording_end(&old);
	agent->recording = (struct agent_recording){.pin_dir = NULL};
	while (!err && !agent->events.ends && holds(agent)) {
		struct pollfd fd = {.fd = agent->events.wake_fd, .events = POLLIN};

		agent_policy_tell(agent);
		metrics_set(&agent->metrics, &agent->values);
		poll(&fd, 1, pause_ms(agent));
		events_take(&agent->events);
		take_reload(agent);
		notify_send(&agent->notify, "WATCHDOG=1");
		atomic_store(&agent->round_ns, clock_monotonic_ns());
	}
	if (err || agent->events.ends)
		return err;
	err = begin(agent);
	if (!err)
		tell_start(agent);
	return err;
}

static int wait_while_forbidden(struct agent *agent)
{
	log_warn("agent: root's file '%s' forbids recording: waiting until it is gone",
		 LEDGER_STOP_FILE);
	return pause_while(agent, is_forbidden);
}

static int wait_while_off(struct agent *agent)
{
	log_info("policy: nothing is recorded for now");
	notify_send(&agent->notify, "STATUS=off by the policy");
	return pause_while(agent, is_off);
}

/* One slice of a window that ends at *@window_ns, which is set to now where the kernel's side is
 * full. 0, or negative errno after log_error(). */
static int run_slice(struct agent *agent, uint64_t *window_ns)
{
	uint64_t slice_ns =
		earlier(SLICE_NS, agent->notify.watchdog_ns ? agent->notify.watchdog_ns : SLICE_NS);
	uint64_t until_ns = earlier(*window_ns, clock_monotonic_ns() + slice_ns);
	int wake = agent_recording_run(agent, until_ns);

	if (wake < 0) {
		log_error("sampling: %s", strerror(-wake));
		return wake;
	}
	if (agent->notify.watchdog_ns)
		notify_send(&agent->notify, "WATCHDOG=1");
	atomic_store(&agent->round_ns, clock_monotonic_ns());
	agent_note_settled(agent);
	events_take(&agent->events);
	if (wake == CAPTURE_EPOCH_FULL)
		*window_ns = clock_monotonic_ns();
	if (wake == CAPTURE_STOPPED)
		return wait_while_forbidden(agent);
	if (wake == CAPTURE_TARGET_GONE) {
		log_info("agent: the processes of -p are gone");
		agent->events.ends = true;
	}
	if (!agent->events.ends)
		agent_look_up(agent);
	return 0;
}

static int run(struct agent *agent)
{
	uint64_t window_ns = clock_monotonic_ns() + agent->opts->record.interval_ns;
	int err = 0;

	while (!err && !agent->is_broken && !agent->events.ends) {
		if (is_off(agent)) {
			err = wait_while_off(agent);
			window_ns = clock_monotonic_ns() + agent->opts->record.interval_ns;
			continue;
		}
		window_ns = earlier(window_ns, agent_policy_change_ns(agent));
		err = run_slice(agent, &window_ns);
		if (err || agent->events.ends)
			break;
		take_reload(agent);
		window_ns =
			earlier(window_ns, clock_monotonic_ns() + agent->opts->record.interval_ns);
		if (clock_monotonic_ns() < window_ns)
			continue;
		err = agent_take_window(agent, &agent->recording, false);
		if (!err && agent_wants_other_waits(agent))
			err = agent_switch_waits(agent, agent->opts);
		/* A window that took longer than the interval swallows the ones it missed. */
		while (window_ns <= clock_monotonic_ns())
			window_ns += agent->opts->record.interval_ns;
	}
	return err ? err : agent->is_broken ? -EIO : 0;
}

/* What was recorded is stored, whatever ended the loop. */
static int end(struct agent *agent)
{
	int err = 0;

	notify_send(&agent->notify, "STOPPING=1\nSTATUS=storing the last window");
	agent->recording.ends = true;
	if (agent->recording.clock.capture && !agent->is_broken) {
		agent_recording_stop(&agent->recording);
		err = agent_take_window(agent, &agent->recording, true);
	}
	if (!err && agent->spool.cnt) {
		log_error("store '%s': %zu windows could not be stored: %s", agent->store_path,
			  agent->spool.cnt, strerror(-agent->spool.err));
		return -EIO;
	}
	log_info("agent: ended, %llu windows stored",
		 (unsigned long long)agent->spool.stored_windows);
	if (agent->recording.pin_dir)
		log_info("agent: sampling goes on in '%s' for the next agent, for %g s at most; "
			 "bpfprof agent --detach ends it",
			 agent->recording.pin_dir,
			 (double)agent_lease_ns(agent->opts) / (double)NSEC_PER_SEC);
	return err;
}

static int work(struct agent *agent)
{
	int err = init(agent);

	open_notify(agent);
	err = err ? err : record_targets_check(&agent->opts->record);
	err = err ? err : open_store(agent);
	err = err ? err : agent_web_open(agent);
	err = err ? err : begin_first(agent);
	if (err)
		return err;
	confine_agent(agent);
	tell_start(agent);
	err = agent_web_run(agent);
	err = err ? err : run(agent);
	return err ? (end(agent), err) : end(agent);
}

/* The processes beside us. */
static int start_others(struct agent *agent)
{
	int others[AGENT_SINKS_MAX + 1] = {agent->helper.fd};
	size_t cnt = 1;
	int err = shippings_start(agent->opts, agent->helper.fd, &agent->shippings);

	if (err) {
		log_error("agent: the processes that ship: %s", strerror(-err));
		return err;
	}
	for (size_t i = 0; i < agent->shippings.cnt; i++)
		others[cnt++] = agent->shippings.items[i].fd;
	err = policy_fetcher_start(agent->opts, others, cnt, &agent->fetcher);
	if (err)
		log_error("agent: the process that fetches the policy: %s", strerror(-err));
	return err;
}

int agent_run(struct agent_opts *opts, int argc, char **argv)
{
	struct agent agent = {
		.opts = opts,
		.argc = argc,
		.argv = argv,
		.notify = {.fd = -1},
		.stats_fd = -1,
		.helper = {.fd = -1},
	};
	int err;

	signal(SIGPIPE, SIG_IGN);
	own_memory_keep_little();
	/* Before anything is open. */
	err = agent_web_prepare(&agent);
	if (err)
		return CLI_FAILED;
	make_store_folder(opts);
	err = start_others(&agent);
	err = err ? err : work(&agent);
	deinit(&agent);
	if (err && !log_error_is_told())
		log_error("agent: %s", strerror(-err));
	return err ? CLI_FAILED : CLI_OK;
}
