/* SPDX-License-Identifier: Apache-2.0 */
/* Policies: whom a rule matches, which one decides, and which hours are chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/config.h"
#include "agent/policy.h"
#include "base/clock.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
/* 2026-11-20T12:00:00Z */
#define NOON_NS (1795176000 * NSEC_PER_SEC)

static const struct fixed_label labels[] = {{"env", "dev"}, {"env", "prod"}, {"zone", "a1"}};
static const struct policy_facts web1 = {labels, 3, "web-1"};

static struct config parse(const char *text)
{
	struct config config;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(config_parse_policy("p", text, strlen(text), &config, &why), 0);
	assert_int_equal(why.len, 0);
	buf_deinit(&why);
	return config;
}

static struct policy_verdict decide(const char *text, const char *service, uint64_t now_ns)
{
	struct config config = parse(text);
	struct policy_verdict verdict;

	policy_decide(&config.policy, &web1, service, now_ns, &verdict);
	config_deinit(&config);
	return verdict;
}

static uint64_t freq(const char *text, const char *service)
{
	return decide(text, service, NOON_NS).freq_hz;
}

static bool records(const char *text, uint64_t now_ns)
{
	struct config config = parse(text);
	const bool does = policy_records(&config.policy, &web1, now_ns);

	config_deinit(&config);
	return does;
}

static void assert_wrong(const char *text, const char *why_wanted)
{
	struct config config;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(config_parse_policy("p", text, strlen(text), &config, &why), -EINVAL);
	assert_string_equal(buf_cstr(&why), why_wanted);
	config_deinit(&config);
	buf_deinit(&why);
}

static void test_no_rule(void **state)
{
	const struct policy_verdict verdict = decide("", "shop", NOON_NS);

	assert_true(verdict.is_on && verdict.has_waits && !verdict.is_kept);
	assert_true(verdict.chance == 1);
	assert_int_equal(verdict.freq_hz, 0);
	assert_int_equal(verdict.samples_per_hour, 0);
	assert_true(records("", NOON_NS));
}

static void test_matches(void **state)
{
	assert_int_equal(freq("[policy *]\nfreq = 9", "shop"), 9);
	assert_int_equal(freq("[policy host=web-*]\nfreq = 9", "shop"), 9);
	assert_int_equal(freq("[policy host=db-*]\nfreq = 9", "shop"), 0);
	assert_int_equal(freq("[policy zone=a?]\nfreq = 9", "shop"), 9);
	/* Of a key that is there twice the last one counts. */
	assert_int_equal(freq("[policy env=prod]\nfreq = 9", "shop"), 9);
	assert_int_equal(freq("[policy env=dev]\nfreq = 9", "shop"), 0);
	/* A label that is not there matches nothing, not even everything. */
	assert_int_equal(freq("[policy team=*]\nfreq = 9", "shop"), 0);
	assert_int_equal(freq("[policy service=sh*,env=prod]\nfreq = 9", "shop"), 9);
	assert_int_equal(freq("[policy service=sh*,env=dev]\nfreq = 9", "shop"), 0);
	assert_int_equal(freq("[policy service=cart]\nfreq = 9", "shop"), 0);
	/* What is about services is not about the host. */
	assert_int_equal(freq("[policy service=*]\nfreq = 9", NULL), 0);
	assert_int_equal(freq("[policy service=*]\nfreq = 9", ""), 9);
}

static void test_last_rule_decides_each_key(void **state)
{
	static const char text[] = "[policy *]\nfreq = 9\nsamples-per-hour = 1k\n"
				   "[policy service=shop]\nfreq = 49\n[policy service=x]\nfreq = 5";
	const struct policy_verdict shop = decide(text, "shop", NOON_NS);

	assert_int_equal(shop.freq_hz, 49);
	assert_int_equal(shop.samples_per_hour, 1000);
	assert_int_equal(freq(text, "x"), 5);
	assert_int_equal(freq(text, NULL), 9);
}

static void test_off_and_on(void **state)
{
	static const char text[] = "[policy service=*]\nenabled = no\n[policy service=shop]\n"
				   "enabled = yes\noff-cpu = no\n";

	assert_true(decide(text, "shop", NOON_NS).is_on);
	assert_false(decide(text, "shop", NOON_NS).has_waits);
	assert_false(decide(text, "cart", NOON_NS).is_on);
	assert_true(records(text, NOON_NS));
	/* What the host does not record, no rule of a service brings. */
	assert_false(decide("[policy *]\nenabled = no\n[policy service=shop]\nenabled = yes\n",
			    "shop", NOON_NS)
			     .is_on);
	assert_false(records("[policy *]\nenabled = no\n", NOON_NS));
}

static void test_keep_until(void **state)
{
	static const char text[] =
		"[policy *]\nenabled = no\nhours = 1%\nsamples-per-hour = 5\n"
		"off-cpu = no\n[policy service=shop,env=prod]\n"
		"keep-until = 2026-11-20T12:00:00Z\n[policy service=cart,env=dev]\n"
		"keep-until = 2027-11-20T12:00:00Z\n";
	const struct policy_verdict kept = decide(text, "shop", NOON_NS - 1);

	assert_true(kept.is_on && kept.is_kept && kept.has_waits && kept.chance == 1);
	assert_int_equal(kept.samples_per_hour, 0);
	/* For its sake the host records, but of others nothing is stored. */
	assert_true(records(text, NOON_NS - 1));
	assert_false(decide(text, "cart", NOON_NS - 1).is_on);
	assert_false(decide(text, "shop", NOON_NS).is_on);
	assert_false(records(text, NOON_NS));
}

