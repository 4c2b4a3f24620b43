/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the profile of a window as capture hands it out, with its names and finished waits, to what
 * is stored: each label set, which names a process by its numbers, becomes one that names the
 * service; value types are ordered by kind; services that are not enabled are left out, and of
 * others what the policy in force does not want (shares.h).
 *
 *	in	comm=worker pid=4711 start=99 cgroup=1234 [event=...] [state=... cause=...]
 *	out	comm=worker service=shop version=1.2 unit=shop.service cgroup=/system.slice/...
 *		host=h1 env=prod [state=... cause=...]
 */
#ifndef BPFPROF_AGENT_RELABEL_H
#define BPFPROF_AGENT_RELABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/identity.h"
#include "agent/label_text.h"
#include "agent/shares.h"
#include "agent/window.h"
#include "profile/profile.h"

struct relabel_opts {
	const struct fixed_label *fixed;
	size_t fixed_cnt;
	/* Who it is; returns borrowed until the next call. */
	const struct identity *(*identify)(void *arg, const struct identity_key *key);
	void *arg;
	/* May its samples be stored? NULL: all may. */
	bool (*allows)(const void *policy, const char *service);
	const void *policy;
	/* What share of each service is stored; what is in the profile, relabel() knows by itself.
	 * NULL: all. */
	const struct shares_opts *shares;
	/* Of the events that were sampled, their names; the first is the clock. */
	const char *const *events;
	uint32_t event_cnt;
	bool has_waits;
};

/* Samples that were left out, by kind: index of a window's kinds. */
struct relabel_counts {
	uint64_t disabled[STORE_KINDS_MAX];
	uint64_t policy[STORE_KINDS_MAX]; /* by the policy in force */
};

/* Whose @label_set of @prof is; fields that it does not have are 0. */
void relabel_key(const struct profile *prof, uint32_t label_set, struct identity_key *out);

/*
 * @src into out->prof (made, *owned* by @out), and out->kinds. What was left out of the first event
 * and of further ones moves from recorded to filtered in @ledger; rows by CPU, which cannot tell,
 * go then. Of waits, which stand for many, the ledger does not change. 0, -ENOMEM or the profile's
 * error.
 */
int relabel(const struct profile *src, const struct relabel_opts *opts, struct ledger *ledger,
	    struct agent_window *out, struct relabel_counts *counts);

#endif
