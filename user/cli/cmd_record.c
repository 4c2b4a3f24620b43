/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bpfprof record`, the order of things:
 *
 *	options and targets checked -> outputs opened (nothing visible yet) -> COMMAND forked,
 *	stopped -> BPF loaded, events opened disabled -> events on -> COMMAND released -> what is
 *	needed no longer given up -> sampling, window by window -> events off -> files -> summary ->
 *	COMMAND's end
 *
 * Whatever can be refused is refused before the first sample, and an error on the way leaves no
 * file.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/priority.h"
#include "cli/confinement.h"
#include "cli/record.h"
#include "event/perf_open.h"
#include "symbol/demangle.h"
#include "symbol/name_keeper.h"

/* How soon a file that forbids recording is seen while nothing is recorded yet. */
#define LOOK_NS (500 * NSEC_PER_MSEC)

static uint64_t earlier(uint64_t one, uint64_t two)
{
	return one < two ? one : two;
}

/* 0 for no limit: then never. */
static uint64_t deadline_after(uint64_t now_ns, uint64_t span_ns)
{
	return span_ns && span_ns < UINT64_MAX - now_ns ? now_ns + span_ns : UINT64_MAX;
}

/* Name the outputs; CLI_OK or an exit status after log_error(). */
static int name_outputs(struct recording *rec)
{
	const struct record_opts *opts = rec->opts;
	_cleanup_(buf_deinit) struct buf why;
	int err = 0;

	buf_init(&why, BUF_NO_MAX);
	rec->outputs.force = opts->force;
	rec->outputs.is_windowed = opts->interval_ns;
	if (opts->folded)
		err = output_set_add(&rec->outputs, "-", &why);
	for (size_t i = 0; i < opts->outputs.cnt && !err; i++)
		err = output_set_add(&rec->outputs, opts->outputs.items[i], &why);
	if (!err && !rec->outputs.output_cnt)
		err = output_set_add(&rec->outputs, "bpfprof-%t.html", &why);
	if (!err && opts->interval_ns)
		err = output_set_number(&rec->outputs, opts->interval_ns);
	if (!err)
		return CLI_OK;
	log_error("%s", buf_error_text(&why, err));
	return err == -EINVAL ? CLI_USAGE : CLI_FAILED;
}

static int open_outputs(struct recording *rec)
{
	const char *stats = rec->opts->stats;
	int err;

	rec->naming = output_naming_first(clock_realtime_ns(), clock_monotonic_ns());
	err = output_set_open(&rec->outputs, &rec->naming);
	if (err || !stats)
		return err;
	err = fs_output_open(stats, rec->opts->force, &rec->stats);
	if (err)
		output_log_error(stats, err);
	return err;
}

static int open_capture(struct recording *rec)
{
	struct capture_opts opts = record_capture_opts(rec->opts);
	const struct event *event;
	int err = record_symbols_start(rec);

	if (err)
		return err;
	opts.debuginfod = rec->debuginfod;
	rec->max_rate_hz = perf_max_rate_hz();
	err = capture_open(&opts, &rec->capture);
	if (err)
		return err;
	event = capture_event(rec->capture, 0);
	record_title(rec->opts, event, &rec->title);
	if (!event)
		buf_add_str(&rec->rate, rec->opts->heap ? "allocations" : "waits");
	for (uint32_t i = 0; (event = capture_event(rec->capture, i)); i++) {
		record_rate(event, &rec->rate);
		rec->is_fallback |= event->is_fallback;
	}
	if (rec->is_fallback)
		log_debug("no PMU for cycles on this machine: sampling %s", buf_cstr(&rec->rate));
	return 0;
}

/* Fork COMMAND, stopped, while there is nothing of ours that it could inherit. */
static int start_command(struct recording *rec)
{
	char **argv = rec->opts->args.command;
	int err = argv ? command_start(&rec->command, argv) : 0;

	if (err)
		log_error("cannot start '%s': %s%s", argv[0], strerror(-err),
			  err == -EINVAL ? " (SUDO_UID and SUDO_GID must be numbers)" : "");
	else if (argv)
		stopper_set_child(&rec->stopper, rec->command.pid);
	return err;
}

/* Make COMMAND a target. */
static int follow_command(struct recording *rec)
{
	char **argv = rec->opts->args.command;
	int err;

	if (!argv || rec->opts->all_cpus)
		return 0;
	err = capture_add_command(rec->capture, rec->command.pid, argv[0]);
	if (err)
		log_error("cannot follow '%s': %s", argv[0], strerror(-err));
	return err;
}

/* Let COMMAND run. 0, or, after log_error(), the exit status that env(1) would have. */
static int release_command(struct recording *rec)
{
	int err;

	if (!rec->command.pid)
		return 0;
	err = command_release(&rec->command);
	if (!err)
		return 0;
	stopper_set_child(&rec->stopper, 0);
	log_error("cannot run '%s': %s", rec->opts->args.command[0], strerror(-err));
	return err == -ENOENT ? CLI_COMMAND_NOT_FOUND : CLI_COMMAND_NOT_RUNNABLE;
}

/* Is it time to end, whatever the clock says? */
static bool must_end(struct recording *rec)
{
	stopper_rearm(&rec->stopper);
	return stopper_is_asked(&rec->stopper) || stopper_child_ended(&rec->stopper);
}

static int failure(const struct recording *rec)
{
	return rec->opts->args.command ? CLI_COMMAND_FAILED : CLI_FAILED;
}

/* What failed without a word (mostly for lack of memory) has one here. @err. */
static int explain(const char *what, int err)
{
	if (err < 0 && !log_error_is_told())
		log_error("%s: %s", what, strerror(-err));
	return err;
}

/* All is set up: what remains is to read, to name and to write. */
static void confine_recording(const struct recording *rec)
{
	const char *stats = rec->opts->stats;
	const struct recorder recorder = {
		.has_network = rec->debuginfod,
		.writes_as_others =
			!output_set_is_ours(&rec->outputs) || (stats && !fs_output_is_ours(stats)),
		.child = rec->command.pid,
	};

	if (!rec->opts->no_symbols)
		demangle_preload();
	confine_recorder(&recorder);
}

/* -D, then events on; COMMAND runs from the earlier of the two. Exit status. */
static int begin_sampling(struct recording *rec)
{
	uint64_t start_ns = deadline_after(clock_monotonic_ns(), rec->opts->delay_ns);
	int status = CLI_OK;

	if (rec->opts->delay_ns) {
		status = release_command(rec);
		while (!status && clock_monotonic_ns() < start_ns && !must_end(rec) &&
		       !capture_stopped(rec->capture).reason[0])
			stopper_wait(&rec->stopper,
				     earlier(start_ns, clock_monotonic_ns() + LOOK_NS));
	}
	if (status)
		return status;
	if (explain("start sampling", capture_start(rec->capture, rec->stopper.wake_fd)))
		return failure(rec);
	return rec->opts->delay_ns ? CLI_OK : release_command(rec);
}

/* A window ends: write it and open the files of the next one. */
static int next_window(struct recording *rec, uint64_t now_ns)
{
	int err;

	progress_clear(&rec->progress);
	err = record_window(rec, now_ns);
	if (err)
		return err;
	output_naming_next(&rec->naming, clock_realtime_ns(), clock_monotonic_ns());
	return output_set_open(&rec->outputs, &rec->naming);
}

/* Sample until the deadline, the target's end or a signal. 0 or negative errno after log_error().
 */
static int sample(struct recording *rec)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t end_ns = deadline_after(now_ns, rec->opts->duration_ns);
	uint64_t window_ns = deadline_after(now_ns, rec->opts->interval_ns);
	int err = 0;

	progress_start(&rec->progress, now_ns);
	while (!err) {
		uint64_t wake_ns = earlier(earlier(end_ns, window_ns), rec->progress.next_ns);
		int wake = capture_run(rec->capture, wake_ns, rec->stopper.wake_fd);

		if (wake < 0) {
			log_error("sampling: %s", strerror(-wake));
			return wake;
		}
		now_ns = clock_monotonic_ns();
		if (wake == CAPTURE_TARGET_GONE || wake == CAPTURE_STOPPED || now_ns >= end_ns ||
		    must_end(rec))
			break;
		progress_update(&rec->progress, now_ns, capture_samples(rec->capture));
		if (now_ns < window_ns)
			continue;
		err = next_window(rec, now_ns);
		/* A window that took longer than the interval swallows the ones it missed. */
		while (window_ns <= now_ns)
			window_ns += rec->opts->interval_ns;
	}
	progress_clear(&rec->progress);
	return err;
}

/* The kernel throttles by lowering what it allows: who samples as often misses ticks then. */
static void warn_throttled(const struct recording *rec)
{
	uint64_t max_hz = perf_max_rate_hz();

	if (max_hz < rec->max_rate_hz)
		log_warn("kernel.perf_event_max_sample_rate sank from %llu to %llu meanwhile: the "
			 "kernel found that sampling (ours or another's) took too long; never_ran "
			 "counts what was throttled",
			 (unsigned long long)rec->max_rate_hz, (unsigned long long)max_hz);
}

/* Events off, the last window, --stats. 0 or negative errno after log_error(). */
static int end_sampling(struct recording *rec)
{
	uint64_t end_ns = clock_monotonic_ns();
	int priority = priority_raise();
	int err = capture_stop(rec->capture);

	if (err)
		log_error("closing the books: %s", strerror(-err));
	rec->is_over = true;
	warn_throttled(rec);
	record_tell_stopped(rec->capture);
	if (!err)
		err = record_window(rec, end_ns);
	if (!err)
		err = record_stats(rec);
	priority_restore(priority);
	return err;
}

/* COMMAND's exit status, when it has ended; a second signal ends the wait and us. */
static int wait_for_command(struct recording *rec)
{
	if (!stopper_child_ended(&rec->stopper))
		log_info("sampling has ended, '%s' has not: waiting for it",
			 rec->opts->args.command[0]);
	while (!stopper_child_ended(&rec->stopper)) {
		stopper_wait(&rec->stopper, UINT64_MAX);
		stopper_rearm(&rec->stopper);
	}
	stopper_set_child(&rec->stopper, 0);
	return command_wait(&rec->command);
}

/* The exit status of a recording that ran to its end. */
static int final_status(struct recording *rec)
{
	_cleanup_(buf_deinit) struct buf line;
	bool is_lossy = rec->opts->strict && !ledger_is_strictly_clean(&rec->totals);
	int status = CLI_OK;

	buf_init(&line, BUF_NO_MAX);
	if (!rec->has_samples) {
		record_explain_empty(&rec->totals, &line);
		log_warn("%s", buf_cstr(&line));
	}
	if (is_lossy) {
		buf_reset(&line);
		ledger_format_line(&rec->totals, &line);
		log_error("not without loss, as --strict asks: %s", buf_cstr(&line));
	}
	if (rec->command.pid)
		status = wait_for_command(rec);
	if (rec->has_failed || status < 0)
		return failure(rec);
	if (status)
		return status;
	if (is_lossy)
		return CLI_LOSS;
	return rec->has_samples || rec->opts->args.command ? CLI_OK : CLI_NOTHING_SAMPLED;
}

static int run(struct recording *rec)
{
	int status;

	viewer_init(&rec->viewer, rec->opts->open);
	if (explain("open the outputs", open_outputs(rec)) ||
	    explain("start the command", start_command(rec)) ||
	    explain("set up the recording", open_capture(rec)) ||
	    explain("follow the command", follow_command(rec)))
		return failure(rec);
	status = begin_sampling(rec);
	if (status)
		return status;
	/* COMMAND does not wait for it. */
	confine_recording(rec);
	if (explain("record", sample(rec))) {
		/* The windows that were written have their books. */
		if (rec->totals.event_cnt)
			record_stats(rec);
		return failure(rec);
	}
	if (explain("write the outputs", end_sampling(rec)))
		return failure(rec);
	viewer_show(&rec->viewer, rec->outputs.first_page);
	return final_status(rec);
}

/* From its release to its end; 0: it did not run. */
static uint64_t command_time_ns(struct recording *rec)
{
	uint64_t start_ns = rec->command.released_ns;
	uint64_t end_ns = atomic_load(&rec->stopper.child_ns);

	return start_ns && end_ns > start_ns ? end_ns - start_ns : 0;
}

static int record(struct record_opts *opts, uint64_t *command_ns)
{
	struct recording rec = {.opts = opts, .command = {.go_fd = -1, .exec_fd = -1}};
	int status, err;

	output_set_init(&rec.outputs);
	buf_init(&rec.title, BUF_NO_MAX);
	buf_init(&rec.rate, BUF_NO_MAX);
	ledger_init(&rec.totals);
	rec.keeper = name_keeper_new(NULL);
	/* A closed pipe at the end of -f must not cost the other files. */
	signal(SIGPIPE, SIG_IGN);

	status = name_outputs(&rec);
	if (!status && record_targets_check(opts))
		status = failure(&rec);
	if (!status) {
		err = stopper_start(&rec.stopper);
		if (err)
			log_error("signals: %s", strerror(-err));
		status = err ? failure(&rec) : run(&rec);
	}
	*command_ns = command_time_ns(&rec);
	command_abandon(&rec.command);
	viewer_deinit(&rec.viewer);
	capture_close(rec.capture);
	debuginfod_stop(rec.debuginfod);
	name_keeper_free(rec.keeper);
	fs_output_abandon(&rec.stats);
	output_set_deinit(&rec.outputs);
	stopper_end(&rec.stopper);
	ledger_deinit(&rec.totals);
	buf_deinit(&rec.title);
	buf_deinit(&rec.rate);
	return status;
}

int record_timed(int argc, char **argv, uint64_t *command_ns)
{
	struct record_opts opts;
	int status;

	*command_ns = 0;
	if (record_opts_parse(&opts, argc, argv, &status))
		status = record(&opts, command_ns);
	record_opts_deinit(&opts);
	return status;
}

int cmd_record(int argc, char **argv)
{
	uint64_t command_ns;

	return record_timed(argc, argv, &command_ns);
}
