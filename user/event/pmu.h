/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PMUs as sysfs describes them: a folder each, with the number that perf_event_open(2) wants
 * (type), which bits of config* a term means (format/umask: "config:8-15"), and ready-made terms
 * under a name (events/cache-misses: "event=0x2e,umask=0x41").
 */
#ifndef BPFPROF_EVENT_PMU_H
#define BPFPROF_EVENT_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define PMU_ROOT "/sys/bus/event_source/devices"

enum { PMU_CONFIGS = 3 };

struct pmu_config {
	uint32_t type;
	uint64_t config[PMU_CONFIGS];
};

/* The number of PMU @pmu below @root. 0; -ENOENT: there is none; other negative errno. */
int pmu_type(const char *root, const char *pmu, uint32_t *out);

/* A bit that the PMU's format names, as in uprobe's "retprobe": into *@bit. 0 or negative errno. */
int pmu_format_bit(const char *root, const char *pmu, const char *name, uint32_t *bit);

/*
 * "event=0x3c,umask=1", "cache-misses,inv" of @pmu into @out. 0; -ENOENT: no such PMU; -EINVAL: a
 * term that it does not have, or a value that does not fit; both with one line in @why.
 */
int pmu_config(const char *root, const char *pmu, const char *terms, struct pmu_config *out,
	       struct buf *why);

/*
 * The CPUs that one event of @pmu counts for all ("0", as a package's); *owned* text, NULL where
 * each CPU has its own.
 */
char *pmu_cpumask(const char *root, const char *pmu);

/* Called with every PMU (@event NULL) and each of its events, sorted by name; non-zero stops and is
 * returned. */
typedef int (*pmu_fn)(const char *pmu, const char *event, void *ctx);

int pmu_each(const char *root, pmu_fn fn, void *ctx);

#endif
