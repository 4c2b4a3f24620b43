/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of control groups by the numbers that the kernel gives with samples (the inode numbers
 * of their folders), for processes that have gone before anybody could read their /proc. Filled by
 * walking the file system, which is done again when an unknown number is met, but not often.
 */
#ifndef BPFPROF_AGENT_CGROUP_IDS_H
#define BPFPROF_AGENT_CGROUP_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/hmap.h"
#include "base/strtab.h"

enum {
	CGROUP_IDS_MAX = 16384, /* groups: those beyond are not known */
	CGROUP_IDS_DEPTH_MAX = 24, /* folders below each other */
};

/* A walk of a thousand groups takes some 3 ms. */
#define CGROUP_IDS_WALK_NS (10 * NSEC_PER_SEC)

struct cgroup_ids {
	const char *root; /* borrowed: where the unified hierarchy is mounted */
	struct cgroup_id {
		uint64_t id;
		uint32_t path; /* string */
	} * items; /* owned */
	size_t cnt, cap;
	struct hmap index;
	struct strtab paths;
	uint64_t walked_ns; /* CLOCK_MONOTONIC of the last walk; 0: none */
};

/* 0 or -ENOMEM. */
int cgroup_ids_init(struct cgroup_ids *ids, const char *root);
void cgroup_ids_deinit(struct cgroup_ids *ids);

/* The path of group @id below the root, "/system.slice/x.service", borrowed until the next call;
 * NULL: not known. @now_ns: CLOCK_MONOTONIC. */
const char *cgroup_ids_find(struct cgroup_ids *ids, uint64_t id, uint64_t now_ns);

/* Free what is kept: it is read again. */
void cgroup_ids_forget(struct cgroup_ids *ids);

#endif
