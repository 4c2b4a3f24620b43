/* SPDX-License-Identifier: Apache-2.0 */
/* The recordings of an agent: one at a time, but for the moment in which another takes its place.
 */
#include "agent/agent_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"

static struct capture_opts options_for(const struct agent *agent, const struct agent_opts *opts,
				       const char *const *events)
{
	struct capture_opts capture = record_capture_opts(&opts->record);

	capture.events = events;
	capture.freq_hz = agent->rate.hz;
	capture.freq_is_for_clocks = true;
	capture.by = BY_COMM | BY_PID | BY_START | BY_CGROUP | BY_EVENT;
	capture.waits.is_wanted = opts->off_cpu && agent->rate.waits;
	/* What it costs is bounded by the rate, and its memory by what is forgotten. */
	capture.max_cpu_percent = 0;
	capture.max_own_bytes = 0;
	return capture;
}

/* So many intervals without an agent, and recording stops by itself. */
enum { LEASE_INTERVALS = 10 };

/* What threads do now is in this process' memory too, and would not outlive it. */
static void choose_pins(const struct agent_opts *opts, struct capture_opts *capture)
{
	if (capture->waits.is_wanted || !strcmp(opts->pin_dir, "none"))
		return;
	capture->pin_dir = opts->pin_dir;
	capture->lease_ns = LEASE_INTERVALS * opts->record.interval_ns;
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

int agent_recording_open(struct agent *agent, const struct agent_opts *opts,
			 struct agent_recording *out)
{
	_cleanup_free_ const char **events = event_list(opts);
	struct agent_recording rec = {.capture = NULL};
	struct capture_opts capture;
	const struct event *event;
	int err;

	if (!events)
		return -ENOMEM;
	capture = options_for(agent, opts, events);
	choose_pins(opts, &capture);
	err = capture_open(&capture, &rec.capture);
	if (err == -EOPNOTSUPP && capture.pin_dir) {
		log_warn("agent: what is sampled since the last window is lost when it is killed");
		capture.pin_dir = NULL;
		err = capture_open(&capture, &rec.capture);
	}
	if (err)
		return err;
	rec.has_waits = capture.waits.is_wanted;
	rec.pin_dir = capture.pin_dir ? strdup(capture.pin_dir) : NULL;
	while (rec.event_cnt < AGENT_EVENTS_MAX &&
	       (event = capture_event(rec.capture, rec.event_cnt)))
		rec.events[rec.event_cnt++] = event->name;
	*out = rec;
	return 0;
}

int agent_recording_start(struct agent_recording *rec)
{
	int err = capture_start(rec->capture);

	rec->started_ns = clock_monotonic_ns();
	if (err)
		log_error("start sampling: %s", strerror(-err));
	return err;
}

void agent_recording_close(struct agent_recording *rec)
{
	capture_close(rec->capture);
	free(rec->pin_dir);
	*rec = (struct agent_recording){.capture = NULL};
}

void agent_recording_end(struct agent_recording *rec)
{
	_cleanup_free_ char *pin_dir = take_ptr(rec->pin_dir);

	agent_recording_close(rec);
	if (pin_dir)
		capture_detach_pinned(pin_dir);
}

/* A pinned recording that goes on cannot be two: what happens between its last window and its end
 * is lost, which takes some 0.1 s. */
static int switch_pinned(struct agent *agent, const struct agent_opts *fresh)
{
	int err = agent_take_window(agent, &agent->recording, false);

	agent_recording_end(&agent->recording);
	err = err ? err : agent_recording_open(agent, fresh, &agent->recording);
	err = err ? err : agent_recording_start(&agent->recording);
	agent->is_broken = err;
	agent_mark(agent, 0);
	return err;
}

void agent_look_up(struct agent *agent)
{
	struct agent_recording *rec = &agent->recording;
	const struct profile *prof = capture_so_far(rec->capture);
	uint64_t now_ns = clock_monotonic_ns();
	struct identity_key key;

	for (; rec->looked_cnt < prof->label_set_cnt; rec->looked_cnt++) {
		relabel_key(prof, (uint32_t)rec->looked_cnt, &key);
		if (key.tgid)
			identities_get(&agent->identities, &key, now_ns);
	}
}

int agent_switch(struct agent *agent, const struct agent_opts *fresh)
{
	struct agent_recording next, old = agent->recording;
	int err;

	if (old.pin_dir)
		return switch_pinned(agent, fresh);
	err = agent_recording_open(agent, fresh, &next);
	if (err)
		return err;
	/* The gap between the two is that of two system calls. */
	capture_stop(old.capture);
	err = agent_recording_start(&next);
	if (err) {
		/* The old one cannot be started again: what it has is stored, and we end. */
		agent->is_broken = true;
		agent_recording_close(&next);
		return err;
	}
	err = agent_take_window(agent, &old, true);
	agent_recording_close(&old);
	agent->recording = next;
	agent_mark(agent, 0);
	return err;
}
