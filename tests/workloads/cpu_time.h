/* SPDX-License-Identifier: Apache-2.0 */
/* How long a program has worked. */
#ifndef BPFPROF_CPU_TIME_H
#define BPFPROF_CPU_TIME_H

#include <time.h>

/* CPU seconds of the process, all threads together. */
static inline double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

#endif
