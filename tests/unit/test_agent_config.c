/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files: what they set, and what is said of a wrong one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_opts.h"
#include "agent/config.h"
#include "base/cleanup.h"
#include "cli/opts.h"

struct target {
	uint64_t freq, interval_ns, bytes;
	bool off_cpu, no_inherit;
	const char *store;
	struct opts_list labels;
	struct number_set uids;
	double percent;
	bool check;
};

#define AT(member, type) .offset = OPT_AT(struct target, member, type)

static const struct opt options[] = {
	{OPT_GROUP, .help = "All"},
	{OPT_NUMBER, 'F', "freq", "HZ", AT(freq, uint64_t), .min = 1, .help = "rate"},
	{OPT_DURATION, 0, "interval", "TIME", AT(interval_ns, uint64_t), .help = "time"},
	{OPT_BYTES, 0, "max-store", "BYTES", AT(bytes, uint64_t), .help = "bytes"},
	{OPT_FLAG, 0, "off-cpu", AT(off_cpu, bool), .flags = OPT_NEGATABLE, .help = "waits"},
	{OPT_FLAG, 0, "no-inherit", AT(no_inherit, bool), .flags = OPT_NEGATABLE, .help = "not"},
	{OPT_STRING, 0, "store", "PATH", AT(store, const char *), .help = "where"},
	{OPT_LIST, 0, "label", "K=V", AT(labels, struct opts_list), .help = "labels"},
	{OPT_NUMBERS, 'u', "uid", "LIST", AT(uids, struct number_set), .help = "users"},
	{OPT_PERCENT, 0, "max-cpu", "PCT", AT(percent, double), .help = "share"},
	{OPT_FLAG, 0, "check-config", AT(check, bool), .flags = OPT_NOT_IN_FILE, .help = "check"},
	{OPT_END},
};

static const struct opts_spec spec = {.name = "test", .options = options};

struct parsed {
	struct target target;
	struct config config;
	struct buf why;
	int err;
};

static struct parsed parse_bytes_of(const char *text, size_t len)
{
	struct parsed out = {.target = {.off_cpu = true}};

	buf_init(&out.why, BUF_NO_MAX);
	out.err = config_parse("a.conf", text, len, &spec, &out.target, &out.config, &out.why);
	return out;
}

static struct parsed parse(const char *text)
{
	return parse_bytes_of(text, strlen(text));
}

static void release(struct parsed *parsed)
{
	struct opts_args none = {.help = false};

	opts_deinit(&spec, &parsed->target, &none);
	config_deinit(&parsed->config);
	buf_deinit(&parsed->why);
}

static void assert_wrong(const char *text, const char *why)
{
	struct parsed parsed = parse(text);

	assert_int_equal(parsed.err, -EINVAL);
	assert_string_equal(buf_cstr(&parsed.why), why);
	release(&parsed);
}

static void test_keys(void **state)
{
	struct parsed parsed = parse("# comment\n ; another = x\n\n freq=49 \r\n"
				     "interval = 500ms\nmax-store = 2G\noff-cpu = no\n"
				     "no-inherit = yes\nstore = /a = b\nlabel = x=1\nlabel = y=2\n"
				     "uid = 5\nuid = 1,7-8\nmax-cpu = 0.5%");

	assert_int_equal(parsed.err, 0);
	assert_int_equal(parsed.target.freq, 49);
	assert_int_equal(parsed.target.interval_ns, 500000000);
	assert_int_equal(parsed.target.bytes, 2ULL << 30);
	assert_false(parsed.target.off_cpu);
	assert_true(parsed.target.no_inherit);
	assert_string_equal(parsed.target.store, "/a = b");
	assert_int_equal(parsed.target.labels.cnt, 2);
	assert_string_equal(parsed.target.labels.items[1], "y=2");
	assert_int_equal(parsed.target.uids.cnt, 4);
	assert_true(parsed.target.percent == 0.5);
	assert_int_equal(parsed.why.len, 0);
	release(&parsed);
	parsed = parse("no-off-cpu = yes\ninherit = on\n");
	assert_int_equal(parsed.err, 0);
	assert_false(parsed.target.off_cpu);
	assert_false(parsed.target.no_inherit);
	release(&parsed);
	parsed = parse("no-off-cpu = 0\n");
	assert_true(parsed.target.off_cpu);
	release(&parsed);
}

