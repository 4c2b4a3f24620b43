/* SPDX-License-Identifier: Apache-2.0 */
/* How long, and how often, each CPU was idle. */
#ifndef BPFPROF_CAPTURE_IDLE_H
#define BPFPROF_CAPTURE_IDLE_H

#include <stddef.h>
#include <stdint.h>

struct idle {
	/*
	 * Since boot, nanoseconds, in steps of 10 ms (/proc/stat). The kernel leaves out what the
	 * CPU does on the way in and out and in interrupts that do not end the idle period.
	 */
	uint64_t ns;
	uint32_t exits; /* idle periods ended since boot, modulo 2^32; 0 where not known */
};

/*
 * Read each CPU's into out[cpu] for cpu < @cnt; CPUs that /proc/stat does not show keep their
 * value. @prog_fd is program bp_idle_exits, borrowed; negative for none. 0 or negative errno.
 */
int idle_read(int prog_fd, struct idle *out, size_t cnt);

/*
 * Of @never clock ticks that a CPU did not run in a window, how many fell into idle time. The
 * window lies between @from and @to; @ran_idle ticks ran while the CPU was idle. Where a CPU
 * delivers its idle ticks, this is none; where it does not (a virtual CPU that its host takes
 * away), it is the idle time without a run, and the time around each idle period that the kernel
 * does not count.
 */
uint64_t idle_never_ran(const struct idle *from, const struct idle *to, uint64_t period_ns,
			uint64_t ran_idle, uint64_t never);

#endif
