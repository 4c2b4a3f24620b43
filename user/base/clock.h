/* SPDX-License-Identifier: Apache-2.0 */
/* Time: monotonic for durations, CPU time of ourselves, UTC for names. All in nanoseconds. */
#ifndef BPFPROF_BASE_CLOCK_H
#define BPFPROF_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_USEC 1000ULL

uint64_t clock_monotonic_ns(void);
uint64_t clock_boottime_ns(void);
uint64_t clock_realtime_ns(void);

/* User + system CPU time of this process, all threads, children not included. */
uint64_t clock_process_cpu_ns(void);

/* The same of the calling thread alone. */
uint64_t clock_thread_cpu_ns(void);

/* CLOCK_BOOTTIME at which this process was started (field 22 of /proc/self/stat; 10 ms steps), 0 if
 * unknown. */
uint64_t clock_process_start_ns(void);

/* Of a process's /proc/PID/stat (@len bytes) its start: clock ticks since boot, 0 if unknown. */
uint64_t clock_parse_start_ticks(const char *stat, size_t len);

/* "20261120T183012Z" into @out. */
void clock_format_utc(uint64_t realtime_ns, char out[static 17]);

#endif
