/* SPDX-License-Identifier: Apache-2.0 */
/* Chains from small images of several compilers (the seeds of the fuzz target), in which twice() is
 * inlined into both() and that into shared(). More is compared in tests/e2e/test_dwarf.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "dwarf_chain.h"

enum { CODE_AT = 0x401000, CODE_BYTES = 512, FRAMES_MAX = 8 };

static int open_late(const char *path, struct dwarf_index **out)
{
	struct dwarf_index_opts opts = {.alt_fd = -1, .root_fd = -1, .deadline_ns = 1};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = dwarf_index_open(fd, &opts, out);

	assert_true(fd >= 0);
	close(fd);
	return err;
}

static struct dwarf_index *open_seed(const char *path, size_t budget_bytes)
{
	struct dwarf_index_opts opts = {.alt_fd = -1, .root_fd = -1, .budget_bytes = budget_bytes};
	struct dwarf_index *index = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(dwarf_index_open(fd, &opts, &index), 0);
	close(fd);
	return index;
}

/* Is it twice() in both() in shared(), each on its line? */
static bool is_whole_chain(const struct dwarf_frame *frames, int cnt)
{
	static const char *const names[] = {"twice", "both", "shared"};

	if (cnt < 1 || !frames[0].name || strcmp(frames[0].name, names[0]))
		return false;
	/* it is only ever inlined */
	assert_true(cnt >= 2);
	if (cnt < 3)
		return false;
	for (int i = 0; i < 3; i++) {
		assert_string_equal(frames[i].name, names[i]);
		assert_string_equal(frames[i].file, "/src/t.c");
		assert_int_equal(frames[i].line, i + 1);
		assert_int_equal(frames[i].start_line, i + 1);
		assert_int_equal(frames[i].is_inlined, i < cnt - 1);
	}
	return true;
}

static int count_chains(struct dwarf_index *index)
{
	int chains_cnt = 0;

	for (uint64_t vaddr = CODE_AT; vaddr < CODE_AT + CODE_BYTES; vaddr++) {
		struct dwarf_frame frames[FRAMES_MAX];
		int cnt = chain_find(index, vaddr, frames, FRAMES_MAX);

		assert_true(cnt > 0 || cnt == -ENOENT);
		chains_cnt += is_whole_chain(frames, cnt);
	}
	return chains_cnt;
}

static void test_seeds(void **state)
{
	static const char *const paths[] = {
		"tests/fuzz/corpus/dwarf/gcc4",
		"tests/fuzz/corpus/dwarf/gcc5",
		"tests/fuzz/corpus/dwarf/gccz",
		"tests/fuzz/corpus/dwarf/clang4",
		"tests/fuzz/corpus/dwarf/clang5",
		/* shared() comes last in its unit: nothing says where its entry ends. */
		"tests/fuzz/corpus/dwarf/gcc5last",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct dwarf_index *index = open_seed(paths[i], 0);

		assert_true(count_chains(index) > 3);
		assert_true(dwarf_index_bytes(index) > 0);
		dwarf_index_free(index);
	}
}

/* Forgotten units are read again, with the same result. */
static void test_budget(void **state)
{
	struct dwarf_index *large = open_seed("tests/fuzz/corpus/dwarf/gcc5", 0);
	struct dwarf_index *small = open_seed("tests/fuzz/corpus/dwarf/gcc5", 1);

	assert_int_equal(count_chains(large), count_chains(small));
	dwarf_index_free(large);
	dwarf_index_free(small);
}

static void test_short_array(void **state)
{
	struct dwarf_index *index = open_seed("tests/fuzz/corpus/dwarf/gcc5", 0);
	struct dwarf_frame frame = {0};
	int most = 0;

	for (uint64_t vaddr = CODE_AT; vaddr < CODE_AT + CODE_BYTES; vaddr++) {
		int cnt = chain_find(index, vaddr, &frame, 1);

		assert_int_equal(cnt, chain_find(index, vaddr, NULL, 0));
		most = cnt > most ? cnt : most;
	}
	assert_true(most >= 3);
	assert_int_equal(chain_find(index, 0, &frame, 1), -ENOENT);
	dwarf_index_free(index);
}

/* After the deadline nothing is unpacked and nothing looked up. */
static void test_deadline(void **state)
{
	struct dwarf_index *index = NULL;
	struct dwarf_frame frame;

	assert_int_equal(open_late("tests/fuzz/corpus/dwarf/gcc5", &index), 0);
	assert_int_equal(chain_find(index, CODE_AT, &frame, 1), -ETIME);
	assert_int_equal(dwarf_index_bytes(index), 0);
	dwarf_index_free(index);
	assert_int_equal(open_late("tests/fuzz/corpus/dwarf/gccz", &index), -ETIME);
}

static void test_no_dwarf(void **state)
{
	struct dwarf_index_opts opts = {.alt_fd = -1, .root_fd = -1};
	struct dwarf_index *index;
	int fd = open("tests/fuzz/corpus/elf/x86_64_stripped_so", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(dwarf_index_open(fd, &opts, &index), -ENODATA);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds),	    cmocka_unit_test(test_budget),
		cmocka_unit_test(test_short_array), cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_no_dwarf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
