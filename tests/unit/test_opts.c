/* SPDX-License-Identifier: Apache-2.0 */
/* The option table: every way to write an option, and every way to get one wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"
#include "cli/opts.h"
#include "cli/completion.h"
#include "cli/opts_help.h"

#define PARSE(test, ...) parse(test, (char *[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct target {
	bool all, idle, no_inherit;
	const char *title;
	struct opts_list outputs;
	uint64_t freq, count, bytes, time_ns, depth;
	double percent;
	struct number_set pids;
	struct opts_choices sort, by;
	int operand_cnt;
};

#define AT(member, type) .offset = OPT_AT(struct target, member, type)

static const struct opt_choice sort_choices[] = {{"self", 1}, {"total", 2}, {NULL}};
static const struct opt_choice by_choices[] = {{"comm", 1}, {"pid", 4}, {"cpu", 8}, {NULL}};

static const struct opt options[] = {
	{OPT_GROUP, .help = "Group one"},
	{OPT_FLAG, 'a', "all-cpus", AT(all, bool), .help = "every CPU"},
	{OPT_FLAG, 'I', "idle", AT(idle, bool), .flags = OPT_NEGATABLE, .help = "idle too"},
	{OPT_FLAG, 0, "no-inherit", AT(no_inherit, bool), .flags = OPT_NEGATABLE, .help = "alone"},
	{OPT_STRING, 0, "title", "TEXT", AT(title, const char *), .help = "the title"},
	{OPT_LIST, 'o', "output", "FILE", AT(outputs, struct opts_list), .flags = OPT_IS_FILE,
	 .help = "where to"},
	{OPT_NUMBER, 'F', "freq", "HZ", AT(freq, uint64_t), .min = 1, .help = "how often"},
	{OPT_NUMBER, 0, "max-depth", "N", AT(depth, uint64_t), .min = 2, .max = 512,
	 .help = "how deep"},
	{OPT_COUNT, 'c', "count", "N", AT(count, uint64_t), .help = "every N"},
	{OPT_BYTES, 0, "max-memory", "BYTES", AT(bytes, uint64_t), .help = "how much"},
	{OPT_GROUP, .help = "Group two"},
	{OPT_DURATION, 'd', "duration", "TIME", AT(time_ns, uint64_t), .help = "how long"},
	{OPT_PERCENT, 0, "percent", "PCT", AT(percent, double), .help = "which share"},
	{OPT_NUMBERS, 'p', "pid", "LIST", AT(pids, struct number_set), .help = "which"},
	{OPT_CHOICE, 0, "sort", "KEY", AT(sort, struct opts_choices), .choices = sort_choices,
	 .help = "in which order"},
	{OPT_CHOICES, 0, "by", "LIST", AT(by, struct opts_choices), .choices = by_choices,
	 .help = "split by"},
	{OPT_END},
};

/* As record's: the first number is ours, anything else begins COMMAND. */
static bool take_number(void *target, const char *arg)
{
	struct target *into = target;
	uint64_t time_ns;

	if (parse_duration_ns(arg, &time_ns))
		return false;
	if (!into->operand_cnt++)
		into->time_ns = time_ns;
	return true;
}

static const struct opts_example examples[] = {{"bpfprof run -a", "all of it"}, {NULL}};

static const struct opts_spec command_spec = {
	.name = "run",
	.usage = "run [OPTIONS] [SECONDS] [-- COMMAND]",
	.summary = "Run it",
	.options = options,
	.examples = examples,
	.take_operand = take_number,
};

static const struct opts_spec files_spec = {
	.name = "show",
	.usage = "show FILE...",
	.summary = "Show it",
	.options = options,
};

struct test {
	const struct opts_spec *spec;
	struct target got;
	struct opts_args args;
	struct buf why;
};