static void test_errors_name_line_key_and_remedy(void **state)
{
	assert_wrong("\nfrq = 3\n", "a.conf:2: unknown key 'frq' (did you mean 'freq'?)");
	assert_wrong("nonsense = 3", "a.conf:1: unknown key 'nonsense'");
	assert_wrong("check-config = yes",
		     "a.conf:1: key 'check-config': on the command line alone");
	assert_wrong("freq = 4x\n", "a.conf:1: option 'freq': '4x' is not a number");
	assert_wrong("freq = 0\n", "a.conf:1: option 'freq': '0' must be more than 0");
	assert_wrong("freq =\n", "a.conf:1: option 'freq' needs a value (HZ)");
	assert_wrong("off-cpu = maybe", "a.conf:1: option 'off-cpu': 'maybe' is not yes or no");
	assert_wrong("freq\n", "a.conf:1: 'freq': 'key = value' is expected");
	assert_wrong("[service x\n", "a.conf:1: '[service x': the closing ']' is missing");
	assert_wrong("[serv x]\n",
		     "a.conf:1: section '[serv x]' is none: [service NAME-GLOB] or [sink NAME] "
		     "or [policy SELECTOR]");
	assert_wrong("[service ]\n",
		     "a.conf:1: section '[service]' is none: [service NAME-GLOB] or [sink NAME] "
		     "or [policy SELECTOR]");
	assert_wrong("[]\n", "a.conf:1: section '[]' is none: [service NAME-GLOB] or [sink NAME] "
			     "or [policy SELECTOR]");
	assert_wrong("[service a]\nfreq = 3\n", "a.conf:2: unknown key 'freq'");
	assert_wrong("[service a]\nenabld = no\n",
		     "a.conf:2: unknown key 'enabld' (did you mean 'enabled'?)");
}

static void test_nul_byte(void **state)
{
	struct parsed parsed = parse_bytes_of("freq = 1\nfr\0eq = 2\n", 19);

	assert_int_equal(parsed.err, -EINVAL);
	assert_string_equal(buf_cstr(&parsed.why), "a.conf:2: a NUL byte: this is no text");
	release(&parsed);
}

static void test_policies(void **state)
{
	struct parsed parsed = parse("freq = 9\n[service *]\nenabled = no\n[service shop-*]\n"
				     "enabled = yes\n[ service	shop-test ]\nenabled=no\n");

	assert_int_equal(parsed.err, 0);
	assert_int_equal(parsed.config.policy_cnt, 3);
	assert_false(config_allows(&parsed.config, "ssh"));
	assert_true(config_allows(&parsed.config, "shop-cart"));
	assert_false(config_allows(&parsed.config, "shop-test"));
	release(&parsed);
	parsed = parse("");
	assert_true(config_allows(&parsed.config, "ssh"));
	release(&parsed);
}

static void assert_wrong_policy(const char *text, const char *why)
{
	struct parsed parsed = {.err = 0};

	buf_init(&parsed.why, BUF_NO_MAX);
	parsed.err = config_parse_policy("p", text, strlen(text), &parsed.config, &parsed.why);
	assert_int_equal(parsed.err, -EINVAL);
	assert_string_equal(buf_cstr(&parsed.why), why);
	release(&parsed);
}

static void test_rules(void **state)
{
	struct parsed parsed = parse("freq = 9\n[policy *]\nfreq = 19\n[service x]\n"
				     "enabled = no\n[policy service=a*, env = prod]\noff-cpu=no\n");
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(parsed.err, 0);
	assert_int_equal(parsed.target.freq, 9);
	config_print_sections(&parsed.config, &out);
	assert_string_equal(buf_cstr(&out), "\n[service x]\nenabled = no\n\n[policy *]\nfreq = 19\n"
					    "\n[policy service=a*,env=prod]\noff-cpu = no\n");
	buf_deinit(&out);
	release(&parsed);
	assert_wrong("[policy x]\n", "a.conf:1: selector: 'x' is no KEY=GLOB (service, host, or a "
				     "label of the agent; * alone: every host)");
}

