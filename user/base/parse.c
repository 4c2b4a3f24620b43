/* SPDX-License-Identifier: Apache-2.0 */
/* Values as people type them. */
#include "base/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"

enum {
	NUMBERS_MAX = 1 << 20 /* in one list */
};

struct unit {
	const char *suffix;
	uint64_t scale;
};

static const struct unit byte_units[] = {
	{"", 1},
	{"k", UINT64_C(1) << 10},
	{"K", UINT64_C(1) << 10},
	{"M", UINT64_C(1) << 20},
	{"G", UINT64_C(1) << 30},
	{"T", UINT64_C(1) << 40},
	{NULL, 0},
};

static const struct unit count_units[] = {
	{"", 1},
	{"k", UINT64_C(1000)},
	{"K", UINT64_C(1000)},
	{"M", UINT64_C(1000000)},
	{"G", UINT64_C(1000000000)},
	{"T", UINT64_C(1000000000000)},
	{NULL, 0},
};

static const struct unit duration_units[] = {
	{"", NSEC_PER_SEC},
	{"ns", 1},
	{"us", NSEC_PER_USEC},
	{"ms", NSEC_PER_MSEC},
	{"s", NSEC_PER_SEC},
	{"m", 60 * NSEC_PER_SEC},
	{"h", 3600 * NSEC_PER_SEC},
	{"d", 86400 * NSEC_PER_SEC},
	{NULL, 0},
};

/*
 * The digits at *@pos, which moves behind them. -EINVAL if there are none; -ERANGE if they are too
 * many, *@pos being behind them all the same: "999...9x" is of no form before it is too large.
 */
static int scan_digits(const char **pos, unsigned int base, uint64_t *out)
{
	const char *start = *pos;
	bool too_large = false;
	uint64_t value = 0;

	for (; digit_value(**pos) < base; (*pos)++) {
		too_large |= __builtin_mul_overflow(value, (uint64_t)base, &value);
		too_large |= __builtin_add_overflow(value, digit_value(**pos), &value);
	}
	if (*pos == start)
		return -EINVAL;
	if (too_large)
		return -ERANGE;
	*out = value;
	return 0;
}

int parse_u64(const char *str, uint64_t *out)
{
	bool is_hex = str[0] == '0' && (str[1] == 'x' || str[1] == 'X');
	const char *pos = is_hex ? str + 2 : str;
	uint64_t value;
	int err = scan_digits(&pos, is_hex ? 16 : 10, &value);

	if (*pos)
		return -EINVAL;
	if (err)
		return err;
	*out = value;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, const char *suffix)
{
	for (; units->suffix; units++) {
		if (!strcmp(units->suffix, suffix))
			return units;
	}
	return NULL;
}

static int parse_scaled(const char *str, const struct unit *units, bool allow_fraction,
			uint64_t *out)
{
	const char *pos = str, *fraction = NULL;
	const struct unit *unit;
	uint64_t value, part, ignored;
	int err = scan_digits(&pos, 10, &value);

	if (err == -EINVAL)
		return err;
	if (allow_fraction && *pos == '.') {
		fraction = ++pos;
		if (scan_digits(&pos, 10, &ignored) == -EINVAL)
			return -EINVAL;
	}
	unit = find_unit(units, pos);
	if (!unit)
		return -EINVAL;
	if (err || __builtin_mul_overflow(value, unit->scale, &value))
		return -ERANGE;

	/* Digits worth less than one step are dropped. */
	part = unit->scale / 10;
	for (; fraction && fraction < pos; fraction++, part /= 10) {
		if (__builtin_add_overflow(value, digit_value(*fraction) * part, &value))
			return -ERANGE;
	}
	*out = value;
	return 0;
}

int parse_bytes(const char *str, uint64_t *out)
{
	return parse_scaled(str, byte_units, false, out);
}

int parse_count(const char *str, uint64_t *out)
{
	return parse_scaled(str, count_units, false, out);
}

int parse_duration_ns(const char *str, uint64_t *out)
{
	return parse_scaled(str, duration_units, true, out);
}

/* "7" or "2-5" at *@pos, which moves behind it. Always scans all of it, as scan_digits() does. */
static int scan_range(const char **pos, uint64_t *first, uint64_t *last)
{
	int err = scan_digits(pos, 10, first);
	int last_err = 0;

	if (err == -EINVAL)
		return err;
	*last = err ? 0 : *first;
	if (**pos == '-') {
		(*pos)++;
		last_err = scan_digits(pos, 10, last);
	}
	if (last_err == -EINVAL || (**pos != ',' && **pos != '\0'))
		return -EINVAL;
	if (err || last_err || *first > UINT32_MAX || *last > UINT32_MAX)
		return -ERANGE;
	return *last < *first ? -EINVAL : 0;
}

static int compare_numbers(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* Sort the first @cnt items and drop the doubles; sets cnt. */
static void number_set_normalise(struct number_set *set, size_t cnt)
{
	size_t kept = 0;

	qsort(set->items, cnt, sizeof(*set->items), compare_numbers);
	for (size_t i = 0; i < cnt; i++) {
		if (!kept || set->items[kept - 1] != set->items[i])
			set->items[kept++] = set->items[i];
	}
	set->cnt = kept;
}

int number_set_parse(struct number_set *set, const char *str)
{
	size_t cnt = set->cnt; /* set->cnt itself stays until nothing can fail any more */
	uint64_t first, last;
	int err;

	for (;;) {
		err = scan_range(&str, &first, &last);
		if (err)
			return err;
		if (cnt - set->cnt + (last - first) >= NUMBERS_MAX)
			return -ERANGE;
		err = array_reserve(&set->items, &set->cap, cnt + (last - first) + 1,
				    sizeof(*set->items));
		if (err)
			return err;
		for (uint64_t number = first; number <= last; number++)
			set->items[cnt++] = (uint32_t)number;
		if (!*str)
			break;
		str++; /* the comma */
	}
	number_set_normalise(set, cnt);
	return 0;
}

/* The place of the first item that is not below @number. */
static size_t number_set_place(const struct number_set *set, uint32_t number)
{
	return SEARCH_CNT(i, set->cnt, set->items[i] < number);
}

int number_set_add(struct number_set *set, uint32_t number)
{
	size_t place = number_set_place(set, number);
	int err;

	if (place < set->cnt && set->items[place] == number)
		return 0;
	err = array_reserve(&set->items, &set->cap, set->cnt + 1, sizeof(*set->items));
	if (err)
		return err;
	memmove(set->items + place + 1, set->items + place,
		(set->cnt - place) * sizeof(*set->items));
	set->items[place] = number;
	set->cnt++;
	return 0;
}

bool number_set_has(const struct number_set *set, uint32_t number)
{
	size_t place = number_set_place(set, number);

	return place < set->cnt && set->items[place] == number;
}

void number_set_deinit(struct number_set *set)
{
	free(set->items);
	*set = (struct number_set){.items = NULL};
}
