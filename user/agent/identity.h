/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the processes are that were sampled: service, version, container, pod, unit, control group.
 * A process is (tgid, start time); what was found of one is kept while it is sampled, so that it is
 * looked up once, as early as a sample of it is seen: many are gone when the window ends. Of those
 * that were gone before, the control group's number and the thread's name tell what they can.
 *
 * /proc is read within bounds: LOOKUPS_MAX processes a second, so much of each file, and no more
 * than IDENTITIES_MAX are kept.
 */
#ifndef BPFPROF_AGENT_IDENTITY_H
#define BPFPROF_AGENT_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/cgroup_ids.h"
#include "agent/cgroup_path.h"
#include "agent/service.h"
#include "base/hmap.h"

enum {
	IDENTITIES_MAX = 4096,
	IDENTITY_LOOKUPS_MAX = 300, /* in a second */
	IDENTITY_CGROUP_MAX = 256,
};

/* What a sample says of whose it is. */
struct identity_key {
	uint32_t tgid;
	uint64_t start_ns; /* CLOCK_BOOTTIME; 0: not known */
	uint64_t cgroup_id; /* of the unified hierarchy */
	char comm[16 + 1]; /* of the thread */
};

struct identity {
	uint32_t tgid;
	uint64_t start_ns;
	struct service service;
	struct cgroup_names names;
	char cgroup[IDENTITY_CGROUP_MAX]; /* path */
	uint64_t looked_ns; /* CLOCK_MONOTONIC at which its /proc was read */
	uint32_t window; /* the last one in which it was asked for */
	bool is_settled; /* it was read when it was no longer young */
	bool was_there; /* else it had gone */
};

struct identities {
	struct identity *items; /* owned */
	size_t cnt, cap;
	struct hmap index;
	struct cgroup_ids cgroups;
	struct identity spare; /* of a process that found no room */
	uint32_t window;
	uint64_t second_ns; /* CLOCK_MONOTONIC at which the current second of lookups began */
	uint32_t lookups; /* in it */
};

/* @cgroup_root: borrowed. 0 or -ENOMEM. */
int identities_init(struct identities *ids, const char *cgroup_root);
void identities_deinit(struct identities *ids);

/*
 * Who @key's process is, at CLOCK_MONOTONIC @now_ns; borrowed until the next call. Never NULL: what
 * cannot be found out is "".
 */
const struct identity *identities_get(struct identities *ids, const struct identity_key *key,
				      uint64_t now_ns);

/* A window has ended: forget those that were not asked for in it and the one before. */
void identities_end_window(struct identities *ids);

/* Forget all, for lack of memory. */
void identities_forget(struct identities *ids);

#endif
