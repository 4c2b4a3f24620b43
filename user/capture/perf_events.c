/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, enabling and reading the sampling events. */
#include "capture/perf_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/pins.h"
#include "event/perf_open.h"

static int event_cpu_attach(struct perf_events *events, const struct event_cpu *cpu, int fd)
{
	if (events->pins)
		return pins_keep_counter(events->pins, events->nr, cpu->cpu, events->prog_fd, fd);
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, events->prog_fd) ? -errno : 0;
}

/* As struct event_cpu has it. */
static uint64_t rate_of(const struct event *event)
{
	return event->is_freq ? event->freq_hz : event->period;
}

static struct pin_counter *kept(const struct perf_events *events, const struct event_cpu *cpu)
{
	return pins_counter(events->pins, events->nr, (uint32_t)(cpu - events->cpus));
}

static int event_cpu_open(struct perf_events *events, struct event_cpu *cpu)
{
	struct perf_event_attr attr;
	int fd, err;

	perf_attr_sampling(events->event, &attr);
	fd = perf_open(&attr, -1, (int)cpu->cpu, 0);
	if (fd < 0)
		return fd;
	cpu->rate = rate_of(events->event);
	if (events->pins)
		kept(events, cpu)->rate = cpu->rate;
	err = event_cpu_attach(events, cpu, fd);
	if (!err && events->enabled && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	cpu->fd = fd;
	return 0;
}

static uint64_t to_ticks(const struct perf_events *events, const struct event_cpu *cpu,
			 uint64_t count)
{
	return events->event->is_freq || !cpu->rate ? count : count / cpu->rate;
}

/* What this life of the CPU has counted, and not been closed. */
static uint64_t event_cpu_live_count(const struct perf_events *events, struct event_cpu *cpu)
{
	uint64_t count = 0;

	if (cpu->is_pinned) {
		pins_read_counter(events->pins, events->nr, cpu->cpu, &cpu->count);
		count = cpu->count;
	} else if (cpu->fd < 0 || read(cpu->fd, &count, sizeof(count)) != sizeof(count)) {
		return 0;
	}
	return count > cpu->count_closed ? count - cpu->count_closed : 0;
}

/* The end of the CPU's event: its ticks are kept. */
static void event_cpu_end(struct perf_events *events, struct event_cpu *cpu)
{
	uint64_t count = event_cpu_live_count(events, cpu);

	/* In this order: who dies in between has lost ticks, and not counted any twice. */
	if (events->pins)
		pins_drop_counter(events->pins, events->nr, cpu->cpu);
	cpu->ticks_closed += to_ticks(events, cpu, count);
	if (events->pins)
		kept(events, cpu)->ticks_closed = cpu->ticks_closed;
	if (cpu->fd >= 0)
		close(cpu->fd);
	cpu->fd = -1;
	cpu->count = cpu->count_closed = 0;
	cpu->is_pinned = false;
}

/* The last that the pinned event has counted before its CPU went away, and a new one. */
static int event_cpu_renew(struct perf_events *events, struct event_cpu *cpu)
{
	if (pins_read_counter(events->pins, events->nr, cpu->cpu, &cpu->count))
		log_warn("CPU %u: how often event '%s' ticked there before it went away is not "
			 "known: ticks that did not run are not counted",
			 cpu->cpu, events->event->name);
	event_cpu_end(events, cpu);
	log_warn("CPU %u was away: event '%s' did not sample there until now", cpu->cpu,
		 events->event->name);
	return event_cpu_open(events, cpu);
}

/* The first look at a CPU: go on with what there is, or open. */
static int event_cpu_begin(struct perf_events *events, struct event_cpu *cpu)
{
	struct pins *pins = events->pins;
	uint64_t count;

	if (!pins || !pins->is_resumed)
		return event_cpu_open(events, cpu);
	cpu->ticks_closed = kept(events, cpu)->ticks_closed;
	if (!pins_has_counter(pins, events->nr, cpu->cpu))
		return event_cpu_open(events, cpu);
	cpu->is_pinned = true;
	cpu->rate = kept(events, cpu)->rate;
	/* Of a CPU that is offline nothing can be read: its uevent is for that. */
	if (pins_read_counter(pins, events->nr, cpu->cpu, &count))
		return 0;
	if (!pins_counter_is_alive(pins, events->nr, cpu->cpu))
		return event_cpu_renew(events, cpu);
	if (cpu->rate == rate_of(events->event))
		return 0;
	/* Another is asked for now. */
	event_cpu_end(events, cpu);
	return event_cpu_open(events, cpu);
}

int perf_events_open(struct perf_events *events, const struct event *event,
		     const struct number_set *cpus, int prog_fd, struct pins *pins, uint32_t nr)
{
	events->event = event;
	events->prog_fd = prog_fd;
	events->pins = pins;
	events->nr = nr;
	for (size_t i = 0; i < cpus->cnt; i++) {
		struct event_cpu *cpu;
		int err = array_reserve(&events->cpus, &events->cap, events->cnt + 1,
					sizeof(*events->cpus));

		if (err)
			return err;
		cpu = &events->cpus[events->cnt++];
		*cpu = (struct event_cpu){.cpu = cpus->items[i], .fd = -1};
		err = event_cpu_begin(events, cpu);
		if (err == -ENODEV)
			continue; /* went offline meanwhile; its uevent brings it back */
		if (err) {
			log_error("event '%s' on CPU %u: %s", event->name, cpu->cpu,
				  strerror(-err));
			return err;
		}
	}
	return 0;
}

int perf_events_enable(struct perf_events *events)
{
	events->enabled = true;
	for (size_t i = 0; i < events->cnt; i++)
		if (events->cpus[i].fd >= 0 && ioctl(events->cpus[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return 0;
}

void perf_events_disable(struct perf_events *events)
{
	events->enabled = false;
	for (size_t i = 0; i < events->cnt; i++)
		if (events->cpus[i].fd >= 0)
			ioctl(events->cpus[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void perf_events_end(struct perf_events *events)
{
	events->enabled = false;
	for (size_t i = 0; i < events->cnt; i++)
		if (events->cpus[i].fd >= 0 || events->cpus[i].is_pinned)
			event_cpu_end(events, &events->cpus[i]);
}

static struct event_cpu *perf_events_cpu(struct perf_events *events, uint32_t cpu)
{
	for (size_t i = 0; i < events->cnt; i++)
		if (events->cpus[i].cpu == cpu)
			return &events->cpus[i];
	return NULL;
}

static uint64_t event_cpu_live_ticks(const struct perf_events *events, struct event_cpu *cpu)
{
	return to_ticks(events, cpu, event_cpu_live_count(events, cpu));
}

/* The counter goes on at another rate. */
static int event_cpu_retune(struct perf_events *events, struct event_cpu *cpu)
{
	uint64_t rate = rate_of(events->event);
	uint64_t count = events->event->is_freq ? 0 : event_cpu_live_count(events, cpu);

	cpu->ticks_closed += to_ticks(events, cpu, count);
	cpu->count_closed += count;
	cpu->rate = rate;
	return ioctl(cpu->fd, PERF_EVENT_IOC_PERIOD, &rate) ? -errno : 0;
}

int perf_events_retune(struct perf_events *events)
{
	int err = 0;

	for (size_t i = 0; i < events->cnt; i++) {
		struct event_cpu *cpu = &events->cpus[i];
		int cpu_err;

		if (cpu->fd < 0 && !cpu->is_pinned)
			continue;
		if (!events->pins) {
			cpu_err = event_cpu_retune(events, cpu);
		} else {
			/* There may be no descriptor here, and what the next process finds is of
			 * one rate. */
			event_cpu_end(events, cpu);
			cpu_err = event_cpu_open(events, cpu);
		}
		/* It has gone away: its uevent brings it back. */
		if (cpu_err && cpu_err != -ENODEV && !err)
			err = cpu_err;
	}
	return err;
}

void perf_events_nudge(struct perf_events *events)
{
	const struct event *event = events->event;
	uint64_t freq_hz;

	if (!event || !events->enabled || !event->is_freq || event->is_clock ||
	    event->type != PERF_TYPE_SOFTWARE)
		return;
	freq_hz = event->freq_hz;
	for (size_t i = 0; i < events->cnt; i++)
		if (events->cpus[i].fd >= 0)
			ioctl(events->cpus[i].fd, PERF_EVENT_IOC_PERIOD, &freq_hz);
}

void perf_events_cpu_offline(struct perf_events *events, uint32_t nr)
{
	struct event_cpu *cpu = perf_events_cpu(events, nr);

	if (!cpu || cpu->fd < 0)
		return;
	event_cpu_end(events, cpu);
	log_info("CPU %u went offline: its samples are kept, it is taken up again when it comes "
		 "back",
		 nr);
}

void perf_events_cpu_online(struct perf_events *events, uint32_t nr)
{
	struct event_cpu *cpu = perf_events_cpu(events, nr);
	int err;

	if (!cpu || cpu->fd >= 0)
		return;
	err = cpu->is_pinned ? event_cpu_renew(events, cpu) : event_cpu_open(events, cpu);
	if (err)
		log_warn("CPU %u came online but event '%s' does not open on it: %s", nr,
			 events->event->name, strerror(-err));
}

void perf_events_read_ticks(struct perf_events *events)
{
	for (size_t i = 0; i < events->cnt; i++)
		events->cpus[i].ticks = events->cpus[i].ticks_closed +
					event_cpu_live_ticks(events, &events->cpus[i]);
}

void perf_events_close(struct perf_events *events)
{
	for (size_t i = 0; i < events->cnt; i++)
		if (events->cpus[i].fd >= 0)
			close(events->cpus[i].fd);
	free(events->cpus);
	*events = (struct perf_events){0};
}
