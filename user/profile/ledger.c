/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: sums, the equations, the line for people. */
#include "profile/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/search.h"

/* Wider than any sum of counts, so that a check cannot be fooled by overflow. */
typedef unsigned __int128 wide_t;

void ledger_init(struct ledger *ledger)
{
	memset(ledger, 0, sizeof(*ledger));
}

void ledger_deinit(struct ledger *ledger)
{
	for (uint32_t i = 0; i < ledger->event_cnt; i++)
		free(ledger->events[i].per_cpu);
	ledger_init(ledger);
}

static void add_to(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

static void raise_to(uint64_t *peak, uint64_t other)
{
	if (other > *peak)
		*peak = other;
}

static struct ledger_reason *find_reason(struct ledger_reasons *reasons, const char *name)
{
	for (uint32_t i = 0; i < reasons->cnt; i++) {
		if (!strcmp(reasons->items[i].name, name))
			return &reasons->items[i];
	}
	return NULL;
}

void ledger_copy_name(char *dst, size_t size, const char *src)
{
	size_t len = strlen(src);

	if (len >= size) {
		len = size - 1;
		while (len && ((uint8_t)src[len] & 0xc0) == 0x80)
			len--;
	}
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the next line adds the NULs. */
	memcpy(dst, src, len);
	memset(dst + len, 0, size - len);
}

void ledger_reason_add(struct ledger_reasons *reasons, const char *name, uint64_t cnt)
{
	char cut[sizeof(reasons->items[0].name)];
	struct ledger_reason *reason;

	ledger_copy_name(cut, sizeof(cut), name);
	reason = find_reason(reasons, cut);
	/* The last place is kept for "other", so that there is one when it is needed. */
	if (!reason && reasons->cnt >= LEDGER_REASONS_MAX - 1) {
		ledger_copy_name(cut, sizeof(cut), "other");
		reason = find_reason(reasons, cut);
	}
	if (!reason) {
		reason = &reasons->items[reasons->cnt++];
		memcpy(reason->name, cut, sizeof(cut));
		reason->cnt = 0;
	}
	add_to(&reason->cnt, cnt);
}

uint64_t ledger_reasons_sum(const struct ledger_reasons *reasons)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < reasons->cnt; i++)
		add_to(&sum, reasons->items[i].cnt);
	return sum;
}

static void add_reasons(struct ledger_reasons *dst, const struct ledger_reasons *src)
{
	for (uint32_t i = 0; i < src->cnt; i++)
		ledger_reason_add(dst, src->items[i].name, src->items[i].cnt);
}

struct ledger_row *ledger_row(struct ledger_event *event, int32_t cpu)
{
	size_t at = SEARCH_CNT(i, event->per_cpu_cnt, event->per_cpu[i].cpu < cpu);

	if (at < event->per_cpu_cnt && event->per_cpu[at].cpu == cpu)
		return &event->per_cpu[at];
	if (array_reserve(&event->per_cpu, &event->per_cpu_cap, event->per_cpu_cnt + 1,
			  sizeof(*event->per_cpu)))
		return NULL;
	memmove(&event->per_cpu[at + 1], &event->per_cpu[at],
		(event->per_cpu_cnt - at) * sizeof(*event->per_cpu));
	event->per_cpu[at] = (struct ledger_row){.cpu = cpu};
	event->per_cpu_cnt++;
	return &event->per_cpu[at];
}

static void add_row(struct ledger_row *dst, const struct ledger_row *src)
{
	add_to(&dst->ticks, src->ticks);
	add_to(&dst->ran, src->ran);
	add_to(&dst->filtered, src->filtered);
	add_to(&dst->recorded, src->recorded);
	add_to(&dst->never_ran_busy, src->never_ran_busy);
	add_to(&dst->never_ran_idle, src->never_ran_idle);
	add_to(&dst->kernel_runs, src->kernel_runs);
	add_reasons(&dst->lost, &src->lost);
}

static struct ledger_row sum_of_rows(const struct ledger_event *event)
{
	struct ledger_row sum = {.cpu = -1};

	for (size_t i = 0; i < event->per_cpu_cnt; i++)
		add_row(&sum, &event->per_cpu[i]);
	return sum;
}

void ledger_sum(struct ledger *ledger)
{
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		struct ledger_event *event = &ledger->events[i];
		uint64_t kernel_runs = event->sum.kernel_runs;

		event->sum = sum_of_rows(event);
		event->sum.kernel_runs = kernel_runs;
	}
}