static int parse(struct test *test, char **argv)
{
	int argc = 0;

	opts_deinit(test->spec, &test->got, &test->args);
	buf_deinit(&test->why);
	buf_init(&test->why, BUF_NO_MAX);
	test->got = (struct target){0};
	while (argv[argc])
		argc++;
	return opts_parse(test->spec, argc, argv, &test->got, &test->args, &test->why);
}

static int setup(void **state)
{
	static struct test test;

	test = (struct test){.spec = &command_spec};
	buf_init(&test.why, BUF_NO_MAX);
	*state = &test;
	return 0;
}

static int setup_files(void **state)
{
	setup(state);
	((struct test *)*state)->spec = &files_spec;
	return 0;
}

static int teardown(void **state)
{
	struct test *test = *state;

	opts_deinit(test->spec, &test->got, &test->args);
	buf_deinit(&test->why);
	return 0;
}

static void test_nothing(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test), 0);
	assert_false(test->got.all);
	assert_null(test->args.command);
	assert_int_equal(test->args.operands.cnt, 0);
}

static void test_spellings(void **state)
{
	struct test *test = *state;
	char *spellings[][3] = {
		{"-F", "99", NULL},  {"-F99", NULL},  {"--freq", "99", NULL},
		{"--freq=99", NULL}, {"-aF99", NULL}, {"-aIF", "99", NULL},
	};

	for (size_t i = 0; i < COUNT(spellings); i++) {
		assert_int_equal(parse(test, spellings[i]), 0);
		assert_int_equal(test->got.freq, 99);
	}
}

static void test_bundles(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "-aIq"), 0);
	assert_true(test->got.all && test->got.idle && test->args.quiet);
	assert_int_equal(PARSE(test, "-vao", "x.svg", "-I"), 0);
	assert_true(test->args.verbose && test->got.all && test->got.idle);
	assert_string_equal(test->got.outputs.items[0], "x.svg");
	assert_int_equal(PARSE(test, "-oaI"), 0); /* the rest is the value */
	assert_string_equal(test->got.outputs.items[0], "aI");
	assert_false(test->got.all);
	assert_int_equal(PARSE(test, "-azI"), -EINVAL);
	assert_string_equal(buf_cstr(&test->why), "unknown option '-z' (see bpfprof run --help)");
}

static void test_negation(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "--idle", "--no-idle"), 0);
	assert_false(test->got.idle);
	assert_int_equal(PARSE(test, "--no-idle", "-I"), 0);
	assert_true(test->got.idle);
	assert_int_equal(PARSE(test, "--no-inherit"), 0);
	assert_true(test->got.no_inherit);
	assert_int_equal(PARSE(test, "--no-inherit", "--inherit"), 0);
	assert_false(test->got.no_inherit);
	assert_int_equal(PARSE(test, "--no-no-inherit"), -EINVAL);
	assert_int_equal(PARSE(test, "--no-all-cpus"), -EINVAL); /* not negatable */
	assert_int_equal(PARSE(test, "--no-freq"), -EINVAL);
}

static void test_values(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "-c", "10k", "--max-memory", "64M", "-d", "1.5", "--percent",
			       "2.5", "--sort", "total", "--by", "comm,cpu", "--title", "a b"),
			 0);
	assert_int_equal(test->got.count, 10000);
	assert_int_equal(test->got.bytes, 64 << 20);
	assert_int_equal(test->got.time_ns, 1500000000);
	assert_true(test->got.percent == 2.5);
	assert_int_equal(test->got.sort.bits, 2);
	assert_string_equal(test->got.sort.text, "total");
	assert_int_equal(test->got.by.bits, 9);
	assert_string_equal(test->got.by.text, "comm,cpu");
	assert_string_equal(test->got.title, "a b");
}

