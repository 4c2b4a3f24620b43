/* SPDX-License-Identifier: Apache-2.0 */
/* Names as people type them for probes: of libraries, of C++ functions, mistyped ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "event/cxx_name.h"
#include "event/function_search.h"
#include "event/ifunc.h"
#include "event/suggest.h"
#include "event/target_search.h"

/* Files in the order in which they are preferred; what comes behind the NULL is not meant. */
static void check_ranks(const char *name, const char *const *files)
{
	int last = INT32_MAX;

	for (; *files; files++) {
		int rank = target_name_rank(name, *files);

		if (!rank || rank > last)
			fail_msg("'%s' for '%s' has rank %d behind %d", *files, name, rank, last);
		last = rank;
	}
	for (files++; *files; files++) {
		if (target_name_rank(name, *files))
			fail_msg("'%s' is not '%s'", *files, name);
	}
}

#define CHECK_RANKS(name, ...) check_ranks(name, (const char *const[]){__VA_ARGS__, NULL})

static void test_libraries(void **state)
{
	CHECK_RANKS("libc", "libc", "libc.so.6", "ld-musl-x86_64.so.1", "libc.so", "libc-2.31.so",
		    NULL, "libcrypt.so.1", "libc-client.so.2007e", "libc6", "lib", "libc++.so.1");
	CHECK_RANKS("libssl", "libssl.so.3", NULL, "libssl3.so", "libsslcommon.so");
	CHECK_RANKS("libssl.so", "libssl.so", "libssl.so.1.1", NULL, "libssl.solid",
		    "libssl.so.gz");
	CHECK_RANKS("libc.so.6", "libc.so.6", NULL, "libc.so", "libc.so.60", "libc-2.31.so");
	CHECK_RANKS("postgres", "postgres", NULL, "postgresql", "postgres.conf", "");
	CHECK_RANKS("", NULL, "", "libc.so");
}

static void check_cxx(const char *mangled, const char *expected, const char *expected_params)
{
	char name[CXX_NAME_MAX];
	const char *params;

	if (!expected) {
		assert_false(cxx_plain_name(mangled, name, &params));
		return;
	}
	assert_true(cxx_plain_name(mangled, name, &params));
	assert_string_equal(name, expected);
	assert_string_equal(params, expected_params);
}

static void test_cxx_names(void **state)
{
	check_cxx("_Z4freePv", "free", "Pv");
	check_cxx("_ZL4filei", "file", "i");
	check_cxx("_ZN3net6Server6acceptEib", "net::Server::accept", "ib");
	check_cxx("_ZNK3net6Server4sizeEv", "net::Server::size", "v");
	check_cxx("_ZN3net6ServerC1Ei", "net::Server::Server", "i");
	check_cxx("_ZN3net6ServerD0Ev", "net::Server::~Server", "v");
	check_cxx("_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run", "v");
	check_cxx("_ZNSt6thread4joinEv", "std::thread::join", "v");
	check_cxx("_ZSt9terminatev", "std::terminate", "v");
	check_cxx("_Znwm", "operator new", "m");
	check_cxx("_ZN3FooclEi", "Foo::operator()", "i");
	check_cxx("_ZN3Foo4nameB5cxx11Ev", "Foo::name", "v");
	check_cxx("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", "");
	check_cxx("_ZN3foo3barEv.isra.0", "foo::bar", "v.isra.0");
}

static void test_not_plain(void **state)
{
	static const char *const others[] = {
		"",
		"main",
		"_Z",
		"_ZN",
		"_ZNE",
		"_Z3fo",
		"_ZN3foo",
		"_ZN3fooI",
		"_ZTV3Foo",
		"_ZN3fooIiE3barEv",
		"_Z3fooIiEvT_",
		"_ZN99999999999999999999aE",
		"_ZC1v",
		"_ZNSs4sizeEv",
		"_Z17h0123456789abcdefE",
		"_ZN17h0123456789abcdefE",
	};
	char mangled[2 * CXX_NAME_MAX] = "_Z600";

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		check_cxx(others[i], NULL, NULL);
	memset(mangled + 5, 'x', 700);
	check_cxx(mangled, NULL, NULL);
}

static void test_parts_and_variants(void **state)
{
	assert_true(is_function_part("run.cold"));
	assert_true(is_function_part("run.cold.3"));
	assert_false(is_function_part("run.colder"));
	assert_false(is_function_part("run.isra.0"));
	assert_true(ifunc_is_variant("strlen", "__strlen_avx2"));
	assert_true(ifunc_is_variant("memcpy", "__memcpy_avx_unaligned_erms"));
	assert_false(ifunc_is_variant("memcpy", "__memcpy_chk_avx_unaligned"));
	assert_false(ifunc_is_variant("strcasecmp", "__strcasecmp_l_avx"));
	assert_false(ifunc_is_variant("strlen", "__strnlen_avx2"));
	assert_false(ifunc_is_variant("strlen", "strlen_avx2"));
	assert_false(ifunc_is_variant("strlen", "__strlen"));
}

static void check_suggestions(const char *typed, const char *const *names, const char *expected)
{
	struct suggest near;
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	suggest_init(&near, typed);
	for (; *names; names++)
		suggest_offer(&near, *names);
	suggest_print(&near, &text);
	assert_string_equal(buf_cstr(&text), expected);
	suggest_deinit(&near);
	buf_deinit(&text);
}

#define CHECK_SUGGESTIONS(typed, expected, ...) \
	check_suggestions(typed, (const char *const[]){__VA_ARGS__, NULL}, expected)

static void test_suggestions(void **state)
{
	CHECK_SUGGESTIONS("maloc", "; near it: malloc", "free", "valloc", "malloc", "malloc",
			  "calloc_more");
	CHECK_SUGGESTIONS("malloc", "; near it: malloc_trim, valloc, calloc", "calloc", "valloc",
			  "malloc_trim", "palloc");
	CHECK_SUGGESTIONS("x", "", "main", "free");
	CHECK_SUGGESTIONS("aaaaaa", "; near it: aaaaab, aaaabb", "aaaabb", "aaaaab", "aabbbb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libraries),   cmocka_unit_test(test_cxx_names),
		cmocka_unit_test(test_not_plain),   cmocka_unit_test(test_parts_and_variants),
		cmocka_unit_test(test_suggestions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
