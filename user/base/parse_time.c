/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people and programs write them. */
#include "base/parse_time.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/parse.h"

enum {
	UNIX_SECONDS_MIN = 100000000,
	NSEC_DIGITS = 9,
	MINUTE_S = 60,
	HOUR_S = 3600,
};

/* A date and a time of the day as they were written. */
struct written {
	int year, month, day, hour, minute, second;
	uint64_t fraction_ns;
	bool has_zone;
	int zone_s; /* east of Greenwich */
};

static bool is_digit(char chr)
{
	return chr >= '0' && chr <= '9';
}

/* Exactly @digits digits at *@pos, which moves behind them. */
static bool scan_number(const char **pos, int digits, int *out)
{
	int value = 0;

	for (int i = 0; i < digits; i++, (*pos)++) {
		if (!is_digit(**pos))
			return false;
		value = 10 * value + (**pos - '0');
	}
	*out = value;
	return true;
}

static bool scan_char(const char **pos, char wanted)
{
	if (**pos != wanted)
		return false;
	(*pos)++;
	return true;
}

/* ".25" at *@pos, if there is a dot; digits beyond nanoseconds are dropped. */
static bool scan_fraction(const char **pos, uint64_t *out)
{
	uint64_t value = 0;
	int digits = 0;

	*out = 0;
	if (!scan_char(pos, '.'))
		return true;
	if (!is_digit(**pos))
		return false;
	for (; is_digit(**pos); (*pos)++, digits++)
		if (digits < NSEC_DIGITS)
			value = 10 * value + (uint64_t)(**pos - '0');
	for (; digits < NSEC_DIGITS; digits++)
		value *= 10;
	*out = value;
	return true;
}

static bool scan_zone(const char **pos, struct written *out)
{
	int sign = **pos == '-' ? -1 : 1, hours, minutes;

	if (!**pos)
		return true;
	out->has_zone = true;
	if (scan_char(pos, 'Z') || scan_char(pos, 'z'))
		return true;
	if (!scan_char(pos, '+') && !scan_char(pos, '-'))
		return false;
	if (!scan_number(pos, 2, &hours) || !scan_char(pos, ':') || !scan_number(pos, 2, &minutes))
		return false;
	out->zone_s = sign * (hours * HOUR_S + minutes * MINUTE_S);
	return hours < 24 && minutes < 60;
}

static bool scan_time_of_day(const char **pos, struct written *out)
{
	if (!**pos)
		return true;
	if (!scan_char(pos, 'T') && !scan_char(pos, 't') && !scan_char(pos, ' '))
		return false;
	if (!scan_number(pos, 2, &out->hour) || !scan_char(pos, ':') ||
	    !scan_number(pos, 2, &out->minute))
		return false;
	if (scan_char(pos, ':') &&
	    (!scan_number(pos, 2, &out->second) || !scan_fraction(pos, &out->fraction_ns)))
		return false;
	return scan_zone(pos, out);
}

static int days_of(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool is_leap = (year % 4 == 0 && year % 100) || year % 400 == 0;

	return days[month - 1] + (month == 2 && is_leap);
}

/* A second 60 is one that was inserted: the next minute's first for us. */
static bool is_possible(const struct written *at)
{
	return at->month >= 1 && at->month <= 12 && at->day >= 1 &&
	       at->day <= days_of(at->year, at->month) && at->hour < 24 && at->minute < 60 &&
	       at->second <= 60;
}

static int scan_date(const char *str, struct written *out)
{
	const char *pos = str;

	*out = (struct written){0};
	if (!scan_number(&pos, 4, &out->year) || !scan_char(&pos, '-') ||
	    !scan_number(&pos, 2, &out->month) || !scan_char(&pos, '-') ||
	    !scan_number(&pos, 2, &out->day) || !scan_time_of_day(&pos, out) || *pos ||
	    !is_possible(out))
		return -EINVAL;
	return 0;
}

static int from_seconds(int64_t seconds, uint64_t fraction_ns, uint64_t *out)
{
	uint64_t value;

	if (seconds < 0 || __builtin_mul_overflow((uint64_t)seconds, NSEC_PER_SEC, &value) ||
	    __builtin_add_overflow(value, fraction_ns, &value))
		return -ERANGE;
	*out = value;
	return 0;
}

static int from_written(const struct written *at, uint64_t *out)
{
	struct tm parts = {
		.tm_year = at->year - 1900,
		.tm_mon = at->month - 1,
		.tm_mday = at->day,
		.tm_hour = at->hour,
		.tm_min = at->minute,
		.tm_sec = at->second,
		.tm_isdst = at->has_zone ? 0 : -1,
	};
	int64_t seconds = at->has_zone ? timegm(&parts) - at->zone_s : mktime(&parts);

	return from_seconds(seconds, at->fraction_ns, out);
}

/* Digits, and a fraction. */
static int parse_unix(const char *str, uint64_t *out)
{
	uint64_t seconds = 0, fraction_ns;
	bool is_large = false;
	const char *pos = str;

	for (; is_digit(*pos); pos++) {
		is_large |= __builtin_mul_overflow(seconds, UINT64_C(10), &seconds);
		is_large |= __builtin_add_overflow(seconds, (uint64_t)(*pos - '0'), &seconds);
	}
	if (pos == str || !scan_fraction(&pos, &fraction_ns) || *pos)
		return -EINVAL;
	if (is_large || seconds > INT64_MAX)
		return -ERANGE;
	return seconds < UNIX_SECONDS_MIN ? -EINVAL
					  : from_seconds((int64_t)seconds, fraction_ns, out);
}

/* A duration that says its unit, or has a minus. */
static int parse_back(const char *str, uint64_t now_ns, uint64_t *out)
{
	size_t len = strlen(str);
	uint64_t back_ns;
	int err;

	if (*str == '-')
		str++;
	else if (!len || is_digit(str[len - 1]))
		return -EINVAL;
	err = parse_duration_ns(str, &back_ns);
	if (!err)
		*out = back_ns < now_ns ? now_ns - back_ns : 0;
	return err;
}

int parse_time_ns(const char *str, uint64_t now_ns, uint64_t *out)
{
	struct written at;
	int err;

	if (!strcmp(str, "now")) {
		*out = now_ns;
		return 0;
	}
	if (!strncmp(str, "now-", 4))
		return parse_back(str + 3, now_ns, out);
	if (!scan_date(str, &at))
		return from_written(&at, out);
	err = parse_unix(str, out);
	return err == -EINVAL ? parse_back(str, now_ns, out) : err;
}
