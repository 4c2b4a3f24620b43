/* SPDX-License-Identifier: Apache-2.0 */
/* The merged frame tree: shape, order, sums, kinds, and what hostile profiles make of it. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "encode/flame.h"
#include "flame_fixture.h"

static int setup(void **state)
{
	struct profile *prof = calloc(1, sizeof(*prof));

	fixture_init(prof, "samples", "count");
	*state = prof;
	return 0;
}

static int teardown(void **state)
{
	profile_deinit(*state);
	free(*state);
	return 0;
}

/* What the time of every node was: one line per node, "name: on CPU + runnable + blocked", and what
 * it is mostly off the CPU for. */
static void dump_states(const struct flame_tree *tree, struct buf *out)
{
	for (size_t i = 0; i < tree->node_cnt; i++) {
		const struct flame_node *node = &tree->nodes[i];
		enum flame_kind state = flame_waits_for(tree, node);

		buf_printf(out, "%s: %" PRId64 " + %" PRId64 " + %" PRId64 "%s\n",
			   flame_name(tree, node), node->total - node->blocked - node->runnable,
			   node->runnable, node->blocked,
			   state == FLAME_BLOCKED    ? " blocked"
			   : state == FLAME_RUNNABLE ? " runnable"
						     : "");
	}
}

static void expect_states(const struct profile *prof, const char *expected)
{
	struct flame_tree tree;
	struct buf text;

	assert_int_equal(flame_build(prof, 0, NULL, &tree), 0);
	buf_init(&text, BUF_NO_MAX);
	dump_states(&tree, &text);
	assert_string_equal(buf_cstr(&text), expected);
	buf_deinit(&text);
	flame_deinit(&tree);
}

/* The tree as text: one line per node, indented by depth, "name kind/flags total self". */
static void dump(const struct flame_tree *tree, struct buf *out)
{
	for (size_t i = 0; i < tree->node_cnt; i++) {
		const struct flame_node *node = &tree->nodes[i];

		for (int depth = 0; depth < node->depth; depth++)
			buf_add_char(out, ' ');
		buf_printf(out, "%s %d/%d %" PRId64 " %" PRId64 "\n", flame_name(tree, node),
			   node->kind, node->flags, node->total, node->self);
	}
}

static void expect_tree(const struct profile *prof, const char *by, const char *expected)
{
	struct flame_tree tree;
	struct buf text;

	assert_int_equal(flame_build(prof, 0, by, &tree), 0);
	buf_init(&text, BUF_NO_MAX);
	dump(&tree, &text);
	assert_string_equal(buf_cstr(&text), expected);
	buf_deinit(&text);
	flame_deinit(&tree);
}

/* Parents, ends and totals of any tree. */
static void expect_consistent(const struct flame_tree *tree)
{
	assert_int_equal(tree->nodes[0].parent, PROFILE_NONE);
	assert_int_equal(tree->nodes[0].end, tree->node_cnt);
	for (uint32_t i = 0; i < tree->node_cnt; i++) {
		const struct flame_node *node = &tree->nodes[i];
		int64_t sum = node->self;

		for (uint32_t child = i + 1; child < node->end; child = tree->nodes[child].end) {
			assert_int_equal(tree->nodes[child].parent, i);
			assert_int_equal(tree->nodes[child].depth, node->depth + 1);
			assert_true(tree->nodes[child].end > child);
			sum += tree->nodes[child].total;
		}
		assert_int_equal(sum, node->total);
	}
}

static void merges_by_path(void **state)
{
	struct profile *prof = *state;

	fixture_add(prof, "web", 4, "main|work");
	fixture_add(prof, "web", 3, "main|l:read|k:vfs_read");
	expect_tree(prof, NULL,
		    "all 0/0 7 0\n"
		    " web 1/0 7 0\n"
		    "  main 2/0 7 0\n"
		    "   read 3/0 3 0\n"
		    "    vfs_read 5/0 3 3\n"
		    "   work 2/0 4 4\n");
}

static void preorder_is_consistent(void **state)
{
	struct profile *prof = *state;
	struct flame_tree tree;
	char path[64];

	for (int i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "f%d|g%d|k:h%d", i % 7, i % 31, i % 211);
		path[i % 3 ? strlen(path) : 2] = '\0';
		fixture_add(prof, i % 5 ? "one" : "two", i, path);
	}
	assert_int_equal(flame_build(prof, 0, NULL, &tree), 0);
	expect_consistent(&tree);
	assert_int_equal(tree.nodes[0].total, profile_total(prof, 0));
	flame_deinit(&tree);
}

