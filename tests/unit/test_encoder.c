/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file's name chooses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "encode/encoder.h"

static void test_by_extension(void **state)
{
	assert_ptr_equal(encoder_for_path("-"), &encoder_folded);
	assert_ptr_equal(encoder_for_path("a.folded"), &encoder_folded);
	assert_ptr_equal(encoder_for_path("/x.svg/a.b.pb.gz"), &encoder_pprof);
	assert_ptr_equal(encoder_for_path("out.svg"), &encoder_svg);
	assert_null(encoder_for_path(""));
	assert_null(encoder_for_path("out"));
	assert_null(encoder_for_path("out.SVG"));
	assert_null(encoder_for_path("out.gz"));
	assert_null(encoder_for_path("x.folded/out"));
	assert_null(encoder_for_path(".svg"));
}

static void test_list(void **state)
{
	size_t cnt = 0;

	for (const struct encoder *const *encoder = encoder_list(); *encoder; encoder++, cnt++) {
		assert_non_null((*encoder)->encode);
		assert_non_null((*encoder)->help);
		assert_int_equal((*encoder)->extension[0], '.');
	}
	assert_true(cnt >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_extension),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests_name("encode/encoder", tests, NULL, NULL);
}
