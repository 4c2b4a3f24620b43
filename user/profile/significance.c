/* SPDX-License-Identifier: Apache-2.0 */
/* Tails, false discovery rates and ranks: see significance.h. */
#include "profile/significance.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"

enum { FRACTION_TERMS_MAX = 300, BISECTIONS = 200 };

static double not_zero(double value)
{
	return fabs(value) < 1e-300 ? 1e-300 : value;
}

/*
 * The continued fraction of the regularised incomplete beta function (DLMF 8.17.22), evaluated from
 * the front (Lentz's method).
 */
static double beta_fraction(double a, double b, double x)
{
	double numerator = 1, denominator = 1 / not_zero(1 - (a + b) * x / (a + 1));
	double value = denominator;

	for (int m = 1; m < FRACTION_TERMS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		denominator = 1 / not_zero(1 + even * denominator);
		numerator = not_zero(1 + even / numerator);
		value *= denominator * numerator;
		denominator = 1 / not_zero(1 + odd * denominator);
		numerator = not_zero(1 + odd / numerator);
		step = denominator * numerator;
		value *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return value;
}

/* I_x(a, b). The fraction converges fast on one side of the mean; the other is its complement. */
static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double significance_tail(double t, double df)
{
	if (isnan(t))
		return 1;
	if (isinf(df))
		return erfc(fabs(t) / M_SQRT2);
	return isinf(t) ? 0 : incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

double significance_bound(double df)
{
	double low = 0, high = 1;

	if (isinf(df))
		return 1.959963984540054;
	while (significance_tail(high, df) > SIGNIFICANCE_LEVEL)
		high *= 2;
	for (int i = 0; i < BISECTIONS && high - low > 1e-9 * high; i++) {
		double middle = (low + high) / 2;

		if (significance_tail(middle, df) > SIGNIFICANCE_LEVEL)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct tested {
	double p;
	size_t at;
};

static int compare_tested(const void *left_ptr, const void *right_ptr)
{
	const struct tested *left = left_ptr, *right = right_ptr;

	return (left->p > right->p) - (left->p < right->p);
}

int significance_adjust(double *values, size_t cnt)
{
	_cleanup_free_ struct tested *tested = calloc(cnt + 1, sizeof(*tested));
	size_t tested_cnt = 0;
	double least = 1;

	if (!tested)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		if (!isnan(values[i]))
			tested[tested_cnt++] = (struct tested){values[i], i};
	qsort(tested, tested_cnt, sizeof(*tested), compare_tested);
	for (size_t i = tested_cnt; i-- > 0;) {
		double rate = tested[i].p * (double)tested_cnt / (double)(i + 1);

		least = rate < least ? rate : least;
		values[tested[i].at] = least;
	}
	return 0;
}

/*
 * @out[u] for u = 0 .. @left * @right: in how large a share of all orders of @left and @right
 * values is the rank statistic u. One value after the other is put at the end: a value of the first
 * kind has all of the second before it.
 */
static int rank_shares(size_t left, size_t right, double *out)
{
	size_t width = left * right + 1;
	_cleanup_free_ double *rows = calloc((left + 1) * width, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	/* rows[i] after j rounds: shares for i values of the first kind and j of the second. */
	for (size_t i = 0; i <= left; i++)
		rows[i * width] = 1;
	for (size_t j = 1; j <= right; j++) {
		for (size_t i = 1; i <= left; i++) {
			double *row = rows + i * width, *before = rows + (i - 1) * width;
			double first = (double)i / (double)(i + j);

			for (size_t u = i * j + 1; u-- > 0;)
				row[u] =
					(u >= j ? first * before[u - j] : 0) + (1 - first) * row[u];
		}
	}
	for (size_t u = 0; u < width; u++)
		out[u] = rows[left * width + u];
	return 0;
}

static int compare_doubles(const void *left_ptr, const void *right_ptr)
{
	double left = *(const double *)left_ptr, right = *(const double *)right_ptr;

	return (left > right) - (left < right);
}

static double median(const double *sorted, size_t cnt)
{
	return (sorted[(cnt - 1) / 2] + sorted[cnt / 2]) / 2;
}

/* Two-sided: twice the smaller tail, the statistic itself included. */
static double rank_tail(const double *shares, size_t width, double statistic)
{
	double low = statistic < (double)(width - 1) - statistic ? statistic
								 : (double)(width - 1) - statistic;
	double tail = 0;

	for (size_t u = 0; u < width && (double)u <= low; u++)
		tail += shares[u];
	return 2 * tail < 1 ? 2 * tail : 1;
}

/* How many of the sorted differences are cut off at either end of the interval: the most that
 * leaves SIGNIFICANCE_LEVEL outside; 0: even one is too many. */
static size_t cut_cnt(const double *shares, size_t width)
{
	double tail = 0;
	size_t cut = 0;

	while (cut < width && 2 * (tail + shares[cut]) <= SIGNIFICANCE_LEVEL)
		tail += shares[cut++];
	return cut;
}

int significance_compare(double *before, size_t before_cnt, double *after, size_t after_cnt,
			 struct significance_shift *out)
{
	size_t cnt = before_cnt * after_cnt, cut;
	_cleanup_free_ double *differences = calloc(cnt, sizeof(*differences));
	_cleanup_free_ double *shares = calloc(cnt + 1, sizeof(*shares));
	double statistic = 0;
	int err = differences && shares ? rank_shares(before_cnt, after_cnt, shares) : -ENOMEM;

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		double difference = after[i % after_cnt] - before[i / after_cnt];

		differences[i] = difference;
		statistic += difference > 0 ? 1 : difference < 0 ? 0 : 0.5;
	}
	qsort(before, before_cnt, sizeof(*before), compare_doubles);
	qsort(after, after_cnt, sizeof(*after), compare_doubles);
	qsort(differences, cnt, sizeof(*differences), compare_doubles);
	cut = cut_cnt(shares, cnt + 1);
	*out = (struct significance_shift){
		.before = median(before, before_cnt),
		.after = median(after, after_cnt),
		.shift = median(differences, cnt),
		.low = cut ? differences[cut - 1] : NAN,
		.high = cut ? differences[cnt - cut] : NAN,
		.p = rank_tail(shares, cnt + 1, statistic),
	};
	return 0;
}