/* "5,936" */
static void add_grouped(struct buf *out, uint64_t value)
{
	if (value >= 1000) {
		add_grouped(out, value / 1000);
		buf_printf(out, ",%03" PRIu64, value % 1000);
	} else {
		buf_add_u64(out, value);
	}
}

static void explain(struct buf *why, const struct ledger_event *event, const struct ledger_row *row,
		    const char *left_name, uint64_t left, const char *right_name, wide_t right)
{
	if (!why)
		return;
	buf_add_str(why, event->name);
	if (row->cpu >= 0)
		buf_printf(why, " on CPU %" PRId32, row->cpu);
	buf_printf(why, ": %s = ", left_name);
	add_grouped(why, left);
	buf_printf(why, ", but %s = ", right_name);
	add_grouped(why, right > UINT64_MAX ? UINT64_MAX : (uint64_t)right);
}

static bool row_balances(const struct ledger_event *event, const struct ledger_row *row,
			 struct buf *why)
{
	wide_t spent = (wide_t)row->recorded + row->filtered;
	wide_t never_ran = (wide_t)row->never_ran_busy + row->never_ran_idle;

	for (uint32_t i = 0; i < row->lost.cnt; i++)
		spent += row->lost.items[i].cnt;
	if (spent != row->ran) {
		explain(why, event, row, "ran", row->ran, "recorded + filtered + lost", spent);
		return false;
	}
	if (never_ran + row->ran != row->ticks) {
		explain(why, event, row, "ticks", row->ticks, "ran + never ran",
			never_ran + row->ran);
		return false;
	}
	if (row->kernel_runs && row->kernel_runs != row->ran) {
		explain(why, event, row, "ran", row->ran, "the kernel's count of runs",
			row->kernel_runs);
		return false;
	}
	return true;
}

/* Do the CPUs add up to the sum? One equation per column that the rows' own do not imply. */
static bool sum_agrees(const struct ledger_event *event, struct buf *why)
{
	struct ledger_row sum = sum_of_rows(event);
	const struct {
		const char *name;
		uint64_t in_sum, in_cpus;
	} columns[] = {
		{"ticks", event->sum.ticks, sum.ticks},
		{"ran", event->sum.ran, sum.ran},
		{"recorded", event->sum.recorded, sum.recorded},
		{"filtered", event->sum.filtered, sum.filtered},
		{"never ran (busy)", event->sum.never_ran_busy, sum.never_ran_busy},
	};

	for (size_t i = 0; event->per_cpu_cnt && i < sizeof(columns) / sizeof(*columns); i++) {
		if (columns[i].in_sum != columns[i].in_cpus) {
			explain(why, event, &event->sum, columns[i].name, columns[i].in_sum,
				"the sum over CPUs", columns[i].in_cpus);
			return false;
		}
	}
	return true;
}

bool ledger_balances(const struct ledger *ledger, struct buf *why)
{
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		const struct ledger_event *event = &ledger->events[i];

		if (!row_balances(event, &event->sum, why))
			return false;
		for (size_t cpu = 0; cpu < event->per_cpu_cnt; cpu++) {
			if (!row_balances(event, &event->per_cpu[cpu], why))
				return false;
		}
		if (!sum_agrees(event, why))
			return false;
	}
	return true;
}

bool ledger_is_strictly_clean(const struct ledger *ledger)
{
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		const struct ledger_row *sum = &ledger->events[i].sum;

		if (ledger_reasons_sum(&sum->lost))
			return false;
		/* busy / ticks > 0.5 % */
		if ((wide_t)sum->never_ran_busy * 200 > sum->ticks)
			return false;
	}
	return ledger_balances(ledger, NULL);
}

static void add_count(struct buf *out, const char *before, uint64_t cnt, const char *after)
{
	buf_add_str(out, before);
	add_grouped(out, cnt);
	buf_add_str(out, after);
}

/* "3 lost (map_full 2, slot_busy 1)": a loss is never shown without its reasons. */
static void add_lost(struct buf *out, const struct ledger_reasons *lost)
{
	const char *separator = " (";

	add_count(out, " + ", ledger_reasons_sum(lost), " lost");
	for (uint32_t i = 0; i < lost->cnt; i++) {
		if (!lost->items[i].cnt)
			continue;
		buf_printf(out, "%s%s ", separator, lost->items[i].name);
		add_grouped(out, lost->items[i].cnt);
		separator = ", ";
	}
	if (separator[0] == ',')
		buf_add_char(out, ')');
}

