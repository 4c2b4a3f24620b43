/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of processes become samples of services, by kind; windows are of one thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agent/relabel.h"

/* The source: samples, cpu, page-faults, waits, blocked, runnable, wall. */
enum { SAMPLES, CPU, FAULTS, WAITS, BLOCKED, RUNNABLE, WALL, VALUE_CNT };

struct fixture {
	struct profile src;
	struct ledger ledger;
	struct agent_window out;
	struct relabel_counts counts;
	const struct shares_opts *shares; /* borrowed; NULL: all is stored */
};

static struct profile_label text(struct profile *prof, const char *key, const char *value)
{
	return (struct profile_label){.key = profile_string(prof, key),
				      .str = profile_string(prof, value)};
}

static struct profile_label number(struct profile *prof, const char *key, int64_t value)
{
	return (struct profile_label){.key = profile_string(prof, key),
				      .str = PROFILE_NONE,
				      .num = value,
				      .num_unit = STRTAB_EMPTY};
}

static void add(struct profile *prof, uint32_t pid, const char *extra_key, const char *extra,
		const int64_t *values)
{
	uint32_t location = profile_named_location(prof, "main", 0);
	struct profile_label labels[5] = {
		text(prof, "comm", pid == 1 ? "one" : "two"),
		number(prof, "pid", pid),
		number(prof, "start", 1000 + pid),
		number(prof, "cgroup", 77),
	};

	if (extra_key)
		labels[4] = text(prof, extra_key, extra);
	profile_sample(prof, profile_stack(prof, &location, 1),
		       profile_labels(prof, labels, extra_key ? 5 : 4), values);
}

static void begin(struct fixture *fix)
{
	static const char *const types[VALUE_CNT] = {"samples", "cpu",	    "page-faults", "waits",
						     "blocked", "runnable", "wall"};

	*fix = (struct fixture){.out = {.prof = NULL}};
	assert_int_equal(profile_init(&fix->src), 0);
	ledger_init(&fix->ledger);
	for (size_t i = 0; i < VALUE_CNT; i++)
		profile_add_value_type(&fix->src, types[i],
				       i == CPU || i >= BLOCKED ? "nanoseconds" : "count");
	fix->src.period = 10;
	fix->src.time_ns = 5000;
	fix->src.duration_ns = 700;
	fix->ledger.event_cnt = 3;
	add(&fix->src, 1, NULL, NULL, (const int64_t[VALUE_CNT]){3, 30, 0, 0, 0, 0, 30});
	add(&fix->src, 2, NULL, NULL, (const int64_t[VALUE_CNT]){5, 50, 0, 0, 0, 0, 50});
	add(&fix->src, 1, "event", "page-faults", (const int64_t[VALUE_CNT]){2, 0, 8, 0, 0, 0, 0});
	add(&fix->src, 2, "cause", "futex", (const int64_t[VALUE_CNT]){0, 0, 0, 4, 90, 9, 99});
	fix->ledger.events[0].sum.recorded = 8;
	fix->ledger.events[1].sum.recorded = 2;
	fix->ledger.events[2].sum.recorded = 4;
}

static void end(struct fixture *fix)
{
	profile_deinit(&fix->src);
	ledger_deinit(&fix->ledger);
	agent_window_deinit(&fix->out);
}

static const struct identity *identify(void *arg, const struct identity_key *key)
{
	static struct identity found;

	*(uint32_t *)arg += 1;
	assert_int_equal(key->start_ns, 1000 + key->tgid);
	assert_int_equal(key->cgroup_id, 77);
	found = (struct identity){.cgroup = "/a", .service = {.version = "7"}};
	memcpy(found.service.name, key->tgid == 1 ? "shop" : "cart", 5);
	if (key->tgid == 1)
		memcpy(found.names.unit, "shop.service", 13);
	return &found;
}

static bool not_cart(const void *policy, const char *service)
{
	return strcmp(service, "cart");
}

static const struct fixed_label fixed[] = {{"host", "h1"}, {"cgroup", "mine"}};
static const char *const events[] = {"cpu-clock", "page-faults"};

static int run(struct fixture *fix, bool (*allows)(const void *, const char *), uint32_t *asked)
{
	const struct relabel_opts opts = {
		.fixed = fixed,
		.fixed_cnt = 2,
		.identify = identify,
		.arg = asked,
		.allows = allows,
		.events = events,
		.event_cnt = 2,
		.has_waits = true,
		.shares = fix->shares,
	};

	*asked = 0;
	return relabel(&fix->src, &opts, &fix->ledger, &fix->out, &fix->counts);
}

static const char *label_of(const struct profile *prof, uint32_t sample, const char *key)
{
	const struct profile_label_set set = prof->label_sets[prof->samples[sample].label_set];

	for (uint32_t i = set.first; i < set.first + set.cnt; i++)
		if (!strcmp(profile_str(prof, prof->labels[i].key), key))
			return profile_str(prof, prof->labels[i].str);
	return NULL;
}

static int64_t total(const struct fixture *fix, size_t kind, size_t column)
{
	return profile_total(fix->out.prof, fix->out.kinds[kind].columns[column]);
}