static void test_duplicates(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "-F", "1", "-F2", "--freq=3"), 0);
	assert_int_equal(test->got.freq, 3);
	assert_int_equal(PARSE(test, "-o", "a", "--output=b", "-oc"), 0);
	assert_int_equal(test->got.outputs.cnt, 3);
	assert_string_equal(test->got.outputs.items[2], "c");
	assert_null(test->got.outputs.items[3]);
	assert_int_equal(PARSE(test, "-p", "7,3", "-p5-6", "--pid=3"), 0);
	assert_int_equal(test->got.pids.cnt, 4);
	assert_int_equal(test->got.pids.items[0], 3);
	assert_int_equal(test->got.pids.items[3], 7);
	assert_int_equal(PARSE(test, "--by", "pid", "--by", "cpu"), 0);
	assert_int_equal(test->got.by.bits, 8);
}

static void test_missing_values(void **state)
{
	struct test *test = *state;
	char *missing[][4] = {
		{"-F", NULL},
		{"--freq", NULL},
		{"--freq=", NULL},
		{"-aF", NULL},
		{"-o", "--idle", NULL},
		{"-o", "-I", NULL},
		{"-o", "--", "x", NULL},
		{"--title", "-x", NULL},
		{"--output", "", NULL},
	};

	for (size_t i = 0; i < COUNT(missing); i++) {
		assert_int_equal(parse(test, missing[i]), -EINVAL);
		assert_non_null(strstr(buf_cstr(&test->why), "needs a value ("));
	}
	PARSE(test, "-aF");
	assert_string_equal(buf_cstr(&test->why), "option '-F' needs a value (HZ)");
}

static void test_values_with_dashes(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "-o", "-", "--title=-x", "--title", "- x -"), 0);
	assert_string_equal(test->got.outputs.items[0], "-");
	assert_string_equal(test->got.title, "- x -");
	assert_int_equal(PARSE(test, "--title=--idle=", "-o-"), 0);
	assert_string_equal(test->got.title, "--idle=");
	assert_string_equal(test->got.outputs.items[0], "-");
}

static void test_negative_numbers(void **state)
{
	struct test *test = *state;

	/* taken as the value, so that the message is about the number */
	assert_int_equal(PARSE(test, "-F", "-5"), -EINVAL);
	assert_string_equal(buf_cstr(&test->why), "option '-F': '-5' is not a number");
	assert_int_equal(PARSE(test, "--freq=-5"), -EINVAL);
	assert_int_equal(PARSE(test, "-p", "-1"), -EINVAL);
	assert_int_equal(PARSE(test, "-d", "-1s"), -EINVAL);
	assert_int_equal(PARSE(test, "-5"), -EINVAL);
	assert_non_null(strstr(buf_cstr(&test->why), "unknown option '-5'"));
}

static void test_bad_values(void **state)
{
	struct test *test = *state;
	static const struct {
		char *option, *value;
		const char *why;
	} bad[] = {
		{"-F", "abc", "option '-F': 'abc' is not a number"},
		{"--freq", "99x", "option '--freq': '99x' is not a number"},
		{"-F", "=99", "option '-F': '=99' is not a number"},
		{"-F", "0", "option '-F': '0' must be more than 0"},
		{"-F", "99999999999999999999", "option '-F': '99999999999999999999' is too large"},
		{"--max-depth", "1",
		 "option '--max-depth': '1' is too small, at least 2 is needed"},
		{"--max-depth", "513",
		 "option '--max-depth': '513' is too large, at most 512 is possible"},
		{"-c", "1q", "option '-c': '1q' is not a number such as 1000, 64k or 10M"},
		{"--max-memory", "x",
		 "option '--max-memory': 'x' is not a size such as 4096, 64k "
		 "or 10M"},
		{"-d", "soon",
		 "option '-d': 'soon' is not a time such as 30, 0.5, 500ms, 20us or "
		 "5m"},
		{"-p", "1,x", "option '-p': '1,x' is not a list of numbers such as 0,2-5"},
		{"--sort", "size", "option '--sort': 'size' is not one of self, total"},
		{"--sort", "self,total", "option '--sort': 'self,total' is not one of self, total"},
		{"--by", "comm,x", "option '--by': 'x' is not one of comm, pid, cpu"},
		{"--by", "comm,", "option '--by': '' is not one of comm, pid, cpu"},
		{"--by", "com", "option '--by': 'com' is not one of comm, pid, cpu"},
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(PARSE(test, bad[i].option, bad[i].value), -EINVAL);
		assert_string_equal(buf_cstr(&test->why), bad[i].why);
	}
}