static void add_event(struct buf *out, const struct ledger_row *sum)
{
	add_count(out, "", sum->ran, " ran");
	add_count(out, " of ", sum->ticks, " ticks");
	add_count(out, " (never ran: ", sum->never_ran_busy, " busy, ");
	add_count(out, "", sum->never_ran_idle, " idle) = ");
	add_count(out, "", sum->recorded, " recorded");
	add_count(out, " + ", sum->filtered, " filtered");
	add_lost(out, &sum->lost);
}

static void add_absence(struct buf *out, uint64_t ns)
{
	if (ns >= 1000000000)
		buf_printf(out, ", not recorded for %.1f s", (double)ns / 1e9);
	else if (ns)
		buf_printf(out, ", not recorded for %.1f ms", (double)ns / 1e6);
}

/* What else is filtered: what chance leaves out, or -c; what sleeps at the end comes beside what
 * has run. */
static void add_exceptions(struct buf *out, const struct ledger_event *event)
{
	if (event->thinned)
		add_count(out, " (of the filtered, by chance: ", event->thinned, ")");
	if (event->passed_over)
		add_count(out,
			  " (of the filtered, counted with the next sample: ", event->passed_over,
			  ")");
	if (event->asleep)
		add_count(out, ", and ", event->asleep, " asleep at the end");
	add_absence(out, event->absent_ns);
}

void ledger_format_stopped(const struct ledger_stopped *stopped, struct buf *out)
{
	static const double mib = 1 << 20;

	if (!strcmp(stopped->reason, "max_cpu"))
		buf_printf(out,
			   "stopped by --max-cpu: it took %.2f %% of this machine's CPU time, "
			   "%.2f %% are allowed",
			   stopped->observed, stopped->allowed);
	else if (!strcmp(stopped->reason, "max_memory"))
		buf_printf(out,
			   "stopped by --max-memory: it took %.1f MiB of memory, %.1f MiB are "
			   "allowed",
			   stopped->observed / mib, stopped->allowed / mib);
	else if (!strcmp(stopped->reason, "stop_file"))
		buf_add_str(out, "stopped by the file " LEDGER_STOP_FILE);
	else if (stopped->reason[0])
		buf_printf(out, "stopped: %s", stopped->reason);
}

void ledger_format_line(const struct ledger *ledger, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	buf_add_str(out, "ledger: ");
	if (!ledger->event_cnt)
		buf_add_str(out, "no event was counted");
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		if (i)
			buf_add_str(out, "; ");
		if (ledger->event_cnt > 1)
			buf_printf(out, "%s: ", ledger->events[i].name);
		add_event(out, &ledger->events[i].sum);
		add_exceptions(out, &ledger->events[i]);
	}
	if (ledger_balances(ledger, &why))
		buf_add_str(out, "; balanced");
	else
		buf_printf(out, "; UNBALANCED: %s", buf_cstr(&why));
	if (ledger->stopped.reason[0])
		buf_add_str(out, "; ");
	ledger_format_stopped(&ledger->stopped, out);
}

static struct ledger_event *find_event(struct ledger *ledger, const char *name)
{
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		if (!strcmp(ledger->events[i].name, name))
			return &ledger->events[i];
	}
	return NULL;
}

