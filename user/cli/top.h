/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `bpfprof top`. cmd_top.c: a recording, window by window, until it is to end;
 * top_opts.c: what was asked for; top_names.c: a window's profile becomes rows with names;
 * top_table.c: what is known of the past; top_view.c: which rows are shown, in which order;
 * top_print.c: as text; top_screen.c: on the terminal, with keys.
 */
#ifndef BPFPROF_CLI_TOP_H
#define BPFPROF_CLI_TOP_H

#include <regex.h>

#include "base/log.h"
#include "capture/capture.h"
#include "capture/command.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "cli/screen.h"
#include "cli/screen_list.h"
#include "cli/stopper.h"
#include "cli/top_names.h"
#include "cli/top_table.h"

enum top_order {
	TOP_BY_SELF,
	TOP_BY_TOTAL,
	TOP_BY_OFF_SELF,
	TOP_BY_OFF_TOTAL,
	TOP_ORDER_CNT,
};

struct top_opts {
	struct record_opts record; /* targets, times, --by, limits: as the table fills them */
	uint64_t iterations, entries;
	bool batch, zero, ms;
	bool off_cpu; /* true unless --no-off-cpu or -C */
	struct opts_choices sort, order;
	const char *filter;
};

/* Parse and check; as record_opts_parse(). */
bool top_opts_parse(struct top_opts *opts, int argc, char **argv, int *status_out);
void top_opts_deinit(struct top_opts *opts);

/* What is shown of the table, and how. */
struct top_view {
	enum top_order order;
	bool is_last; /* of the last window alone; else decayed */
	bool hide_kernel, hide_user;
	bool in_ms; /* CPU time as ms per second, not as a share of all CPUs */
	bool has_off_cpu;
	uint32_t cpu_cnt;
	bool has_filter;
	regex_t filter;
	char filter_text[SCREEN_PROMPT_BYTES];
	/* Of top_view_update(), so that a frozen picture stays as it is: */
	double span_ns;
	struct top_time all;
	uint32_t *rows; /* owned: of the table, in order */
	size_t cnt, cap;
};

void top_view_deinit(struct top_view *view);

/* Show only rows with a name that @text, an extended regular expression, matches; "": all. 0, or
 * -EINVAL with the reason in @why; the view is then unchanged. */
int top_view_filter(struct top_view *view, const char *text, struct buf *why);

/* Sum up @table and choose the rows. 0 or -ENOMEM. */
int top_view_update(struct top_view *view, struct top_table *table);

/* ms per second from ns of the view's span. */
double top_view_rate(const struct top_view *view, double ns);

/* How all of one window went. */
struct top_state {
	uint64_t samples, lost, never_ran;
	uint64_t complete, stacks; /* of samples with a stack to its bottom; all that should have
				      one */
	double own_permille, bpf_permille; /* of one CPU's time: ours with BPF, BPF's alone */
	double window_s;
	uint64_t time_ns; /* UTC at its end */
	uint64_t freq_hz;
};

/* Append a line of the header: 0, 1; the columns' names; a row; what is shown of a caller. Without
 * a newline. */
void top_print_header(const struct top_view *view, const struct top_state *state, int line,
		      struct buf *out);
void top_print_columns(const struct top_view *view, const struct top_table *table, struct buf *out);
void top_print_row(const struct top_view *view, const struct top_table *table, uint32_t row,
		   struct buf *out);
void top_print_caller(const struct top_view *view, const struct top_table *table,
		      const struct top_caller *caller, struct buf *out);
/* The name of a row: who, function and module. */
void top_print_name(const struct top_table *table, uint32_t row, struct buf *out);

/* All of it, with at most @entries rows, and a blank line at the end. */
void top_print(const struct top_view *view, const struct top_table *table,
	       const struct top_state *state, size_t entries, struct buf *out);

/* The terminal. */
struct top_screen {
	struct screen screen;
	bool is_open;
	enum log_level log_level; /* as it was before */
	bool is_frozen, is_help;
	bool wants_end;
	bool wants_clear; /* what is known is to be forgotten, once */
	struct screen_list list;
	struct screen_prompt prompt;
	char message[160]; /* until the next key */
	/* Of the callers' view: */
	uint32_t callee; /* TOP_NONE: the table is shown */
	struct top_caller *callers; /* owned */
	size_t caller_cnt;
};

/* 0; -ENOTTY: print text instead. */
int top_screen_open(struct top_screen *top, int wake_fd);
void top_screen_close(struct top_screen *top);

/* Take all keys that have arrived: true when something is to be drawn. */
bool top_screen_keys(struct top_screen *top, struct top_view *view, struct top_table *table);

/* New rows are in the view. */
void top_screen_refresh(struct top_screen *top, struct top_view *view, struct top_table *table);
void top_screen_draw(struct top_screen *top, const struct top_view *view,
		     const struct top_table *table, const struct top_state *state);

#endif
