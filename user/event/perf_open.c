/* SPDX-License-Identifier: Apache-2.0 */
/* struct event to struct perf_event_attr. */
#include "event/perf_open.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/parse.h"
#include "event/pmu.h"

enum { REF_CTR_BIT_DEFAULT = 32 };

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
	int fd;

	attr->size = sizeof(*attr);
	fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

uint64_t perf_max_rate_hz(void)
{
	_cleanup_free_ char *line = fs_read_line("/proc/sys/kernel/perf_event_max_sample_rate");
	uint64_t max_hz;

	return line && !parse_u64(line, &max_hz) ? max_hz : UINT64_MAX;
}

void perf_attr_init(const struct event *event, struct perf_event_attr *out)
{
	memset(out, 0, sizeof(*out));
	out->type = event->type;
	out->config = event->config;
	out->config1 = event->config1;
	out->config2 = event->config2;
	out->disabled = 1;
	/* Tracepoints and probes are on one side anyway, and take no exclude_*. */
	if (event->spec.kind == EVENT_COUNTER) {
		out->exclude_kernel = event->spec.user_only;
		out->exclude_hv = event->spec.user_only;
		out->exclude_user = event->spec.kernel_only;
	}
}

void perf_attr_sampling(const struct event *event, struct perf_event_attr *out)
{
	perf_attr_init(event, out);
	out->freq = event->is_freq;
	if (event->is_freq)
		out->sample_freq = event->freq_hz;
	else
		out->sample_period = event->period;
}

/* The part that both PMUs share. */
static int init_probe(const char *pmu, bool at_return, struct perf_event_attr *out)
{
	uint32_t type, bit;

	if (pmu_type(PMU_ROOT, pmu, &type))
		return -EOPNOTSUPP;
	memset(out, 0, sizeof(*out));
	out->type = type;
	out->disabled = 1;
	if (!at_return)
		return 0;
	if (pmu_format_bit(PMU_ROOT, pmu, "retprobe", &bit))
		return -EOPNOTSUPP;
	out->config = 1ULL << bit;
	return 0;
}

static int user_probe_attr(const struct event_site *site, bool at_return,
			   struct perf_event_attr *out)
{
	uint32_t bit = REF_CTR_BIT_DEFAULT;
	int err = init_probe("uprobe", at_return, out);

	if (err)
		return err;
	out->uprobe_path = (uintptr_t)site->path;
	out->probe_offset = site->file_off;
	if (!site->semaphore_off)
		return 0;
	if (pmu_format_bit(PMU_ROOT, "uprobe", "ref_ctr_offset", &bit) ||
	    site->semaphore_off >> (64 - bit))
		return -EOPNOTSUPP;
	out->config |= site->semaphore_off << bit;
	return 0;
}

static int kernel_probe_attr(const struct event_site *site, bool at_return,
			     struct perf_event_attr *out)
{
	int err = init_probe("kprobe", at_return, out);

	if (err)
		return err;
	if (site->symbol) {
		out->kprobe_func = (uintptr_t)site->symbol;
		out->probe_offset = site->symbol_off;
	} else {
		out->kprobe_addr = site->kernel_ip;
	}
	return 0;
}

int perf_attr_probe(const struct event_site *site, bool at_return, struct perf_event_attr *out)
{
	return site->path ? user_probe_attr(site, at_return, out)
			  : kernel_probe_attr(site, at_return, out);
}
