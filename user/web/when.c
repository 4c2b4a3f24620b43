/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as clients write them. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/parse.h"
#include "web/query.h"

/* The end of what nanoseconds in a signed 64-bit integer tell: 2262. */
#define SECONDS_MAX 9223372036ULL

/* @cnt digits at *@text as a number, past which *@text is moved. False: they are not there. */
static bool take_digits(const char **text, size_t cnt, int *out)
{
	int value = 0;

	for (size_t i = 0; i < cnt; i++) {
		uint32_t digit = digit_value((*text)[i]);

		if (digit > 9)
			return false;
		value = value * 10 + (int)digit;
	}
	*text += cnt;
	*out = value;
	return true;
}

static bool take_char(const char **text, char wanted)
{
	if (**text != wanted)
		return false;
	++*text;
	return true;
}

/* ".25" at *@text, if it is there: nanoseconds; digits behind the ninth do not count. False: a
 * point without digits. */
static bool take_fraction(const char **text, uint64_t *out)
{
	uint64_t scale = NSEC_PER_SEC / 10, sum = 0;
	const char *first;

	*out = 0;
	if (!take_char(text, '.'))
		return true;
	for (first = *text; digit_value(**text) <= 9; ++*text) {
		sum += digit_value(**text) * scale;
		scale /= 10;
	}
	*out = sum;
	return *text > first;
}

/* "Z" or "+01:00": seconds east of Greenwich. */
static bool take_zone(const char **text, int *out)
{
	int hours, minutes, sign = **text == '-' ? -1 : 1;

	*out = 0;
	if (take_char(text, 'Z') || take_char(text, 'z'))
		return true;
	if (!take_char(text, '+') && !take_char(text, '-'))
		return false;
	if (!take_digits(text, 2, &hours) || !take_char(text, ':') ||
	    !take_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*out = sign * (hours * 3600 + minutes * 60);
	return true;
}

static bool is_date(const struct tm *tm)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year = tm->tm_year + 1900;
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
	       tm->tm_mday <= days[tm->tm_mon] + (tm->tm_mon == 1 && is_leap) && tm->tm_hour < 24 &&
	       tm->tm_min < 60 && tm->tm_sec <= 60;
}

static int parse_rfc3339(const char *text, uint64_t *out)
{
	struct tm tm = {0};
	uint64_t fraction_ns;
	int64_t seconds;
	int zone;

	if (!take_digits(&text, 4, &tm.tm_year) || !take_char(&text, '-') ||
	    !take_digits(&text, 2, &tm.tm_mon) || !take_char(&text, '-') ||
	    !take_digits(&text, 2, &tm.tm_mday))
		return -EINVAL;
	if (!take_char(&text, 'T') && !take_char(&text, 't') && !take_char(&text, ' '))
		return -EINVAL;
	if (!take_digits(&text, 2, &tm.tm_hour) || !take_char(&text, ':') ||
	    !take_digits(&text, 2, &tm.tm_min) || !take_char(&text, ':') ||
	    !take_digits(&text, 2, &tm.tm_sec) || !take_fraction(&text, &fraction_ns) ||
	    !take_zone(&text, &zone) || *text)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if (!is_date(&tm))
		return -EINVAL;
	seconds = timegm(&tm) - zone;
	if (seconds < 0 || (uint64_t)seconds >= SECONDS_MAX)
		return -ERANGE;
	*out = (uint64_t)seconds * NSEC_PER_SEC + fraction_ns;
	return 0;
}

static int parse_unix(const char *text, uint64_t *out)
{
	uint64_t seconds = 0, fraction_ns;

	for (; digit_value(*text) <= 9; text++) {
		seconds = seconds * 10 + digit_value(*text);
		if (seconds >= SECONDS_MAX)
			return -ERANGE;
	}
	if (!take_fraction(&text, &fraction_ns) || *text)
		return -EINVAL;
	*out = seconds * NSEC_PER_SEC + fraction_ns;
	return 0;
}

int web_time_parse(const char *text, uint64_t now_ns, uint64_t *out)
{
	uint64_t ago_ns;
	int err;

	if (!strncmp(text, "now", 3)) {
		text += 3;
		if (!*text) {
			*out = now_ns;
			return 0;
		}
		if (*text != '-')
			return -EINVAL;
	}
	if (*text == '-') {
		err = parse_duration_ns(text + 1, &ago_ns);
		if (err)
			return err;
		if (ago_ns > now_ns)
			return -ERANGE;
		*out = now_ns - ago_ns;
		return 0;
	}
	if (digit_value(*text) > 9)
		return -EINVAL;
	return strlen(text) > 4 && text[4] == '-' ? parse_rfc3339(text, out)
						  : parse_unix(text, out);
}
