/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of perf script's text: every set of fields, and what only looks like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "encode/decode.h"
#include "encode/encoder.h"
#include "encode/perf_header.h"

static void read_text(const char *text, struct profile *out)
{
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(profile_init(out), 0);
	if (profile_decode(text, strlen(text), out, &why))
		fail_msg("%s", buf_cstr(&why));
	assert_int_equal(why.len, 0);
	buf_deinit(&why);
}

static void assert_folded(const char *text, const char *value, const char *expected)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE, .annotate = true};
	struct encoder_opts own = opts;
	struct profile prof;
	struct buf folded;

	read_text(text, &prof);
	own.value = profile_find_value(&prof, value);
	assert_int_not_equal(own.value, PROFILE_NONE);
	buf_init(&folded, BUF_NO_MAX);
	assert_int_equal(encoder_folded.encode(&prof, &own, &folded), 0);
	assert_string_equal(buf_cstr(&folded), expected);
	buf_deinit(&folded);
	profile_deinit(&prof);
}

/* --- The line of a sample --- */

struct header_case {
	const char *line, *comm, *event, *rest;
	int64_t pid, tid, cpu, period;
};

static const struct header_case headers[] = {
	{"hot 17  1264.322065:    2004008 cpu-clock: ", "hot", "cpu-clock", "", -1, 17, -1,
	 2004008},
	{"hot 17/18 [001]  1.5:  1 cycles:ppp: ", "hot", "cycles:ppp", "", 17, 18, 1, 1},
	{"V8 Worker 2 17/18 [001]  1.5:  1 cycles: ", "V8 Worker 2", "cycles", "", 17, 18, 1, 1},
	{"hot 17 [000] U   1.5: cycles: ", "hot", "cycles", "", -1, 17, 0, -1},
	{"U 17 1.5: cycles: ", "U", "cycles", "", -1, 17, -1, -1},
	{"17/18 1.5: cycles: ", "", "cycles", "", 17, 18, -1, -1},
	{"hot 17 1.5: ", "hot", "", "", -1, 17, -1, -1},
	{"hot 17 1.5:    250000 ", "hot", "", "", -1, 17, -1, 250000},
	{"hot 17 cycles: ", "hot", "cycles", "", -1, 17, -1, -1},
	{"hot 17 [002] 3 cycles: ", "hot", "cycles", "", -1, 17, 2, 3},
	{"   swapper     0 [000] 1.000000001: 9 cpu-clock:pppH:  ffff idle+0xb ([k])", "swapper",
	 "cpu-clock:pppH", "ffff idle+0xb ([k])", -1, 0, 0, 9},
	{"a 1 [000] 1.5: sched:sched_switch: prev_comm=x 2.5: y", "a", "sched:sched_switch",
	 "prev_comm=x 2.5: y", -1, 1, 0, -1},
};

static void assert_text(struct perf_text text, const char *expected)
{
	char copy[128];

	assert_true(text.len < sizeof(copy));
	memcpy(copy, text.str ? text.str : "", text.len);
	copy[text.len] = '\0';
	assert_string_equal(copy, expected);
}

static void test_headers(void **state)
{
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		const struct header_case *wanted = &headers[i];
		struct perf_header header;

		if (!perf_header_parse((struct perf_text){wanted->line, strlen(wanted->line)},
				       &header))
			fail_msg("not understood: %s", wanted->line);
		assert_text(header.comm, wanted->comm);
		assert_text(header.event, wanted->event);
		assert_text(header.rest, wanted->rest);
		assert_int_equal(header.pid, wanted->pid);
		assert_int_equal(header.tid, wanted->tid);
		assert_int_equal(header.cpu, wanted->cpu);
		assert_int_equal(header.period, wanted->period);
	}
}

