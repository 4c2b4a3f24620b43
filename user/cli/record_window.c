/* SPDX-License-Identifier: Apache-2.0 */
/* From what was sampled to files: one window of a recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/own_memory.h"
#include "cli/record.h"
#include "cli/rendering.h"
#include "cli/source_embed.h"
#include "encode/func_table.h"
#include "profile/call_sites.h"
#include "symbol/name_keeper.h"
#include "symbol/symbolizer.h"

/* What capture_window() hands out. */
struct window {
	struct profile *prof;
	struct ledger *ledger;
};

static void window_deinit(struct window *window)
{
	if (window->prof)
		profile_deinit(window->prof);
	if (window->ledger)
		ledger_deinit(window->ledger);
	free(window->prof);
	free(window->ledger);
}

/* Sampling goes on while a window of -i is named, and what it fills must be drained. */
static uint64_t lines_budget_ns(const struct record_opts *opts)
{
	uint64_t budget_ns = RECORD_LINES_BUDGET_MS * NSEC_PER_MSEC;
	uint64_t share_ns = opts->interval_ns / 4;

	return share_ns && share_ns < budget_ns ? share_ns : budget_ns;
}

/* Short windows are named all the same: the second one's names are there already. */
static uint64_t names_budget_ns(const struct record_opts *opts)
{
	uint64_t most_ns = RECORD_NAMES_BUDGET_MS * NSEC_PER_MSEC, least_ns = most_ns / 4;
	uint64_t share_ns = opts->interval_ns / 2;

	if (!share_ns || share_ns > most_ns)
		return most_ns;
	return share_ns > least_ns ? share_ns : least_ns;
}

static int symbolize(struct recording *rec, const struct window *window, uint64_t end_ns)
{
	const struct symbolizer_opts opts = {
		.no_symbols = rec->opts->no_symbols,
		.no_inline = rec->opts->no_inline,
		.merge_clones = rec->opts->merge_clones,
		.keeper = rec->keeper,
		.lines_budget_ns = lines_budget_ns(rec->opts),
		.sources = {.debuginfod = rec->debuginfod,
			    .debug_dirs = rec->opts->debug_dirs.items},
		.kernel = capture_kernel(rec->capture),
		.start_ns = end_ns - window->prof->duration_ns,
		.end_ns = end_ns,
		.jit_advice = &rec->jit_advice,
		.names_budget_ns = names_budget_ns(rec->opts),
	};
	uint64_t cpu_ns = clock_process_cpu_ns();
	struct module *const *modules;
	size_t module_cnt;
	int err;

	modules = capture_modules(rec->capture, &module_cnt);
	err = symbolizer_run(window->prof, modules, module_cnt, &opts, &window->ledger->frames);
	window->ledger->cost.symbolize_cpu_ns +=
		clock_process_cpu_ns() - cpu_ns + capture_take_names_cpu_ns(rec->capture);
	return err;
}

/* Names on file systems without O_TMPFILE that a second Ctrl-C has to remove. */
static int doom_temporaries(struct recording *rec)
{
	int err = 0;

	stopper_spare(&rec->stopper);
	for (size_t i = 0; i < rec->outputs.file_cnt && !err; i++)
		if (rec->outputs.files[i].file.tmp_path)
			err = stopper_doom(&rec->stopper, rec->outputs.files[i].file.tmp_path);
	if (!err && rec->stats.tmp_path)
		err = stopper_doom(&rec->stopper, rec->stats.tmp_path);
	return err;
}

/* The line under the graph: the ledger, or why there is nothing to draw. */
static void add_ledger_line(const struct window *window, struct buf *out)
{
	if (!window->prof->sample_cnt) {
		record_explain_empty(window->ledger, out);
		buf_add_str(out, "; ");
	}
	ledger_format_line(window->ledger, out);
}

static int write_outputs(struct recording *rec, const struct window *window, uint32_t value)
{
	_cleanup_(buf_deinit) struct buf subtitle, ledger_line, sources;
	struct encoder_opts opts = {
		.value = value,
		.by = rec->opts->by.text,
		.annotate = rec->opts->annotate,
		.title = rec->opts->title ? rec->opts->title : buf_cstr(&rec->title),
	};

	buf_init(&subtitle, BUF_NO_MAX);
	buf_init(&ledger_line, BUF_NO_MAX);
	record_subtitle(window->prof, window->ledger, buf_cstr(&rec->rate), &subtitle);
	add_ledger_line(window, &ledger_line);
	opts.subtitle = buf_cstr(&subtitle);
	opts.ledger_line = buf_cstr(&ledger_line);
	buf_init(&sources, BUF_NO_MAX);
	if (rec->opts->embed_source && !source_embed(window->prof, &sources))
		opts.sources = buf_cstr(&sources);
	return output_set_write(&rec->outputs, window->prof, &opts);
}

