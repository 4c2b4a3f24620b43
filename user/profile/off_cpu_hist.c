/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of waits, as JSON and for the eye. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "profile/off_cpu.h"

enum {
	/* Columns of the terminal: a power of two each, from 1 us to 17 s; what is beyond is in the
	 * first and the last. */
	SHOWN_FIRST = 10,
	SHOWN_CNT = 25,
	CAUSES_SHOWN = 12,
};

/*
 * The normal approximation, +- z sqrt(variance), is honest where many waits were kept. Where few
 * were, or none, more may have been left out than the variance knows. If each kept one counts as q,
 * they are n of a Poisson distribution, of which the score interval, n + z^2/2 +- z sqrt(n +
 * z^2/4), is honest from n = 0 on. So it is taken: in units of q, the mean threshold, with variance
 * = n q^2, and as wide downwards as it is upwards.
 */
double off_cpu_error_ns(const struct off_cpu *off, const struct off_cpu_hist *hist)
{
	const double z = 1.96;
	double unit = off->judged ? (double)off->threshold_sum_ns / (double)off->judged : 0;

	return z * z / 2 * unit + z * sqrt(hist->variance + z * z / 4 * unit * unit);
}

static void add_bins(struct json *js, const char *name, const uint64_t *waits)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < OFF_CPU_LOG2_CNT; i++)
		if (waits[i])
			cnt = i + 1;
	json_key(js, name);
	json_array_begin(js);
	for (uint32_t i = 0; i < cnt; i++)
		json_u64(js, waits[i]);
	json_array_end(js);
}

void off_cpu_add_comment(struct profile *prof, const struct off_cpu *off)
{
	_cleanup_(buf_deinit) struct buf text;
	struct json js;

	buf_init(&text, BUF_NO_MAX);
	buf_add_str(&text, "bpfprof-waits: ");
	json_init(&js, &text);
	json_object_begin(&js);
	json_kv_u64(&js, "waits", off->waits);
	json_kv_u64(&js, "thinned", off->thinned);
	json_kv_u64(&js, "threshold_ns", off->threshold_ns);
	add_bins(&js, "run_queue_log2_ns", off->run_delays);
	json_key(&js, "blocked");
	json_object_begin(&js);
	for (size_t i = 0; i < off->hist_cnt; i++) {
		json_key(&js, profile_str(prof, off->hists[i].cause));
		json_object_begin(&js);
		json_kv_u64(&js, "ns", off->hists[i].total_ns);
		json_kv_u64(&js, "error_ns", (uint64_t)ceil(off_cpu_error_ns(off, &off->hists[i])));
		add_bins(&js, "log2_ns", off->hists[i].waits);
		json_object_end(&js);
	}
	json_object_end(&js);
	json_object_end(&js);
	if (!text.err)
		profile_add_comment(prof, buf_cstr(&text));
	else
		prof->err = text.err;
}

/* Its waits in the shown columns; their number. */
static uint64_t show(const uint64_t *waits, uint64_t *columns)
{
	uint64_t sum = 0;

	memset(columns, 0, SHOWN_CNT * sizeof(*columns));
	for (uint32_t i = 0; i < OFF_CPU_LOG2_CNT; i++) {
		uint32_t at = i < SHOWN_FIRST ? 0 : i - SHOWN_FIRST;

		columns[at < SHOWN_CNT ? at : SHOWN_CNT - 1] += waits[i];
		sum += waits[i];
	}
	return sum;
}

/* A bar of eight heights per column; a column that has any is never empty. */
static void add_bars(struct buf *out, const uint64_t *columns)
{
	static const char *const bars[] = {"\u2581", "\u2582", "\u2583", "\u2584",
					   "\u2585", "\u2586", "\u2587", "\u2588"};
	uint64_t most = 1;

	for (uint32_t i = 0; i < SHOWN_CNT; i++)
		if (columns[i] > most)
			most = columns[i];
	for (uint32_t i = 0; i < SHOWN_CNT; i++)
		buf_add_str(out, columns[i] ? bars[columns[i] * 7 / most] : " ");
}

/* A time, and beside it how far off it may be, rounded up, where a digit of the time is uncertain.
 */
static void add_time(struct buf *out, uint64_t ns, double error_ns)
{
	buf_printf(out, "%10.3f s", (double)ns / 1e9);
	if (error_ns >= 5e5)
		buf_printf(out, " \u00b1%-8.3f", ceil(error_ns / 1e6) / 1e3);
	else
		buf_printf(out, "%10s", "");
}

static void add_waits(struct buf *out, const uint64_t *waits)
{
	uint64_t columns[SHOWN_CNT], cnt = show(waits, columns);

	buf_printf(out, " %12llu  ", (unsigned long long)cnt);
	add_bars(out, columns);
	buf_add_char(out, '\n');
}

void off_cpu_format(const struct profile *prof, const struct off_cpu *off, struct buf *out)
{
	buf_printf(out, "%-20s %12s%10s %12s  1us       1ms       1s\n", "waits for", "time", "",
		   "waits");
	for (size_t i = 0; i < off->hist_cnt && i < CAUSES_SHOWN; i++) {
		const struct off_cpu_hist *hist = &off->hists[i];

		buf_printf(out, "%-20s ", profile_str(prof, hist->cause));
		add_time(out, hist->total_ns, off_cpu_error_ns(off, hist));
		add_waits(out, hist->waits);
	}
	buf_printf(out, "%-20s %22s", "a CPU (run queue)", "");
	add_waits(out, off->run_delays);
}