static void test_percent(void **state)
{
	struct test *test = *state;
	char *bad[] = {"-1", "100.1", "nan",   "inf", "0x10", "1e1",
		       " 5", "5 ",    "1.2.3", ".",   "%",    "5%%"};

	assert_int_equal(PARSE(test, "--percent", "0"), 0);
	assert_int_equal(PARSE(test, "--percent", "100"), 0);
	assert_true(test->got.percent == 100);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(PARSE(test, "--percent", bad[i]), -EINVAL);
}

static void test_failed_value_changes_nothing(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "-F", "7", "-F", "x"), -EINVAL);
	assert_int_equal(test->got.freq, 7);
	assert_int_equal(PARSE(test, "--by", "pid", "--by", "cpu,x"), -EINVAL);
	assert_int_equal(test->got.by.bits, 4);
}

static void test_flags_take_no_value(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "--idle=yes"), -EINVAL);
	assert_string_equal(buf_cstr(&test->why), "option '--idle' takes no value, but got 'yes'");
	assert_int_equal(PARSE(test, "--no-idle="), -EINVAL);
}

static void test_no_abbreviations(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "--fre", "99"), -EINVAL);
	assert_string_equal(buf_cstr(&test->why),
			    "unknown option '--fre' (did you mean '--freq'? see bpfprof run "
			    "--help)");
	assert_int_equal(PARSE(test, "--max", "9"), -EINVAL);
	assert_int_equal(PARSE(test, "--idl"), -EINVAL);
	assert_int_equal(PARSE(test, "--freqq=9"), -EINVAL);
	assert_int_equal(PARSE(test, "--al-cpus"), -EINVAL);
	assert_false(test->got.all);
}

static void test_unknown(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "--frobnicate=3"), -EINVAL);
	assert_string_equal(buf_cstr(&test->why),
			    "unknown option '--frobnicate' (see bpfprof run --help)");
	assert_int_equal(PARSE(test, "--hlep"), -EINVAL);
	assert_non_null(strstr(buf_cstr(&test->why), "did you mean '--help'"));
	assert_int_equal(PARSE(test, "--="), -EINVAL);
	assert_int_equal(PARSE(test, "---"), -EINVAL);
	assert_int_equal(PARSE(test, "--Group one"), -EINVAL);
}

static void test_command(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "-a", "--", "ls", "-F", "0"), 0);
	assert_string_equal(test->args.command[0], "ls");
	assert_string_equal(test->args.command[2], "0");
	assert_null(test->args.command[3]);
	assert_int_equal(test->got.freq, 0);
	/* without "--" as well: options end at the first word that is not ours */
	assert_int_equal(PARSE(test, "-a", "ls", "-I", "--", "x"), 0);
	assert_string_equal(test->args.command[1], "-I");
	assert_string_equal(test->args.command[2], "--");
	assert_false(test->got.idle);
	/* a number after "--" is a program */
	assert_int_equal(PARSE(test, "--", "5"), 0);
	assert_string_equal(test->args.command[0], "5");
	assert_int_equal(test->got.operand_cnt, 0);
	assert_int_equal(PARSE(test, "-a", "--"), -EINVAL);
	assert_string_equal(buf_cstr(&test->why), "no COMMAND after '--' (see bpfprof run --help)");
}

