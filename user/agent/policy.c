/* SPDX-License-Identifier: Apache-2.0 */
/* Rules, and what follows from them: see policy.h. */
#include "agent/policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hmap.h"
#include "base/parse_time.h"
#include "base/trim.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)

/* Less is one in more than a year. */
static const double HOURS_MIN_PERCENT = 0.01;

static const char SERVICE_KEY[] = "service", HOST_KEY[] = "host";

static const struct opt_choice yes_or_no[] = {{"yes", 1}, {"no", 0}, {NULL, 0}};

#define AT(member, type) .offset = OPT_AT(struct policy_rule, member, type)

static const struct opt rule_options[] = {
	{OPT_CHOICE, 0, "enabled", "yes|no", AT(enabled, struct opts_choices), .choices = yes_or_no,
	 .help = "record these hosts, store these services"},
	{OPT_NUMBER, 0, "freq", "HZ", AT(freq_hz, uint64_t), .min = 1,
	 .help = "samples per second and CPU; of a service: that many are stored"},
	{OPT_CHOICE, 0, "off-cpu", "yes|no", AT(off_cpu, struct opts_choices), .choices = yes_or_no,
	 .help = "where threads wait, too"},
	{OPT_LIST, 0, "event", "EVENT", AT(events, struct opts_list),
	 .help = "further events of these hosts; repeatable"},
	{OPT_PERCENT, 0, "hours", "PCT", AT(hours_percent, double),
	 .help = "in so many of all hours, chosen by a hash of host and hour"},
	{OPT_COUNT, 0, "samples-per-hour", "N", AT(samples_per_hour, uint64_t), .min = 1,
	 .help = "stored of each service and kind"},
	{OPT_STRING, 0, "keep-until", "TIME", AT(keep_until, const char *),
	 .help = "store all of it until then, whatever else is said"},
	{OPT_END},
};

static const struct opts_spec rule_spec = {.name = "policy", .options = rule_options};

/* --- Reading --- */

/* "KEY=GLOB". */
static int add_condition(struct policy_rule *rule, char *text, struct buf *why)
{
	char *equals = strchr(text, '=');
	struct policy_condition *condition = &rule->conditions[rule->condition_cnt];

	if (rule->condition_cnt == POLICY_CONDITIONS_MAX) {
		buf_printf(why, "a selector: %d conditions are possible", POLICY_CONDITIONS_MAX);
		return -EINVAL;
	}
	if (equals) {
		*equals = '\0';
		*condition = (struct policy_condition){trim(text), trim(equals + 1)};
	}
	if (!equals || !*condition->key || !*condition->glob) {
		buf_printf(why,
			   "selector: '%.60s' is no KEY=GLOB (service, host, or a label of the "
			   "agent; * alone: every host)",
			   text);
		return -EINVAL;
	}
	rule->condition_cnt++;
	return 0;
}

int policy_begin_rule(struct policy *policy, char *selector, struct buf *why)
{
	struct policy_rule rule = {.condition_cnt = 0};
	char *next;
	int err = 0;

	if (!strcmp(selector, "*"))
		selector = NULL;
	for (; selector && !err; selector = next) {
		next = strchr(selector, ',');
		if (next)
			*next++ = '\0';
		err = add_condition(&rule, trim(selector), why);
	}
	if (err)
		return err;
	if (array_reserve(&policy->rules, &policy->cap, policy->cnt + 1, sizeof(*policy->rules)))
		return -ENOMEM;
	policy->rules[policy->cnt++] = rule;
	return 0;
}

/* A time that means the same whenever it is read: "15m" does not. */
static int set_keep_until(struct policy_rule *rule, struct buf *why)
{
	const char *text = rule->keep_until;

	if (strspn(text, "0123456789") == 4 && text[4] == '-' &&
	    !parse_time_ns(text, 0, &rule->keep_until_ns))
		return 0;
	buf_printf(why, "option 'keep-until': '%.60s' is no time (wanted: 2026-11-20T12:00:00Z)",
		   text);
	return -EINVAL;
}

int policy_set(struct policy *policy, const char *key, const char *value, struct buf *why)
{
	struct policy_rule *rule = &policy->rules[policy->cnt - 1];
	int err = opts_set(&rule_spec, rule, key, value, why);

	if (err)
		return err;
	if (!strcmp(key, "keep-until"))
		return set_keep_until(rule, why);
	if (!strcmp(key, "hours") && rule->hours_percent < HOURS_MIN_PERCENT) {
		buf_printf(why, "option 'hours': at least %g is needed (enabled = no: never)",
			   HOURS_MIN_PERCENT);
		return -EINVAL;
	}
	if (!strcmp(key, "event") && policy_rule_is_of_services(rule)) {
		buf_add_str(why, "option 'event': events are recorded of a host, not of a service");
		return -EINVAL;
	}
	return 0;
}

int policy_join(struct policy *policy, const struct policy *more)
{
	if (array_reserve(&policy->rules, &policy->cap, policy->cnt + more->cnt,
			  sizeof(*policy->rules)))
		return -ENOMEM;
	for (size_t i = 0; i < more->cnt; i++)
		policy->rules[policy->cnt++] = more->rules[i];
	return 0;
}

void policy_drop(struct policy *policy)
{
	free(policy->rules);
	*policy = (struct policy){.rules = NULL};
}

void policy_deinit(struct policy *policy)
{
	for (size_t i = 0; i < policy->cnt; i++)
		opts_deinit(&rule_spec, &policy->rules[i], &(struct opts_args){.help = false});
	policy_drop(policy);
}

