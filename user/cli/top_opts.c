/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof top`: its option table, and what the table's types cannot check. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/top.h"

#define AT(member, type) .offset = OPT_AT(struct top_opts, member, type)

enum {
	INTERVAL_DEFAULT_S = 2,
	ENTRIES_DEFAULT = 40,
	FREQ_DEFAULT_HZ = 99,
	/* Of each CPU's time, for the stacks of waits: a table needs fewer than a recording. */
	WAITS_CPU_PERMILLE = 2,
};

static const struct opt_choice by_choices[] = {
	{"comm", BY_COMM}, {"process", BY_PROCESS}, {"pid", BY_PID}, {"tid", BY_TID},
	{"cpu", BY_CPU},   {"cgroup", BY_CGROUP},   {"uid", BY_UID}, {NULL},
};

static const struct opt_choice sort_choices[] = {
	{"comm", TOP_SORT_WHO},
	{"dso", TOP_SORT_MODULE},
	{"symbol", TOP_SORT_FUNCTION},
	{"sym", TOP_SORT_FUNCTION},
	{"module", TOP_SORT_MODULE},
	{"function", TOP_SORT_FUNCTION},
	{NULL},
};

static const struct opt_choice order_choices[] = {
	{"self", TOP_BY_SELF},
	{"total", TOP_BY_TOTAL},
	{"off", TOP_BY_OFF_SELF},
	{"off-total", TOP_BY_OFF_TOTAL},
	{NULL},
};

static const struct opt top_options[] = {
	{OPT_GROUP, .help = "What to watch (lists OR, kinds AND; default: every CPU)"},
	{OPT_FLAG, 'a', "all-cpus", AT(record.all_cpus, bool),
	 .help = "every CPU (the default); with COMMAND: not only COMMAND"},
	{OPT_NUMBERS, 'C', "cpu", "LIST", AT(record.cpus, struct number_set),
	 .help = "only these CPUs: 0,2-5 (without time off the CPU)"},
	{OPT_NUMBERS, 'p', "pid", "LIST", AT(record.tgids, struct number_set),
	 .help = "these processes, their threads and future children"},
	{OPT_NUMBERS, 't', "tid", "LIST", AT(record.tids, struct number_set),
	 .help = "these threads"},
	{OPT_NUMBERS, 'u', "uid", "LIST", AT(record.uids, struct number_set),
	 .help = "processes of these users (numbers)"},
	{OPT_LIST, 0, "comm", "GLOB", AT(record.comms, struct opts_list),
	 .help = "threads whose name matches; repeatable"},
	{OPT_LIST, 'G', "cgroup", "PATH", AT(record.cgroups, struct opts_list),
	 .flags = OPT_IS_FILE, .help = "processes in this control group and below; repeatable"},
	{OPT_LIST, 0, "container", "ID", AT(record.containers, struct opts_list),
	 .help = "processes of this container (its id or the beginning of it); repeatable"},
	{OPT_FLAG, 0, "no-inherit", AT(record.no_inherit, bool), .flags = OPT_NEGATABLE,
	 .help = "do not follow the children of -p"},

	{OPT_GROUP, .help = "How long"},
	{OPT_DURATION, 'i', "interval", "TIME", AT(record.interval_ns, uint64_t),
	 .min = 100 * NSEC_PER_MSEC, .help = "renew the table every TIME (default: 2)"},
	{OPT_DURATION, 0, "delay", "TIME", AT(record.delay_ns, uint64_t),
	 .min = 100 * NSEC_PER_MSEC, .help = "the same, as perf top calls it"},
	{OPT_NUMBER, 'n', "iterations", "N", AT(iterations, uint64_t), .min = 1,
	 .help = "end after N tables"},
	{OPT_DURATION, 'd', "duration", "TIME", AT(record.duration_ns, uint64_t), .min = 1,
	 .help = "end after 30, 500ms, 5m (SECONDS means the same); without it: at q, at Ctrl-C or "
		 "at the target's end"},

	{OPT_GROUP, .help = "What to sample"},
	{OPT_NUMBER, 'F', "freq", "HZ", AT(record.freq_hz, uint64_t), .min = 1,
	 .help = "samples per second and CPU (default: 99)"},
	{OPT_FLAG, 0, "off-cpu", AT(off_cpu, bool), .flags = OPT_NEGATABLE,
	 .help = "where threads wait, too (the default; --no-off-cpu: not)"},
	{OPT_FLAG, 0, "kernel-threads", AT(record.kernel_threads, bool), .flags = OPT_NEGATABLE,
	 .help = "kernel threads' waits too"},
	{OPT_FLAG, 'U', "user-stacks", AT(record.user_only, bool), .help = "only user stacks"},
	{OPT_FLAG, 'K', "kernel-stacks", AT(record.kernel_only, bool),
	 .help = "only kernel stacks"},

	{OPT_GROUP, .help = "The table"},
	{OPT_CHOICES, 's', "sort", "LIST", AT(sort, struct opts_choices), .choices = sort_choices,
	 .help = "what has a row of its own: comm, dso, symbol (default: dso,symbol)"},
	{OPT_CHOICES, 0, "by", "LIST", AT(record.by, struct opts_choices), .choices = by_choices,
	 .help = "what comm is: comm (default: the thread's name), process, pid, tid, cpu, cgroup, "
		 "uid"},
	{OPT_CHOICE, 0, "order", "COLUMN", AT(order, struct opts_choices), .choices = order_choices,
	 .help = "the largest first: self, total, off, off-total (default: self)"},
	{OPT_STRING, 0, "filter", "REGEX", AT(filter, const char *),
	 .help = "only rows that match, as the key / asks for"},
	{OPT_FLAG, 'z', "zero", AT(zero, bool), .flags = OPT_NEGATABLE,
	 .help = "the last interval alone; else older ones count too, half after every 10 s"},
	{OPT_FLAG, 0, "ms", AT(ms, bool), .flags = OPT_NEGATABLE,
	 .help = "time on the CPU in ms per second, not as a share of all CPUs"},

	{OPT_GROUP, .help = "Output"},
	{OPT_FLAG, 'b', "batch", AT(batch, bool),
	 .help = "tables on stdout, one after the other (what happens when stdout is no terminal)"},
	{OPT_FLAG, 0, "stdio", AT(batch, bool), .help = "the same, as perf top calls it"},
	{OPT_NUMBER, 'E', "entries", "N", AT(entries, uint64_t), .min = 1,
	 .help = "with -b: rows of a table (default: 40)"},

	{OPT_GROUP, .help = "Limits"},
	{OPT_BYTES, 0, "max-memory", "BYTES", AT(record.max_memory_bytes, uint64_t), .min = 1 << 20,
	 .help = "bound of the memory taken in the kernel: 64M; and of bpfprof's own, at least "
		 "64M: it ends beyond it"},
	{OPT_STRING, 0, "btf", "FILE", AT(record.btf, const char *), .flags = OPT_IS_FILE,
	 .help = "kernel types for a kernel without /sys/kernel/btf/vmlinux"},
	{OPT_END},
};

static const struct opts_example top_examples[] = {
	{"sudo bpfprof top", "where all CPUs are, and where threads wait"},
	{"sudo bpfprof top -p 1234 --order off", "what one process waits for"},
	{"sudo bpfprof top -s comm,dso,symbol --by process", "functions of each process"},
	{"sudo bpfprof top -b -n 2 -E 10", "two tables of ten rows as text"},
	{NULL},
};

/* SECONDS: the first operand, where it reads as a time. */
static bool take_operand(void *target, const char *arg)
{
	struct top_opts *opts = target;
	uint64_t time_ns;

	if (parse_duration_ns(arg, &time_ns))
		return false;
	if (!opts->record.args.operands.cnt)
		opts->record.operand_ns = time_ns;
	return true;
}

const struct opts_spec top_spec = {
	.name = "top",
	.usage = "top [OPTIONS] [SECONDS] [-- COMMAND ARG...]",
	.summary = "Watch where CPU time goes, and where threads wait: a live table",
	.details =
		"self: in the function; total: in what it calls too. off: ms per second that "
		"threads\n"
		"waited, added up over all of them: self is of the innermost user function.\n"
		"Keys: h shows them all. COMMAND runs as the user who called sudo, and its exit\n"
		"status is bpfprof's.",
	.options = top_options,
	.examples = top_examples,
	.take_operand = take_operand,
};

static int check_times(struct top_opts *opts, struct buf *why)
{
	struct record_opts *record = &opts->record;

	if (record->args.operands.cnt > 1)
		buf_printf(why, "unexpected argument '%s' (a program to run goes after '--')",
			   record->args.operands.items[1]);
	else if (record->args.operands.cnt && record->duration_ns)
		buf_printf(why, "the duration is given twice: -d and '%s'",
			   record->args.operands.items[0]);
	else if (record->args.operands.cnt && !record->operand_ns)
		buf_printf(why, "SECONDS: '%s' must be more than 0",
			   record->args.operands.items[0]);
	else if (record->interval_ns && record->delay_ns)
		buf_add_str(why, "options '-i' and '--delay' are the same: give one of them");
	if (why->len)
		return -EINVAL;
	if (record->operand_ns)
		record->duration_ns = record->operand_ns;
	if (record->delay_ns)
		record->interval_ns = record->delay_ns;
	record->delay_ns = 0;
	if (!record->interval_ns)
		record->interval_ns = INTERVAL_DEFAULT_S * NSEC_PER_SEC;
	return 0;
}

static int check_table(struct top_opts *opts, struct buf *why)
{
	struct top_view view = {0};
	_cleanup_(buf_deinit) struct buf reason;
	bool is_bad;

	buf_init(&reason, BUF_NO_MAX);
	is_bad = opts->filter && top_view_filter(&view, opts->filter, &reason);
	top_view_deinit(&view);
	if (opts->record.user_only && opts->record.kernel_only)
		buf_add_str(why, "options '-U' and '-K' exclude each other (both stacks are the "
				 "default)");
	else if (is_bad)
		buf_printf(why, "option '--filter': '%s': %s", opts->filter, buf_cstr(&reason));
	else if (!opts->off_cpu && opts->order.bits >= TOP_BY_OFF_SELF)
		buf_printf(why, "option '--order': '%s' is a column of --off-cpu",
			   opts->order.text);
	return why->len ? -EINVAL : 0;
}

/* As record has them, for capture. */
static void set_defaults(struct top_opts *opts)
{
	struct record_opts *record = &opts->record;

	record->max_cpu_permille = WAITS_CPU_PERMILLE;
	record->wall = opts->off_cpu;
	if (!record->freq_hz)
		record->freq_hz = FREQ_DEFAULT_HZ;
	if (!opts->entries)
		opts->entries = ENTRIES_DEFAULT;
	if (!opts->sort.bits)
		opts->sort.bits =
			TOP_SORT_MODULE | TOP_SORT_FUNCTION | (record->by.bits ? TOP_SORT_WHO : 0);
	opts->batch |= !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
}

bool top_opts_parse(struct top_opts *opts, int argc, char **argv, int *status_out)
{
	_cleanup_(buf_deinit) struct buf why;
	int err;

	*opts = (struct top_opts){.off_cpu = true};
	buf_init(&why, BUF_NO_MAX);
	if (!cli_begin(&top_spec, argc, argv, opts, &opts->record.args, status_out))
		return false;
	/* Threads wait on no CPU in particular. */
	if (opts->record.cpus.cnt)
		opts->off_cpu = false;
	err = check_times(opts, &why);
	err = err ? err : check_table(opts, &why);
	err = err ? err : record_check_rate(&opts->record, &why);
	if (err) {
		*status_out = cli_refuse(&top_spec, &why, err);
		return false;
	}
	set_defaults(opts);
	return true;
}

void top_opts_deinit(struct top_opts *opts)
{
	record_opts_deinit(&opts->record);
}
