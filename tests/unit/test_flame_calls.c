/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs of calls that were merged before: those of the profile, to the byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "encode/encoder.h"
#include "encode/flame.h"
#include "flame_fixture.h"
#include "random_profile.h"

enum { PROFILES = 30, LARGE_STACKS = 20000 };

/* Each sample of @prof as a chain of its own, but for the root of its label set, which is there
 * once. The head is borrowed: it is @prof itself. */
static void calls_of(const struct profile *prof, uint32_t value, struct profile_calls *out)
{
	uint32_t *roots = malloc((prof->label_set_cnt + 1) * sizeof(*roots));

	*out = (struct profile_calls){.head = *prof, .places = prof, .value = value};
	for (size_t i = 0; i < prof->label_set_cnt; i++)
		roots[i] = PROFILE_NONE;
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_stack *stack = &prof->stacks[prof->samples[i].stack];
		const uint32_t set = prof->samples[i].label_set;
		const int64_t self = prof->values[i * prof->value_type_cnt + value];
		uint32_t node;

		if (roots[set] == PROFILE_NONE)
			roots[set] = profile_calls_add(out, PROFILE_NONE, set);
		node = roots[set];
		for (uint32_t j = stack->cnt; j-- > 0;)
			node = profile_calls_add(out, node,
						 prof->stack_locations[stack->first + j]);
		assert_true(node != PROFILE_NONE);
		out->nodes[node].self += self > 0 ? self : 0;
	}
	free(roots);
}

static void expect_same_svg(const struct profile *prof, uint32_t value, const char *by)
{
	struct profile_calls calls;
	struct encoder_opts opts = {.value = value, .by = by};
	struct buf of_samples, of_calls;

	buf_init(&of_samples, BUF_NO_MAX);
	buf_init(&of_calls, BUF_NO_MAX);
	calls_of(prof, value, &calls);
	assert_int_equal(encoder_svg.encode(prof, &opts, &of_samples), 0);
	opts.calls = &calls;
	assert_int_equal(encoder_svg.encode(&calls.head, &opts, &of_calls), 0);
	assert_string_equal(buf_cstr(&of_samples), buf_cstr(&of_calls));
	buf_deinit(&of_samples);
	buf_deinit(&of_calls);
	free(calls.nodes);
}

/* Up to where the picture is drawn. */
static void cut_behind_first(struct buf *page)
{
	char *end = strstr(buf_cstr(page), "drawFirst();");

	assert_non_null(end);
	*end = '\0';
}

static void expect_same_first(const struct profile *prof, uint32_t value, const char *by)
{
	struct profile_calls calls;
	struct encoder_opts opts = {.value = value, .by = by, .has_head = true};
	struct buf of_samples, of_calls, rest;

	buf_init(&of_samples, BUF_NO_MAX);
	buf_init(&of_calls, BUF_NO_MAX);
	buf_init(&rest, BUF_NO_MAX);
	calls_of(prof, value, &calls);
	assert_int_equal(encoder_html.encode(prof, &opts, &of_samples), 0);
	assert_int_equal(html_add_first_calls(&calls, &opts, &of_calls), 0);
	opts.has_first = true;
	assert_int_equal(encoder_html.encode(prof, &opts, &rest), 0);
	/* Together they are the page. */
	assert_int_equal(of_samples.len, of_calls.len + rest.len);
	assert_memory_equal(of_samples.data + of_calls.len, rest.data, rest.len);
	cut_behind_first(&of_samples);
	cut_behind_first(&of_calls);
	assert_string_equal(buf_cstr(&of_samples), buf_cstr(&of_calls));
	buf_deinit(&of_samples);
	buf_deinit(&of_calls);
	buf_deinit(&rest);
	free(calls.nodes);
}

static void fill(struct profile *prof)
{
	fixture_init(prof, "samples", "count");
	fixture_add(prof, "web", 3, "main|l:read|k:vfs_read");
	fixture_add(prof, "web", 4, "main|i:work|i:more");
	fixture_add(prof, "web", 2, "main|work|l:read");
	fixture_add(prof, "web", 1, "main|a:1000");
	fixture_add(prof, "db", 5, "main|j:compiled|s:[truncated: x]");
	fixture_add(prof, "db", 7, "main|s:[blocked: io]");
	fixture_add(prof, "db", 7, "main|s:[runnable: preempted]");
	fixture_add(prof, "db", -3, "less");
	fixture_add(prof, "db", 0, "main|nothing");
	fixture_add(prof, "", 6, "");
}

