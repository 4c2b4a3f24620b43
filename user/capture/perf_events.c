/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, enabling and reading the sampling events. */
#include "capture/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

struct event_name {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool is_clock;
};

static const struct event_name event_names[] = {
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

static int perf_event_open(struct perf_event_attr *attr, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void event_attr(const struct event_spec *spec, struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = spec->type;
	attr->config = spec->config;
	attr->disabled = 1;
	attr->freq = spec->is_freq;
	if (spec->is_freq)
		attr->sample_freq = spec->freq_hz;
	else
		attr->sample_period = spec->period;
}

/* Does the event open on some CPU? 0 or why not. */
static int event_try(const struct event_spec *spec)
{
	struct perf_event_attr attr;
	int fd;

	event_attr(spec, &attr);
	fd = perf_event_open(&attr, 0);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static const struct event_name *event_find(const char *name)
{
	for (size_t i = 0; i < sizeof(event_names) / sizeof(event_names[0]); i++)
		if (!strcmp(event_names[i].name, name))
			return &event_names[i];
	return NULL;
}

static void event_fill(const struct event_name *event, uint64_t freq_hz, uint64_t period,
		       struct event_spec *out)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "%s", event->name);
	out->type = event->type;
	out->config = event->config;
	out->is_clock = event->is_clock;
	out->period = period;
	if (period)
		return;
	if (event->is_clock) {
		out->freq_hz = freq_hz;
		out->period = NSEC_PER_SEC / freq_hz;
	} else if (event->type == PERF_TYPE_HARDWARE) {
		out->freq_hz = freq_hz;
		out->is_freq = true;
	} else {
		out->period = 1;
	}
}

int event_resolve(const char *name, uint64_t freq_hz, uint64_t period, struct event_spec *out)
{
	const struct event_name *event = event_find(name ? name : "cycles");
	struct event_spec spec;
	int err;

	if (!event) {
		log_error(
			"event '%s' is not known here; for timers and counters: cycles, cpu-clock, "
			"instructions, cache-misses, page-faults, context-switches",
			name);
		return -EINVAL;
	}
	event_fill(event, freq_hz, period, &spec);
	err = event_try(&spec);
	if (err && !name && err != -EACCES && err != -EPERM) {
		event_fill(event_find("cpu-clock"), freq_hz, period, &spec);
		spec.is_fallback = true;
		err = event_try(&spec);
	}
	if (err == -EACCES || err == -EPERM)
		log_error("perf_event_open: not permitted: run as root, or give the binary "
			  "CAP_PERFMON and CAP_BPF");
	else if (err)
		log_error("event '%s' does not open here (%s): this machine has no such counter; "
			  "use -e cpu-clock",
			  spec.name, strerror(-err));
	if (!err)
		*out = spec;
	return err;
}

static int event_cpu_open(struct perf_events *events, struct event_cpu *cpu)
{
	struct perf_event_attr attr;
	int fd;

	event_attr(&events->spec, &attr);
	fd = perf_event_open(&attr, cpu->cpu);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, events->prog_fd) ||
	    (events->enabled && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))) {
		int err = -errno;

		close(fd);
		return err;
	}
	cpu->fd = fd;
	return 0;
}

int perf_events_open(struct perf_events *events, const struct event_spec *spec,
		     const struct number_set *cpus, int prog_fd)
{
	events->spec = *spec;
	events->prog_fd = prog_fd;
	for (size_t i = 0; i < cpus->cnt; i++) {
		struct event_cpu *cpu;
		int err = array_reserve(&events->cpus, &events->cap, events->cnt + 1,
					sizeof(*events->cpus));

		if (err)
			return err;
		cpu = &events->cpus[events->cnt++];
		*cpu = (struct event_cpu){.cpu = cpus->items[i], .fd = -1};
		err = event_cpu_open(events, cpu);
		if (err == -ENODEV)
			continue; /* went offline meanwhile; its uevent brings it back */
		if (err) {
			log_error("event '%s' on CPU %u: %s", spec->name, cpu->cpu, strerror(-err));
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

static struct event_cpu *perf_events_cpu(struct perf_events *events, uint32_t cpu)
{
	for (size_t i = 0; i < events->cnt; i++)
		if (events->cpus[i].cpu == cpu)
			return &events->cpus[i];
	return NULL;
}

/* What this life of the CPU has counted. */
static uint64_t event_cpu_live_ticks(const struct perf_events *events, const struct event_cpu *cpu)
{
	uint64_t count;

	if (cpu->fd < 0 || read(cpu->fd, &count, sizeof(count)) != sizeof(count))
		return 0;
	return events->spec.is_freq ? count : count / events->spec.period;
}

void perf_events_cpu_offline(struct perf_events *events, uint32_t nr)
{
	struct event_cpu *cpu = perf_events_cpu(events, nr);

	if (!cpu || cpu->fd < 0)
		return;
	cpu->ticks_closed += event_cpu_live_ticks(events, cpu);
	close(cpu->fd);
	cpu->fd = -1;
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
	err = event_cpu_open(events, cpu);
	if (err)
		log_warn("CPU %u came online but event '%s' does not open on it: %s", nr,
			 events->spec.name, strerror(-err));
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