static int append_event(struct ledger *ledger, const struct ledger_event *src)
{
	struct ledger_row *rows = NULL;

	if (src->per_cpu_cnt) {
		rows = malloc(src->per_cpu_cnt * sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		memcpy(rows, src->per_cpu, src->per_cpu_cnt * sizeof(*rows));
	}
	ledger->events[ledger->event_cnt] = *src;
	ledger->events[ledger->event_cnt].per_cpu = rows;
	ledger->events[ledger->event_cnt].per_cpu_cap = src->per_cpu_cnt;
	ledger->event_cnt++;
	return 0;
}

/* The rows of both, which are in ascending order, as a new array; NULL when memory runs out. */
static struct ledger_row *merge_rows(const struct ledger_event *left,
				     const struct ledger_event *right, size_t *cnt_out)
{
	size_t most = left->per_cpu_cnt + right->per_cpu_cnt, from_left = 0, from_right = 0;
	struct ledger_row *rows = malloc(most * sizeof(*rows));

	*cnt_out = 0;
	while (rows && from_left + from_right < most) {
		const struct ledger_row *one = &left->per_cpu[from_left];
		const struct ledger_row *other = &right->per_cpu[from_right];
		struct ledger_row *row = &rows[(*cnt_out)++];

		if (from_right == right->per_cpu_cnt ||
		    (from_left < left->per_cpu_cnt && one->cpu < other->cpu)) {
			*row = *one;
			from_left++;
		} else if (from_left == left->per_cpu_cnt || other->cpu < one->cpu) {
			*row = *other;
			from_right++;
		} else {
			*row = *one;
			add_row(row, other);
			from_left++;
			from_right++;
		}
	}
	return rows;
}

static int merge_event(struct ledger_event *dst, const struct ledger_event *src)
{
	bool has_runs = dst->sum.kernel_runs && src->sum.kernel_runs;
	struct ledger_row *rows = NULL;
	size_t row_cnt = 0;

	if (dst->per_cpu_cnt && src->per_cpu_cnt) {
		rows = merge_rows(dst, src, &row_cnt);
		if (!rows)
			return -ENOMEM;
	}
	free(dst->per_cpu);
	dst->per_cpu = rows;
	dst->per_cpu_cnt = dst->per_cpu_cap = row_cnt;
	add_row(&dst->sum, &src->sum);
	add_to(&dst->thinned, src->thinned);
	if (dst->thinned_below_ns < src->thinned_below_ns)
		dst->thinned_below_ns = src->thinned_below_ns;
	add_to(&dst->passed_over, src->passed_over);
	add_to(&dst->asleep, src->asleep);
	add_to(&dst->absent_ns, src->absent_ns);
	/* A count of only some of the runs would only look like a proof. */
	if (!has_runs)
		dst->sum.kernel_runs = 0;
	if (strcmp(dst->unit, src->unit) != 0)
		dst->unit[0] = '\0';
	if (dst->period != src->period)
		dst->period = 0;
	return 0;
}

static void merge_host(char *dst, size_t size, const char *src)
{
	if (!dst[0])
		ledger_copy_name(dst, size, src);
	else if (src[0] && strcmp(dst, src) != 0)
		ledger_copy_name(dst, size, "several");
}

static void merge_cost(struct ledger_cost *dst, const struct ledger_cost *src)
{
	add_to(&dst->bpf_run_ns, src->bpf_run_ns);
	add_to(&dst->bpf_runs, src->bpf_runs);
	add_to(&dst->capture_cpu_ns, src->capture_cpu_ns);
	add_to(&dst->symbolize_cpu_ns, src->symbolize_cpu_ns);
	raise_to(&dst->rss_anon_peak_bytes, src->rss_anon_peak_bytes);
	raise_to(&dst->kernel_bytes, src->kernel_bytes);
	raise_to(&dst->start_ns, src->start_ns);
	raise_to(&dst->finish_ns, src->finish_ns);
	raise_to(&dst->verifier_insns, src->verifier_insns);
}

static void merge_totals(struct ledger *dst, const struct ledger *src)
{
	merge_host(dst->kernel, sizeof(dst->kernel), src->kernel);
	merge_host(dst->arch, sizeof(dst->arch), src->arch);
	dst->duration_s += src->duration_s;
	add_to(&dst->stacks.complete, src->stacks.complete);
	add_to(&dst->stacks.no_user_stack, src->stacks.no_user_stack);
	add_to(&dst->stacks.distinct, src->stacks.distinct);
	raise_to(&dst->stacks.deepest, src->stacks.deepest);
	add_reasons(&dst->stacks.truncated, &src->stacks.truncated);
	add_to(&dst->stacks.snapshots.taken, src->stacks.snapshots.taken);
	add_to(&dst->stacks.snapshots.completed, src->stacks.snapshots.completed);
	add_to(&dst->stacks.snapshots.refused, src->stacks.snapshots.refused);
	add_to(&dst->frames.distinct, src->frames.distinct);
	add_to(&dst->frames.named, src->frames.named);
	add_to(&dst->frames.lines_cut, src->frames.lines_cut);
	add_reasons(&dst->frames.unnamed, &src->frames.unnamed);
	merge_cost(&dst->cost, &src->cost);
	if (!dst->stopped.reason[0])
		dst->stopped = src->stopped;
}

int ledger_merge(struct ledger *dst, const struct ledger *src)
{
	struct ledger_event *known;
	uint32_t new_cnt = 0;
	int err;

	for (uint32_t i = 0; i < src->event_cnt; i++)
		new_cnt += !find_event(dst, src->events[i].name);
	if (dst->event_cnt + new_cnt > LEDGER_EVENTS_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < src->event_cnt; i++) {
		known = find_event(dst, src->events[i].name);
		err = known ? merge_event(known, &src->events[i])
			    : append_event(dst, &src->events[i]);
		if (err)
			return err;
	}
	merge_totals(dst, src);
	return 0;
}