static void test_other_text(void **state)
{
	static const char *const lines[] = {
		"",
		"main;f 12",
		"main;f 12 13",
		"main;f [000] 12",
		"sh; 0.5: 1",
		"std::map<int, x>::f(int) 12",
		"a 12 b: 3",
		"kworker/0:1;f 5",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (perf_script_sniff(lines[i], strlen(lines[i])))
			fail_msg("taken for perf script's: %s", lines[i]);
}

/* --- Samples --- */

static void test_chain(void **state)
{
	static const char text[] = "app 17/18 [001] 12.0: 250000 cycles: \n"
				   "\t            1182 leaf+0x19 (/bin/app)\n"
				   "\t            11ed f(int)::{lambda()#1}+0x2 (/lib/x y (1).so)\n"
				   "\tffffffff81000010 do_it+0x1 ([kernel.kallsyms])\n"
				   "\tffffffffc0000010 nf_x+0x1 ([nf_tables])\n"
				   "\t    7f1200001000 Lcom/Foo;::bar+0x1 (/tmp/perf-17.map)\n"
				   "\t    7f1200001000 __vdso_time+0x1 ([vdso])\n"
				   "\n"
				   "app 17/18 [001] 12.1: 50000 cycles: \n"
				   "\t            1182 leaf+0x20 (/bin/app)\n";

	assert_folded(text, "cycles",
		      "app;__vdso_time;Lcom/Foo:::bar_[j];nf_x_[k];do_it_[k];"
		      "f(int)::{lambda()#1};leaf 250000\n"
		      "app;leaf 50000\n");
	assert_folded(text, "samples",
		      "app;__vdso_time;Lcom/Foo:::bar_[j];nf_x_[k];do_it_[k];"
		      "f(int)::{lambda()#1};leaf 1\n"
		      "app;leaf 1\n");
}

static void test_unnamed(void **state)
{
	assert_folded("app 17 12.0: 1 cycles: \n"
		      "\t 1182 [unknown] (/lib/libc.so.6)\n"
		      "\t 7f12 [unknown] ([unknown])\n"
		      "\tffffffff81000010 [unknown] ([kernel.kallsyms])\n"
		      "\t 1182 [unknown] (/bin/app (deleted))\n",
		      "cycles", "app;[app];[kernel.kallsyms]_[k];[unknown+0x7f12];[libc.so.6] 1\n");
}

static void test_inlined(void **state)
{
	assert_folded("app 17 12.0: 1 cycles: \n"
		      "\t 1182 in2 (inlined)\n"
		      "\t 1182 in1 (inlined)\n"
		      "\t 1182 host+0x3 (/bin/app)\n"
		      "\t 1190 main+0x3 (/bin/app)\n"
		      "\t 1190 lost (inlined)\n",
		      "cycles", "app;lost;main;host;in1_[i];in2_[i] 1\n");
}

static void test_source_lines(void **state)
{
	static const char text[] = "app 17 12.0: 1 cycles: \n"
				   "\t 1182 in (inlined)\n"
				   "  in.h:7\n"
				   "\t 1182 host+0x3 (/bin/app)\n"
				   "  host.c:31 (discriminator 2)\n"
				   "\t 1190 main+0x3 (/bin/app)\n"
				   "  app[1190]\n"
				   "\t 1190 _start+0x3 (/bin/app)\n"
				   "  :0\n";
	static const char *const files[] = {"in.h", "host.c", "", ""};
	static const uint32_t numbers[] = {7, 31, 0, 0};
	struct profile prof;

	read_text(text, &prof);
	assert_int_equal(prof.line_cnt, 4);
	for (int i = 0; i < 4; i++) {
		uint32_t file = prof.functions[prof.lines[i].function].file;

		assert_string_equal(profile_str(&prof, file), files[i]);
		assert_int_equal(prof.lines[i].line, numbers[i]);
	}
	assert_int_equal(prof.location_cnt, 3);
	profile_deinit(&prof);
}

static void test_events(void **state)
{
	static const char text[] = "a 1 1.0: 100 cpu-clock: \n\t 1 f (/x)\n\n"
				   "a 1 1.1: 7 page-faults: \n\t 1 g (/x)\n\n"
				   "a 1 1.2: 200 cpu-clock: \n\t 1 f (/x)\n\n";
	struct profile prof;
	uint32_t clock;

	read_text(text, &prof);
	assert_int_equal(prof.value_type_cnt, 3);
	clock = profile_find_value(&prof, "cpu-clock");
	assert_int_equal(profile_total(&prof, profile_find_value(&prof, "samples")), 3);
	assert_int_equal(profile_total(&prof, clock), 300);
	assert_int_equal(profile_total(&prof, profile_find_value(&prof, "page-faults")), 7);
	assert_string_equal(profile_str(&prof, prof.value_types[clock].unit), "nanoseconds");
	assert_int_equal(prof.default_value, clock);
	profile_deinit(&prof);
}

static void test_no_periods(void **state)
{
	static const char one[] = "a 1 1.0: x: \n\t 1 f (/x)\n\na 1 1.0: x: \n\t 1 f (/x)\n";
	static const char two[] = "a 1 1.0: x: \n\t 1 f (/x)\n\na 1 1.0: y: \n\t 1 f (/x)\n";
	struct profile prof;

	read_text(one, &prof);
	assert_int_equal(prof.value_type_cnt, 1);
	assert_int_equal(profile_total(&prof, 0), 2);
	profile_deinit(&prof);
	read_text(two, &prof);
	assert_int_equal(prof.value_type_cnt, 3);
	assert_int_equal(profile_total(&prof, profile_find_value(&prof, "y")), 1);
	profile_deinit(&prof);
}

static void test_without_chain(void **state)
{
	assert_folded(
		"         swapper     0 [000]  1.5: 9 cycles:  ffff idle+0xb ([kernel])\n"
		"             bad    17 [001]  1.6: 8 cycles:      1182 leaf+0x19 (/bin/bad)\n",
		"cycles", "bad;leaf 8\nswapper;idle_[k] 9\n");
}

static void test_few_fields(void **state)
{
	assert_folded("hot 17 cycles: \n\tleaf (/bin/hot)\n\tadd (/bin/hot)\n", "samples",
		      "hot;add;leaf 1\n");
	assert_folded("hot 17 cycles:\n1182 leaf (/bin/hot)\n11ed main (/bin/hot)\n", "samples",
		      "hot;main;leaf 1\n");
	assert_folded("hot 17 1.5: \n\t 1182\n\t 11ed main\n", "samples",
		      "hot;main;[unknown+0x1182] 1\n");
}

static void test_records(void **state)
{
	assert_folded("perf 17 [000] 1.5: PERF_RECORD_MMAP2 17/17: [0x1(0x2) @ 0]: r-xp /bin/x\n"
		      "hot 17 [000] 1.6: 5 cycles: \n\t 1182 f (/x)\n"
		      "hot 17 [000] 1.7: PERF_RECORD_LOST lost 3\n",
		      "cycles", "hot;f 5\n");
}

static void test_bad_lines(void **state)
{
	static const char text[] = "a 1 1.0: x: \n\t 1 f (/x)\n\nno sample\n\t 1 g (/x)\n";
	struct profile prof;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_decode(text, strlen(text), &prof, &why), 0);
	assert_non_null(strstr(buf_cstr(&why), "the first is line 4"));
	assert_int_equal(prof.sample_cnt, 1);
	buf_deinit(&why);
	profile_deinit(&prof);
}

