/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof record`: its option table, and what the table's types cannot check. */
#include "cli/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "abi.h"
#include "event/perf_open.h"

#define AT(member, type) .offset = OPT_AT(struct record_opts, member, type)

static const struct opt_choice by_choices[] = {
	{"comm", BY_COMM}, {"process", BY_PROCESS}, {"pid", BY_PID},
	{"tid", BY_TID},   {"cpu", BY_CPU},	    {"cgroup", BY_CGROUP},
	{"uid", BY_UID},   {"caller", BY_CALLER},   {NULL},
};

static const struct opt_choice state_choices[] = {
	{"interruptible", WAIT_INTERRUPTIBLE},
	{"uninterruptible", WAIT_UNINTERRUPTIBLE},
	{"stopped", WAIT_STOPPED},
	{"runnable", WAIT_RUNNABLE},
	{"S", WAIT_INTERRUPTIBLE},
	{"D", WAIT_UNINTERRUPTIBLE},
	{"T", WAIT_STOPPED},
	{"R", WAIT_RUNNABLE},
	{NULL},
};

static const struct opt record_options[] = {
	{OPT_GROUP, .help = "What to profile (lists OR, kinds AND; default: every CPU)"},
	{OPT_FLAG, 'a', "all-cpus", AT(all_cpus, bool),
	 .help = "every CPU (the default); with COMMAND: not only COMMAND"},
	{OPT_NUMBERS, 'C', "cpu", "LIST", AT(cpus, struct number_set),
	 .help = "only these CPUs: 0,2-5"},
	{OPT_NUMBERS, 'p', "pid", "LIST", AT(tgids, struct number_set),
	 .help = "these processes, their threads and future children"},
	{OPT_NUMBERS, 't', "tid", "LIST", AT(tids, struct number_set), .help = "these threads"},
	{OPT_NUMBERS, 'u', "uid", "LIST", AT(uids, struct number_set),
	 .help = "processes of these users (numbers)"},
	{OPT_LIST, 0, "comm", "GLOB", AT(comms, struct opts_list),
	 .help = "threads whose name matches; repeatable"},
	{OPT_LIST, 'G', "cgroup", "PATH", AT(cgroups, struct opts_list), .flags = OPT_IS_FILE,
	 .help = "processes in this control group and below; repeatable"},
	{OPT_LIST, 0, "container", "ID", AT(containers, struct opts_list),
	 .help = "processes of this container (its id or the beginning of it); repeatable"},
	{OPT_FLAG, 0, "no-inherit", AT(no_inherit, bool), .flags = OPT_NEGATABLE,
	 .help = "do not follow the children of -p"},

	{OPT_GROUP, .help = "How long"},
	{OPT_DURATION, 'd', "duration", "TIME", AT(duration_ns, uint64_t), .min = 1,
	 .help = "stop after 30, 500ms, 5m (SECONDS means the same); without it: at Ctrl-C or at "
		 "the target's end"},
	{OPT_DURATION, 'D', "delay", "TIME", AT(delay_ns, uint64_t),
	 .help = "start sampling this much later"},
	{OPT_DURATION, 'i', "interval", "TIME", AT(interval_ns, uint64_t), .min = 1000000,
	 .help = "write a complete profile every TIME"},

	{OPT_GROUP, .help = "What to sample"},
	{OPT_LIST, 'e', "event", "EVENT", AT(events, struct opts_list),
	 .help = "repeatable, or a comma list: a counter (cycles, cpu-clock, page-faults, ...), "
		 "CATEGORY:TRACEPOINT, kprobe:FUNCTION, uprobe:PATH:FUNCTION, kretprobe:, "
		 "uretprobe:, usdt:PATH:PROVIDER:NAME; PATH may be a bare name (libc); bpfprof "
		 "list "
		 "has them (default: cycles where there is a PMU, else cpu-clock)"},
	{OPT_NUMBER, 'F', "freq", "HZ", AT(freq_hz, uint64_t), .min = 1,
	 .help = "samples per second and CPU (default: 99)"},
	{OPT_COUNT, 'c', "count", "N", AT(period, uint64_t), .min = 1,
	 .help = "instead of -F: one sample every N events"},
	{OPT_STRING, 0, "where", "EXPR", AT(where, const char *),
	 .help = "only where it holds: arg0 > 4096, ret < 0, comm == \"nginx\", a tracepoint's "
		 "fields, str(arg0) == \"/etc/passwd\""},
	{OPT_STRING, 0, "weight", "EXPR[:UNIT]", AT(weight, const char *),
	 .help = "of probes and tracepoints: what each counts for: arg0:bytes"},
	{OPT_STRING, 0, "hist", "EXPR", AT(hist, const char *),
	 .help = "of probes and tracepoints: a histogram of it, in powers of two"},
	{OPT_FLAG, 0, "elapsed", AT(elapsed, bool), .flags = OPT_NEGATABLE,
	 .help = "of probed functions: the time of each call instead of their number"},
	{OPT_FLAG, 0, "parallelism", AT(parallelism, bool), .flags = OPT_NEGATABLE,
	 .help = "a further value: time divided by the process's threads that run at that moment"},

	{OPT_GROUP, .help = "Time off the CPU"},
	{OPT_FLAG, 0, "off-cpu", AT(off_cpu, bool), .flags = OPT_NEGATABLE,
	 .help = "instead of an event: where threads wait, and for how long"},
	{OPT_FLAG, 0, "wall", AT(wall, bool), .flags = OPT_NEGATABLE,
	 .help = "all of the threads' time: on the CPU, runnable and blocked, in one profile"},
	{OPT_FLAG, 0, "wakers", AT(wakers, bool), .flags = OPT_NEGATABLE,
	 .help = "with --off-cpu or --wall: with the stack of who ended the wait, after '--'"},
	{OPT_STRING, 'm', "min-block", "US", AT(min_block, const char *),
	 .help = "only waits of this many microseconds (or 5ms, 1s) and more"},
	{OPT_STRING, 'M', "max-block", "US", AT(max_block, const char *),
	 .help = "only waits up to this long"},
	{OPT_CHOICES, 0, "state", "LIST", AT(states, struct opts_choices), .choices = state_choices,
	 .help = "only time in these states: interruptible (S), uninterruptible (D), stopped (T), "
		 "runnable (R)"},
	{OPT_FLAG, 0, "kernel-threads", AT(kernel_threads, bool), .flags = OPT_NEGATABLE,
	 .help = "kernel threads' waits too"},

	{OPT_GROUP, .help = "The heap (with -p or COMMAND)"},
	{OPT_STRING, 0, "heap", "sites|maps", AT(heap, const char *), .flags = OPT_VALUE_OPTIONAL,
	 .help = "instead of an event: allocations by stack: allocated, live, at the peak, "
		 "temporary; =sites: with the stacks that free; =maps: what is taken from the "
		 "kernel (mmap, sbrk)"},
	{OPT_BYTES, 0, "heap-rate", "BYTES", AT(heap_rate_bytes, uint64_t), .min = 1,
	 .max = 64 << 20,
	 .help = "sample one byte in so many; 1: every allocation (default: 512k where the "
		 "recording may last more than a minute, else 1)"},
	{OPT_DURATION, 0, "leak-age", "TIME", AT(leak_age_ns, uint64_t), .min = 1,
	 .help = "two further values: what is live and older than TIME (old_space)"},
	{OPT_STRING, 0, "alloc-prefix", "PREFIX", AT(alloc_prefix, const char *),
	 .help = "the allocator's functions are PREFIXmalloc, PREFIXfree, ..., beside those "
		 "known"},

	{OPT_GROUP, .help = "Stacks"},
	{OPT_FLAG, 'U', "user-stacks", AT(user_only, bool), .help = "only user stacks"},
	{OPT_FLAG, 'K', "kernel-stacks", AT(kernel_only, bool), .help = "only kernel stacks"},
	{OPT_FLAG, 'I', "idle", AT(include_idle, bool), .flags = OPT_NEGATABLE,
	 .help = "include the idle task"},
	{OPT_CHOICES, 0, "by", "LIST", AT(by, struct opts_choices), .choices = by_choices,
	 .help = "splits stacks: comm (default), process, pid, tid, cpu, cgroup, uid; caller: of "
		 "probed functions, who calls them, by line and without a walk"},
	{OPT_STRING, 0, "timeline", "BUCKET", AT(timeline, const char *),
	 .flags = OPT_VALUE_OPTIONAL,
	 .help = "keep when it was, in buckets this wide (default: 20ms), by thread and CPU: the "
		 "report has a timeline; memory grows with time"},
	{OPT_NUMBER, 0, "max-depth", "N", AT(max_depth, uint64_t), .min = 1, .max = BP_FRAMES_USER,
	 .help = "user frames kept of a deeper stack: both its ends"},
	{OPT_FLAG, 0, "no-inline", AT(no_inline, bool), .flags = OPT_NEGATABLE,
	 .help = "no frames for inlined calls, no source lines; the files are written "
		 "sooner"},
	{OPT_FLAG, 0, "merge-clones", AT(merge_clones, bool), .flags = OPT_NEGATABLE,
	 .help = "count a function's parts and copies (.cold, .part.0, .isra.0, ...) as it"},
	{OPT_FLAG, 0, "no-symbols", AT(no_symbols, bool), .flags = OPT_NEGATABLE,
	 .help = "addresses instead of names"},
	{OPT_LIST, 0, "debug-dir", "DIR", AT(debug_dir_args, struct opts_list),
	 .flags = OPT_IS_FILE, .help = DEBUG_DIR_HELP},
	{OPT_FLAG, 'g', NULL, AT(stacks, bool), .help = "accepted: stacks are always recorded"},
	{OPT_STRING, 0, "call-graph", "auto|fp|dwarf|lbr", AT(call_graph, const char *),
	 .help = "accepted: whole stacks need no mode"},

	{OPT_GROUP, .help = "Output"},
	{OPT_LIST, 'o', "output", "FILE", AT(outputs, struct opts_list), .flags = OPT_IS_FILE,
	 .help = "repeatable; the extension says the format, '-' is folded text on stdout, "
		 "-.pb.gz pprof there; %t: UTC "
		 "time, %n: window, %v: value (default: bpfprof-%t.html)"},
	{OPT_FLAG, 'f', "folded", AT(folded, bool), .help = "the same as -o -"},
	{OPT_STRING, 0, "value", "NAME", AT(value, const char *),
	 .help = "the value that one-value formats hold"},
	{OPT_FLAG, 0, "annotate", AT(annotate, bool), .flags = OPT_NEGATABLE,
	 .help = "folded: _[k] after kernel frames, _[i] inlined, _[j] JIT, _[w] wakers"},
	{OPT_FLAG, 0, "embed-source", AT(embed_source, bool), .flags = OPT_NEGATABLE,
	 .help = "html: with the source lines that have samples, of files that everybody may read"},
	{OPT_STRING, 0, "title", "TEXT", AT(title, const char *),
	 .help = "the title, in formats that show one"},
	{OPT_FLAG, 0, "force", AT(force, bool), .flags = OPT_NEGATABLE,
	 .help = "replace existing files; sample events however much they cost"},
	{OPT_FLAG, 0, "open", AT(open, bool), .flags = OPT_NEGATABLE,
	 .help = "show the first .html or .svg in the browser (xdg-open)"},
	{OPT_STRING, 0, "stats", "FILE", AT(stats, const char *), .flags = OPT_IS_FILE,
	 .help = "the ledger and the cost as JSON"},
	{OPT_FLAG, 0, "strict", AT(strict, bool), .flags = OPT_NEGATABLE,
	 .help = "exit with status 3 if anything was lost"},

	{OPT_GROUP, .help = "Limits"},
	{OPT_BYTES, 0, "max-memory", "BYTES", AT(max_memory_bytes, uint64_t), .min = 1 << 20,
	 .help = "bound of the memory taken in the kernel: 64M; and of bpfprof's own, at least "
		 "64M: the recording ends beyond it"},
	{OPT_STRING, 0, "max-cpu", "PCT", AT(max_cpu, const char *),
	 .help = "bound of the recording's share of this machine's CPU time in 5 s: it ends beyond "
		 "it; of waits, chance first picks those whose stacks are walked, so that they "
		 "take half of it (without the option: 0.5 of each CPU; 100: every wait)"},
	{OPT_STRING, 0, "btf", "FILE", AT(btf, const char *), .flags = OPT_IS_FILE,
	 .help = "kernel types for a kernel without /sys/kernel/btf/vmlinux"},
	{OPT_END},
};

static const struct opts_example record_examples[] = {
	{"sudo bpfprof -d 30", "30 seconds of every CPU as a report, bpfprof-TIME.html"},
	{"sudo bpfprof -p 1234 -o app.pb.gz -o app.svg 10",
	 "ten seconds of one process, as pprof and as flame graph"},
	{"sudo bpfprof -- make -j8", "a command and all that it starts"},
	{"sudo bpfprof --off-cpu -p 1234 -o waits.svg 10", "where one process waits, and for what"},
	{"sudo bpfprof -e uprobe:libc:malloc --weight arg0:bytes --by caller -p 1234 -f 5",
	 "bytes asked of malloc(), by the line that asks"},
	{"sudo bpfprof -e 'uretprobe:libc:read' --where 'ret < 0' -d 10", "where reads fail"},
	{"sudo bpfprof --wall --by tid -o all.pb.gz 10",
	 "all time of all threads: on the CPU, runnable, blocked"},
	{"sudo bpfprof --timeline -o spikes.html 60",
	 "a minute with its times: select a spike, see its flame graph"},
	{"sudo bpfprof -f 5 | head", "folded stacks, in flamegraph.pl's format"},
	{"sudo bpfprof -i 1m -o 'day-%t.pb.gz'", "a profile every minute until Ctrl-C"},
	{NULL},
};

/* SECONDS: the first operand, where it reads as a time. A second number is refused rather than run
 * as a program: record_opts_check(). */
static bool take_operand(void *target, const char *arg)
{
	struct record_opts *opts = target;
	uint64_t time_ns;

	if (parse_duration_ns(arg, &time_ns))
		return false;
	if (!opts->args.operands.cnt)
		opts->operand_ns = time_ns;
	return true;
}

const struct opts_spec record_spec = {
	.name = "record",
	.usage = "[record] [OPTIONS] [SECONDS] [-- COMMAND ARG...]",
	.summary = "Record where CPU time goes: flame graph, pprof and other formats",
	.details =
		"COMMAND runs as the user who called sudo, and its exit status is bpfprof's.\n"
		"The first Ctrl-C finishes and writes; a second one stops at once.\n"
		"Symbols of stripped files that are not on this machine are asked for by build-id\n"
		"from the servers in $DEBUGINFOD_URLS (libdebuginfod1); at the end they are "
		"waited\n"
		"for up to 10 s, or until Ctrl-C. sudo removes that variable: sudo -E, or\n"
		"sudo --preserve-env=DEBUGINFOD_URLS.\n"
		"While root's file " LEDGER_STOP_FILE " is there (nobody else may write it),\n"
		"no recording starts, and those that run write what they have and end.",
	.options = record_options,
	.examples = record_examples,
	.writes_profiles = true,
	.take_operand = take_operand,
};

static int check_times(struct record_opts *opts, struct buf *why)
{
	if (opts->args.operands.cnt > 1) {
		buf_printf(why, "unexpected argument '%s' (a program to run goes after '--')",
			   opts->args.operands.items[1]);
		return -EINVAL;
	}
	if (!opts->args.operands.cnt)
		return 0;
	if (opts->duration_ns) {
		buf_printf(why, "the duration is given twice: -d and '%s'",
			   opts->args.operands.items[0]);
		return -EINVAL;
	}
	if (!opts->operand_ns) {
		buf_printf(why, "SECONDS: '%s' must be more than 0", opts->args.operands.items[0]);
		return -EINVAL;
	}
	opts->duration_ns = opts->operand_ns;
	return 0;
}

int record_check_events(const struct record_opts *opts, struct buf *why)
{
	int err = 0;

	for (size_t i = 0; i < opts->events.cnt && !err; i++) {
		_cleanup_free_ struct event_spec *specs = NULL;
		size_t cnt = 0;

		err = event_parse(opts->events.items[i], &specs, &cnt, why);
		for (size_t k = 0; k < cnt; k++)
			event_spec_deinit(&specs[k]);
	}
	return err;
}

/* Microseconds, as bcc's tools have them, or with a unit. */
static int parse_block(const char *text, uint64_t *out)
{
	size_t len = strlen(text);

	if (len && text[len - 1] >= '0' && text[len - 1] <= '9') {
		if (parse_u64(text, out) || *out > UINT64_MAX / NSEC_PER_USEC)
			return -EINVAL;
		*out *= NSEC_PER_USEC;
		return 0;
	}
	return parse_duration_ns(text, out);
}

static int check_bounds(struct record_opts *opts, struct buf *why)
{
	if (opts->min_block && parse_block(opts->min_block, &opts->min_block_ns))
		buf_printf(why, "option '-m': '%s' is no time: 500 (microseconds), 5ms, 1s",
			   opts->min_block);
	else if (opts->max_block &&
		 (parse_block(opts->max_block, &opts->max_block_ns) || !opts->max_block_ns))
		buf_printf(why, "option '-M': '%s' is no time: 500 (microseconds), 5ms, 1s",
			   opts->max_block);
	else if (opts->max_block && opts->max_block_ns < opts->min_block_ns)
		buf_printf(why, "options '-m' and '-M': no wait is between %s and %s",
			   opts->min_block, opts->max_block);
	else
		return 0;
	return -EINVAL;
}

/* A percentage, in tenths of it. */
static int check_max_cpu(struct record_opts *opts, struct buf *why)
{
	double percent = 0.5;
	char *end;

	if (opts->max_cpu) {
		percent = strtod(opts->max_cpu, &end);
		if (end == opts->max_cpu || strcmp(*end == '%' ? end + 1 : end, "") != 0 ||
		    !(percent >= 0.1 && percent <= 100)) {
			buf_printf(why, "option '--max-cpu': '%s' is no percentage from 0.1 to 100",
				   opts->max_cpu);
			return -EINVAL;
		}
	}
	opts->max_cpu_percent = opts->max_cpu && percent < 100 ? percent : 0;
	/* The other half is for what each switch costs that no chance can spare. */
	if (opts->max_cpu_percent > 0)
		percent /= 2;
	opts->max_cpu_permille = (uint32_t)(percent * 10 + 0.5);
	return 0;
}

static int check_waits(struct record_opts *opts, struct buf *why)
{
	bool is_wanted = opts->off_cpu || opts->wall;
	const char *alone = opts->wakers	   ? "--wakers"
			    : opts->min_block	   ? "-m"
			    : opts->max_block	   ? "-M"
			    : opts->states.bits	   ? "--state"
			    : opts->kernel_threads ? "--kernel-threads"
						   : NULL;

	if (opts->off_cpu && opts->wall)
		buf_add_str(why, "options '--off-cpu' and '--wall' exclude each other: --wall has "
				 "both kinds of time");
	else if (alone && !is_wanted)
		buf_printf(why, "option '%s': only with --off-cpu or --wall", alone);
	else if (opts->off_cpu && opts->parallelism)
		buf_add_str(why, "option '--parallelism': shares CPU time; not with --off-cpu, but "
				 "with --wall");
	else if (opts->off_cpu && (opts->events.cnt || opts->freq_hz || opts->period))
		buf_add_str(why,
			    "option '--off-cpu': no event is sampled with it; --wall does both");
	else if (is_wanted && opts->cpus.cnt)
		buf_add_str(why, "option '-C': threads wait on no CPU in particular; not with "
				 "--off-cpu or --wall");
	else
		return check_bounds(opts, why) ? -EINVAL : check_max_cpu(opts, why);
	return -EINVAL;
}

/* EXPR:UNIT; no expression has a colon, but a text may. */
static int check_weight(struct record_opts *opts, struct buf *why)
{
	const char *colon = opts->weight ? strrchr(opts->weight, ':') : NULL;

	if (opts->weight && opts->elapsed) {
		buf_add_str(why, "options '--weight' and '--elapsed' exclude each other: a call "
				 "counts for one thing");
		return -EINVAL;
	}
	opts->weight_text = opts->weight ? strdup(opts->weight) : NULL;
	if (opts->weight && !opts->weight_text)
		return -ENOMEM;
	if (!colon || strchr(colon, '"'))
		return 0;
	if (!colon[1]) {
		buf_add_str(why, "option '--weight': the unit is missing behind the colon: "
				 "arg0:bytes");
		return -EINVAL;
	}
	opts->weight_text[colon - opts->weight] = '\0';
	opts->weight_unit = colon + 1;
	return 0;
}

static bool heap_is(const struct record_opts *opts, const char *kind)
{
	return opts->heap && !strcmp(opts->heap, kind);
}

/* Probes are of processes: a whole machine would pay for those of one library. */
static int check_heap(struct record_opts *opts, struct buf *why)
{
	const char *alone = opts->alloc_prefix	    ? "--alloc-prefix"
			    : opts->heap_rate_bytes ? "--heap-rate"
			    : opts->leak_age_ns	    ? "--leak-age"
						    : NULL;

	if (!opts->heap && alone)
		buf_printf(why, "option '%s': only with --heap", alone);
	else if (!opts->heap)
		return 0;
	else if (*opts->heap && !heap_is(opts, "sites") && !heap_is(opts, "maps"))
		buf_printf(why, "option '--heap': '%s' is not sites, nor maps", opts->heap);
	else if (heap_is(opts, "maps") && opts->alloc_prefix)
		buf_add_str(why, "option '--alloc-prefix': not with --heap=maps, which asks no "
				 "allocator");
	else if (opts->off_cpu || opts->wall || opts->events.cnt || opts->freq_hz || opts->period ||
		 opts->parallelism)
		buf_add_str(why, "option '--heap': nothing else is recorded with it");
	else if (!opts->tgids.cnt && !opts->args.command)
		buf_add_str(why, "option '--heap': name the process with -p, or run a COMMAND");
	else
		return 0;
	return -EINVAL;
}

/* Exact, unless calls are many, and nobody knows how long it will go on or it is more than a
 * minute. */
static uint64_t heap_rate(const struct record_opts *opts)
{
	bool is_short =
		opts->args.command || (opts->duration_ns && opts->duration_ns <= 60 * NSEC_PER_SEC);

	if (!opts->heap_rate_bytes)
		return is_short || heap_is(opts, "maps") ? 0 : 512 << 10;
	return opts->heap_rate_bytes > 1 ? opts->heap_rate_bytes : 0;
}

int record_check_rate(const struct record_opts *opts, struct buf *why)
{
	uint64_t max_hz;

	if (opts->freq_hz && opts->period) {
		buf_add_str(why, "options '-F' and '-c' exclude each other: samples per second, or "
				 "one every N events");
		return -EINVAL;
	}
	if (!opts->freq_hz)
		return 0;
	max_hz = perf_max_rate_hz();
	if (opts->freq_hz <= max_hz)
		return 0;
	buf_printf(why,
		   "option '-F': '%llu' is beyond what this kernel allows, %llu (raise it with: "
		   "sysctl kernel.perf_event_max_sample_rate=%llu)",
		   (unsigned long long)opts->freq_hz, (unsigned long long)max_hz,
		   (unsigned long long)opts->freq_hz);
	return -EINVAL;
}

static int check_stacks(const struct record_opts *opts, struct buf *why)
{
	static const char *const modes[] = {"auto", "fp", "dwarf", "lbr"};
	const char *mode = opts->call_graph;
	uint64_t stack_bytes;

	if (opts->user_only && opts->kernel_only) {
		buf_add_str(why, "options '-U' and '-K' exclude each other (both stacks are the "
				 "default)");
		return -EINVAL;
	}
	if (!mode || (!strncmp(mode, "dwarf,", 6) && !parse_bytes(mode + 6, &stack_bytes)))
		return 0;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(mode, modes[i]))
			return 0;
	buf_printf(why, "option '--call-graph': '%s' is not one of auto, fp, dwarf[,BYTES], lbr",
		   mode);
	return -EINVAL;
}

static int check_files(const struct record_opts *opts, struct buf *why)
{
	if (opts->stats && !strcmp(opts->stats, "-")) {
		buf_add_str(why, "option '--stats': '-' is not possible, name a file (or "
				 "/dev/stderr)");
		return -EINVAL;
	}
	for (size_t i = 0; opts->stats && i < opts->outputs.cnt; i++) {
		if (strcmp(opts->stats, opts->outputs.items[i]))
			continue;
		buf_printf(why, "option '--stats': '%s' is an output already", opts->stats);
		return -EINVAL;
	}
	return 0;
}

static int record_opts_check(struct record_opts *opts, struct buf *why)
{
	int err = check_times(opts, why);

	err = err ? err : check_weight(opts, why);
	err = err ? err : record_check_events(opts, why);
	err = err ? err : check_waits(opts, why);
	err = err ? err : check_heap(opts, why);
	err = err ? err : record_timeline_check(opts, why);
	err = err ? err : record_check_rate(opts, why);
	err = err ? err : check_stacks(opts, why);
	return err ? err : check_files(opts, why);
}

bool record_opts_parse(struct record_opts *opts, int argc, char **argv, int *status_out)
{
	_cleanup_(buf_deinit) struct buf why;
	int err;

	*opts = (struct record_opts){0};
	buf_init(&why, BUF_NO_MAX);
	if (!cli_begin(&record_spec, argc, argv, opts, &opts->args, status_out))
		return false;
	err = record_opts_check(opts, &why);
	if (err) {
		*status_out = cli_refuse(&record_spec, &why, err);
		return false;
	}
	err = debug_dirs_init(&opts->debug_dirs, &opts->debug_dir_args);
	if (err) {
		*status_out = err == -ENOMEM ? CLI_FAILED : CLI_USAGE;
		return false;
	}
	if (opts->call_graph && strcmp(opts->call_graph, "auto") && strcmp(opts->call_graph, "fp"))
		log_info("--call-graph %s is not needed: stacks are whole without it",
			 opts->call_graph);
	return true;
}

void record_opts_deinit(struct record_opts *opts)
{
	for (size_t i = 0; i < opts->cgroup_paths.cnt; i++)
		free((char *)opts->cgroup_paths.items[i]);
	free(opts->cgroup_paths.items);
	free(opts->weight_text);
	debug_dirs_deinit(&opts->debug_dirs);
	opts_deinit(&record_spec, opts, &opts->args);
}

struct capture_opts record_capture_opts(const struct record_opts *opts)
{
	static const char *const wall_events[] = {"cpu-clock", NULL};

	return (struct capture_opts){
		.events = opts->events.cnt ? opts->events.items
			  : opts->wall	   ? wall_events
					   : NULL,
		.freq_hz = opts->freq_hz,
		.period = opts->period,
		.is_forced = opts->force,
		.where = opts->where,
		.weight = opts->weight_text,
		.weight_unit = opts->weight_unit,
		.hist = opts->hist,
		.elapsed = opts->elapsed,
		.cpus = opts->cpus.cnt ? &opts->cpus : NULL,
		.tgids = &opts->tgids,
		.tids = &opts->tids,
		.uids = &opts->uids,
		.comms = opts->comms.items,
		.cgroups = opts->cgroup_paths.items,
		.no_inherit = opts->no_inherit,
		.include_idle = opts->include_idle,
		.no_kernel_stacks = opts->user_only,
		.no_user_stacks = opts->kernel_only,
		.no_kernel_names = opts->no_symbols,
		.by = record_timeline_by(opts),
		.bucket_ns = opts->bucket_ns,
		.max_depth = (uint32_t)opts->max_depth,
		.max_kernel_bytes = opts->max_memory_bytes,
		.max_own_bytes = opts->max_memory_bytes,
		.max_cpu_percent = opts->max_cpu_percent,
		.btf_path = opts->btf,
		.follow_command = opts->args.command && !opts->all_cpus,
		.parallelism = opts->parallelism,
		.heap =
			{
				.is_wanted = opts->heap,
				.pairs = heap_is(opts, "sites"),
				.maps = heap_is(opts, "maps"),
				.rate_bytes = heap_rate(opts),
				.leak_age_ns = opts->leak_age_ns,
				.prefix = opts->alloc_prefix,
				.command = opts->args.command ? opts->args.command[0] : NULL,
			},
		.waits =
			{
				.is_wanted = opts->off_cpu || opts->wall,
				.is_alone = opts->off_cpu || opts->heap,
				.wakers = opts->wakers,
				.kernel_threads = opts->kernel_threads,
				.min_ns = opts->min_block_ns,
				.max_ns = opts->max_block_ns,
				.states = opts->states.bits,
				.max_cpu_permille = opts->max_cpu_permille,
			},
	};
}
