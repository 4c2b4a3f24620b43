/* SPDX-License-Identifier: Apache-2.0 */
/* Naming the kernel's frames: its own, a module's, a BPF program's; and when it hides them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proc/kallsyms.h"
#include "symbolizer_fixture.h"

/* Against the kernel that runs: its own first system call, and an address that is none. */
static void test_kernel(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "[kernel.kallsyms]", NULL);
	FILE *file = fopen("/proc/kallsyms", "re");
	uint64_t ip = 0, line_ip;
	char name[128], type;
	uint32_t known, unknown;

	assert_non_null(file);
	while (fscanf(file, "%" SCNx64 " %c %127s%*[^\n]", &line_ip, &type, name) == 3 && !ip) {
		if (!strcmp(name, "schedule"))
			ip = line_ip;
	}
	fclose(file);
	known = profile_location(&fix->prof, mapping, ip + 1, LOCATION_KERNEL);
	unknown = profile_location(&fix->prof, mapping, UINT64_MAX - 5, LOCATION_KERNEL);
	run(fix, false);
	if (ip) {
		check_location(fix, known, "schedule", "schedule");
		check_location(fix, unknown, "[kernel+0xfffffffffffffffa]",
			       "[kernel+0xfffffffffffffffa]");
		assert_int_equal(unnamed_cnt(fix, "no_kernel_symbol"), 1);
		assert_int_equal(fix->prof.mappings[mapping].flags, MAPPING_HAS_FUNCTIONS);
	} else {
		assert_int_equal(unnamed_cnt(fix, "kptr_restrict"), 2);
	}
	check_books(fix);
}

static struct kernel_map *map_of(const char *text)
{
	struct kernel_map *map = kernel_map_new();

	assert_non_null(map);
	assert_int_equal(kernel_map_add(map, kallsyms_parse(text, strlen(text)), 0), 0);
	return map;
}

static void check_mapping(const struct fixture *fix, uint32_t location, const char *path)
{
	uint32_t mapping = fix->prof.locations[location].mapping;

	assert_string_equal(profile_str(&fix->prof, fix->prof.mappings[mapping].path), path);
	assert_int_equal(fix->prof.mappings[mapping].flags, MAPPING_HAS_FUNCTIONS);
}

/* What was told apart when it was sampled has its owner's name; what was not, its module's. */
static void test_kernel_owners(void **state)
{
	struct fixture *fix = *state;
	uint32_t kernel = add_mapping(fix, "[kernel.kallsyms]", NULL);
	uint32_t program = add_mapping(fix, "[bpf_prog_a]", NULL);
	struct kernel_map *map = map_of("ffffffff81000000 T schedule\n"
					"ffffffff81000100 T _etext\n"
					"ffffffffc0000000 t nft_do_chain\t[nf_tables]\n");
	const struct symbolizer_opts opts = {.kernel = map};
	const struct ksym_record came = {
		.ip = 0xffffffffc0000000, .code_bytes = 0x100, .time_ns = 50, .name = "bpf_prog_a"};
	uint32_t core, module, owned, unknown;

	kernel_map_came(map, &came, 0);
	core = profile_location(&fix->prof, kernel, 0xffffffff81000010, LOCATION_KERNEL);
	module = profile_location(&fix->prof, kernel, 0xffffffffc0000010, LOCATION_KERNEL);
	owned = profile_location(&fix->prof, program, 0xffffffffc0000010, LOCATION_KERNEL);
	unknown = profile_location(&fix->prof, program, 0xffffffffc0000110, LOCATION_KERNEL);
	run_with(fix, &opts);
	check_location(fix, core, "schedule", "schedule");
	check_mapping(fix, core, "[kernel.kallsyms]");
	check_location(fix, module, "nft_do_chain", "nft_do_chain");
	check_mapping(fix, module, "[nf_tables]");
	check_location(fix, owned, "bpf_prog_a", "bpf_prog_a");
	check_mapping(fix, owned, "[bpf_prog_a]");
	check_location(fix, unknown, "[bpf_prog_a+0xffffffffc0000110]",
		       "[bpf_prog_a+0xffffffffc0000110]");
	assert_int_equal(unnamed_cnt(fix, "no_kernel_symbol"), 1);
	check_books(fix);
	kernel_map_free(map);
}

static void test_kernel_hidden(void **state)
{
	struct fixture *fix = *state;
	uint32_t kernel = add_mapping(fix, "[kernel.kallsyms]", NULL);
	struct kernel_map *map = map_of("0000000000000000 T schedule\n");
	const struct symbolizer_opts opts = {.kernel = map};

	profile_location(&fix->prof, kernel, 0xffffffff81000010, LOCATION_KERNEL);
	profile_location(&fix->prof, kernel, 0xffffffffc0000010, LOCATION_KERNEL);
	run_with(fix, &opts);
	assert_int_equal(unnamed_cnt(fix, "kptr_restrict"), 2);
	/* It has been said. */
	assert_false(kernel_map_say_once(map));
	check_books(fix);
	kernel_map_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_hidden, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