static void test_seconds(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "-a", "5", "-I", "--", "ls", "7"), 0);
	assert_int_equal(test->got.time_ns, 5000000000);
	assert_true(test->got.idle);
	assert_string_equal(test->args.command[1], "7");
	assert_int_equal(PARSE(test, "500ms", "ls", "3"), 0);
	assert_int_equal(test->got.time_ns, 500000000);
	assert_string_equal(test->args.command[0], "ls");
	/* the second number is kept for the command to refuse, and does not change the first */
	assert_int_equal(PARSE(test, "5", "7"), 0);
	assert_int_equal(test->got.time_ns, 5000000000);
	assert_int_equal(test->args.operands.cnt, 2);
	assert_string_equal(test->args.operands.items[1], "7");
}

static void test_files(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "a", "-I", "b", "-", "--", "-c", "--"), 0);
	assert_true(test->got.idle);
	assert_null(test->args.command);
	assert_int_equal(test->args.operands.cnt, 5);
	assert_string_equal(test->args.operands.items[2], "-");
	assert_string_equal(test->args.operands.items[3], "-c");
	assert_string_equal(test->args.operands.items[4], "--");
	assert_int_equal(PARSE(test, "a", "--"), 0); /* nothing after it is fine */
	assert_int_equal(test->args.operands.cnt, 1);
}

static void test_help_stops(void **state)
{
	struct test *test = *state;

	assert_int_equal(PARSE(test, "-a", "--help", "--frobnicate"), 0);
	assert_true(test->args.help);
	assert_int_equal(PARSE(test, "-ahz"), -EINVAL);
	assert_int_equal(PARSE(test, "-V", "-F"), 0);
	assert_true(test->args.version);
	assert_int_equal(PARSE(test, "--", "ls", "-h"), 0); /* COMMAND's own */
	assert_false(test->args.help);
}

static void test_edit_distance(void **state)
{
	char longest[64], longer[65];

	assert_int_equal(edit_distance("", ""), 0);
	assert_int_equal(edit_distance("", "abc"), 3);
	assert_int_equal(edit_distance("freq", "freq"), 0);
	assert_int_equal(edit_distance("frq", "freq"), 1);
	assert_int_equal(edit_distance("ferq", "freq"), 1);
	assert_int_equal(edit_distance("kitten", "sitting"), 3);
	assert_int_equal(edit_distance("sitting", "kitten"), 3);
	assert_int_equal(edit_distance("ca", "abc"), 3); /* alignment, not Damerau's 2 */
	memset(longest, 'x', 63);
	longest[63] = '\0';
	memset(longer, 'x', 64);
	longer[64] = '\0';
	assert_int_equal(edit_distance(longest, ""), 63);
	assert_int_equal(edit_distance(longer, longest), UINT32_MAX);
}

static void test_nearest(void **state)
{
	assert_string_equal(opts_nearest(&command_spec, "outptu"), "output");
	assert_string_equal(opts_nearest(&command_spec, "verbos"), "verbose");
	assert_string_equal(opts_nearest(&command_spec, "no-inhert"), "no-inherit");
	assert_null(opts_nearest(&command_spec, "wall"));
	assert_null(opts_nearest(&command_spec, "z"));
}

