/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people and programs write them: --since and --until, and the same of a URL. */
#ifndef BPFPROF_BASE_PARSE_TIME_H
#define BPFPROF_BASE_PARSE_TIME_H

#include <stdint.h>

/* What parse_time_ns() takes, for the message about what it did not. */
#define PARSE_TIME_FORMS                                                                       \
	"15m, 1h or 2d back from now, 2026-11-20T12:00:00Z, 'YYYY-MM-DD HH:MM[:SS]' in local " \
	"time, or unix seconds"

/*
 * The UTC time (ns since 1970) that @str means at @now_ns into *@out:
 *
 *	15m, 1.5h, 2d			so long before @now_ns, but not before 1970; with its unit,
 *					because a bare number is a time
 *	-15m, now-15m, -30		the same; with the minus it needs no unit (seconds)
 *	now
 *	2026-11-20T12:00:00[.5]Z	RFC 3339; a space for the T, and +01:00 for the Z, do as
 *					well. Without zone it is local time ($TZ, /etc/localtime);
 *					where a clock that is set back shows it twice, the C library
 *					chooses
 *	2026-11-20[ 12:00]		local time; the seconds, or the time of the day, are 0
 *	1795176000[.5]			unix seconds; numbers below 100000000 (1973) are refused,
 *					because who writes 30 means half a minute
 *
 * 0; -EINVAL: none of these; -ERANGE: before 1970 or after 2554. *@out is untouched then.
 */
int parse_time_ns(const char *str, uint64_t now_ns, uint64_t *out);

#endif
