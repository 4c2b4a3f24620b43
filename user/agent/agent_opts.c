/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof agent`: its option table, whose long names are the keys of its configuration file. */
#include "agent/agent_opts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "sink/sink.h"
#include "store/store.h"
#include "web/listen.h"

#define AT(member, type) .offset = OPT_AT(struct agent_opts, member, type)

enum { FREQ_DEFAULT_HZ = 19, INTERVAL_DEFAULT_S = 10, MEMORY_LEAST = 32 << 20 };

/* Told by its address from the same that somebody asked for. */
static const char LISTEN_DEFAULT[] = "127.0.0.1:7337";

#define DAY_NS (86400 * NSEC_PER_SEC)

static const struct opt agent_options[] = {
	{OPT_GROUP, .help = "Configuration"},
	{OPT_STRING, 0, "config", "FILE", AT(config_path, const char *),
	 .flags = OPT_IS_FILE | OPT_NOT_IN_FILE,
	 .help = "lines 'option = value', read again at SIGHUP and when the file changes; "
		 "[service GLOB] with 'enabled = no' leaves services out"},
	{OPT_FLAG, 0, "check-config", AT(check_config, bool), .flags = OPT_NOT_IN_FILE,
	 .help = "print the configuration that would be in force, and end"},

	{OPT_STRING, 0, "policy", "FILE|URL", AT(policy_path, const char *),
	 .flags = OPT_IS_FILE | OPT_LIVE,
	 .help = "rules for hosts and services, read again as the configuration is: [policy "
		 "KEY=GLOB,...] (or *; host, service, or a label), then enabled, freq, off-cpu, "
		 "event, hours (per cent of them, by a hash of host and hour), samples-per-hour "
		 "(of a service) and keep-until (a time); the last rule that matches decides, "
		 "before the options; from http: and https: what was right last is kept beside "
		 "the store"},
	{OPT_DURATION, 0, "policy-interval", "TIME", AT(policy_every_ns, uint64_t),
	 .min = NSEC_PER_SEC, .flags = OPT_LIVE,
	 .help = "ask for the policy at a URL so often, by half of it sooner or later "
		 "(default: 60)"},

	{OPT_GROUP, .help = "The store"},
	{OPT_STRING, 0, "store", "PATH", AT(store, const char *), .flags = OPT_IS_FILE,
	 .help = "SQLite file (default: " STORE_DEFAULT_PATH ")"},
	{OPT_DURATION, 0, "retain", "AGE", AT(retain_ns, uint64_t), .flags = OPT_LIVE,
	 .help = "drop what is older (default: 14d; 0: keep it)"},
	{OPT_BYTES, 0, "max-store", "BYTES", AT(max_store_bytes, uint64_t), .flags = OPT_LIVE,
	 .help = "drop the oldest beyond this size (default: 1G; 0: no bound)"},
	{OPT_DURATION, 0, "compact-after", "AGE", AT(compact_after_ns, uint64_t), .flags = OPT_LIVE,
	 .help = "make one window a minute of what is older (default: 1h; 0: never)"},
	{OPT_LIST, 0, "label", "KEY=VALUE", AT(labels, struct opts_list), .flags = OPT_LIVE,
	 .help = "a label of every sample; repeatable"},

	{OPT_GROUP, .help = "The fleet"},
	{OPT_LIST, 0, "sink", "URL", AT(sinks, struct opts_list), .flags = OPT_LIVE,
	 .help = "ship every window there, too, as soon as its minute is over: "
		 "clickhouse://USER:PASSWORD@HOST:PORT/DATABASE, or clickhouses: for TLS; "
		 "relay+http://:TOKEN@HOST,HOST: relays before it; file:/DIR: a pprof of each "
		 "service and minute; s3://BUCKET/PREFIX: the same into a bucket; "
		 "pyroscope+http://HOST and otlp+http://HOST; +https: for TLS; repeatable; in a "
		 "file also as [sink NAME] with url = and max-rate ="},
	{OPT_FLAG, 0, "upload-symbols", AT(upload_symbols, bool), .flags = OPT_NEGATABLE,
	 .help = "upload symbols of programs that run here (functions, source files, lines; no "
		 "code) into ClickHouse, or to a relay, when store symbolize has not found them: "
		 "once for each build, at 1 MiB/s, or max-rate"},

	{OPT_GROUP, .help = "What to sample"},
	{OPT_NUMBER, 'F', "freq", "HZ", AT(record.freq_hz, uint64_t), .min = 1, .flags = OPT_LIVE,
	 .help = "samples per second and CPU (default: 19)"},
	{OPT_DURATION, 'i', "interval", "TIME", AT(record.interval_ns, uint64_t),
	 .min = NSEC_PER_SEC, .flags = OPT_LIVE, .help = "store a window every TIME (default: 10)"},
	{OPT_FLAG, 0, "off-cpu", AT(off_cpu, bool), .flags = OPT_NEGATABLE,
	 .help = "where threads wait, too (the default; --no-off-cpu: not)"},
	{OPT_FLAG, 0, "kernel-threads", AT(record.kernel_threads, bool), .flags = OPT_NEGATABLE,
	 .help = "kernel threads' waits too"},
	{OPT_LIST, 'e', "event", "EVENT", AT(record.events, struct opts_list),
	 .help = "further events, as record has them; repeatable, or a comma list"},
	{OPT_FLAG, 'U', "user-stacks", AT(record.user_only, bool), .help = "only user stacks"},
	{OPT_FLAG, 'K', "kernel-stacks", AT(record.kernel_only, bool),
	 .help = "only kernel stacks"},
	{OPT_FLAG, 0, "inlines", AT(inlines, bool), .flags = OPT_NEGATABLE | OPT_LIVE,
	 .help = "frames for inlined calls and source lines, which cost more"},
	{OPT_FLAG, 0, "merge-clones", AT(record.merge_clones, bool),
	 .flags = OPT_NEGATABLE | OPT_LIVE,
	 .help = "count a function's parts and copies (.cold, .part.0, .isra.0, ...) as it"},

	{OPT_GROUP, .help = "Of whom (lists OR, kinds AND; default: everybody)"},
	{OPT_NUMBERS, 'p', "pid", "LIST", AT(record.tgids, struct number_set),
	 .help = "these processes, their threads and future children"},
	{OPT_NUMBERS, 'u', "uid", "LIST", AT(record.uids, struct number_set),
	 .help = "processes of these users (numbers)"},
	{OPT_LIST, 0, "comm", "GLOB", AT(record.comms, struct opts_list),
	 .help = "threads whose name matches; repeatable"},
	{OPT_LIST, 'G', "cgroup", "PATH", AT(record.cgroups, struct opts_list),
	 .flags = OPT_IS_FILE, .help = "processes in this control group and below; repeatable"},

	{OPT_GROUP, .help = "Limits"},
	{OPT_PERCENT, 0, "max-cpu", "PCT", AT(max_cpu_percent, double),
	 .help = "of the machine's CPU time, all that recording costs: the rate is lowered above "
		 "it, and raised again (default: 1)"},
	{OPT_BYTES, 0, "max-memory", "BYTES", AT(record.max_memory_bytes, uint64_t),
	 .min = MEMORY_LEAST,
	 .help = "bound of the memory taken in the kernel, and of the agent's own: what is kept "
		 "is forgotten beyond it, and the rate lowered (default: of its own 256M)"},
	{OPT_STRING, 0, "btf", "FILE", AT(record.btf, const char *), .flags = OPT_IS_FILE,
	 .help = "kernel types for a kernel without /sys/kernel/btf/vmlinux"},

	{OPT_GROUP, .help = "Across restarts (Linux 5.15 and newer; all but waits)"},
	{OPT_STRING, 0, "pin-dir", "DIR", AT(pin_dir, const char *), .flags = OPT_IS_FILE,
	 .help = "recording goes on in the kernel while no agent runs, and the next one goes on "
		 "with it (default: " AGENT_PIN_DIR "; none: it ends with the agent)"},
	{OPT_FLAG, 0, "detach", AT(detach, bool), .flags = OPT_NOT_IN_FILE,
	 .help = "end what goes on in --pin-dir, remove it, and end"},

	{OPT_GROUP, .help = "HTTP"},
	{OPT_STRING, 0, "listen", "ADDR", AT(listen.address, const char *),
	 .help = "address and port, a port, or unix:/PATH; none: nobody is answered (default: "
		 "127.0.0.1:7337, and none where it is taken)"},
	{OPT_STRING, 0, "token-file", "FILE", AT(listen.token_file, const char *),
	 .flags = OPT_IS_FILE, .help = "whoever asks has to know what is in it"},
	{OPT_STRING, 0, "tls-cert", "FILE", AT(listen.tls_cert, const char *), .flags = OPT_IS_FILE,
	 .help = "certificate for HTTPS"},
	{OPT_STRING, 0, "tls-key", "FILE", AT(listen.tls_key, const char *), .flags = OPT_IS_FILE,
	 .help = "its key"},
	{OPT_END},
};

static const struct opts_example agent_examples[] = {
	{"sudo bpfprof agent", "record for ever"},
	{"sudo bpfprof agent --config /etc/bpfprof/agent.conf --check-config",
	 "is the file right, and what does it mean?"},
	{"sudo bpfprof agent --label env=prod -e page-faults --max-cpu 0.5",
	 "with page faults, and half the cost"},
	{NULL},
};

const struct opts_spec agent_spec = {
	.name = "agent",
	.usage = "agent [--config FILE] [--check-config] [OPTIONS]",
	.summary = "Record for ever, into a local store, at a cost that nobody notices",
	.details = "SIGHUP reads the configuration again, SIGTERM and SIGINT store what was\n"
		   "recorded and end.",
	.options = agent_options,
	.examples = agent_examples,
};

static void set_defaults(struct agent_opts *opts)
{
	*opts = (struct agent_opts){
		.store = STORE_DEFAULT_PATH,
		.retain_ns = 14 * DAY_NS,
		.max_store_bytes = 1ULL << 30,
		.compact_after_ns = 3600 * NSEC_PER_SEC,
		.policy_every_ns = 60 * NSEC_PER_SEC,
		.off_cpu = true,
		.max_cpu_percent = 1,
		.pin_dir = AGENT_PIN_DIR,
		.listen = {.address = LISTEN_DEFAULT},
		.record = {.freq_hz = FREQ_DEFAULT_HZ,
			   .interval_ns = INTERVAL_DEFAULT_S * NSEC_PER_SEC},
	};
}

/* --- Checks --- */

static bool is_key(const char *key, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return len && strspn(key, letters) && strspn(key, all) == len;
}

/* "KEY=VALUE" of --label, into copies that are cut in two. */
static int take_labels(struct agent_opts *opts, struct buf *why)
{
	size_t bytes = 0;
	char *to;

	for (size_t i = 0; i < opts->labels.cnt; i++)
		bytes += strlen(opts->labels.items[i]) + 1;
	opts->fixed = calloc(opts->labels.cnt + 1, sizeof(*opts->fixed));
	to = opts->label_text = malloc(bytes + 1);
	if (!opts->fixed || !to)
		return -ENOMEM;
	for (size_t i = 0; i < opts->labels.cnt; i++) {
		const char *label = opts->labels.items[i];
		size_t len = strcspn(label, "=");

		if (!label[len] || !label[len + 1] || !is_key(label, len)) {
			buf_printf(why,
				   "option '--label': '%s' is no KEY=VALUE with a KEY of letters, "
				   "digits and '_'",
				   label);
			return -EINVAL;
		}
		memcpy(to, label, strlen(label) + 1);
		to[len] = '\0';
		opts->fixed[opts->fixed_cnt++] = (struct fixed_label){to, to + len + 1};
		to += strlen(label) + 1;
	}
	return 0;
}

/* @name: of its section, NULL: an option. */
static int check_sink(const char *name, const char *url, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf printed;
	_cleanup_(buf_deinit) struct buf reason;

	buf_init(&printed, BUF_NO_MAX);
	buf_init(&reason, BUF_NO_MAX);
	if (!url) {
		buf_printf(why, "section '[sink %s]': the key 'url' is missing", name);
		return -EINVAL;
	}
	if (!sink_name(url, &printed, &reason))
		return 0;
	/* It may have a password. */
	if (name)
		buf_printf(why, "section '[sink %s]': its url: %s", name, buf_cstr(&reason));
	else
		buf_printf(why, "option '--sink': %s", buf_cstr(&reason));
	return -EINVAL;
}

static int check_sinks(const struct agent_opts *opts, struct buf *why)
{
	const struct config *config = &opts->config;
	int err = 0;

	if (opts->sinks.cnt + config->sink_cnt > AGENT_SINKS_MAX) {
		buf_printf(why, "option '--sink': %d are possible", AGENT_SINKS_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < opts->sinks.cnt && !err; i++)
		err = check_sink(NULL, opts->sinks.items[i], why);
	for (size_t i = 0; i < config->sink_cnt && !err; i++)
		err = check_sink(config->sinks[i].name, config->sinks[i].url, why);
	return err;
}

static bool is_place(const char *address)
{
	struct web_place place;

	return !strcmp(address, AGENT_LISTEN_NONE) || !web_place_parse(address, &place);
}

const char *agent_opts_store_file(const struct agent_opts *opts)
{
	static const char scheme[] = "sqlite:";
	const size_t len = strlen(scheme);

	return strncmp(opts->store, scheme, len) ? opts->store : opts->store + len;
}

bool agent_opts_policy_is_url(const struct agent_opts *opts)
{
	return opts->policy_path && (!strncmp(opts->policy_path, "http:", strlen("http:")) ||
				     !strncmp(opts->policy_path, "https:", strlen("https:")));
}

const char *agent_opts_policy_file(const struct agent_opts *opts)
{
	return opts->policy_copy ? opts->policy_copy : opts->policy_path;
}

static int read_policy(struct agent_opts *opts, struct buf *why)
{
	int err;

	if (!opts->policy_path)
		return 0;
	if (!agent_opts_policy_is_url(opts))
		return config_read_policy(opts->policy_path, &opts->policy_file, why);
	if (asprintf(&opts->policy_copy, "%s.policy", agent_opts_store_file(opts)) < 0) {
		opts->policy_copy = NULL;
		return -ENOMEM;
	}
	err = config_read_policy(opts->policy_copy, &opts->policy_file, why);
	if (err != -ENOENT)
		return err;
	/* It has not been fetched yet. */
	buf_reset(why);
	return 0;
}

struct policy_facts agent_opts_facts(const struct agent_opts *opts)
{
	return (struct policy_facts){
		.labels = opts->fixed, .label_cnt = opts->fixed_cnt, .host = opts->host};
}

static bool has_event(const struct agent_opts *opts, const char *event)
{
	for (size_t i = 0; i < opts->record.events.cnt; i++)
		if (!strcmp(opts->record.events.items[i], event))
			return true;
	return false;
}

static int apply_rule(struct agent_opts *opts, const struct policy_rule *rule, struct buf *why)
{
	int err = 0;

	if (rule->freq_hz)
		opts->record.freq_hz = rule->freq_hz;
	if (rule->off_cpu.text)
		opts->off_cpu = rule->off_cpu.bits;
	for (size_t i = 0; i < rule->events.cnt && !err; i++)
		if (!has_event(opts, rule->events.items[i]))
			err = opts_set(&agent_spec, opts, "event", rule->events.items[i], why);
	return err;
}

/* What it has this host record, which is known when its labels are. */
static int apply_policy(struct agent_opts *opts, struct buf *why)
{
	const struct policy_facts facts = agent_opts_facts(opts);
	int err = policy_join(&opts->policy, &opts->config.policy);

	if (gethostname(opts->host, sizeof(opts->host) - 1))
		opts->host[0] = '\0';
	err = err ? err : policy_join(&opts->policy, &opts->policy_file.policy);
	for (size_t i = 0; i < opts->policy.cnt && !err; i++) {
		const struct policy_rule *rule = &opts->policy.rules[i];

		if (!policy_rule_is_of_services(rule) && policy_rule_is_of_host(rule, &facts))
			err = apply_rule(opts, rule, why);
	}
	return err;
}

static int check(struct agent_opts *opts, const struct opts_args *args, struct buf *why)
{
	int err = 0;

	if (args->operands.cnt)
		buf_printf(why, "unexpected argument '%s'", args->operands.items[0]);
	else if (opts->max_cpu_percent < 0.1)
		buf_add_str(why, "option '--max-cpu': at least 0.1 is needed");
	else if (opts->record.user_only && opts->record.kernel_only)
		buf_add_str(why, "options '-U' and '-K' exclude each other (both stacks are the "
				 "default)");
	else if (!opts->listen.tls_cert != !opts->listen.tls_key)
		buf_add_str(why, "options '--tls-cert' and '--tls-key': one without the other");
	else if (!is_place(opts->listen.address))
		buf_printf(why,
			   "option '--listen': '%s' is no address (wanted: 127.0.0.1:7337, "
			   "[::1]:7337, 7337, unix:/PATH or none)",
			   opts->listen.address);
	else
		err = 1;
	if (!err)
		return -EINVAL;
	err = take_labels(opts, why);
	err = err ? err : apply_policy(opts, why);
	err = err ? err : record_check_rate(&opts->record, why);
	err = err ? err : record_check_events(&opts->record, why);
	return err ? err : check_sinks(opts, why);
}

/* What record's part makes of it. */
static void derive(struct agent_opts *opts)
{
	double permille = opts->max_cpu_percent * 10 / 4;

	opts->listen.is_default = opts->listen.address == LISTEN_DEFAULT;
	/* Each switch costs as much again without a stack, and so does all else. */
	opts->record.max_cpu_permille = permille < 1 ? 1 : permille > 1000 ? 1000 : permille;
}

/* --- The parts put together --- */

/* @has_policy: also the policy. */
static int parse(struct agent_opts *opts, int argc, char **argv, bool has_policy,
		 struct opts_args *args, struct buf *why)
{
	struct agent_opts first;
	int err;

	/* Once for the name of the file, which then comes before the rest. */
	set_defaults(&first);
	err = opts_parse(&agent_spec, argc, argv, &first, args, why);
	if (!err && first.config_path)
		err = config_read(first.config_path, &agent_spec, opts, &opts->config, why);
	opts_deinit(&agent_spec, &first, args);
	err = err ? err : opts_parse(&agent_spec, argc, argv, opts, args, why);
	if (!err && has_policy)
		err = read_policy(opts, why);
	err = err ? err : check(opts, args, why);
	if (!err)
		derive(opts);
	return err;
}

int agent_opts_reload(struct agent_opts *opts, int argc, char **argv, bool has_policy,
		      struct buf *why)
{
	struct opts_args args = {.help = false};
	int err;

	set_defaults(opts);
	err = parse(opts, argc, argv, has_policy, &args, why);
	opts_deinit(&agent_spec, NULL, &args);
	if (err)
		agent_opts_deinit(opts);
	if (err && !why->len)
		buf_add_str(why, strerror(-err));
	return err;
}

/* What a server has said once does not keep the agent from beginning. @why: what is wrong. */
static int parse_without_policy(struct agent_opts *opts, int argc, char **argv, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf more;
	int err;

	buf_init(&more, BUF_NO_MAX);
	agent_opts_deinit(opts);
	err = agent_opts_reload(opts, argc, argv, false, &more);
	if (!err) {
		log_warn("policy: %s; no policy is in force", buf_cstr(why));
		return 0;
	}
	/* It is not the policy that is wrong. */
	buf_reset(why);
	buf_add_str(why, buf_cstr(&more));
	return err;
}

bool agent_opts_parse(struct agent_opts *opts, int argc, char **argv, int *status_out)
{
	_cleanup_(buf_deinit) struct buf why;
	struct agent_opts first;
	struct opts_args args = {.help = false};
	int err;
	bool goes_on;

	buf_init(&why, BUF_NO_MAX);
	set_defaults(opts);
	set_defaults(&first);
	/* --help and -v, and what is wrong on the command line. */
	goes_on = cli_begin(&agent_spec, argc, argv, &first, &args, status_out);
	opts_deinit(&agent_spec, &first, &args);
	if (!goes_on)
		return false;
	err = parse(opts, argc, argv, true, &args, &why);
	opts_deinit(&agent_spec, NULL, &args);
	if (err && agent_opts_policy_is_url(opts))
		err = parse_without_policy(opts, argc, argv, &why);
	if (!err)
		return true;
	*status_out = cli_refuse(&agent_spec, &why, err);
	return false;
}

void agent_opts_deinit(struct agent_opts *opts)
{
	struct opts_args none = {.help = false};

	for (size_t i = 0; i < opts->record.cgroup_paths.cnt; i++)
		free((char *)opts->record.cgroup_paths.items[i]);
	free(opts->record.cgroup_paths.items);
	opts_deinit(&agent_spec, opts, &none);
	policy_drop(&opts->policy);
	config_deinit(&opts->policy_file);
	config_deinit(&opts->config);
	free(opts->fixed);
	free(opts->label_text);
	free(opts->policy_copy);
	*opts = (struct agent_opts){.store = NULL};
}

void agent_opts_print(const struct agent_opts *opts, struct buf *out)
{
	opts_print(&agent_spec, opts, OPT_NOT_IN_FILE, out);
	config_print_sections(&opts->config, out);
}

bool agent_opts_record_alike(const struct agent_opts *left, const struct agent_opts *right)
{
	_cleanup_(buf_deinit) struct buf one, other;

	buf_init(&one, BUF_NO_MAX);
	buf_init(&other, BUF_NO_MAX);
	opts_print(&agent_spec, left, OPT_NOT_IN_FILE | OPT_LIVE, &one);
	opts_print(&agent_spec, right, OPT_NOT_IN_FILE | OPT_LIVE, &other);
	return !one.err && !other.err && !strcmp(buf_cstr(&one), buf_cstr(&other));
}

bool agent_opts_events_alike(const struct agent_opts *left, const struct agent_opts *right)
{
	struct agent_opts other = *right;

	/* Who shares memory with waits has less of it. */
	if (left->record.max_memory_bytes && left->off_cpu != right->off_cpu)
		return false;
	other.off_cpu = left->off_cpu;
	other.record.kernel_threads = left->record.kernel_threads;
	other.max_cpu_percent = left->max_cpu_percent;
	return agent_opts_record_alike(left, &other);
}

static void print_sinks(const struct agent_opts *opts, struct buf *out)
{
	const struct config sinks = {
		.sinks = opts->config.sinks,
		.sink_cnt = opts->config.sink_cnt,
	};

	for (size_t i = 0; i < opts->sinks.cnt; i++)
		buf_printf(out, "%s\n", opts->sinks.items[i]);
	config_print_sections(&sinks, out);
}

bool agent_opts_ship_alike(const struct agent_opts *left, const struct agent_opts *right)
{
	_cleanup_(buf_deinit) struct buf one, other;

	buf_init(&one, BUF_NO_MAX);
	buf_init(&other, BUF_NO_MAX);
	print_sinks(left, &one);
	print_sinks(right, &other);
	return !one.err && !other.err && !strcmp(buf_cstr(&one), buf_cstr(&other));
}