/* Every option of both tables must be in every text that is made from them. */
static void test_texts_are_whole(void **state)
{
	const struct opt *tables[] = {options, opts_common};
	const struct cli_command commands[] = {{&command_spec, NULL}, {NULL}};
	const struct opt no_options[] = {{OPT_END}};
	const struct opts_spec help_spec = {.name = "help", .summary = "H", .options = no_options};
	struct buf help, bash, zsh, fish, man;
	char needle[64];

	buf_init(&help, BUF_NO_MAX);
	buf_init(&bash, BUF_NO_MAX);
	buf_init(&zsh, BUF_NO_MAX);
	buf_init(&fish, BUF_NO_MAX);
	buf_init(&man, BUF_NO_MAX);
	opts_help(&command_spec, &help);
	completion_add(COMPLETION_BASH, commands, &help_spec, &bash);
	completion_add(COMPLETION_ZSH, commands, &help_spec, &zsh);
	completion_add(COMPLETION_FISH, commands, &help_spec, &fish);
	opts_man(&command_spec, &man);
	for (size_t i = 0; i < COUNT(tables); i++) {
		for (const struct opt *opt = tables[i]; opt->kind != OPT_END; opt++) {
			assert_non_null(strstr(buf_cstr(&help), opt->help));
			if (opt->kind == OPT_GROUP)
				continue;
			snprintf(needle, sizeof(needle), "--%s", opt->long_name);
			assert_non_null(strstr(buf_cstr(&help), needle));
			assert_non_null(strstr(buf_cstr(&bash), needle));
			assert_non_null(strstr(buf_cstr(&zsh), needle));
			snprintf(needle, sizeof(needle), " -l %s ", opt->long_name);
			assert_non_null(strstr(buf_cstr(&fish), needle));
			if (opt->short_name) {
				snprintf(needle, sizeof(needle), "-%c, --", opt->short_name);
				assert_non_null(strstr(buf_cstr(&help), needle));
			}
		}
	}
	assert_non_null(strstr(buf_cstr(&help), "Usage: bpfprof run [OPTIONS]"));
	assert_non_null(strstr(buf_cstr(&help), "bpfprof run -a\n      all of it"));
	assert_non_null(strstr(buf_cstr(&bash), "run:-o|run:--output)\n\t\tmapfile -t COMPREPLY < "
						"<(compgen -f -- \"$word\")\n"));
	assert_non_null(strstr(buf_cstr(&bash), "compgen -W \"comm pid cpu\""));
	assert_non_null(strstr(buf_cstr(&zsh), ":LIST:{_values -s , value comm pid cpu}'"));
	assert_non_null(strstr(buf_cstr(&fish), " -x -a '(__fish_append , comm pid cpu)'"));
	assert_non_null(strstr(buf_cstr(&man), ".B \\-F, \\-\\-freq HZ\nhow often\n"));
	buf_deinit(&help);
	buf_deinit(&bash);
	buf_deinit(&zsh);
	buf_deinit(&fish);
	buf_deinit(&man);
}

static void test_help_fits_the_terminal(void **state)
{
	struct buf help;

	buf_init(&help, BUF_NO_MAX);
	opts_help(&command_spec, &help);
	for (const char *line = buf_cstr(&help); *line;) {
		size_t len = strcspn(line, "\n");

		assert_in_range(len, 0, 100);
		line += len + (line[len] == '\n');
	}
	buf_deinit(&help);
}

static void test_man_text(void **state)
{
	struct buf man;

	buf_init(&man, BUF_NO_MAX);
	opts_man_text(".x\n'y\na\\b .z --q", &man);
	assert_string_equal(buf_cstr(&man), "\\&.x\n\\&'y\na\\eb .z \\-\\-q");
	buf_deinit(&man);
}

#define WITH_COMMAND(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_COMMAND(test_nothing),
		WITH_COMMAND(test_spellings),
		WITH_COMMAND(test_bundles),
		WITH_COMMAND(test_negation),
		WITH_COMMAND(test_values),
		WITH_COMMAND(test_duplicates),
		WITH_COMMAND(test_missing_values),
		WITH_COMMAND(test_values_with_dashes),
		WITH_COMMAND(test_negative_numbers),
		WITH_COMMAND(test_bad_values),
		WITH_COMMAND(test_percent),
		WITH_COMMAND(test_failed_value_changes_nothing),
		WITH_COMMAND(test_flags_take_no_value),
		WITH_COMMAND(test_no_abbreviations),
		WITH_COMMAND(test_unknown),
		WITH_COMMAND(test_command),
		WITH_COMMAND(test_seconds),
		cmocka_unit_test_setup_teardown(test_files, setup_files, teardown),
		WITH_COMMAND(test_help_stops),
		cmocka_unit_test(test_edit_distance),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_texts_are_whole),
		cmocka_unit_test(test_help_fits_the_terminal),
		cmocka_unit_test(test_man_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