/* A file of its own has nothing else. */
static void test_policy_file(void **state)
{
	static const char text[] = "# all\n[policy *]\nsamples-per-hour = 40k\n";
	struct config config;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(config_parse_policy("p", text, strlen(text), &config, &why), 0);
	assert_int_equal(config.policy.cnt, 1);
	assert_int_equal(config.policy.rules[0].samples_per_hour, 40000);
	/* printf '...' | sha256sum */
	assert_string_equal(config.version, "d912d191f8c6");
	config_deinit(&config);
	buf_deinit(&why);
	assert_wrong_policy("freq = 9\n", "p:1: unknown key 'freq'");
	assert_wrong_policy("\n[sink x]\n", "p:2: section '[sink x]' is none: [policy SELECTOR]");
	assert_wrong_policy("[service x]\n",
			    "p:1: section '[service x]' is none: [policy SELECTOR]");
	assert_wrong_policy("[policy *]\nfreqq = 9\n",
			    "p:2: unknown key 'freqq' (did you mean 'freq'?)");
}

static void test_sinks(void **state)
{
	struct parsed parsed =
		parse("[sink main]\nurl = clickhouse://a:b@c/d?ca=/x y\nmax-rate = 2M\n"
		      "[service x]\nenabled = no\n[ sink	two ]\nurl=clickhouse://e\n");
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(parsed.err, 0);
	assert_int_equal(parsed.config.sink_cnt, 2);
	assert_string_equal(parsed.config.sinks[0].name, "main");
	assert_string_equal(parsed.config.sinks[0].url, "clickhouse://a:b@c/d?ca=/x y");
	assert_int_equal(parsed.config.sinks[0].max_rate, 2 << 20);
	assert_string_equal(parsed.config.sinks[1].name, "two");
	assert_int_equal(parsed.config.sinks[1].max_rate, 0);
	config_print_sections(&parsed.config, &out);
	assert_string_equal(buf_cstr(&out),
			    "\n[service x]\nenabled = no\n\n[sink main]\nurl = "
			    "clickhouse://a:b@c/d?ca=/x y\nmax-rate = 2M\n\n[sink two]\nurl = "
			    "clickhouse://e\n");
	buf_deinit(&out);
	release(&parsed);
	assert_wrong("[sink a]\nurl =\n", "a.conf:2: option 'url' needs a value (URL)");
	assert_wrong("[sink a]\nurll = x\n", "a.conf:2: unknown key 'urll' (did you mean 'url'?)");
}

/* What is printed is read back as it was. */
static void test_printed_and_read_again(void **state)
{
	static const char text[] = "# All\nfreq = 49\ninterval = 90s\nmax-store = 1536M\n"
				   "off-cpu = no\nno-inherit = no\nstore = /x y\nlabel = a=1\n"
				   "label = b=2\nuid = 1,2,3\nmax-cpu = 0.5\n";
	struct parsed parsed = parse(text), again;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	opts_print(&spec, &parsed.target, OPT_NOT_IN_FILE, &out);
	assert_string_equal(buf_cstr(&out), text);
	again = parse(buf_cstr(&out));
	buf_reset(&out);
	opts_print(&spec, &again.target, OPT_NOT_IN_FILE, &out);
	assert_string_equal(buf_cstr(&out), text);
	buf_deinit(&out);
	release(&parsed);
	release(&again);
}

/* --- The agent's own table --- */