static void test_kinds(void **state)
{
	struct fixture fix;
	uint32_t asked;

	begin(&fix);
	assert_int_equal(run(&fix, NULL, &asked), 0);
	assert_int_equal(fix.out.kind_cnt, 3);
	assert_string_equal(fix.out.kinds[0].name, "cpu");
	assert_string_equal(fix.out.kinds[1].name, "page-faults");
	assert_string_equal(fix.out.kinds[2].name, "off-cpu");
	assert_int_equal(total(&fix, 0, 0), 8);
	assert_int_equal(total(&fix, 0, 1), 80);
	assert_int_equal(total(&fix, 1, 0), 2);
	assert_int_equal(total(&fix, 1, 1), 8);
	assert_int_equal(total(&fix, 2, 0), 4);
	assert_int_equal(total(&fix, 2, 1), 90);
	assert_int_equal(total(&fix, 2, 2), 9);
	assert_int_equal(total(&fix, 2, 3), 99);
	assert_int_equal(fix.out.kinds[0].default_column, 1);
	assert_int_equal(fix.out.kinds[2].default_column, 3);
	assert_int_equal(fix.out.sample_cnt, 14);
	assert_int_equal(fix.out.prof->period, 10);
	assert_int_equal(fix.out.prof->time_ns, 5000);
	assert_int_equal(fix.ledger.events[0].sum.recorded, 8);
	end(&fix);
}

static void test_labels(void **state)
{
	struct fixture fix;
	uint32_t asked;

	begin(&fix);
	assert_int_equal(run(&fix, NULL, &asked), 0);
	assert_int_equal(fix.out.prof->sample_cnt, 3); /* a process' events share their labels */
	for (uint32_t i = 0; i < fix.out.prof->sample_cnt; i++) {
		bool is_shop = !strcmp(label_of(fix.out.prof, i, "service"), "shop");

		assert_string_equal(label_of(fix.out.prof, i, "comm"), is_shop ? "one" : "two");
		assert_string_equal(label_of(fix.out.prof, i, "host"), "h1");
		assert_string_equal(label_of(fix.out.prof, i, "version"), "7");
		/* What the user says goes before what was found. */
		assert_string_equal(label_of(fix.out.prof, i, "cgroup"), "mine");
		assert_int_equal(!!label_of(fix.out.prof, i, "unit"), is_shop);
		assert_null(label_of(fix.out.prof, i, "pid"));
		assert_null(label_of(fix.out.prof, i, "start"));
		assert_null(label_of(fix.out.prof, i, "event"));
		assert_null(label_of(fix.out.prof, i, "container"));
	}
	assert_string_equal(label_of(fix.out.prof, 2, "cause"), "futex");
	assert_int_equal(asked, 4); /* once for each label set */
	end(&fix);
}

static void test_disabled_services(void **state)
{
	struct fixture fix;
	uint32_t asked;

	begin(&fix);
	assert_int_equal(run(&fix, not_cart, &asked), 0);
	assert_int_equal(total(&fix, 0, 0), 3);
	assert_int_equal(total(&fix, 1, 0), 2);
	assert_int_equal(total(&fix, 2, 0), 0);
	assert_int_equal(fix.counts.disabled[0], 5);
	assert_int_equal(fix.counts.disabled[1], 0);
	assert_int_equal(fix.counts.disabled[2], 4);
	assert_int_equal(fix.ledger.events[0].sum.recorded, 3);
	assert_int_equal(fix.ledger.events[0].sum.filtered, 5);
	assert_int_equal(fix.ledger.events[1].sum.recorded, 2);
	/* Waits stand for many: what was recorded of them stays. */
	assert_int_equal(fix.ledger.events[2].sum.recorded, 4);
	end(&fix);
}

/* What a policy leaves of the clock's samples is not one a period: compaction would share time by
 * their number. */
static void test_thinned_samples_have_no_period(void **state)
{
	struct policy_rule rules[] = {
		{.conditions = {{"service", "cart"}}, .condition_cnt = 1, .freq_hz = 10000000}};
	const struct policy policy = {.rules = rules, .cnt = 1};
	const struct shares_opts shares = {.policy = &policy, .facts = {.host = "h1"}};
	struct fixture fix;
	uint32_t asked;

	begin(&fix);
	fix.shares = &shares;
	assert_int_equal(run(&fix, NULL, &asked), 0);
	/* A tenth of 5, by chance. */
	assert_in_range(fix.counts.policy[0], 4, 5);
	assert_int_equal(total(&fix, 0, 0), 8 - fix.counts.policy[0]);
	assert_int_equal(fix.out.prof->period, 0);
	end(&fix);
	begin(&fix);
	fix.shares = &shares;
	rules[0].freq_hz = 100000000;
	assert_int_equal(run(&fix, NULL, &asked), 0);
	assert_int_equal(total(&fix, 0, 0), 8);
	assert_int_equal(fix.out.prof->period, 10);
	end(&fix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_disabled_services),
		cmocka_unit_test(test_thinned_samples_have_no_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
