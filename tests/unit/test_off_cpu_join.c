/* SPDX-License-Identifier: Apache-2.0 */
/* Waits recorded beside events: what comes of both is what one recording of both would show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "off_cpu_fixture.h"

enum { THREADS = 5, SAMPLES = 40 };

static uint64_t draw(uint64_t *random, uint64_t below)
{
	*random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*random >> 33) % below;
}

/* Samples of the CPU, into a profile with or without columns of waits. */
static void add_cpu(struct fixture *fix, uint64_t random)
{
	for (int i = 0; i < SAMPLES; i++) {
		char comm[] = {'a' + (char)draw(&random, THREADS), 0}, name[NAME_BYTES];
		int64_t values[6] = {1, 1000};
		uint32_t who = who_is(fix, comm);

		snprintf(name, sizeof(name), "f%u main", (unsigned int)draw(&random, 7));
		if (fix->prof.value_type_cnt > CPU_COLUMNS)
			values[CPU_COLUMNS + SUM] = 1000;
		profile_sample(&fix->prof, stack_of(fix, "", name), who, values);
	}
}

static void add_waits(struct fixture *fix, uint64_t random)
{
	for (int i = 0; i < SAMPLES; i++) {
		char comm[] = {'a' + (char)draw(&random, THREADS), 0}, name[NAME_BYTES];
		struct waits waits = {.who = who_is(fix, comm), .cnt = 1};
		uint32_t sample;

		snprintf(name, sizeof(name), "f%u main", (unsigned int)draw(&random, 7));
		waits.stack = stack_of(fix, draw(&random, 2) ? PIPE : FUTEX, name);
		waits.state = draw(&random, 2) ? OFF_CPU_INTERRUPTIBLE : OFF_CPU_PREEMPTED;
		waits.log2_ns = (uint32_t)draw(&random, 30);
		waits.waker = draw(&random, 2) ? 7 : 0;
		waits.blocked = waits.state == OFF_CPU_PREEMPTED ? 0 : 1 + draw(&random, 9999);
		waits.runnable = draw(&random, 500);
		sample = add(fix, &waits);
		assert_int_equal(
			off_cpu_add_variance(&fix->off, sample, (double)draw(&random, 100)), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		char comm[] = {'a' + (char)i, 0};
		const struct off_cpu_total total = {draw(&random, 90000), draw(&random, 90000),
						    draw(&random, 9000)};

		assert_int_equal(off_cpu_add_total(&fix->off, who_is(fix, comm), &total), 0);
	}
	assert_int_equal(off_cpu_add_waker(&fix->off, 7, stack_of(fix, "", "wake main"),
					   profile_string(&fix->prof, "w")),
			 0);
}

/* Events alone. */
static void begin_events(struct fixture *fix)
{
	*fix = (struct fixture){.next_address = 0x1000};
	assert_int_equal(profile_init(&fix->prof), 0);
	profile_add_value_type(&fix->prof, "samples", "count");
	profile_add_value_type(&fix->prof, "cpu", "nanoseconds");
	off_cpu_init(&fix->off);
}

static void join(struct fixture *events, struct fixture *waits)
{
	uint32_t mappings[1];

	assert_int_equal(waits->prof.mapping_cnt, 0);
	assert_int_equal(off_cpu_join(&events->prof, &waits->prof, &waits->off, mappings), 0);
	assert_int_equal(off_cpu_finish(&events->prof, &waits->off), 0);
	events->with_cpu = true;
}

/* The same samples, whatever their order; values are compared, too. */
static void assert_same(const struct fixture *got, const struct fixture *wanted)
{
	assert_int_equal(got->prof.sample_cnt, wanted->prof.sample_cnt);
	assert_int_equal(got->prof.value_type_cnt, wanted->prof.value_type_cnt);
	for (size_t i = 0; i < wanted->prof.sample_cnt; i++) {
		struct buf text;

		buf_init(&text, BUF_NO_MAX);
		add_sample_text(&wanted->prof, i, &text);
		assert_memory_equal(values_of(got, buf_cstr(&text)),
				    wanted->prof.values + i * wanted->prof.value_type_cnt,
				    wanted->prof.value_type_cnt * sizeof(int64_t));
		buf_deinit(&text);
	}
}

static void assert_same_hists(const struct fixture *got, const struct off_cpu *off,
			      const struct fixture *wanted)
{
	assert_int_equal(off->hist_cnt, wanted->off.hist_cnt);
	for (size_t i = 0; i < off->hist_cnt; i++) {
		const struct off_cpu_hist *one = &off->hists[i], *other = &wanted->off.hists[i];

		assert_string_equal(profile_str(&got->prof, one->cause),
				    profile_str(&wanted->prof, other->cause));
		assert_memory_equal(one->waits, other->waits, sizeof(one->waits));
		assert_true(one->total_ns == other->total_ns && one->variance == other->variance);
	}
}

static void test_as_one_recording(void **state)
{
	for (uint64_t round = 0; round < 100; round++) {
		struct fixture events, waits, both;

		begin_events(&events);
		begin(&waits, false);
		begin(&both, true);
		/* Numbers of one profile are not those of the other. */
		who_is(&events, "somebody else");
		stack_of(&waits, "", "elsewhere main");
		add_cpu(&events, round);
		add_cpu(&both, round);
		add_waits(&waits, ~round);
		add_waits(&both, ~round);
		finish(&both);
		join(&events, &waits);
		assert_same(&events, &both);
		assert_same_hists(&events, &waits.off, &both);
		end(&events);
		end(&waits);
		end(&both);
	}
}

/* The totals are of a part of the time: what was sampled of the CPU stays as it was. */
static void test_part_of_the_time(void **state)
{
	struct fixture events, waits;
	int64_t cpu;

	begin_events(&events);
	begin(&waits, false);
	add_cpu(&events, 1);
	cpu = profile_total(&events.prof, 1);
	add_waits(&waits, 2);
	waits.off.has_all_cpu = false;
	join(&events, &waits);
	assert_true(profile_total(&events.prof, 1) == cpu);
	end(&events);
	end(&waits);
}

/* Both have met the same file: it is one mapping, and its frames are the same. */
static void test_mappings(void **state)
{
	const int64_t cpu[] = {1, 5}, wait[] = {1, 9, 0, 9};
	struct fixture events, waits;
	uint32_t mappings[2], at;

	begin_events(&events);
	begin(&waits, false);
	profile_mapping(&events.prof, "/other", "");
	at = profile_location(&events.prof, profile_mapping(&events.prof, "/lib", "ab"), 64, 0);
	profile_sample(&events.prof, profile_stack(&events.prof, &at, 1), who_is(&events, "a"),
		       cpu);
	profile_mapping(&waits.prof, "/unused", "");
	at = profile_location(&waits.prof, profile_mapping(&waits.prof, "/lib", "ab"), 64, 0);
	profile_sample(&waits.prof, profile_stack(&waits.prof, &at, 1),
		       off_cpu_labels(&waits.prof, who_is(&waits, "a"), OFF_CPU_INTERRUPTIBLE, 3,
				      0),
		       wait);
	assert_int_equal(off_cpu_join(&events.prof, &waits.prof, &waits.off, mappings), 0);
	assert_int_equal(mappings[0], PROFILE_NONE);
	assert_int_equal(mappings[1], 1);
	assert_int_equal(events.prof.mapping_cnt, 2);
	assert_int_equal(events.prof.location_cnt, 1);
	assert_int_equal(events.prof.stack_cnt, 1);
	end(&events);
	end(&waits);
}

/* What is no profile of waits is refused. */
static void test_not_waits(void **state)
{
	struct fixture events, others;
	uint32_t mappings[1];

	begin_events(&events);
	others = (struct fixture){.next_address = 1};
	assert_int_equal(profile_init(&others.prof), 0);
	profile_add_value_type(&others.prof, "bytes", "bytes");
	profile_add_value_type(&others.prof, "objects", "count");
	off_cpu_init(&others.off);
	assert_int_equal(off_cpu_join(&events.prof, &others.prof, &others.off, mappings), -EINVAL);
	end(&events);
	end(&others);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_one_recording),
		cmocka_unit_test(test_part_of_the_time),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_not_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