static void test_command_line_goes_before_the_file(void **state)
{
	char path[] = "/tmp/bpfprof-config-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	static const char text[] = "freq = 49\ninterval = 20\nlabel = env=prod\n";
	char *argv[] = {"--config", path, "-F", "7", "--label", "team=x", NULL};
	struct agent_opts opts, other;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_true(fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
	assert_int_equal(agent_opts_reload(&opts, 6, argv, true, &why), 0);
	assert_int_equal(opts.record.freq_hz, 7);
	assert_int_equal(opts.record.interval_ns, 20000000000ULL);
	assert_int_equal(opts.fixed_cnt, 2);
	assert_string_equal(opts.fixed[0].key, "env");
	assert_string_equal(opts.fixed[0].value, "prod");
	assert_string_equal(opts.fixed[1].key, "team");

	/* What may change while it goes on, and what may not. */
	assert_int_equal(agent_opts_reload(&other, 4, argv, true, &why), 0);
	assert_true(agent_opts_record_alike(&opts, &other));
	agent_opts_deinit(&other);
	argv[2] = "-e";
	argv[3] = "page-faults";
	assert_int_equal(agent_opts_reload(&other, 4, argv, true, &why), 0);
	assert_false(agent_opts_record_alike(&opts, &other));
	agent_opts_deinit(&other);
	agent_opts_deinit(&opts);
	unlink(path);
	assert_int_equal(agent_opts_reload(&opts, 4, argv, true, &why), -ENOENT);
	assert_non_null(strstr(buf_cstr(&why), path));
	buf_deinit(&why);
}

/* What a policy says of this host goes before the options. */
static void test_policy_goes_before_options(void **state)
{
	char path[] = "/tmp/bpfprof-policy-XXXXXX";
	_cleanup_close_ int fd = mkstemp(path);
	static const char text[] = "[policy *]\nfreq = 49\nevent = page-faults\n[policy env=dev]\n"
				   "freq = 97\n[policy env=prod]\nfreq = 29\noff-cpu = no\n"
				   "[policy service=x]\nfreq = 1\n";
	char *argv[] = {"--policy",    path,	  "-F",	      "7", "-e",
			"page-faults", "--label", "env=prod", NULL};
	struct agent_opts opts;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_true(fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
	assert_int_equal(agent_opts_reload(&opts, 8, argv, true, &why), 0);
	assert_int_equal(opts.record.freq_hz, 29);
	assert_false(opts.off_cpu);
	assert_int_equal(opts.record.events.cnt, 1);
	assert_int_equal(opts.policy.cnt, 4);
	agent_opts_deinit(&opts);
	assert_int_equal(ftruncate(fd, 5), 0);
	assert_int_equal(agent_opts_reload(&opts, 8, argv, true, &why), -EINVAL);
	assert_non_null(strstr(buf_cstr(&why), ":1: "));
	buf_reset(&why);
	unlink(path);
	assert_int_equal(agent_opts_reload(&opts, 8, argv, true, &why), -ENOENT);
	assert_non_null(strstr(buf_cstr(&why), "policy '/tmp/"));
	buf_deinit(&why);
}

static void assert_refused(const char *option, const char *value, const char *part)
{
	char *argv[] = {(char *)option, (char *)value, NULL};
	struct agent_opts opts;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(agent_opts_reload(&opts, 2, argv, true, &why), -EINVAL);
	assert_non_null(strstr(buf_cstr(&why), part));
	buf_deinit(&why);
}

static void test_refusals(void **state)
{
	assert_refused("--label", "novalue", "'novalue' is no KEY=VALUE");
	assert_refused("--label", "1a=x", "'1a=x' is no KEY=VALUE");
	assert_refused("--label", "=x", "'=x' is no KEY=VALUE");
	assert_refused("--max-cpu", "0", "at least 0.1");
	assert_refused("--tls-key", "x", "one without the other");
	assert_refused("--interval", "100ms", "too small");
	assert_refused("-e", "kprobe:", "kprobe:");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_errors_name_line_key_and_remedy),
		cmocka_unit_test(test_nul_byte),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_policy_file),
		cmocka_unit_test(test_sinks),
		cmocka_unit_test(test_printed_and_read_again),
		cmocka_unit_test(test_command_line_goes_before_the_file),
		cmocka_unit_test(test_policy_goes_before_options),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