static void orders_children_by_name(void **state)
{
	struct profile *prof = *state;

	fixture_add(prof, "b", 1, "z");
	fixture_add(prof, "b", 1, "k:a");
	fixture_add(prof, "b", 1, "a");
	fixture_add(prof, "a", 1, "aa");
	expect_tree(prof, NULL,
		    "all 0/0 4 0\n"
		    " a 1/0 1 0\n"
		    "  aa 2/0 1 1\n"
		    " b 1/0 3 0\n"
		    "  a 2/0 1 1\n"
		    "  a 5/0 1 1\n"
		    "  z 2/0 1 1\n");
}

static void tells_kinds_apart(void **state)
{
	struct profile *prof = *state;

	fixture_add(prof, "p", 1, "s:[truncated: no_rows]|main|l:lib|j:jitted|k:kernel");
	fixture_add(prof, "p", 1, "w:waker|j:jitted");
	fixture_add(prof, "p", 1, "a:1f40");
	expect_tree(prof, NULL,
		    "all 0/0 3 0\n"
		    " p 1/0 3 0\n"
		    "  [libfixture.so.1+0x1f40] 3/0 1 1\n"
		    "  [truncated: no_rows] 6/0 1 0\n"
		    "   main 2/0 1 0\n"
		    "    lib 3/0 1 0\n"
		    "     jitted 4/0 1 0\n"
		    "      kernel 5/0 1 1\n"
		    "  waker 2/2 1 0\n"
		    "   jitted 4/0 1 1\n");
}

/* The name of the waker's thread is at the leaf; it has no mapping. */
static void names_states_and_wakers(void **state)
{
	struct profile *prof = *state;

	fixture_add(prof, "p", 1, "main|s:[blocked: futex]|s:--|w:unlock|w:main|n:waker");
	fixture_add(prof, "p", 2, "main|s:[runnable: preempted]");
	fixture_add(prof, "p", 3, "s:[running: not sampled]");
	fixture_add(prof, "p", 4, "[blocked: code]");
	expect_tree(prof, NULL,
		    "all 0/0 10 0\n"
		    " p 1/0 10 0\n"
		    "  [blocked: code] 2/0 4 4\n"
		    "  [running: not sampled] 6/0 3 3\n"
		    "  main 2/0 3 0\n"
		    "   [blocked: futex] 7/0 1 0\n"
		    "    -- 9/0 1 0\n"
		    "     unlock 2/2 1 0\n"
		    "      main 2/2 1 0\n"
		    "       waker 1/2 1 1\n"
		    "   [runnable: preempted] 8/0 2 2\n");
}

static void sums_states(void **state)
{
	struct profile *prof = *state;

	fixture_add(prof, "p", 5, "main|wait|s:[blocked: futex]|s:--|w:unlock|n:waker");
	fixture_add(prof, "p", 4, "main|wait|s:[runnable: woken]");
	fixture_add(prof, "p", 1, "main|wait");
	fixture_add(prof, "p", 7, "main|work");
	fixture_add(prof, "p", 8, "main|work|s:[runnable: preempted]");
	fixture_add(prof, "p", 9, "main|hot");
	fixture_add(prof, "p", 9, "main|hot|s:[blocked: page fault]");
	expect_states(prof, "all: 17 + 12 + 14\n"
			    "p: 17 + 12 + 14\n"
			    "main: 17 + 12 + 14 blocked\n"
			    "hot: 9 + 0 + 9\n"
			    "[blocked: page fault]: 0 + 0 + 9\n"
			    "wait: 1 + 4 + 5 blocked\n"
			    "[blocked: futex]: 0 + 0 + 5\n"
			    "--: 0 + 0 + 5\n"
			    "unlock: 0 + 0 + 5 blocked\n"
			    "waker: 0 + 0 + 5\n"
			    "[runnable: woken]: 0 + 4 + 0\n"
			    "work: 7 + 8 + 0 runnable\n"
			    "[runnable: preempted]: 0 + 8 + 0\n");
}

/* Nothing to be told apart where all time is off the CPU. A state in a state is in the outer one.
 */
static void sums_states_of_waits_alone(void **state)
{
	struct profile *prof = *state;

	fixture_add(prof, "p", 2, "main|s:[blocked: futex]|lost|s:[runnable: woken]|found");
	fixture_add(prof, "p", 3, "main|s:[runnable: woken]");
	expect_states(prof, "all: 0 + 3 + 2\n"
			    "p: 0 + 3 + 2\n"
			    "main: 0 + 3 + 2\n"
			    "[blocked: futex]: 0 + 0 + 2\n"
			    "lost: 0 + 0 + 2\n"
			    "[runnable: woken]: 0 + 0 + 2\n"
			    "found: 0 + 0 + 2\n"
			    "[runnable: woken]: 0 + 3 + 0\n");
}

