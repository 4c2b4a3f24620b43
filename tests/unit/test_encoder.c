/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file's name chooses, and which reader its content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "encode/decode.h"
#include "encode/encoder.h"

static void test_by_extension(void **state)
{
	assert_ptr_equal(encoder_for_path("-"), &encoder_folded);
	assert_ptr_equal(encoder_for_path("a.folded"), &encoder_folded);
	assert_ptr_equal(encoder_for_path("/x.svg/a.b.pb.gz"), &encoder_pprof);
	assert_ptr_equal(encoder_for_path("out.svg"), &encoder_svg);
	assert_ptr_equal(encoder_for_path("a.json"), &encoder_json);
	assert_ptr_equal(encoder_for_path("a.speedscope.json"), &encoder_speedscope);
	assert_ptr_equal(encoder_for_path("a.perf.txt"), &encoder_perf_script);
	assert_ptr_equal(encoder_for_path("callgrind.out.callgrind"), &encoder_callgrind);
	assert_ptr_equal(encoder_for_path("a.dot"), &encoder_dot);
	assert_ptr_equal(encoder_for_path("default.pgo"), &encoder_pgo);
	assert_ptr_equal(encoder_for_path("a.afdo.txt"), &encoder_autofdo);
	assert_null(encoder_for_path("a.txt"));
	assert_null(encoder_for_path(""));
	assert_null(encoder_for_path("out"));
	assert_null(encoder_for_path("out.SVG"));
	assert_null(encoder_for_path("out.gz"));
	assert_null(encoder_for_path("x.folded/out"));
	assert_null(encoder_for_path(".svg"));
}

/* The name of the reader that profile_decode() would choose for @text. */
static const char *sniff(const char *text, size_t len)
{
	const struct decoder *const *decoder = decoder_list();

	while (!(*decoder)->sniff(text, len))
		decoder++;
	return (*decoder)->name;
}

static void test_readers(void **state)
{
	static const char *const texts[][2] = {
		{"", "folded"},
		{"main;f 3\n", "folded"},
		{"{main};f 3\n", "folded"},
		{"{closure#0} 3\n", "folded"},
		{"# a comment\nmain;f 3\n", "folded"},
		{"main;f 12 [000] 3\n", "folded"},
		{"main;\x1b[31mf 3\n", "folded"},
		{"main;\x1b[31mf 3\r\nmain 1\n", "folded"},
		{"main;\x1b[31mf three\n", "pprof"},
		{"\x1b\x01 3", "pprof"},
		{"{}", "json"},
		{" \n{ \"format\": 1}", "json"},
		{"# ========\n# captured on\n", "perf-script"},
		{"\n# x\napp 1 [000] 1.5: cycles: \n\t 1 f (/x)\n", "perf-script"},
		{"   app 1 [000] 1.5: cycles: 1 f (/x)\n", "perf-script"},
		{"\x0a\x04\x08\x01\x10\x02", "pprof"},
		{"\x0a\x04\x08\x01\x10\x02 3\n", "pprof"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_string_equal(sniff(texts[i][0], strlen(texts[i][0])), texts[i][1]);
}

static void test_other_json(void **state)
{
	static const char text[] = "{\"$schema\": \"https://www.speedscope.app/\"}";
	struct profile prof;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_decode(text, strlen(text), &prof, &why), -EBADMSG);
	assert_non_null(strstr(buf_cstr(&why), "no profile of ours"));
	buf_deinit(&why);
	profile_deinit(&prof);
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
		cmocka_unit_test(test_readers),
		cmocka_unit_test(test_other_json),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests_name("encode/encoder", tests, NULL, NULL);
}
