/* SPDX-License-Identifier: Apache-2.0 */
/* The books of a window, begun by one process and closed by another, are those of one that did
 * both; also when an earlier one has closed them already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/pins.h"
#include "capture/samplers.h"

enum { CPU_CNT = 2, PERIOD_NS = 1000000 };

static uint32_t cpu_numbers[CPU_CNT] = {0, 3};

struct process {
	struct samplers samplers;
	struct event_cpu cpus[CPU_CNT];
	struct pins pins;
};

static struct pin_state *new_state(void)
{
	struct pin_state *state =
		calloc(1, sizeof(*state) + 3 * BP_EVENTS_SAMPLED * CPU_CNT * sizeof(*state->books));

	assert_non_null(state);
	state->cpu_cnt = CPU_CNT;
	return state;
}

static void process_begin(struct process *process, struct pin_state *state)
{
	const struct number_set present = {.items = cpu_numbers, .cnt = CPU_CNT};
	struct sampler *sampler = &process->samplers.items[0];

	memset(process, 0, sizeof(*process));
	process->pins.state = state;
	process->samplers.cnt = 1;
	sampler->prog_fd = -1;
	sampler->event.period = PERIOD_NS;
	sampler->event.is_clock = true;
	assert_int_equal(books_init(&sampler->books, &present, -1), 0);
	for (int i = 0; i < CPU_CNT; i++)
		process->cpus[i].cpu = cpu_numbers[i];
	sampler->counters = (struct perf_events){
		.event = &sampler->event, .cpus = process->cpus, .cnt = CPU_CNT};
}

static void process_end(struct process *process)
{
	books_deinit(&process->samplers.items[0].books);
}

/* The window before parity @parity ends, with so many ticks of each CPU since the beginning. */
static void mark(struct process *process, uint32_t parity, uint64_t ticks0, uint64_t ticks1)
{
	process->cpus[0].ticks = ticks0;
	process->cpus[1].ticks = ticks1;
	samplers_save_marks(&process->samplers, &process->pins, parity);
}

/* Close the window in which so many ran on each CPU: rows of it are to say this. */
static void close_window(struct process *process, const uint64_t ran[CPU_CNT],
			 const uint64_t ticks[CPU_CNT])
{
	struct sampler *sampler = &process->samplers.items[0];
	struct ledger_event event = {0};

	for (uint32_t i = 0; i < CPU_CNT; i++) {
		const struct bp_event_counters counters = {.ran = ran[i], .recorded = ran[i]};

		books_add(&sampler->books, i, &counters);
	}
	sampler->books.is_marked = true;
	assert_int_equal(sampler_close_window(sampler, false, &event), 0);
	assert_int_equal(event.per_cpu_cnt, CPU_CNT);
	for (uint32_t i = 0; i < CPU_CNT; i++) {
		assert_int_equal(event.per_cpu[i].cpu, cpu_numbers[i]);
		assert_int_equal(event.per_cpu[i].ticks, ticks[i]);
		assert_int_equal(event.per_cpu[i].ran, ran[i]);
		assert_int_equal(event.per_cpu[i].never_ran_busy + event.per_cpu[i].never_ran_idle,
				 ticks[i] - ran[i]);
	}
	free(event.per_cpu);
}

static void test_handover(void **state)
{
	static const uint64_t ran1[] = {90, 100}, ticks1[] = {95, 100}, ran2[] = {40, 50},
			      ticks2[] = {45, 52}, ran3[] = {10, 10}, ticks3[] = {10, 11};
	struct pin_state *kept = new_state();
	struct process one, two, three;

	/* Window 1 is closed by who began it, window 2 is only ended. */
	process_begin(&one, kept);
	samplers_save_totals(&one.samplers, &one.pins, 1);
	mark(&one, 1, 0, 0);
	mark(&one, 2, 95, 100);
	close_window(&one, ran1, ticks1);
	samplers_save_totals(&one.samplers, &one.pins, 2);
	mark(&one, 3, 140, 152);
	process_end(&one);

	/* The second process closes it, and dies; so does the third, and goes on. */
	process_begin(&two, kept);
	samplers_load_begin(&two.samplers, &two.pins, 2);
	samplers_load_end(&two.samplers, &two.pins, 3);
	close_window(&two, ran2, ticks2);
	samplers_save_totals(&two.samplers, &two.pins, 3);
	process_end(&two);

	process_begin(&three, kept);
	samplers_load_begin(&three.samplers, &three.pins, 2);
	samplers_load_end(&three.samplers, &three.pins, 3);
	close_window(&three, ran2, ticks2);
	samplers_save_totals(&three.samplers, &three.pins, 3);
	mark(&three, 4, 150, 163);
	close_window(&three, ran3, ticks3);
	process_end(&three);
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handover),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