static void names_addresses_without_doubled_brackets(void **state)
{
	struct profile *prof = *state;
	uint32_t kernel = profile_mapping(prof, "[kernel.kallsyms]", "");
	int64_t one = 1;
	uint32_t location = profile_location(prof, kernel, 0xffff1234, 0);
	uint32_t replaced =
		profile_location(prof, profile_mapping(prof, "/opt/lib.so (deleted)", ""), 0x88, 0);
	uint32_t bare = profile_location(prof, PROFILE_NONE, 0x77, 0);
	uint32_t labels = profile_labels(prof, NULL, 0);

	profile_sample(prof, profile_stack(prof, &location, 1), labels, &one);
	profile_sample(prof, profile_stack(prof, &bare, 1), labels, &one);
	profile_sample(prof, profile_stack(prof, &replaced, 1), labels, &one);
	expect_tree(prof, NULL,
		    "all 0/0 3 0\n"
		    " [kernel.kallsyms+0xffff1234] 5/0 1 1\n"
		    " [lib.so+0x88] 3/0 1 1\n"
		    " [unknown+0x77] 2/0 1 1\n");
}

/* `helper` is inlined in one caller and called in the other path to the same place. */
static void inlined_only_if_always(void **state)
{
	struct profile *prof = *state;

	fixture_add(prof, "p", 1, "main|i:helper|i:inner");
	expect_tree(
		prof, NULL,
		"all 0/0 1 0\n p 1/0 1 0\n  main 2/0 1 0\n   helper 2/1 1 0\n    inner 2/1 1 1\n");
	fixture_add(prof, "p", 1, "main|helper");
	expect_tree(
		prof, NULL,
		"all 0/0 2 0\n p 1/0 2 0\n  main 2/0 2 0\n   helper 2/0 2 1\n    inner 2/1 1 1\n");
}

static void joins_labels(void **state)
{
	struct profile *prof = *state;
	uint32_t location = profile_named_location(prof, "main", 0);
	struct profile_label labels[] = {
		{.key = profile_string(prof, "pid"), .str = PROFILE_NONE, .num = 1234},
		{.key = profile_string(prof, "comm"), .str = profile_string(prof, "nginx")},
	};
	int64_t one = 1;

	profile_sample(prof, profile_stack(prof, &location, 1), profile_labels(prof, labels, 2),
		       &one);
	expect_tree(prof, "comm,nowhere,pid", "all 0/0 1 0\n nginx-1234 1/0 1 0\n  main 2/0 1 1\n");
	expect_tree(prof, "pid", "all 0/0 1 0\n 1234 1/0 1 0\n  main 2/0 1 1\n");
	expect_tree(prof, "", "all 0/0 1 0\n main 2/0 1 1\n");
	expect_tree(prof, ",,", "all 0/0 1 0\n main 2/0 1 1\n");
	labels[1].str = profile_string(prof, "");
	profile_sample(prof, profile_stack(prof, &location, 1), profile_labels(prof, labels, 2),
		       &one);
	expect_tree(prof, "comm",
		    "all 0/0 2 0\n ? 1/0 1 0\n  main 2/0 1 1\n nginx 1/0 1 0\n  main 2/0 1 1\n");
}

static void leaves_out_values_without_width(void **state)
{
	struct profile *prof = *state;

	expect_tree(prof, NULL, "all 0/0 0 0\n");
	fixture_add(prof, "p", -5, "less");
	fixture_add(prof, "p", 0, "nothing");
	expect_tree(prof, NULL, "all 0/0 0 0\n");
	fixture_add(prof, "p", 2, "");
	expect_tree(prof, NULL, "all 0/0 2 0\n p 1/0 2 2\n");
}