static void test_next_change(void **state)
{
	struct config config = parse("[policy *]\nenabled = no\n");

	assert_true(policy_next_change_ns(&config.policy, NOON_NS) == UINT64_MAX);
	config_deinit(&config);
	config = parse("[policy *]\nhours = 10\n[policy service=a]\n"
		       "keep-until = 2026-11-20T12:30:00Z\n");
	assert_int_equal(policy_next_change_ns(&config.policy, NOON_NS), NOON_NS + HOUR_NS / 2);
	assert_int_equal(policy_next_change_ns(&config.policy, NOON_NS + HOUR_NS / 2),
			 NOON_NS + HOUR_NS);
	assert_int_equal(policy_next_change_ns(&config.policy, NOON_NS + HOUR_NS),
			 NOON_NS + 2 * HOUR_NS);
	config_deinit(&config);
}

/* As many as the chance says, of hosts at an hour and of hours at a host. */
static void test_hours_are_chosen_by_chance(void **state)
{
	enum { CNT = 20000 };
	static const double chance = 0.1;
	const double deviation = sqrt(CNT * chance * (1 - chance));
	int hosts = 0, hours = 0;
	char host[16];

	for (uint64_t i = 0; i < CNT; i++) {
		snprintf(host, sizeof(host), "web-%llu", (unsigned long long)i);
		hosts += policy_chooses_hour(host, NOON_NS, chance);
		hours += policy_chooses_hour("web-1", NOON_NS + i * HOUR_NS, chance);
	}
	assert_true(fabs(hosts - CNT * chance) < 4 * deviation);
	assert_true(fabs(hours - CNT * chance) < 4 * deviation);
}

/* The choice is part of the interface: hosts of several versions make the same one. */
static void test_hours_stay_the_same(void **state)
{
	uint32_t bits = 0;

	for (uint64_t i = 0; i < 32; i++) {
		const uint64_t now_ns = NOON_NS + i * HOUR_NS;
		const bool is_chosen = policy_chooses_hour("web-1", now_ns, 0.5);

		bits |= (uint32_t)is_chosen << i;
		assert_int_equal(is_chosen,
				 policy_chooses_hour("web-1", now_ns + HOUR_NS - 1, 0.5));
		assert_true(policy_chooses_hour("web-1", now_ns, 1));
		/* Hours of the smaller chance are hours of the larger one. */
		if (policy_chooses_hour("web-1", now_ns, 0.2))
			assert_true(is_chosen);
	}
	assert_int_equal(bits, 0x1eb7a43e);
}

static void test_chance_of_a_service_is_the_hosts_at_most(void **state)
{
	static const char text[] = "[policy *]\nhours = 20%\n[policy service=more]\nhours = 100%\n"
				   "[policy service=less]\nhours = 5\n";
	int host = 0, more = 0, less = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		const uint64_t now_ns = NOON_NS + i * HOUR_NS;

		host += records(text, now_ns);
		more += decide(text, "more", now_ns).is_on;
		less += decide(text, "less", now_ns).is_on;
	}
	assert_true(decide(text, "more", NOON_NS).chance == 0.2);
	assert_true(decide(text, "less", NOON_NS).chance == 0.05);
	assert_int_equal(host, more);
	assert_true(host > 150 && host < 250);
	assert_true(less > 20 && less < 80);
}

static void test_refusals(void **state)
{
	assert_wrong("[policy a=1,b]\n", "p:1: selector: 'b' is no KEY=GLOB (service, host, or a "
					 "label of the agent; * alone: every host)");
	assert_wrong("[policy =x]\n", "p:1: selector: '' is no KEY=GLOB (service, host, or a label "
				      "of the agent; * alone: every host)");
	assert_wrong("[policy a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1]\n",
		     "p:1: a selector: 8 conditions are possible");
	assert_wrong("[policy *]\nhours = 0\n",
		     "p:2: option 'hours': at least 0.01 is needed (enabled = no: never)");
	assert_wrong("[policy *]\nhours = 101\n",
		     "p:2: option 'hours': '101' is not a percentage from 0 to 100");
	assert_wrong("[policy *]\nenabled = maybe\n",
		     "p:2: option 'enabled': 'maybe' is not one of yes, no");
	assert_wrong("[policy *]\nkeep-until = 15m\n",
		     "p:2: option 'keep-until': '15m' is no time (wanted: 2026-11-20T12:00:00Z)");
	assert_wrong("[policy *]\nkeep-until = 2026-13-20\n",
		     "p:2: option 'keep-until': '2026-13-20' is no time (wanted: "
		     "2026-11-20T12:00:00Z)");
	assert_wrong("[policy service=a]\nevent = page-faults\n",
		     "p:2: option 'event': events are recorded of a host, not of a service");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_rule),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_last_rule_decides_each_key),
		cmocka_unit_test(test_off_and_on),
		cmocka_unit_test(test_keep_until),
		cmocka_unit_test(test_next_change),
		cmocka_unit_test(test_hours_are_chosen_by_chance),
		cmocka_unit_test(test_hours_stay_the_same),
		cmocka_unit_test(test_chance_of_a_service_is_the_hosts_at_most),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
