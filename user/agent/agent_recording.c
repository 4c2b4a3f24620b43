/* SPDX-License-Identifier: Apache-2.0 */
/* The recordings of an agent: the clock and chosen events, and waits beside them. */
#include "agent/agent_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"

/*
 * Of the memory that is allowed in the kernel: each of two recordings has half. The tables that are
 * sized by a bound may be half of it, three quarters, ... each, and come to 8/5 of it together.
 */
static uint64_t kernel_bytes(const struct agent_opts *opts)
{
	uint64_t bytes = opts->record.max_memory_bytes / 8 * 5;

	return opts->off_cpu ? bytes / 2 : bytes;
}

/* What both have of it. */
static struct capture_opts options_for(const struct agent_opts *opts)
{
	struct capture_opts capture = record_capture_opts(&opts->record);

	capture.events = NULL;
	capture.max_kernel_bytes = kernel_bytes(opts);
	capture.waits.is_wanted = false;
	capture.by = BY_COMM | BY_PID | BY_START | BY_CGROUP | BY_EVENT;
	/* What it costs is bounded by the rate, and its memory by what is forgotten. */
	capture.max_cpu_percent = 0;
	capture.max_own_bytes = 0;
	return capture;
}

/* --- The clock and events --- */

/* Who is alive may be held up for long, by a disk for example. */
#define LEASE_MIN_NS (60 * NSEC_PER_SEC)
enum { LEASE_INTERVALS = 10 };

uint64_t agent_lease_ns(const struct agent_opts *opts)
{
	uint64_t lease_ns = LEASE_INTERVALS * opts->record.interval_ns;

	return lease_ns > LEASE_MIN_NS ? lease_ns : LEASE_MIN_NS;
}

/* @old: whose place it will take, where both are pinned in one folder. */
static void choose_pins(const struct agent_opts *opts, const struct agent_recording *old,
			struct capture_opts *capture)
{
	if (!strcmp(opts->pin_dir, "none"))
		return;
	capture->pin_dir = opts->pin_dir;
	capture->lease_ns = agent_lease_ns(opts);
	if (old && old->pin_dir && !strcmp(old->pin_dir, opts->pin_dir))
		capture->replaces = old->clock.capture;
}

/* The clock first, which shares out the threads' time, then what was asked for. */
static const char **event_list(const struct agent_opts *opts)
{
	const struct opts_list *wanted = &opts->record.events;
	const char **events = calloc(wanted->cnt + 2, sizeof(*events));

	if (!events)
		return NULL;
	events[0] = "cpu-clock";
	for (size_t i = 0; i < wanted->cnt; i++)
		events[i + 1] = wanted->items[i];
	return events;
}

static int open_clock(struct agent *agent, const struct agent_opts *opts,
		      const struct agent_recording *old, struct agent_recording *rec)
{
	_cleanup_free_ const char **events = event_list(opts);
	struct capture_opts capture = options_for(opts);
	const struct event *event;
	int err;

	if (!events)
		return -ENOMEM;
	capture.events = events;
	capture.freq_hz = agent->rate.hz;
	capture.freq_is_for_clocks = true;
	choose_pins(opts, old, &capture);
	err = capture_open(&capture, &rec->clock.capture);
	if (err == -EOPNOTSUPP && capture.pin_dir) {
		log_warn("agent: what is sampled since the last window is lost when it is killed");
		capture.pin_dir = NULL;
		err = capture_open(&capture, &rec->clock.capture);
	}
	if (err)
		return err;
	rec->pin_dir = capture.pin_dir ? strdup(capture.pin_dir) : NULL;
	while (rec->event_cnt < AGENT_EVENTS_MAX &&
	       (event = capture_event(rec->clock.capture, rec->event_cnt)))
		rec->events[rec->event_cnt++] = event->name;
	return 0;
}

/* --- Waits --- */

uint32_t agent_wanted_permille(const struct agent *agent, const struct agent_opts *opts)
{
	return opts->off_cpu ? agent->rate.permille : 0;
}

int agent_open_waits(const struct agent *agent, const struct agent_opts *opts,
		     const struct capture *clock, struct agent_capture *out)
{
	struct capture_opts capture = options_for(opts);
	struct agent_capture waits = {.capture = NULL};
	int err;

	capture.waits.is_wanted = capture.waits.is_alone = true;
	capture.waits.max_cpu_permille = agent_wanted_permille(agent, opts);
	capture.beside = clock;
	err = capture_open(&capture, &waits.capture);
	if (!err)
		*out = waits;
	return err;
}

int agent_start_waits(struct agent_capture *waits)
{
	int err = capture_start(waits->capture, -1);

	if (err)
		log_error("start recording waits: %s", strerror(-err));
	else
		capture_cost(waits->capture, &waits->cost);
	return err;
}

/* --- Both --- */

int agent_recording_open(struct agent *agent, const struct agent_opts *opts,
			 const struct agent_recording *old, struct agent_recording *out)
{
	struct agent_recording rec = {.permille = agent_wanted_permille(agent, opts)};
	int err = open_clock(agent, opts, old, &rec);

	if (!err && rec.permille)
		err = agent_open_waits(agent, opts, rec.clock.capture, &rec.waits);
	if (err)
		agent_recording_close(&rec);
	else
		*out = rec;
	return err;
}

int agent_recording_start(struct agent_recording *rec, struct agent_recording *old)
{
	int err = capture_take_over(rec->clock.capture, old ? old->clock.capture : NULL);

	if (err)
		log_error("start sampling: %s", strerror(-err));
	else
		capture_cost(rec->clock.capture, &rec->clock.cost);
	return err || !rec->waits.capture ? err : agent_start_waits(&rec->waits);
}

int agent_recording_run(struct agent *agent, uint64_t until_ns)
{
	struct capture *const caps[] = {agent->recording.clock.capture,
					agent->recording.waits.capture};

	return capture_run_together(caps, caps[1] ? 2 : 1, until_ns, agent->events.wake_fd);
}

void agent_recording_stop(struct agent_recording *rec)
{
	if (rec->waits.capture)
		capture_stop(rec->waits.capture);
	capture_stop(rec->clock.capture);
}

void agent_recording_close(struct agent_recording *rec)
{
	/* It uses what the clock's knows of the kernel. */
	capture_close(rec->waits.capture);
	capture_close(rec->clock.capture);
	free(rec->pin_dir);
	*rec = (struct agent_recording){.pin_dir = NULL};
}

void agent_recording_end(struct agent_recording *rec)
{
	_cleanup_free_ char *pin_dir = take_ptr(rec->pin_dir);

	agent_recording_close(rec);
	if (pin_dir)
		capture_detach_pinned(pin_dir);
}

static void look_up(struct agent *agent, struct agent_capture *part)
{
	const struct profile *prof = capture_so_far(part->capture);
	uint64_t now_ns = clock_monotonic_ns();
	struct identity_key key;

	for (; part->looked_cnt < prof->label_set_cnt; part->looked_cnt++) {
		relabel_key(prof, (uint32_t)part->looked_cnt, &key);
		if (key.tgid)
			identities_get(&agent->identities, &key, now_ns);
	}
}

void agent_look_up(struct agent *agent)
{
	look_up(agent, &agent->recording.clock);
	if (agent->recording.waits.capture)
		look_up(agent, &agent->recording.waits);
}
