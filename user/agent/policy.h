/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies: what is recorded on which hosts, and what is stored of which services. A rule is a
 * section of a file:
 *
 *	[policy *]			of every host
 *	freq = 19
 *	hours = 10%
 *	[policy env=canary]		of the agents with --label env=canary
 *	freq = 97
 *	[policy service=batch-*,env=prod]
 *	samples-per-hour = 40k
 *
 * A selector is "*", or KEY=GLOB,... which must all match: service, host (the label), or a label of
 * the agent. Of the rules that match, the last one that has a key decides it.
 *
 * Hours are chosen by a hash of (host, hour since 1970), so that who is asked does not matter: no
 * process, and no host, has to know of another one. A host of whose hours a tenth is recorded is
 * stored with ten times the values of what it recorded then, and a service of whose samples a tenth
 * is stored with ten times theirs: sums over hours and hosts are those of everything, on average
 * (the Horvitz-Thompson estimator). What counts samples counts those that are stored.
 */
#ifndef BPFPROF_AGENT_POLICY_H
#define BPFPROF_AGENT_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/label_text.h"
#include "base/buf.h"
#include "cli/opts.h"

enum { POLICY_CONDITIONS_MAX = 8 };

struct policy_condition {
	const char *key, *glob;
};

/* Strings are borrowed from the file's text. */
struct policy_rule {
	struct policy_condition conditions[POLICY_CONDITIONS_MAX];
	size_t condition_cnt; /* 0: "*" */
	/* What it does not set: text is NULL, a number 0. */
	struct opts_choices enabled, off_cpu; /* bits: 1 is yes */
	uint64_t freq_hz;
	struct opts_list events; /* owned: beside those of the options */
	double hours_percent;
	uint64_t samples_per_hour;
	const char *keep_until;
	uint64_t keep_until_ns; /* UTC; 0: not set */
};

struct policy {
	struct policy_rule *rules; /* owned */
	size_t cnt, cap;
};

/* Whom rules are matched with; borrowed. */
struct policy_facts {
	const struct fixed_label *labels; /* the last one of a key counts */
	size_t label_cnt;
	const char *host; /* where no label says it */
};

/* What is decided. */
struct policy_verdict {
	bool is_on; /* it is recorded, or stored */
	bool is_kept; /* whole: then nothing below applies */
	bool has_waits;
	double chance; /* (0, 1]: of the hour, to be one of those chosen */
	uint64_t freq_hz; /* 0: as it is recorded */
	uint64_t samples_per_hour; /* of each kind; 0: all */
};

/* --- Reading --- */

/* Begin a rule for @selector, which is cut into pieces and borrowed. 0; -EINVAL with what is wrong
 * in @why; -ENOMEM. */
int policy_begin_rule(struct policy *policy, char *selector, struct buf *why);

/* A key of the rule begun last; as opts_set(). */
int policy_set(struct policy *policy, const char *key, const char *value, struct buf *why);

/* Append @more's rules, which stay @more's: what they own is borrowed. Then policy_drop() instead
 * of policy_deinit(). 0 or -ENOMEM. */
int policy_join(struct policy *policy, const struct policy *more);
void policy_drop(struct policy *policy);
void policy_deinit(struct policy *policy);

/* Append the sections as they stand in a file. */
void policy_print(const struct policy *policy, struct buf *out);

/* --- Deciding; @now_ns: UTC --- */

/* Does @rule match the host, whatever it says of services? */
bool policy_rule_is_of_host(const struct policy_rule *rule, const struct policy_facts *facts);

/* Is @rule about some services alone? */
bool policy_rule_is_of_services(const struct policy_rule *rule);

/* The host's label, borrowed. */
const char *policy_host(const struct policy_facts *facts);

/* Is the hour of @now_ns among those that @host is recorded in, a @chance of all? Of two chances
 * the hours of the smaller one are hours of the other, too. */
bool policy_chooses_hour(const char *host, uint64_t now_ns, double chance);

/* Of @service (NULL: of the host, by the rules that are about no service). */
void policy_decide(const struct policy *policy, const struct policy_facts *facts,
		   const char *service, uint64_t now_ns, struct policy_verdict *out);

/* Does the host record: because it is on, or because a rule keeps something of it? */
bool policy_records(const struct policy *policy, const struct policy_facts *facts, uint64_t now_ns);

/* When may that be otherwise than now: UTC; UINT64_MAX: never. */
uint64_t policy_next_change_ns(const struct policy *policy, uint64_t now_ns);

#endif
