/* SPDX-License-Identifier: Apache-2.0 */
/* The agent is asked over HTTP: what it answers beside its store, and when it begins to. */
#include <errno.h>
#include <string.h>

#include "agent/agent_priv.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

/* Longer than the loop takes for a window, whose names are bounded, on a machine that is busy. */
static const uint64_t SILENCE_MAX_NS = 60 * NSEC_PER_SEC;

/* --- web_host --- */

static int host_metrics(void *arg, struct buf *out)
{
	return metrics_format(&((struct agent *)arg)->metrics, out);
}

static bool host_is_healthy(void *arg, struct buf *why)
{
	struct agent *agent = arg;
	uint64_t round_ns = atomic_load(&agent->round_ns), now_ns = clock_monotonic_ns();

	if (now_ns > round_ns + SILENCE_MAX_NS)
		buf_printf(why, "nothing has been drained for %llu s",
			   (unsigned long long)((now_ns - round_ns) / NSEC_PER_SEC));
	else if (atomic_load(&agent->is_store_ill))
		buf_add_str(why, "the store takes no windows: they wait in memory");
	else
		return true;
	return false;
}

static int host_capture(void *arg, const struct web_capture *request, struct buf *out,
			struct buf *why)
{
	return recording_helper_capture(&((struct agent *)arg)->helper, request, out, why);
}

/* --- Its life --- */

static bool is_wanted(const struct agent *agent)
{
	return strcmp(agent->opts->listen.address, AGENT_LISTEN_NONE) != 0;
}

/* The agent records without it, unless it was asked to listen. */
static int forgo(const struct agent *agent, int err)
{
	if (!agent->opts->listen.is_default)
		return err;
	log_warn("agent: it records, and nobody can ask it over HTTP (--listen ADDR says where, "
		 "--listen none that it is meant)");
	return 0;
}

int agent_web_prepare(struct agent *agent)
{
	int err = is_wanted(agent) ? recording_helper_start(NULL, &agent->helper) : 0;

	if (err)
		log_error("agent: the process that records on demand: %s", strerror(-err));
	return err;
}

int agent_web_open(struct agent *agent)
{
	const struct agent_listen *listen = &agent->opts->listen;
	const struct web_opts opts = {
		.listen = listen->address,
		.token_file = listen->token_file,
		.tls_cert = listen->tls_cert,
		.tls_key = listen->tls_key,
		.store_url = agent->store_path,
		.host = &agent->host_of_web,
		.is_optional = listen->is_default,
	};
	int err;

	if (!is_wanted(agent))
		return 0;
	agent->host_of_web = (struct web_host){
		.arg = agent,
		.metrics = host_metrics,
		.capture = host_capture,
		.is_healthy = host_is_healthy,
	};
	err = web_server_open(&opts, &agent->web);
	return err ? forgo(agent, err) : 0;
}

int agent_web_run(struct agent *agent)
{
	int err;

	if (!agent->web)
		return 0;
	atomic_store(&agent->round_ns, clock_monotonic_ns());
	err = web_server_run(agent->web);
	if (!err) {
		log_info("agent: asked at %s", web_server_address(agent->web));
		return 0;
	}
	web_server_stop(take_ptr(agent->web));
	return forgo(agent, err);
}

void agent_web_close(struct agent *agent)
{
	web_server_stop(take_ptr(agent->web));
	recording_helper_stop(&agent->helper);
}
