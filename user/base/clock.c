/* SPDX-License-Identifier: Apache-2.0 */
/* Time in nanoseconds. */
#include "base/clock.h"

#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/reader.h"

enum {
	STAT_MAX_BYTES = 4096,
	STAT_FIELD_STATE = 3, /* the first one behind the comm, counted as proc(5) does */
	STAT_FIELD_STARTTIME = 22
};

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts = {0};

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_boottime_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

uint64_t clock_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t clock_process_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_parse_start_ticks(const char *stat, size_t len)
{
	size_t behind_comm = 0, field_len;
	struct reader rd;

	/* The comm is in parentheses and may hold spaces and parentheses itself. */
	for (size_t i = 0; i < len; i++) {
		if (stat[i] == ')')
			behind_comm = i + 1;
	}
	reader_init(&rd, stat, len);
	reader_seek(&rd, behind_comm);
	if (!reader_accept(&rd, ' '))
		return 0;
	for (int field = STAT_FIELD_STATE; field < STAT_FIELD_STARTTIME; field++)
		reader_until(&rd, ' ', &field_len);
	return reader_number(&rd, 10);
}

uint64_t clock_process_start_ns(void)
{
	long ticks_hz = sysconf(_SC_CLK_TCK);
	uint64_t start_ns = 0;
	struct buf stat;

	buf_init(&stat, STAT_MAX_BYTES);
	if (ticks_hz > 0 && !fs_read_file("/proc/self/stat", &stat))
		start_ns = clock_parse_start_ticks(buf_cstr(&stat), stat.len) *
			   (NSEC_PER_SEC / (uint64_t)ticks_hz);
	buf_deinit(&stat);
	return start_ns;
}

void clock_format_utc(uint64_t realtime_ns, char out[static 17])
{
	time_t seconds = (time_t)(realtime_ns / NSEC_PER_SEC);
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(out, 17, "%Y%m%dT%H%M%SZ", &utc);
}