/* A NUL byte ends a name, also one that begins with it. */
static void test_nul_bytes(void **state)
{
	static const char text[] =
		"a 1 1.0: 5 \0x: \n\t 1 \0f (\0/x)\n\n\0 1 1.0: 6 y: \n\t 1 f (/x)\n";
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(perf_script_decode(text, sizeof(text) - 1, &prof, NULL), 0);
	assert_int_equal(prof.value_type_cnt, 3);
	assert_int_equal(profile_total(&prof, profile_find_value(&prof, "event")), 5);
	assert_int_equal(profile_total(&prof, profile_find_value(&prof, "y")), 6);
	profile_deinit(&prof);
}

static void test_too_many_events(void **state)
{
	struct profile prof;
	struct buf text, why;

	buf_init(&text, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	for (int i = 0; i < PROFILE_VALUES_MAX; i++)
		buf_printf(&text, "a 1 1.0: 1 event%d: \n\t 1 f (/x)\n\n", i);
	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_decode(text.data, text.len, &prof, &why), -EBADMSG);
	assert_non_null(strstr(buf_cstr(&why), "23"));
	buf_deinit(&text);
	buf_deinit(&why);
	profile_deinit(&prof);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),	      cmocka_unit_test(test_other_text),
		cmocka_unit_test(test_chain),	      cmocka_unit_test(test_unnamed),
		cmocka_unit_test(test_inlined),	      cmocka_unit_test(test_source_lines),
		cmocka_unit_test(test_events),	      cmocka_unit_test(test_no_periods),
		cmocka_unit_test(test_without_chain), cmocka_unit_test(test_few_fields),
		cmocka_unit_test(test_nul_bytes),     cmocka_unit_test(test_records),
		cmocka_unit_test(test_bad_lines),     cmocka_unit_test(test_too_many_events),
	};

	return cmocka_run_group_tests_name("encode/perf-script", tests, NULL, NULL);
}
