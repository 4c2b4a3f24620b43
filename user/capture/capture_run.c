/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording waits for while it samples, or several of one process at once. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>

#include "base/clock.h"
#include "capture/capture_priv.h"
#include "capture/hotplug.h"

#define LOOK_PERIOD_NS (100 * NSEC_PER_MSEC)

/* What is polled for each of them. */
enum { FD_RING, FD_HOTPLUG, FD_TARGETS, FD_ROWS, FD_KERNEL, FD_CNT };

static bool capture_kernel_changes(const struct capture *cap, bool is_announced)
{
	return cap->kernel.map &&
	       (is_announced || loader_module_loads(&cap->loader) != cap->kernel.module_loads);
}

/* What came or went may be a reason to drain early. */
static void capture_take_kernel(struct capture *cap)
{
	uint64_t early_ns = cap->last_drain_ns + CAPTURE_DRAIN_PERIOD_MIN_NS;

	kernel_watch_take(&cap->kernel, loader_module_loads(&cap->loader));
	if (cap->kernel.must_flip && early_ns < cap->next_drain_ns)
		cap->next_drain_ns = early_ns;
}

int capture_timeout_ms(uint64_t now_ns, uint64_t until_ns)
{
	uint64_t left_ms =
		until_ns > now_ns ? (until_ns - now_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC : 0;

	return left_ms > 60000 ? 60000 : left_ms;
}

static void handle_hotplug(struct capture *cap)
{
	struct hotplug_event event;
	bool more = true;

	while (more) {
		if (!hotplug_next(cap->hotplug_fd, &event, &more))
			continue;
		if (event.is_online) {
			samplers_cpu_online(&cap->samplers, event.cpu);
			ksym_events_cpu_online(&cap->kernel.events, event.cpu);
		} else {
			samplers_cpu_offline(&cap->samplers, event.cpu);
			ksym_events_cpu_offline(&cap->kernel.events, event.cpu);
		}
	}
}

/* What is due from time to time: a drain; pinned, where a drain is a window, only a look whether it
 * must be, which CAPTURE_EPOCH_FULL says. */
static int capture_look(struct capture *cap)
{
	uint32_t epoch;
	int err;

	if (!cap->is_pinned)
		return capture_drain(cap, &epoch);
	cap->next_drain_ns = clock_monotonic_ns() + LOOK_PERIOD_NS;
	capture_pins_renew_lease(cap);
	err = capture_take_ring(cap);
	if (!err && capture_pins_are_full(cap))
		return CAPTURE_EPOCH_FULL;
	cap->drain.wants_flip = false;
	return err;
}

static void fill_fds(const struct capture *cap, struct pollfd *fds)
{
	/* Whoever holds records back is not woken for new ones, but for old ones for ever. */
	fds[FD_RING].fd = cap->is_pinned ? -1 : loader_ring_fd(&cap->loader);
	fds[FD_HOTPLUG].fd = cap->hotplug_fd;
	fds[FD_TARGETS].fd = targets_poll_fd(&cap->targets);
	fds[FD_ROWS].fd = rows_feed_fd(&cap->rows);
	fds[FD_KERNEL].fd = ksym_events_fd(&cap->kernel.events);
	for (int i = 0; i < FD_CNT; i++)
		fds[i].events = POLLIN;
}

/* 0, CAPTURE_TARGET_GONE or negative errno. */
static int take_ready(struct capture *cap, const struct pollfd *fds)
{
	int err = fds[FD_RING].revents ? capture_take_ring(cap) : 0;

	if (err)
		return err;
	if (fds[FD_ROWS].revents)
		capture_take_rows(cap);
	if (capture_kernel_changes(cap, fds[FD_KERNEL].revents))
		capture_take_kernel(cap);
	if (fds[FD_HOTPLUG].revents)
		handle_hotplug(cap);
	if (fds[FD_TARGETS].revents && targets_all_gone(&cap->targets))
		return CAPTURE_TARGET_GONE;
	return 0;
}

/* Those who run together. */
struct together {
	struct capture *const *caps;
	size_t cnt;
	uint64_t deadline_ns;
	struct pollfd fds[CAPTURE_TOGETHER_MAX * FD_CNT + 1]; /* the last: who wakes us */
};

static bool is_due(const struct capture *cap, uint64_t now_ns)
{
	return now_ns >= cap->next_drain_ns || cap->drain.wants_flip;
}

/* *@looked: time has passed since @now_ns. 0, or why to end. */
static int look(const struct together *run, uint64_t now_ns, bool *looked)
{
	int err = 0;

	for (size_t i = 0; i < run->cnt && !err; i++) {
		if (!is_due(run->caps[i], now_ns))
			continue;
		*looked = true;
		err = capture_look(run->caps[i]);
	}
	return err;
}

static uint64_t next_ns(const struct together *run)
{
	uint64_t next_ns = run->deadline_ns;

	for (size_t i = 0; i < run->cnt; i++) {
		const struct capture *cap = run->caps[i];

		next_ns = cap->next_drain_ns < next_ns ? cap->next_drain_ns : next_ns;
		next_ns = cap->guard.next_ns < next_ns ? cap->guard.next_ns : next_ns;
	}
	return next_ns;
}

/* 0, or why to end. */
static int wait_and_take(struct together *run, uint64_t now_ns)
{
	int err = poll(run->fds, run->cnt * FD_CNT + 1, capture_timeout_ms(now_ns, next_ns(run)));

	if (err < 0)
		return errno == EINTR ? 0 : -errno;
	if (!err)
		return 0;
	for (size_t i = 0; i < run->cnt; i++) {
		err = take_ready(run->caps[i], run->fds + i * FD_CNT);
		if (err)
			return err;
	}
	return run->fds[run->cnt * FD_CNT].revents ? CAPTURE_WOKEN : 0;
}

static int run_until(struct together *run)
{
	int err = 0;

	while (!err) {
		uint64_t now_ns = clock_monotonic_ns();
		bool looked = false;

		for (size_t i = 0; i < run->cnt; i++)
			if (guard_check(&run->caps[i]->guard, &run->caps[i]->loader, now_ns))
				return CAPTURE_STOPPED;
		if (now_ns >= run->deadline_ns)
			return CAPTURE_DEADLINE;
		err = look(run, now_ns, &looked);
		if (!err && !looked)
			err = wait_and_take(run, now_ns);
	}
	return err;
}

int capture_run_together(struct capture *const *caps, size_t cnt, uint64_t deadline_ns, int wake_fd)
{
	struct together run = {.caps = caps, .cnt = cnt, .deadline_ns = deadline_ns};
	int wake;

	for (size_t i = 0; i < cnt; i++) {
		fill_fds(caps[i], run.fds + i * FD_CNT);
		if (caps[i]->kernel.map)
			kernel_map_forget(caps[i]->kernel.map, caps[i]->window_start_ns);
		guard_resume(&caps[i]->guard);
	}
	run.fds[cnt * FD_CNT] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
	wake = run_until(&run);
	for (size_t i = 0; i < cnt; i++)
		guard_pause(&caps[i]->guard);
	return wake;
}

int capture_run(struct capture *cap, uint64_t deadline_ns, int wake_fd)
{
	return capture_run_together(&cap, 1, deadline_ns, wake_fd);
}
