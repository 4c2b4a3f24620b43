/* SPDX-License-Identifier: Apache-2.0 */
/* How long, and how often, each CPU was idle. */
#include "capture/idle.h"

#include <bpf/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/reader.h"

/*
 * The most that one idle period may hide from the kernel's account: entry, exit and the interrupt
 * that ends it. Measured 46 to 127 us on a nested virtual machine, the slowest that we know.
 */
enum { HIDDEN_NS_PER_EXIT = 250000 };

/* "cpu3 user nice system idle iowait ...": idle and iowait, in clock ticks. False for other lines.
 */
static bool parse_stat_line(const char *line, size_t len, uint64_t *cpu, uint64_t *idle_ticks)
{
	uint64_t fields[5];
	struct reader rd;

	if (len < 5 || memcmp(line, "cpu", 3) || line[3] == ' ')
		return false;
	reader_init(&rd, line + 3, len - 3);
	*cpu = reader_number(&rd, 10);
	for (int i = 0; i < 5; i++) {
		while (reader_accept(&rd, ' '))
			;
		fields[i] = reader_number(&rd, 10);
	}
	*idle_ticks = fields[3] + fields[4];
	return !rd.err;
}

/* The unit of /proc/stat. */
static uint64_t clock_tick_ns(void)
{
	return NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
}

static uint32_t idle_exits(int prog_fd, uint32_t cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

	return prog_fd < 0 || bpf_prog_test_run_opts(prog_fd, &opts) ? 0 : opts.retval;
}

int idle_read(int prog_fd, struct idle *out, size_t cnt)
{
	uint64_t cpu, ticks;
	_cleanup_(buf_deinit) struct buf text;
	struct reader rd;
	const char *line;
	size_t len;
	int err;

	buf_init(&text, 16 << 20);
	err = fs_read_file("/proc/stat", &text);
	if (err)
		return err;
	reader_init(&rd, text.data, text.len);
	while ((line = reader_until(&rd, '\n', &len))) {
		if (!parse_stat_line(line, len, &cpu, &ticks) || cpu >= cnt)
			continue;
		out[cpu].ns = ticks * clock_tick_ns();
		out[cpu].exits = idle_exits(prog_fd, cpu);
	}
	return 0;
}

uint64_t idle_never_ran(const struct idle *from, const struct idle *to, uint64_t period_ns,
			uint64_t ran_idle, uint64_t never)
{
	uint64_t idle_ticks = to->ns > from->ns ? (to->ns - from->ns) / period_ns : 0;
	uint64_t missed = idle_ticks > ran_idle ? idle_ticks - ran_idle : 0, exits, hidden;

	if (!missed || missed >= never)
		return missed < never ? missed : never;
	exits = from->exits && to->exits ? to->exits - from->exits : 0;
	hidden = (exits ? exits * HIDDEN_NS_PER_EXIT + clock_tick_ns() : 0) / period_ns;
	if (hidden > never - missed)
		hidden = never - missed;
	/* Of the hidden ticks, as many ran as of the counted ones. */
	return missed + hidden * missed / idle_ticks;
}
