/* SPDX-License-Identifier: Apache-2.0 */
/* The table as text: the same lines on paper and on the terminal. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/top.h"
#include "encode/func_table.h"

enum { WHO_COLUMNS = 16 };

/* --- The header --- */

static void add_clock(uint64_t time_ns, struct buf *out)
{
	time_t seconds = (time_t)(time_ns / NSEC_PER_SEC);
	struct tm local;
	char text[16] = "";

	if (localtime_r(&seconds, &local))
		strftime(text, sizeof(text), "%H:%M:%S", &local);
	buf_add_str(out, text);
}

static void add_load(const struct top_view *view, const struct top_state *state, struct buf *out)
{
	add_clock(state->time_ns, out);
	buf_printf(out, "  %u CPU%s, %llu Hz  on-CPU %.1f%%", view->cpu_cnt,
		   view->cpu_cnt == 1 ? "" : "s", (unsigned long long)state->freq_hz,
		   top_view_rate(view, view->all.cpu) / 10 / view->cpu_cnt);
	if (view->has_off_cpu)
		buf_printf(out, "  off-CPU %.0f ms/s", top_view_rate(view, view->all.off));
	buf_printf(out, "  bpfprof itself %.2f%% of a CPU", state->own_permille / 10);
	/* The kernel counts it where that costs nothing to speak of. */
	if (state->bpf_permille > 0)
		buf_printf(out, " (BPF %.2f%%)", state->bpf_permille / 10);
	else
		buf_add_str(out, " (without BPF)");
}

static void add_books(const struct top_view *view, const struct top_state *state, struct buf *out)
{
	buf_printf(out, "%.1f s: %llu samples, %llu lost", state->window_s,
		   (unsigned long long)state->samples, (unsigned long long)state->lost);
	if (state->never_ran)
		buf_printf(out, ", %llu ticks missed by the kernel",
			   (unsigned long long)state->never_ran);
	if (state->stacks)
		buf_printf(out, ", %.1f%% of stacks complete",
			   percent_of((int64_t)state->complete, (int64_t)state->stacks));
	buf_add_str(out, view->is_last ? "; the last interval" : "; older ones fade");
	if (view->hide_kernel || view->hide_user)
		buf_printf(out, "; without %s",
			   view->hide_kernel && view->hide_user ? "kernel and user"
			   : view->hide_kernel			? "kernel"
								: "user");
	if (view->has_filter) {
		buf_add_str(out, "; only /");
		func_table_printable(view->filter_text, out);
		buf_add_char(out, '/');
	}
}

void top_print_header(const struct top_view *view, const struct top_state *state, int line,
		      struct buf *out)
{
	if (line)
		add_books(view, state, out);
	else
		add_load(view, state, out);
}

/* --- The table --- */

static void add_column(const struct top_view *view, const char *name, enum top_order order,
		       int width, struct buf *out)
{
	char title[32];

	snprintf(title, sizeof(title), "%s%s", view->order == order ? ">" : "", name);
	buf_printf(out, "%*s ", width, title);
}

void top_print_columns(const struct top_view *view, const struct top_table *table, struct buf *out)
{
	add_column(view, view->in_ms ? "self ms/s" : "self", TOP_BY_SELF, 10, out);
	add_column(view, view->in_ms ? "total ms/s" : "total", TOP_BY_TOTAL, 11, out);
	if (view->has_off_cpu) {
		add_column(view, "off ms/s", TOP_BY_OFF_SELF, 10, out);
		add_column(view, "off total", TOP_BY_OFF_TOTAL, 10, out);
	}
	if (table->sort & TOP_SORT_WHO)
		buf_printf(out, " %-*s", WHO_COLUMNS, "comm");
	if (table->sort & TOP_SORT_FUNCTION)
		buf_add_str(out, " function");
	if (table->sort & TOP_SORT_MODULE)
		buf_add_str(out, table->sort & TOP_SORT_FUNCTION ? "  [module]" : " module");
}

static void add_cpu(const struct top_view *view, double ns, int width, struct buf *out)
{
	double rate = top_view_rate(view, ns);

	if (view->in_ms)
		buf_printf(out, "%*.1f ", width, rate);
	else
		buf_printf(out, "%*.2f%% ", width - 1, rate / 10 / view->cpu_cnt);
}

static void add_times(const struct top_view *view, const struct top_time *self,
		      const struct top_time *total, struct buf *out)
{
	add_cpu(view, self->cpu, 10, out);
	add_cpu(view, total->cpu, 11, out);
	if (!view->has_off_cpu)
		return;
	buf_printf(out, "%10.1f ", top_view_rate(view, self->off));
	buf_printf(out, "%10.1f ", top_view_rate(view, total->off));
}

static void add_module(const struct top_table *table, uint32_t row, struct buf *out)
{
	const struct top_row *entry = &table->rows[row];
	const char *module = top_table_str(table, entry->module);

	if (!*module)
		return;
	if (entry->name == (uint32_t)TOP_NONE) {
		func_table_printable(module, out);
		return;
	}
	/* An address without a name has its module in it. */
	if (*top_table_str(table, entry->name) == '[')
		return;
	buf_add_str(out, "  [");
	func_table_printable(module, out);
	buf_add_char(out, ']');
}

void top_print_name(const struct top_table *table, uint32_t row, struct buf *out)
{
	const struct top_row *entry = &table->rows[row];
	size_t before = out->len;

	if (entry->who != (uint32_t)TOP_NONE) {
		func_table_printable(top_table_str(table, entry->who), out);
		while (out->len - before < WHO_COLUMNS && !out->err)
			buf_add_char(out, ' ');
		buf_add_char(out, ' ');
	}
	func_table_printable(top_table_str(table, entry->name), out);
	add_module(table, row, out);
}

void top_print_row(const struct top_view *view, const struct top_table *table, uint32_t row,
		   struct buf *out)
{
	add_times(view, &table->sums[row].self, &table->sums[row].total, out);
	buf_add_char(out, ' ');
	top_print_name(table, row, out);
}

void top_print_caller(const struct top_view *view, const struct top_table *table,
		      const struct top_caller *caller, struct buf *out)
{
	const struct top_time nothing = {0, 0};

	add_times(view, &nothing, &caller->time, out);
	buf_add_char(out, ' ');
	if (caller->row == (uint32_t)TOP_NONE)
		buf_add_str(out, "(nobody: the stack begins here)");
	else
		top_print_name(table, caller->row, out);
}

void top_print(const struct top_view *view, const struct top_table *table,
	       const struct top_state *state, size_t entries, struct buf *out)
{
	for (int line = 0; line < 2; line++) {
		top_print_header(view, state, line, out);
		buf_add_char(out, '\n');
	}
	top_print_columns(view, table, out);
	buf_add_char(out, '\n');
	for (size_t i = 0; i < view->cnt && i < entries; i++) {
		top_print_row(view, table, view->rows[i], out);
		buf_add_char(out, '\n');
	}
	buf_add_char(out, '\n');
}