static void elides_the_middle_of_endless_stacks(void **state)
{
	struct profile *prof = *state;
	enum { DEEP = 1000000 };
	uint32_t *locations = calloc(DEEP, sizeof(*locations));
	uint32_t recursion = profile_named_location(prof, "recurse", 0);
	struct flame_tree tree;
	int64_t one = 1;

	for (size_t i = 0; i < DEEP; i++)
		locations[i] = recursion;
	locations[0] = profile_named_location(prof, "leaf", 0);
	locations[DEEP - 1] = profile_named_location(prof, "root", 0);
	profile_sample(prof, profile_stack(prof, locations, DEEP), profile_labels(prof, NULL, 0),
		       &one);
	assert_int_equal(flame_build(prof, 0, NULL, &tree), 0);
	expect_consistent(&tree);
	assert_int_equal(tree.node_cnt, 1 + FLAME_FRAMES_MAX + 1);
	assert_string_equal(flame_name(&tree, &tree.nodes[1]), "root");
	assert_string_equal(flame_name(&tree, &tree.nodes[1 + FLAME_FRAMES_MAX / 2]),
			    "[998200 frames elided]");
	assert_int_equal(tree.nodes[1 + FLAME_FRAMES_MAX / 2].kind, FLAME_SYNTHETIC);
	assert_string_equal(flame_name(&tree, &tree.nodes[tree.node_cnt - 1]), "leaf");
	flame_deinit(&tree);
	free(locations);
}

static void keeps_a_stack_of_just_the_limit(void **state)
{
	struct profile *prof = *state;
	uint32_t locations[FLAME_FRAMES_MAX];
	struct flame_tree tree;
	int64_t one = 1;

	for (size_t i = 0; i < FLAME_FRAMES_MAX; i++)
		locations[i] = profile_named_location(prof, "same", 0);
	profile_sample(prof, profile_stack(prof, locations, FLAME_FRAMES_MAX),
		       profile_labels(prof, NULL, 0), &one);
	assert_int_equal(flame_build(prof, 0, NULL, &tree), 0);
	assert_int_equal(tree.node_cnt, 1 + FLAME_FRAMES_MAX);
	assert_string_equal(flame_name(&tree, &tree.nodes[FLAME_FRAMES_MAX / 2 + 1]), "same");
	flame_deinit(&tree);
}

static void tells_where_stacks_end(void **state)
{
	struct profile *prof = *state;
	int64_t selves[16] = {0};
	struct flame_tree tree;
	uint32_t *leaves;

	fixture_add(prof, "p", 5, "main|z");
	fixture_add(prof, "p", 0, "main|zero");
	fixture_add(prof, "q", 2, "main|a|b");
	fixture_add(prof, "p", 1, "main|a");
	assert_int_equal(flame_build_leaves(prof, 0, "", &tree, &leaves), 0);
	assert_int_equal(leaves[1], PROFILE_NONE);
	assert_string_equal(flame_name(&tree, &tree.nodes[leaves[0]]), "z");
	assert_string_equal(flame_name(&tree, &tree.nodes[leaves[2]]), "b");
	for (size_t i = 0; i < prof->sample_cnt; i++)
		if (leaves[i] != PROFILE_NONE)
			selves[leaves[i]] += prof->values[i];
	for (size_t i = 0; i < tree.node_cnt; i++)
		assert_int_equal(selves[i], tree.nodes[i].self);
	flame_deinit(&tree);
	free(leaves);
}

static void refuses_what_it_cannot_add_up(void **state)
{
	struct profile *prof = *state;
	struct flame_tree tree;

	assert_int_equal(flame_build(prof, 1, NULL, &tree), -EINVAL);
	assert_int_equal(flame_build(prof, PROFILE_NONE, NULL, &tree), -EINVAL);
	fixture_add(prof, "p", INT64_MAX, "a");
	assert_int_equal(flame_build(prof, 0, NULL, &tree), 0);
	assert_int_equal(tree.nodes[0].total, INT64_MAX);
	flame_deinit(&tree);
	fixture_add(prof, "p", 1, "b");
	assert_int_equal(flame_build(prof, 0, NULL, &tree), -EOVERFLOW);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(merges_by_path, setup, teardown),
		cmocka_unit_test_setup_teardown(preorder_is_consistent, setup, teardown),
		cmocka_unit_test_setup_teardown(orders_children_by_name, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_kinds_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(names_states_and_wakers, setup, teardown),
		cmocka_unit_test_setup_teardown(sums_states, setup, teardown),
		cmocka_unit_test_setup_teardown(sums_states_of_waits_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(names_addresses_without_doubled_brackets, setup,
						teardown),
		cmocka_unit_test_setup_teardown(inlined_only_if_always, setup, teardown),
		cmocka_unit_test_setup_teardown(joins_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(leaves_out_values_without_width, setup, teardown),
		cmocka_unit_test_setup_teardown(elides_the_middle_of_endless_stacks, setup,
						teardown),
		cmocka_unit_test_setup_teardown(keeps_a_stack_of_just_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_where_stacks_end, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_what_it_cannot_add_up, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
