/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event as written to the event of this machine. Counters are tried: whether a PMU has one, only
 * opening it tells (a virtual machine may show a PMU and count nothing).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/absent_call.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "event/event.h"
#include "event/event_names.h"
#include "event/event_parse.h"
#include "event/kernel_functions.h"
#include "event/perf_open.h"
#include "event/pmu.h"
#include "event/tracepoint.h"
#include "event/usdt.h"
#include "event/user_probe.h"

enum { FREQ_DEFAULT_HZ = 99 }; /* in step with nothing that ticks */

static bool is_refused(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* --- What it is called, how often it samples --- */

static void set_name(struct event *event)
{
	const struct event_spec *spec = &event->spec;
	const char *side = spec->user_only ? ":u" : spec->kernel_only ? ":k" : "";
	const char *slash = spec->path ? strrchr(spec->path, '/') : NULL;
	const char *text = spec->text;
	char *folder = slash ? strstr(spec->text, spec->path) : NULL;
	size_t len;

	/* A file's folder says little, and there is not much room. */
	if (folder) {
		size_t kind_len = (size_t)(folder - spec->text);

		text = folder + (slash + 1 - spec->path);
		snprintf(event->name, sizeof(event->name), "%.*s%s", (int)kind_len, spec->text,
			 text);
		if (kind_len + strlen(text) < sizeof(event->name))
			return;
	}
	len = strlen(text);
	if (spec->kind == EVENT_COUNTER && !spec->group && spec->name)
		snprintf(event->name, sizeof(event->name), "%s%s", spec->name, side);
	else if (len < sizeof(event->name))
		memcpy(event->name, text, len + 1);
	else /* the end of a probe tells more than its beginning */
		snprintf(event->name, sizeof(event->name), "...%s",
			 text + len - (sizeof(event->name) - 4));
}

/* Counts of a PMU come so fast that a rate is what makes sense; of the others every one counts. */
static bool is_pmu_counter(const struct event *event)
{
	return event->spec.kind == EVENT_COUNTER && event->type != PERF_TYPE_SOFTWARE;
}

static void set_freq(struct event *event, uint64_t freq_hz)
{
	event->freq_hz = freq_hz;
	if (event->is_clock)
		event->period = freq_hz < NSEC_PER_SEC ? NSEC_PER_SEC / freq_hz : 1;
	else
		event->is_freq = true;
}

bool event_follows_freq(const struct event *event)
{
	const struct event_spec *spec = &event->spec;

	return event->freq_hz && !spec->freq_hz && !spec->period &&
	       (event->is_clock || is_pmu_counter(event));
}

bool event_set_freq(struct event *event, uint64_t freq_hz)
{
	if (!event_follows_freq(event))
		return false;
	set_freq(event, freq_hz);
	return true;
}

/* What stands with the event goes before -F and -c. */
static void set_rate(struct event *event, const struct event_scope *scope)
{
	const struct event_spec *spec = &event->spec;
	bool is_for_it = !scope->freq_is_for_clocks || event->is_clock || is_pmu_counter(event);
	uint64_t freq_hz = spec->freq_hz ? spec->freq_hz : is_for_it ? scope->freq_hz : 0;

	event->period = spec->period ? spec->period : spec->freq_hz ? 0 : scope->period;
	if (event->period)
		return;
	if (!freq_hz && (event->is_clock || is_pmu_counter(event)))
		freq_hz = FREQ_DEFAULT_HZ;
	if (freq_hz)
		set_freq(event, freq_hz);
	else
		event->period = 1;
}

/* --- Counters --- */

static int set_raw(struct event *event)
{
	uint64_t config = 0;

	for (const char *pos = event->spec.name + 1; *pos; pos++)
		config = config << 4 | digit_value(*pos);
	event->type = PERF_TYPE_RAW;
	event->config = config;
	return 0;
}

static int set_counter(struct event *event, struct buf *why)
{
	const struct event_spec *spec = &event->spec;
	struct event_name name;
	struct pmu_config config;
	int err;

	if (!spec->group) {
		if (!event_name_find(spec->name, &name))
			return set_raw(event);
		event->type = name.type;
		event->config = name.config;
		event->is_clock = name.is_clock;
		return 0;
	}
	err = pmu_config(PMU_ROOT, spec->group, spec->name, &config, why);
	if (err)
		return err;
	event->type = config.type;
	event->config = config.config[0];
	event->config1 = config.config[1];
	event->config2 = config.config[2];
	return 0;
}

/* The first CPU that the event can be on: a package's PMU has one for all. */
static int first_cpu(const struct event *event)
{
	_cleanup_free_ char *mask = NULL;
	struct number_set cpus = {0};
	int cpu = 0;

	if (event->spec.kind == EVENT_COUNTER && event->spec.group)
		mask = pmu_cpumask(PMU_ROOT, event->spec.group);
	if (mask && !number_set_parse(&cpus, mask) && cpus.cnt)
		cpu = (int)cpus.items[0];
	number_set_deinit(&cpus);
	return cpu;
}

/* Does the event open? 0 or why not. */
static int try_event(const struct event *event, const struct event_scope *scope)
{
	struct perf_event_attr attr;
	int fd;

	if (scope->is_counting)
		perf_attr_init(event, &attr);
	else
		perf_attr_sampling(event, &attr);
	fd = perf_open(&attr, -1, first_cpu(event), 0);
	/* Of one's own processes much may be counted without privilege. */
	if (is_refused(fd) && scope->is_counting)
		fd = perf_open(&attr, 0, -1, 0);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* May it count, if not sample? */
static bool can_count(const struct event *event)
{
	return !try_event(event, &(struct event_scope){.is_counting = true});
}

static int explain(const struct event *event, const struct event_scope *scope, int err,
		   struct buf *why)
{
	if (err == -ENOSYS)
		absent_call_explain("perf_event_open", ABSENT_PERF_EVENT_OPEN, "/proc", why);
	else if (is_refused(err) && scope->is_counting && event->spec.kind == EVENT_COUNTER &&
		 !event->spec.user_only)
		buf_printf(why,
			   "perf_event_open: not permitted: run as root, give the binary "
			   "CAP_PERFMON, or count user mode only: %s:u",
			   event->name);
	else if (is_refused(err))
		privilege_explain("perf_event_open", PRIVILEGES_RECORD, err, why);
	else if (err == -EINVAL && event->is_freq && event->freq_hz > perf_max_rate_hz())
		buf_printf(why,
			   "event '%s' cannot be sampled %llu times a second: the kernel allows "
			   "%llu; sample less often, or sysctl "
			   "kernel.perf_event_max_sample_rate=%llu",
			   event->name, (unsigned long long)event->freq_hz,
			   (unsigned long long)perf_max_rate_hz(),
			   (unsigned long long)event->freq_hz);
	else if (!scope->is_counting && is_pmu_counter(event) && can_count(event))
		buf_printf(
			why,
			"event '%s' can only be counted here (%s): its PMU has no interrupt; use "
			"bpfprof stat, or -e cpu-clock",
			event->name, strerror(-err));
	else if (err == -EINVAL && (event->spec.user_only || event->spec.kernel_only))
		buf_printf(why,
			   "event '%s' does not open here (%s): its PMU cannot tell user from "
			   "kernel; leave out the modifier",
			   event->name, strerror(-err));
	else if (err == -EINVAL && (event->spec.group || event->type == PERF_TYPE_RAW))
		buf_printf(why,
			   "event '%s' does not open here (%s): the PMU does not take this "
			   "configuration (see bpfprof list); use -e cpu-clock",
			   event->name, strerror(-err));
	else if (event->spec.kind != EVENT_COUNTER)
		buf_printf(why, "event '%s' does not open here (%s): use another of bpfprof list",
			   event->name, strerror(-err));
	else
		buf_printf(why,
			   "event '%s' does not open here (%s): this machine has no such counter; "
			   "use -e cpu-clock",
			   event->name, strerror(-err));
	return err;
}

static int resolve_openable(struct event *event, const struct event_scope *scope, struct buf *why)
{
	int err = try_event(event, scope);

	return err ? explain(event, scope, err, why) : 0;
}

/* --- Of each kind --- */

static int resolve_kernel_probe(struct event *event, struct buf *why)
{
	struct kernel_functions functions;
	int err = kernel_probes_check(&event->spec, why);

	if (err)
		return err;
	if (event->spec.has_addr)
		return kernel_functions_resolve(NULL, event, why);
	err = kernel_functions_load(&functions);
	if (err) {
		event_bad(&event->spec, why, "/proc/kallsyms: %s", strerror(-err));
		return err;
	}
	err = kernel_functions_resolve(&functions, event, why);
	kernel_functions_deinit(&functions);
	return err;
}

static int resolve_kind(struct event *event, const struct event_scope *scope, struct buf *why)
{
	switch (event->spec.kind) {
	case EVENT_COUNTER:
		return set_counter(event, why);
	case EVENT_TRACEPOINT:
		return tracepoint_resolve(event, why);
	case EVENT_KPROBE:
	case EVENT_KRETPROBE:
		return resolve_kernel_probe(event, why);
	case EVENT_UPROBE:
	case EVENT_URETPROBE:
		return user_probe_resolve(event, scope, why);
	case EVENT_USDT:
		return usdt_resolve(event, scope, why);
	}
	return -EINVAL;
}

static int resolve_spec(struct event *event, const struct event_scope *scope, struct buf *why)
{
	int err;

	set_name(event);
	err = resolve_kind(event, scope, why);
	if (err)
		return err;
	set_rate(event, scope);
	return event_is_probe(event->spec.kind) ? 0 : resolve_openable(event, scope, why);
}

/* @name as somebody would have written it. */
static int spec_of_name(const char *name, struct event_spec *out)
{
	*out = (struct event_spec){.text = strdup(name), .name = strdup(name)};
	if (out->text && out->name)
		return 0;
	event_spec_deinit(out);
	return -ENOMEM;
}

/* cycles, and cpu-clock where they do not open for any reason but a lack of privilege. */
static int resolve_default(const struct event_scope *scope, struct event *out, struct buf *why)
{
	static const char *const names[] = {"cycles", "cpu-clock"};
	int err = 0;

	for (size_t i = 0; i < 2; i++) {
		struct event event = {.is_fallback = i};

		buf_reset(why);
		err = spec_of_name(names[i], &event.spec);
		err = err ? err : resolve_spec(&event, scope, why);
		if (!err) {
			buf_reset(why);
			*out = event;
			return 0;
		}
		event_deinit(&event);
		if (is_refused(err))
			break;
	}
	return err;
}

int event_resolve(struct event_spec *spec, const struct event_scope *scope, struct event *out,
		  struct buf *why)
{
	struct event event = {0};
	int err;

	if (!spec)
		return resolve_default(scope, out, why);
	event.spec = *spec;
	*spec = (struct event_spec){0};
	err = resolve_spec(&event, scope, why);
	if (err)
		event_deinit(&event);
	else
		*out = event;
	return err;
}
