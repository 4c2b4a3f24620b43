/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expr_tool OBJECT EVENT [--usdt ARGS] [--where E] [--weight E] [--hist E] -- COMMAND ARG...
 *
 * Run the command with a program at EVENT that has the expressions in it; print
 *
 *	ran N kept N weight N (signed)
 *	hist KEY COUNT		for each key
 *	insns N			that the verifier followed
 *
 * EVENT: uprobe:FILE:FUNCTION, uretprobe:FILE:FUNCTION, usdt:FILE:FUNCTION (with --usdt: a probe
 * that sits there), kprobe:FUNCTION, kretprobe:FUNCTION, exec (sched:sched_process_exec), clock.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/expr_patch.h"
#include "expr_tool.h"

struct setup {
	const char *text; /* the event */
	char *file, *function; /* of probes */
	struct expr_env env;
	const char *exprs[BP_EXPR_USES];
	char **command;
};

/* sched:sched_process_exec, the same from 5.10 on at least. */
static const struct event_field exec_fields[] = {
	{.name = "filename", .off = 8, .size = 4, .is_data_loc = true, .is_string = true},
	{.name = "pid", .off = 12, .size = 4, .is_signed = true},
	{.name = "old_pid", .off = 16, .size = 4, .is_signed = true},
};

static const struct {
	const char *prefix, *program;
	enum event_kind kind;
} events[] = {
	{"uprobe:", "expr_kprobe", EVENT_UPROBE},
	{"uretprobe:", "expr_kprobe", EVENT_URETPROBE},
	{"usdt:", "expr_kprobe", EVENT_USDT},
	{"kprobe:", "expr_kprobe", EVENT_KPROBE},
	{"kretprobe:", "expr_kprobe", EVENT_KRETPROBE},
	{"exec", "expr_tracepoint", EVENT_TRACEPOINT},
	{"clock", "expr_perf_event", EVENT_COUNTER},
};

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "expr_tool: %s\n", what);
	exit(1);
}

/* The event's row; its parts into @setup. */
static size_t parse_event(struct setup *setup, char *text)
{
	size_t row = 0;

	while (row < 7 && strncmp(text, events[row].prefix, strlen(events[row].prefix)))
		row++;
	if (row == 7)
		die("no such event");
	setup->text = text;
	setup->env.kind = events[row].kind;
	setup->env.arch = EVENT_ARCH_HOST;
	if (setup->env.kind == EVENT_TRACEPOINT) {
		setup->env.fields = exec_fields;
		setup->env.field_cnt = sizeof(exec_fields) / sizeof(*exec_fields);
	}
	setup->function = strrchr(text, ':');
	if (!setup->function)
		return row;
	*setup->function++ = 0;
	setup->file = strchr(text, ':');
	if (setup->file)
		*setup->file++ = 0;
	return row;
}

static void parse_options(struct setup *setup, char **argv)
{
	static const char *const names[] = {"--where", "--weight", "--hist"};

	for (; argv[0] && argv[1] && strcmp(argv[0], "--"); argv += 2) {
		if (!strcmp(argv[0], "--usdt"))
			setup->env.usdt_args = argv[1];
		for (int i = 0; i < BP_EXPR_USES; i++)
			if (!strcmp(argv[0], names[i]))
				setup->exprs[i] = argv[1];
	}
	if (!argv[0] || !argv[1])
		die("what shall be run?");
	setup->command = argv + 1;
}

static void compile(const struct setup *setup, uint32_t event, struct expr_patch *patch)
{
	static struct expr_code codes[BP_EXPR_USES];
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	for (int use = 0; use < BP_EXPR_USES; use++) {
		struct expr *expr = NULL;

		if (!setup->exprs[use])
			continue;
		if (expr_parse(setup->exprs[use], &setup->env, &expr, &why) ||
		    expr_compile(expr, &codes[use], &why))
			die(buf_cstr(&why));
		expr_free(expr);
		patch->codes[event][use] = &codes[use];
	}
	buf_deinit(&why);
}

static struct bpf_link *attach(const struct setup *setup, struct bpf_program *prog)
{
	bool returns = event_is_return(setup->env.kind);
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = setup->function, .retprobe = returns);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
	};

	switch (setup->env.kind) {
	case EVENT_KPROBE:
	case EVENT_KRETPROBE:
		return bpf_program__attach_kprobe(prog, returns, setup->function);
	case EVENT_TRACEPOINT:
		return bpf_program__attach_tracepoint(prog, "sched", "sched_process_exec");
	case EVENT_COUNTER:
		return bpf_program__attach_perf_event(prog, (int)syscall(SYS_perf_event_open, &attr,
									 -1, 0, -1, 0));
	default:
		return bpf_program__attach_uprobe_opts(prog, -1, setup->file, 0, &opts);
	}
}

/* The kernel's, of the program: its statistics alone. */
static char verifier_log[65536];

enum { VERIFIER_STATS = 4 };

static void run(char **command)
{
	pid_t pid = fork();

	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	if (waitpid(pid, NULL, 0) != pid)
		die("the command does not end");
}

static void print(struct bpf_object *object)
{
	int sums_fd = bpf_object__find_map_fd_by_name(object, "sums");
	int hist_fd = bpf_object__find_map_fd_by_name(object, "hist");
	const char *processed = strstr(verifier_log, "processed ");
	uint32_t zero = 0;
	uint64_t *last = NULL, key, cnt;
	struct expr_sums sums = {0};

	if (bpf_map_lookup_elem(sums_fd, &zero, &sums))
		die("no sums");
	printf("ran %llu kept %llu weight %lld\n", sums.ran, sums.kept, (long long)sums.weight);
	while (!bpf_map_get_next_key(hist_fd, last, &key)) {
		last = &key;
		if (!bpf_map_lookup_elem(hist_fd, &key, &cnt))
			printf("hist %" PRId64 " %" PRIu64 "\n", (int64_t)key, cnt);
	}
	if (processed)
		printf("insns %lu\n", strtoul(processed + strlen("processed "), NULL, 10));
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, args) : 0;
}

int main(int argc, char **argv)
{
	static struct expr_patch patch;
	struct setup setup = {0};
	struct bpf_object *object;
	struct bpf_program *prog, *all;
	struct bpf_link *link;
	size_t row;

	libbpf_set_print(quiet);
	if (argc < 4)
		die("OBJECT EVENT [OPTION VALUE]... -- COMMAND");
	row = parse_event(&setup, argv[2]);
	parse_options(&setup, argv + 3);
	compile(&setup,
		setup.env.kind == EVENT_TRACEPOINT ? 1
		: setup.env.kind == EVENT_COUNTER  ? 2
						   : 0,
		&patch);
	if (expr_patch_begin(&patch))
		return 1;
	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		die("the object cannot be opened");
	bpf_object__for_each_program(all, object) bpf_program__set_autoload(
		all, !strcmp(bpf_program__name(all), events[row].program) ||
			     setup.env.kind == EVENT_KPROBE);
	prog = bpf_object__find_program_by_name(object, events[row].program);
	bpf_program__set_log_level(prog, VERIFIER_STATS);
	bpf_program__set_log_buf(prog, verifier_log, sizeof(verifier_log));
	if (bpf_object__load(object) || expr_patch_end(&patch))
		die("the programs cannot be loaded");
	link = attach(&setup, prog);
	if (!link)
		die("the program cannot be attached");
	run(setup.command);
	bpf_link__destroy(link);
	print(object);
	bpf_object__close(object);
	return 0;
}