static void kinds_states_and_inlined_calls_are_the_same(void **state)
{
	struct profile prof;

	fill(&prof);
	expect_same_svg(&prof, 0, NULL);
	expect_same_svg(&prof, 0, "");
	expect_same_first(&prof, 0, NULL);
	profile_deinit(&prof);
}

/* More of one caller than are sorted by hand, and the same again from another one. */
static void many_of_one_caller_are_the_same(void **state)
{
	struct profile prof;
	char stack[64];

	fixture_init(&prof, "samples", "count");
	for (int i = 0; i < 100; i++) {
		snprintf(stack, sizeof(stack), "main|f%d|l:g%d", i * 37 % 100, i % 3);
		fixture_add(&prof, i % 2 ? "web" : "db", i + 1, stack);
	}
	expect_same_svg(&prof, 0, NULL);
	expect_same_svg(&prof, 0, "");
	expect_same_first(&prof, 0, "");
	profile_deinit(&prof);
}

/* So many that they are built from both ends: of one process, of some, and of many. */
static void large_ones_are_the_same(void **state)
{
	static const int process_cnts[] = {1, 2, 3, 500};

	for (size_t i = 0; i < sizeof(process_cnts) / sizeof(*process_cnts); i++) {
		struct profile prof;
		char process[32], stack[96];

		fixture_init(&prof, "samples", "count");
		for (int j = 0; j < LARGE_STACKS; j++) {
			snprintf(process, sizeof(process), "p%d", j % process_cnts[i]);
			snprintf(stack, sizeof(stack), "main|f%d|l:g%d|k:h%d", j * 37 % 1009,
				 j % 101, j % 7);
			fixture_add(&prof, process, j % 5, stack);
		}
		fixture_add(&prof, "", 6, "");
		fixture_add(&prof, "", 7, "main|f1");
		expect_same_svg(&prof, 0, NULL);
		expect_same_svg(&prof, 0, "");
		profile_deinit(&prof);
	}
}

static void profiles_by_chance_are_the_same(void **state)
{
	for (uint64_t seed = 1; seed <= PROFILES; seed++) {
		struct profile prof;

		random_profile(&prof, seed * 77);
		for (uint32_t value = 0; value < prof.value_type_cnt; value++)
			expect_same_svg(&prof, value, "comm,pid");
		profile_deinit(&prof);
	}
}

/* What the middle is left out of, and what is too much. */
static void refuses_what_it_cannot_draw(void **state)
{
	struct profile_calls calls;
	struct flame_tree tree;
	struct profile prof;
	uint32_t node, location;

	fixture_init(&prof, "samples", "count");
	fixture_add(&prof, "p", 1, "main");
	calls_of(&prof, 0, &calls);
	location = calls.nodes[1].ref;
	node = 1;
	for (int i = 1; i < FLAME_FRAMES_MAX; i++)
		node = profile_calls_add(&calls, node, location);
	calls.nodes[node].self = 1;
	assert_int_equal(flame_build_calls(&calls, NULL, true, &tree), 0);
	assert_int_equal(tree.nodes[0].total, 2);
	assert_int_equal(tree.node_cnt, 2 + FLAME_FRAMES_MAX);
	flame_deinit(&tree);
	node = profile_calls_add(&calls, node, location);
	/* Nothing ends there: it is not drawn. */
	assert_int_equal(flame_build_calls(&calls, NULL, false, &tree), 0);
	assert_int_equal(tree.node_cnt, 2 + FLAME_FRAMES_MAX);
	flame_deinit(&tree);
	calls.nodes[node].self = 1;
	assert_int_equal(flame_build_calls(&calls, NULL, true, &tree), -ENOTSUP);
	calls.nodes[node].self = 0;
	calls.nodes[1].self = INT64_MAX;
	assert_int_equal(flame_build_calls(&calls, NULL, true, &tree), -EOVERFLOW);
	free(calls.nodes);
	profile_deinit(&prof);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_states_and_inlined_calls_are_the_same),
		cmocka_unit_test(many_of_one_caller_are_the_same),
		cmocka_unit_test(large_ones_are_the_same),
		cmocka_unit_test(profiles_by_chance_are_the_same),
		cmocka_unit_test(refuses_what_it_cannot_draw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