void policy_print(const struct policy *policy, struct buf *out)
{
	for (size_t i = 0; i < policy->cnt; i++) {
		const struct policy_rule *rule = &policy->rules[i];

		buf_printf(out, "\n[policy %s", rule->condition_cnt ? "" : "*");
		for (size_t k = 0; k < rule->condition_cnt; k++)
			buf_printf(out, "%s%s=%s", k ? "," : "", rule->conditions[k].key,
				   rule->conditions[k].glob);
		buf_add_str(out, "]\n");
		opts_print(&rule_spec, rule, 0, out);
	}
}

/* --- Deciding --- */

static const char *find_label(const struct policy_facts *facts, const char *key)
{
	for (size_t i = facts->label_cnt; i; i--)
		if (!strcmp(facts->labels[i - 1].key, key))
			return facts->labels[i - 1].value;
	return NULL;
}

const char *policy_host(const struct policy_facts *facts)
{
	const char *label = find_label(facts, HOST_KEY);

	return label ? label : facts->host;
}

static bool is_of_service(const struct policy_condition *condition)
{
	return !strcmp(condition->key, SERVICE_KEY);
}

bool policy_rule_is_of_services(const struct policy_rule *rule)
{
	for (size_t i = 0; i < rule->condition_cnt; i++)
		if (is_of_service(&rule->conditions[i]))
			return true;
	return false;
}

bool policy_rule_is_of_host(const struct policy_rule *rule, const struct policy_facts *facts)
{
	for (size_t i = 0; i < rule->condition_cnt; i++) {
		const struct policy_condition *condition = &rule->conditions[i];
		const char *value = !strcmp(condition->key, HOST_KEY)
					    ? policy_host(facts)
					    : find_label(facts, condition->key);

		if (!is_of_service(condition) && (!value || fnmatch(condition->glob, value, 0)))
			return false;
	}
	return true;
}

static bool matches(const struct policy_rule *rule, const struct policy_facts *facts,
		    const char *service)
{
	for (size_t i = 0; i < rule->condition_cnt; i++)
		if (is_of_service(&rule->conditions[i]) &&
		    (!service || fnmatch(rule->conditions[i].glob, service, 0)))
			return false;
	return policy_rule_is_of_host(rule, facts);
}

bool policy_chooses_hour(const char *host, uint64_t now_ns, double chance)
{
	char text[300];
	int len = snprintf(text, sizeof(text), "%.255s %llu", host,
			   (unsigned long long)(now_ns / HOUR_NS));

	/* The upper 53 bits, as a number from 0 to 1, which it is not. */
	return (double)(hash_bytes(text, (size_t)len) >> 11) * 0x1p-53 < chance;
}

static void apply(const struct policy_rule *rule, uint64_t now_ns, struct policy_verdict *verdict)
{
	if (rule->enabled.text)
		verdict->is_on = rule->enabled.bits;
	if (rule->off_cpu.text)
		verdict->has_waits = rule->off_cpu.bits;
	if (rule->freq_hz)
		verdict->freq_hz = rule->freq_hz;
	if (rule->hours_percent > 0)
		verdict->chance = rule->hours_percent / 100;
	if (rule->samples_per_hour)
		verdict->samples_per_hour = rule->samples_per_hour;
	verdict->is_kept |= rule->keep_until_ns > now_ns;
}

static struct policy_verdict gather(const struct policy *policy, const struct policy_facts *facts,
				    const char *service, uint64_t now_ns)
{
	struct policy_verdict verdict = {.is_on = true, .has_waits = true, .chance = 1};

	for (size_t i = 0; i < policy->cnt; i++)
		if (matches(&policy->rules[i], facts, service))
			apply(&policy->rules[i], now_ns, &verdict);
	return verdict;
}

void policy_decide(const struct policy *policy, const struct policy_facts *facts,
		   const char *service, uint64_t now_ns, struct policy_verdict *out)
{
	const struct policy_verdict host = gather(policy, facts, NULL, now_ns);
	struct policy_verdict verdict = gather(policy, facts, service, now_ns);

	if (verdict.is_kept) {
		*out = (struct policy_verdict){
			.is_on = true, .is_kept = true, .has_waits = true, .chance = 1};
		return;
	}
	/* What the host does not record cannot be stored. */
	if (host.chance < verdict.chance)
		verdict.chance = host.chance;
	verdict.is_on = verdict.is_on && host.is_on &&
			policy_chooses_hour(policy_host(facts), now_ns, verdict.chance);
	*out = verdict;
}

bool policy_records(const struct policy *policy, const struct policy_facts *facts, uint64_t now_ns)
{
	struct policy_verdict host;

	policy_decide(policy, facts, NULL, now_ns, &host);
	for (size_t i = 0; i < policy->cnt && !host.is_on; i++)
		host.is_on = policy->rules[i].keep_until_ns > now_ns &&
			     policy_rule_is_of_host(&policy->rules[i], facts);
	return host.is_on;
}

uint64_t policy_next_change_ns(const struct policy *policy, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < policy->cnt; i++) {
		const struct policy_rule *rule = &policy->rules[i];
		const uint64_t hour_ns = (now_ns / HOUR_NS + 1) * HOUR_NS;

		if (rule->hours_percent > 0 && hour_ns < next_ns)
			next_ns = hour_ns;
		if (rule->keep_until_ns > now_ns && rule->keep_until_ns < next_ns)
			next_ns = rule->keep_until_ns;
	}
	return next_ns;
}