/* The value that one-value formats get. A wrong --value shows only now: the recording is worth more
 * than the mistake, so that it is written with the default value and the failure is remembered. */
static uint32_t pick_value(struct recording *rec, const struct profile *prof)
{
	const char *name = rec->opts->value;
	uint32_t value = profile_pick_value(prof, name);

	if (value != PROFILE_NONE || !name)
		return value;
	rec->has_failed = true;
	return prof->default_value;
}

/* Capture looks at our memory while it drains; names and encodings come after that. */
static void note_memory(struct recording *rec)
{
	uint64_t rss_bytes = own_rss_anon_bytes();

	if (rss_bytes > rec->rss_peak_bytes)
		rec->rss_peak_bytes = rss_bytes;
}

/* Waits get their causes, which are in names. */
static int finish_waits(struct recording *rec, const struct window *window)
{
	struct off_cpu *off = capture_off_cpu(rec->capture);
	int err;

	if (!off)
		return 0;
	err = off_cpu_finish(window->prof, off);
	off_cpu_add_comment(window->prof, off);
	return err;
}

static int finish_files(struct recording *rec, const struct window *window, uint64_t end_ns)
{
	uint32_t value = pick_value(rec, window->prof);
	int err;

	if (output_set_resolve(&rec->outputs, &rec->naming, window->prof,
			       rec->opts->value ? value : PROFILE_NONE))
		rec->has_failed = true;
	err = doom_temporaries(rec);
	/* Sampling does not wait: the windows before the last have what has come by then. */
	if (rec->is_over)
		record_symbols_wait(rec, window->prof);
	if (!err)
		err = symbolize(rec, window, end_ns);
	if (!err && rec->opts->by.bits & BY_CALLER)
		err = call_sites_label(window->prof);
	if (!err)
		err = finish_waits(rec, window);
	record_add_facts(window->prof);
	if (!err)
		err = profile_set_ledger(window->prof, window->ledger);
	if (err)
		return err;
	if (write_outputs(rec, window, value))
		rec->has_failed = true;
	window->ledger->cost.finish_ns = clock_monotonic_ns() - end_ns;
	note_memory(rec);
	return 0;
}

int record_window(struct recording *rec, uint64_t end_ns)
{
	_cleanup_(window_deinit) struct window window = {0};
	int err = capture_window(rec->capture, &window.prof, &window.ledger);
	uint64_t cpu_ns = clock_process_cpu_ns();

	if (!err)
		err = finish_files(rec, &window, end_ns);
	if (!err) {
		rec->has_samples |= window.prof->sample_cnt > 0;
		record_summary(rec, window.prof, window.ledger);
		name_keeper_save(rec->keeper);
		err = ledger_merge(&rec->totals, window.ledger);
	}
	rec->finish_cpu_ns += clock_process_cpu_ns() - cpu_ns;
	if (err)
		log_error("window %llu of the recording: %s",
			  (unsigned long long)rec->naming.window, strerror(-err));
	return err;
}

int record_stats(struct recording *rec)
{
	struct ledger_cost *cost = &rec->totals.cost;
	_cleanup_(buf_deinit) struct buf json;
	int err;

	buf_init(&json, BUF_NO_MAX);
	if (!rec->stats.path)
		return 0;
	/* The windows' costs are readings of one meter: the last one counts, not their sum.
	 * Capture's share of our CPU time is what symbolizing and encoding have not used. */
	capture_cost(rec->capture, cost);
	cost->capture_cpu_ns -= rec->finish_cpu_ns;
	if (cost->rss_anon_peak_bytes < rec->rss_peak_bytes)
		cost->rss_anon_peak_bytes = rec->rss_peak_bytes;
	ledger_to_json(&rec->totals, &json);
	buf_add_char(&json, '\n');
	err = json.err ? json.err : fs_output_commit(&rec->stats, json.data, json.len);
	if (err)
		output_log_error(rec->opts->stats, err);
	return err;
}
