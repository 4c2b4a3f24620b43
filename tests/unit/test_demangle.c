/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling: Rust by our own code, C++ by the runtime's, suffixes, and names made to hurt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/cxx_bound.h"
#include "symbol/demangle.h"

struct pair {
	const char *mangled, *readable;
};

static int setup(void **state)
{
	*state = demangler_new();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	demangler_free(*state);
	return 0;
}

static void check_pairs(struct demangler *dem, const struct pair *pairs, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		size_t len = strlen(pairs[i].mangled);
		char *copy = malloc(len ? len : 1); /* no NUL: ASan sees a read too far */
		char out[DEMANGLE_MAX];
		bool is_demangled;

		assert_non_null(copy);
		memcpy(copy, pairs[i].mangled, len);
		is_demangled = demangle(dem, copy, len, out);
		assert_string_equal(out, pairs[i].readable);
		assert_int_equal(is_demangled, strcmp(pairs[i].mangled, pairs[i].readable) != 0);
		free(copy);
	}
}

static void test_plain_names(void **state)
{
	static const struct pair pairs[] = {
		{"", ""},
		{"_", "_"},
		{"_Z", "_Z"},
		{"main", "main"},
		{".llvm.123", ".llvm.123"},
		{"finish_task_switch.isra.0", "finish_task_switch.isra.0"},
		{"_Rust_is_not_meant", "_Rust_is_not_meant"},
		{"_ZN", "_ZN"},
		{"_Znot_a_mangled_name_at_all", "_Znot_a_mangled_name_at_all"},
		{"runtime.mallocgc", "runtime.mallocgc"},
		{"main.(*T).String", "main.(*T).String"},
	};

	check_pairs(*state, pairs, sizeof(pairs) / sizeof(*pairs));
}

