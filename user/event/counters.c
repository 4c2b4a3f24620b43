/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and reading perf events that only count. */
#include "event/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "event/perf_open.h"
#include "event/pmu.h"

/* What read(2) gives with the read_format below. */
struct counter_record {
	uint64_t count, enabled_ns, running_ns;
};

static int add_fd(struct counter *counter, struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd, err = array_reserve(&counter->fds, &counter->cap, counter->cnt + 1,
				    sizeof(*counter->fds));

	if (err)
		return err;
	fd = perf_open(attr, tid, cpu, 0);
	/* A CPU that went offline, a thread that ended meanwhile: they count nothing more. */
	if (fd == -ENODEV || fd == -ESRCH)
		return 0;
	if (fd < 0)
		return fd;
	counter->fds[counter->cnt++] = fd;
	return 0;
}

static int add_fds(struct counter *counter, struct perf_event_attr *attr,
		   const struct counter_target *target, const struct number_set *cpus)
{
	const struct number_set *each = target->cpus ? cpus : target->tids;
	int err = 0;

	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (!target->cpus) {
		attr->inherit = target->inherit && !event_is_probe(counter->event->spec.kind);
		attr->enable_on_exec = target->on_exec;
	}
	for (size_t i = 0; i < each->cnt && !err; i++)
		err = target->cpus ? add_fd(counter, attr, -1, (int)each->items[i])
				   : add_fd(counter, attr, (pid_t)each->items[i], -1);
	return err;
}

static int open_sites(struct counter *counter, const struct counter_target *target)
{
	const struct event *event = counter->event;
	int err = 0;

	for (size_t i = 0; i < event->site_cnt && !err; i++) {
		struct perf_event_attr attr;

		err = perf_attr_probe(&event->sites[i], event_is_return(event->spec.kind), &attr);
		err = err ? err : add_fds(counter, &attr, target, target->cpus);
	}
	return err;
}

static int open_tracepoints(struct counter *counter, const struct counter_target *target)
{
	const struct event *event = counter->event;
	int err = 0;

	for (size_t i = 0; i < event->tracepoint_cnt && !err; i++) {
		struct perf_event_attr attr;

		perf_attr_init(event, &attr);
		attr.config = event->tracepoint_ids[i];
		err = add_fds(counter, &attr, target, target->cpus);
	}
	return err;
}

/* A PMU of a package counts for all its CPUs on one of them. */
static int open_counter(struct counter *counter, const struct counter_target *target)
{
	const struct event_spec *spec = &counter->event->spec;
	_cleanup_free_ char *mask = spec->group ? pmu_cpumask(PMU_ROOT, spec->group) : NULL;
	struct number_set cpus = {0};
	struct perf_event_attr attr;
	int err;

	perf_attr_init(counter->event, &attr);
	err = mask ? number_set_parse(&cpus, mask) : 0;
	if (!err)
		err = add_fds(counter, &attr, target, mask && cpus.cnt ? &cpus : target->cpus);
	number_set_deinit(&cpus);
	return err;
}

int counter_open(struct counter *counter, const struct event *event,
		 const struct counter_target *target, struct buf *why)
{
	int err;

	*counter = (struct counter){.event = event};
	if (event->spec.kind == EVENT_COUNTER)
		err = open_counter(counter, target);
	else if (event->spec.kind == EVENT_TRACEPOINT)
		err = open_tracepoints(counter, target);
	else
		err = open_sites(counter, target);
	if (err == -EINVAL && !target->cpus && event->spec.group &&
	    !event_is_probe(event->spec.kind))
		buf_printf(why, "event '%s' counts whole CPUs, not single processes: use -a",
			   event->name);
	else if ((err == -EACCES || err == -EPERM) && target->cpus)
		buf_printf(why,
			   "event '%s' may not be counted for everybody: run as root, or name a "
			   "process of yours (-p, or COMMAND)",
			   event->name);
	else if (err == -EMFILE)
		buf_printf(why, "event '%s': too many open files: raise ulimit -n", event->name);
	else if (err)
		buf_printf(why, "event '%s' cannot be counted: %s", event->name, strerror(-err));
	return err;
}

int counter_enable(struct counter *counter)
{
	for (size_t i = 0; i < counter->cnt; i++)
		if (ioctl(counter->fds[i], PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return 0;
}

void counter_disable(struct counter *counter)
{
	for (size_t i = 0; i < counter->cnt; i++)
		ioctl(counter->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t counter_scale(uint64_t raw, uint64_t enabled_ns, uint64_t running_ns)
{
	if (running_ns >= enabled_ns)
		return raw;
	return running_ns ? (uint64_t)((__uint128_t)raw * enabled_ns / running_ns) : 0;
}

int counter_read(const struct counter *counter, struct counter_value *out)
{
	struct counter_value sum = {0};

	for (size_t i = 0; i < counter->cnt; i++) {
		struct counter_record record;

		if (read(counter->fds[i], &record, sizeof(record)) != sizeof(record))
			return -EIO;
		sum.count += counter_scale(record.count, record.enabled_ns, record.running_ns);
		sum.enabled_ns += record.enabled_ns;
		sum.running_ns += record.running_ns;
	}
	*out = sum;
	return 0;
}

void counter_close(struct counter *counter)
{
	for (size_t i = 0; i < counter->cnt; i++)
		close(counter->fds[i]);
	free(counter->fds);
	*counter = (struct counter){0};
}