static void test_rust_legacy(void **state)
{
	static const struct pair pairs[] = {
		{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
		{"_ZN4test4main17h05af221e174051e9E", "test::main"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		 "3bar17"
		 "h930b740aa94f1d3aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"},
		{"_ZN4core3ptr44drop_in_place$LT$$u5b$u8$u3b$$u20$4$u5d$$GT$17hfedcba9876543210E",
		 "core::ptr::drop_in_place<[u8; 4]>"},
		{"_ZN3foo3bar17h0123456789abcdefE.llvm.1234567890", "foo::bar"},
		{"_ZN3foo3bar17h0123456789abcdefE.cold", "foo::bar [clone .cold]"},
		{"_ZN3foo11$RF$mut$BP$17h0123456789abcdefE", "foo::&mut*"},
		{"_ZN3foo6$C$$LP17h0123456789abcdefE", "foo::,$LP"},
	};

	check_pairs(*state, pairs, sizeof(pairs) / sizeof(*pairs));
}

/* The RFC's own examples and one name for each rule of the grammar. */
static void test_rust_v0(void **state)
{
	static const struct pair pairs[] = {
		{"_RNvC7mycrate3foo", "mycrate::foo"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"_RNvNtC7mycrate3mod4func", "mycrate::mod::func"},
		{"_RNCNvC7mycrate3foo0", "mycrate::foo::{closure#0}"},
		{"_RNCNvC7mycrate3foos_0", "mycrate::foo::{closure#1}"},
		{"_RNCNCNvC7mycrate3foo00", "mycrate::foo::{closure#0}::{closure#0}"},
		{"_RNSNvC7mycrate3foo6vtable", "mycrate::foo::{shim:vtable#0}"},
		{"_RNXNvC7mycrate3foo0", "mycrate::foo::{X#0}"},
		{"_RNvMC7mycrateNtB2_3Foo3bar", "<mycrate::Foo>::bar"},
		{"_RNvMs_C7mycrateNtB4_3Foo3bar", "<mycrate::Foo>::bar"},
		{"_RNvXC7mycrateNtB2_3FooNtB2_3Bar3baz", "<mycrate::Foo as mycrate::Bar>::baz"},
		{"_RNvYmNtC7mycrate3Bar3baz", "<u32 as mycrate::Bar>::baz"},
		{"_RINvC7mycrate3fooaE", "mycrate::foo::<i8>"},
		{"_RINvC7mycrate3foolmE", "mycrate::foo::<i32, u32>"},
		{"_RINvC7mycrate3fooINtB2_3BarhEE", "mycrate::foo::<mycrate::Bar<u8>>"},
		{"_RINvC7mycrate3fooRmE", "mycrate::foo::<&u32>"},
		{"_RINvC7mycrate3fooRL_mE", "mycrate::foo::<&u32>"},
		{"_RINvC7mycrate3fooQmPhOtE", "mycrate::foo::<&mut u32, *const u8, *mut u16>"},
		{"_RINvC7mycrate3fooAhj4_E", "mycrate::foo::<[u8; 4]>"},
		{"_RINvC7mycrate3fooSeE", "mycrate::foo::<[str]>"},
		{"_RINvC7mycrate3fooTEThETbcEE", "mycrate::foo::<(), (u8,), (bool, char)>"},
		{"_RINvC7mycrate3fooFEuE", "mycrate::foo::<fn()>"},
		{"_RINvC7mycrate3fooFUKCmEzE", "mycrate::foo::<unsafe extern \"C\" fn(u32) -> !>"},
		{"_RINvC7mycrate3fooFK8rust_abiEuE", "mycrate::foo::<extern \"rust-abi\" fn()>"},
		{"_RINvC7mycrate3fooFG_RL0_hEB2_E",
		 "mycrate::foo::<for<'a> fn(&'a u8) -> mycrate>"},
		{"_RINvC7mycrate3fooDNtB2_3BarEL_E", "mycrate::foo::<dyn mycrate::Bar>"},
		{"_RINvC7mycrate3fooDNtB2_3BarNtB2_4SendEL_E",
		 "mycrate::foo::<dyn mycrate::Bar + mycrate::Send>"},
		{"_RINvC7mycrate3fooDNtB2_4Iterp4ItemmEL_E",
		 "mycrate::foo::<dyn mycrate::Iter<Item = u32>>"},
		{"_RINvC7mycrate3fooDINtB2_4ItermEp4ItemmEL_E",
		 "mycrate::foo::<dyn mycrate::Iter<u32, Item = u32>>"},
		{"_RINvC7mycrate3fooKj2a_Kin5_Kb1_Kb0_Kc41_KpE",
		 "mycrate::foo::<42, -5, true, false, 'A', _>"},
		{"_RINvC7mycrate3fooKc27_Kca_Kcdf_E", "mycrate::foo::<'\\'', '\\n', 'ß'>"},
		{"_RINvC7mycrate3fooKo10000000000000000_E", "mycrate::foo::<0x10000000000000000>"},
		{"_RINvC7mycrate3fooKRe6869_E", "mycrate::foo::<\"hi\">"},
		{"_RINvC7mycrate3fooKAh1_h2_EE", "mycrate::foo::<{[1, 2]}>"},
		{"_RINvC7mycrate3fooKTh1_EE", "mycrate::foo::<{(1,)}>"},
		{"_RINvC7mycrate3fooKVNtB2_1SS1xh1_EE", "mycrate::foo::<{mycrate::S { x: 1 }}>"},
		{"_RINvC7mycrate3fooKVNtB2_1STh1_EE", "mycrate::foo::<{mycrate::S(1)}>"},
		{"_RINvC7mycrate3fooKVNtB2_1SUE", "mycrate::foo::<{mycrate::S}>"},
		{"_RINvC7mycrate3fooKc1_Kc7f_E", "mycrate::foo::<'\\u{1}', '\\u{7f}'>"},
		{"_RINvC7mycrate3fooKRec3a90a22_E", "mycrate::foo::<\"é\\n\\\"\">"},
		{"_RINvC7mycrate3fooKe6869_E", "mycrate::foo::<{*\"hi\"}>"},
		{"_RINvC7mycrate3fooKRj7b_KQRj7b_E", "mycrate::foo::<{&123}, {&mut &123}>"},
		{"_RINvC7mycrate3fooKj7b_KBg_E", "mycrate::foo::<123, 123>"},
		{"_RINvC7mycrate3fooL_E", "mycrate::foo::<'_>"},
		{"_RNvNtC7mycrateu8gre_7ka6fstrae_pja", "_RNvNtC7mycrateu8gre_7ka6fstrae_pja"},
		{"_RNvC7mycrateu9strae_oqa", "mycrate::straße"},
		{"_RNvC7mycrateu8gdel_5qa", "mycrate::gödel"},
		{"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		 "utf8_idents::საჭმელად_გემრიელი_სადილი"},
		{"_RINvC7mycrate3foohEC5other", "mycrate::foo::<u8>"},
		{"_RNvC7mycrate3foo.llvm.123", "mycrate::foo"},
		{"_RNvC7mycrate3foo.cold.1", "mycrate::foo [clone .cold.1]"},
	};

	check_pairs(*state, pairs, sizeof(pairs) / sizeof(*pairs));
}

static void test_broken_rust_v0(void **state)
{
	static const struct pair pairs[] = {
		{"_RNvC7mycrate", "_RNvC7mycrate"},
		{"_RNvB_3foo", "_RNvB_3foo"}, /* refers to itself */
		{"_RNvC7mycrate99foo", "_RNvC7mycrate99foo"},
		{"_R1NvC7mycrate3foo", "_R1NvC7mycrate3foo"}, /* a version to come */
		{"_RINvC7mycrate3fooRL5_mE", "_RINvC7mycrate3fooRL5_mE"}, /* no such lifetime */
		{"_RINvC7mycrate3foo", "_RINvC7mycrate3foo"},
		{"_RNvC7mycrate3foo garbage", "_RNvC7mycrate3foo garbage"},
		{"_RINvC7mycrate3fooKb1", "_RINvC7mycrate3fooKb1"},
		{"_RINvC7mycrate3fooKRe61", "_RINvC7mycrate3fooKRe61"},
		{"_RINvC7mycrate3fooKb2_E", "_RINvC7mycrate3fooKb2_E"},
		{"_RINvC7mycrate3fooKc1000000_E", "_RINvC7mycrate3fooKc1000000_E"},
		{"_RINvC7mycrate3fooKjxyz_E", "_RINvC7mycrate3fooKjxyz_E"},
		{"_RINvC7mycrate3fooKRe616_E", "_RINvC7mycrate3fooKRe616_E"},
		{"_RINvC7mycrate3fooKVNtB2_1SXE", "_RINvC7mycrate3fooKVNtB2_1SXE"},
		{"_RINvC7mycrate3fooKZE", "_RINvC7mycrate3fooKZE"},
		{"_RINvC7mycrate3fooFGzzzzzzzzzz_EuE", "_RINvC7mycrate3fooFGzzzzzzzzzz_EuE"},
	};

	check_pairs(*state, pairs, sizeof(pairs) / sizeof(*pairs));
}

static void test_cxx(void **state)
{
	static const struct pair pairs[] = {
		{"_Z3foov", "foo()"},
		{"_ZN1a1bEv.cold", "a::b() [clone .cold]"},
		{"_ZN1a1bEv.isra.0.cold", "a::b() [clone .isra.0] [clone .cold]"},
		{"_ZN1a1bEv.constprop.0.llvm.99", "a::b() [clone .constprop.0]"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		/* Rust's shape, but a hash of few digits is C++'s. */
		{"_ZN3foo17h0000000000000000E", "foo::h0000000000000000"},
		{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
	};
	struct demangler *dem = *state;

	if (!demangler_has_cxx(dem)) {
		print_message("skip - no C++ runtime on this machine\n");
		skip();
	}
	check_pairs(dem, pairs, sizeof(pairs) / sizeof(*pairs));
}

/* f(A<i,i>, A<S1,S1>, A<S2,S2>, ...): each argument is twice as long as the one before. */
static size_t put_doubling_name(char *out, size_t size, int doublings)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t len = (size_t)snprintf(out, size, "_Z1f1AIiiE");

	for (int i = 0; i < doublings; i++)
		len += (size_t)snprintf(out + len, size - len, "S_IS%c_S%c_E", digits[i],
					digits[i]);
	return len;
}

static void test_cxx_that_explodes(void **state)
{
	char mangled[1024], out[DEMANGLE_MAX];
	size_t len = put_doubling_name(mangled, sizeof(mangled), 30);
	uint64_t begin_ns = clock_monotonic_ns();

	assert_int_equal(cxx_demangled_bound(mangled, len), UINT32_MAX);
	assert_false(demangle(*state, mangled, len, out));
	assert_string_equal(out, mangled);
	assert_true(clock_monotonic_ns() - begin_ns < NSEC_PER_SEC);
	/* The estimate is one: never below what comes out. */
	for (int i = 0; i < 8; i++) {
		struct demangler *dem = *state;

		len = put_doubling_name(mangled, sizeof(mangled), i);
		demangle(dem, mangled, len, out);
		assert_true(!demangler_has_cxx(dem) ||
			    strlen(out) < 6 * cxx_demangled_bound(mangled, len));
	}
}

static void test_limits(void **state)
{
	static char mangled[MANGLED_MAX + 64];
	char out[DEMANGLE_MAX];
	size_t len;

	/* A long result is cut and says so. */
	len = (size_t)snprintf(mangled, sizeof(mangled), "_RNvC7mycrate2000");
	memset(mangled + len, 'a', 2000);
	assert_true(demangle(*state, mangled, len + 2000, out));
	assert_int_equal(strlen(out), DEMANGLE_MAX - 1);
	assert_memory_equal(out, "mycrate::aaa", 12);
	assert_string_equal(out + DEMANGLE_MAX - 4, "...");

	/* A long name that is not mangled, too. */
	memset(mangled, 'b', sizeof(mangled));
	assert_false(demangle(*state, mangled, sizeof(mangled), out));
	assert_string_equal(out + DEMANGLE_MAX - 5, "b...");

	/* Beyond MANGLED_MAX nothing is tried. */
	memcpy(mangled, "_RNvC7mycrate4050", 17);
	assert_false(demangle(*state, mangled, 17 + 4090, out));
}

/* References that multiply, nesting without end, and both without output. */
static void test_hostile_rust_v0(void **state)
{
	static char mangled[MANGLED_MAX];
	char out[DEMANGLE_MAX];
	uint64_t begin_ns = clock_monotonic_ns();
	size_t len;

	memset(mangled, 'R', sizeof(mangled));
	memcpy(mangled, "_RINvC1a1b", 10);
	assert_false(demangle(*state, mangled, sizeof(mangled), out));
	memset(mangled, 'N', sizeof(mangled));
	memcpy(mangled, "_R", 2);
	assert_false(demangle(*state, mangled, sizeof(mangled), out));

	/* T..E of references to the tuple before: doubles each time. */
	len = (size_t)snprintf(mangled, sizeof(mangled), "_RINvC1a1bThhE");
	for (size_t at = 8; len < 400;) {
		static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
					     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		size_t begin = len - 2, number = at - 1;
		char ref[8];

		if (number < 62)
			snprintf(ref, sizeof(ref), "B%c_", digits[number]);
		else
			snprintf(ref, sizeof(ref), "B%c%c_", digits[number / 62],
				 digits[number % 62]);
		len += (size_t)snprintf(mangled + len, sizeof(mangled) - len, "T%s%sE", ref, ref);
		at = begin;
	}
	mangled[len++] = 'E';
	assert_true(demangle(*state, mangled, len, out));
	assert_memory_equal(out, "a::b::<(u8, u8), ((u8, u8), (u8, u8)), ", 39);
	assert_true(clock_monotonic_ns() - begin_ns < NSEC_PER_SEC);
}

static void test_trunk(void **state)
{
	static const struct {
		const char *name, *trunk;
	} cases[] = {
		{"f", "f"},
		{"f.cold", "f"},
		{"_ZN1a1bEv.isra.0.cold", "_ZN1a1bEv"},
		{"f.part.12", "f"},
		{"f.llvm.8123", "f"},
		{"f.constprop.0.isra.1", "f"},
		{"main.init", "main.init"},
		{"f.cold.mine", "f.cold.mine"},
		{"runtime.f.cold", "runtime.f"},
		{".hidden", ".hidden"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(demangle_trunk_len(cases[i].name, strlen(cases[i].name)),
				 strlen(cases[i].trunk));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trunk),
		cmocka_unit_test(test_plain_names),
		cmocka_unit_test(test_rust_legacy),
		cmocka_unit_test(test_rust_v0),
		cmocka_unit_test(test_broken_rust_v0),
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_cxx_that_explodes),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_hostile_rust_v0),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
