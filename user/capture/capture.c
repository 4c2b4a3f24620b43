/* SPDX-License-Identifier: Apache-2.0 */
/* The recording: opens what is needed, drains while it runs, hands out windows. */
#include "capture/capture.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/capture_priv.h"
#include "capture/command_files.h"
#include "capture/cpus.h"
#include "capture/frames.h"
#include "capture/hotplug.h"
#include "capture/own_memory.h"
#include "capture/probe_cost.h"

#define DRAIN_PERIOD_NS (1000 * NSEC_PER_MSEC)

/* How long the beginning waits for rows: those of a command that is held back for them, those of
 * what else is going to be sampled, and the others; and after how long it says so. */
#define PREPARE_COMMAND_NS (120000 * NSEC_PER_MSEC)
#define PREPARE_EXPECTED_NS (10000 * NSEC_PER_MSEC)
#define PREPARE_ROWS_NS (1000 * NSEC_PER_MSEC)
#define PREPARE_SILENT_NS (3000 * NSEC_PER_MSEC)

/* How long a window's end waits for rows that its snapshots need; sampling may go on meanwhile. */
#define SETTLE_STOPPED_NS (300 * NSEC_PER_MSEC)
#define SETTLE_RUNNING_NS (50 * NSEC_PER_MSEC)

/* The monotonic clock's kernel memory and descriptors: a recording may meet hundreds of files, each
 * kept open until it is named. */
static void raise_fd_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int pick_cpus(const struct capture_opts *opts, struct number_set *out)
{
	struct number_set online = {0}, picked = {0};
	int err;

	/* Those that are offline now are taken up when they come. */
	if (!opts->cpus)
		return cpus_read("present", out);
	err = cpus_read("online", &online);
	if (err)
		return err;
	for (size_t i = 0; i < opts->cpus->cnt && !err; i++) {
		if (!number_set_has(&online, opts->cpus->items[i])) {
			log_error("CPU %u (-C) is not online; /sys/devices/system/cpu/online lists "
				  "those that are",
				  opts->cpus->items[i]);
			err = -ENODEV;
			break;
		}
		err = number_set_add(&picked, opts->cpus->items[i]);
	}
	number_set_deinit(&online);
	if (err)
		number_set_deinit(&picked);
	else
		*out = picked;
	return err;
}

static int capture_open_events(struct capture *cap, const struct capture_opts *opts)
{
	struct number_set cpus = {0}, present = {0};
	int err = pick_cpus(opts, &cpus);

	if (!err)
		err = cpus_read("present", &present);
	if (!err)
		err = samplers_open(&cap->samplers, &cap->loader, &cpus, &present);
	if (!err && cap->wait_opts.is_wanted)
		err = books_init(&cap->wait_books, &present, -1);
	number_set_deinit(&cpus);
	number_set_deinit(&present);
	return err;
}

static int capture_setup(struct capture *cap, const struct capture_opts *opts)
{
	int err;

	raise_fd_limit();
	err = guard_open(&cap->guard, opts);
	if (err)
		return err;
	if (opts->heap.is_wanted && !heap_probes_work()) {
		log_error("--heap: this kernel does not tell a program at which probe it runs: "
			  "Linux 5.15 or newer is needed");
		return -EOPNOTSUPP;
	}
	err = capture_pins_open(cap, opts);
	if (!err)
		err = targets_open(&cap->targets, opts->tgids);
	if (!err)
		err = samplers_resolve(&cap->samplers, opts);
	if (!err)
		err = loader_open(&cap->loader, opts, &cap->samplers,
				  cap->is_pinned ? &cap->pins : NULL);
	if (!err)
		err = capture_open_events(cap, opts);
	if (!err && !loader_is_resumed(&cap->loader))
		err = probe_cost_check(&cap->samplers, &cap->loader, opts->is_forced);
	if (err)
		return err;
	if (opts->heap.is_wanted)
		err = heap_open(&cap->heap, &cap->loader, opts);
	if (err)
		return err;
	err = drain_init(&cap->drain, &cap->loader, opts, &cap->samplers);
	cap->drain.heap = opts->heap.is_wanted ? &cap->heap : NULL;
	if (!err)
		err = drain_begin_window(&cap->drain);
	if (!err)
		err = rows_feed_init(&cap->rows, &cap->loader, &cap->drain.exes);
	cap->drain.snapshots.feed = &cap->rows;
	if (!err && cap->is_pinned)
		err = capture_pins_resume(cap);
	if (!err)
		err = loader_follow_children(&cap->loader);
	if (!err && capture_watches_kernel(opts))
		err = kernel_watch_init(&cap->kernel);
	cap->drain.kernel = opts->beside ? opts->beside->kernel.map : cap->kernel.map;
	if (err)
		log_error("set up the recording: %s", strerror(-err));
	return err;
}

int capture_open(const struct capture_opts *opts, struct capture **out)
{
	struct capture *cap = calloc(1, sizeof(*cap));
	int err;

	if (!cap)
		return -ENOMEM;
	cap->loader.barrier_inner_fd = cap->loader.stats_fd = -1;
	cap->pins.base_fd = cap->pins.dir_fd = cap->pins.state_fd = cap->pins.exes_fd = -1;
	cap->kernel.events.epoll_fd = -1;
	cap->hotplug_fd = hotplug_open();
	cap->debuginfod = opts->debuginfod;
	cap->wait_opts = opts->waits;
	cap->watches_switches = waits_are_attached(opts);
	cap->heap_tgids = opts->tgids;
	cap->drain_period_ns = DRAIN_PERIOD_NS;
	err = capture_setup(cap, opts);
	if (err) {
		if (err == -EOPNOTSUPP && cap->is_pinned)
			log_error("pins: this kernel cannot keep what samples when its process "
				  "ends: Linux 5.15 or newer is needed");
		capture_close(cap);
		return err;
	}
	*out = cap;
	return 0;
}

int capture_add_command(struct capture *cap, pid_t tgid, const char *program)
{
	int err = loader_add_target(&cap->loader, BP_TARGET_TGID, tgid);

	cap->program = program;
	if (!err && cap->heap.opts.is_wanted)
		err = heap_attach_command(&cap->heap, tgid, program);
	return err;
}

/* Sampling does not wait for it: what comes or goes until then is of milliseconds. */
static int capture_watch_kernel(struct capture *cap)
{
	struct number_set present = {0};
	int err;

	if (!cap->kernel.map)
		return 0;
	err = loader_watch_modules(&cap->loader);
	if (err)
		log_debug("modules that are loaded: %s", strerror(-err));
	err = cpus_read("present", &present);
	if (err)
		return err;
	kernel_watch_begin(&cap->kernel, &present, cap->window_start_ns,
			   loader_module_loads(&cap->loader));
	number_set_deinit(&present);
	return 0;
}

static int capture_attach_heap(struct capture *cap)
{
	int err = 0;

	for (size_t i = 0; cap->heap_tgids && i < cap->heap_tgids->cnt && !err; i++)
		err = heap_attach_process(&cap->heap, (pid_t)cap->heap_tgids->items[i]);
	return err ? err : heap_follow(&cap->heap);
}

/* The window began at CLOCK_MONOTONIC @start_ns. */
static void begin_window_at(struct capture *cap, uint64_t start_ns)
{
	cap->window_start_ns = cap->drain.window_start_ns = start_ns;
	cap->window_time_ns = clock_realtime_ns() - (clock_monotonic_ns() - start_ns);
}

/* The last window of @old ends where the first of @cap begins. */
static void replace(struct capture *old, struct capture *cap)
{
	old->replaced_ns = capture_hand_over(old, cap);
	begin_window_at(cap, old->replaced_ns);
}

static int capture_enable(struct capture *cap, struct capture *old)
{
	struct number_set present = {0};
	int err;

	if (old)
		samplers_end_counters(&old->samplers);
	err = samplers_enable(&cap->samplers, &cap->loader);
	if (!err && cap->is_pinned)
		capture_pins_begin(cap);
	if (!err && old)
		replace(old, cap);
	else if (!err)
		loader_set_sampling(&cap->loader, true);
	if (!err && cap->heap.opts.is_wanted)
		err = capture_attach_heap(cap);
	if (err || !cap->watches_switches)
		return err;
	err = cpus_read("present", &present);
	if (!err)
		err = waits_start(&cap->waits, &cap->loader, &present);
	number_set_deinit(&present);
	return err;
}

static void capture_ask_symbols(struct capture *cap)
{
	if (cap->debuginfod)
		exes_ask_symbols(&cap->drain.exes, cap->debuginfod);
}

int capture_take_ring(struct capture *cap)
{
	int err = drain_ring(&cap->drain);

	capture_ask_symbols(cap);
	return err ? err : rows_feed_ask(&cap->rows);
}

void capture_take_rows(struct capture *cap)
{
	rows_feed_take(&cap->rows, cap->drain.nr);
	drain_snapshots(&cap->drain, false);
}

static void expect_command_file(void *arg, int fd, const char *path)
{
	(void)fd;
	rows_feed_expect(arg, path);
}

/* The files of the command, and those that events lie in. */
static void expect_files(struct capture *cap)
{
	if (cap->program)
		command_files_each(cap->program, expect_command_file, &cap->rows);
	for (uint32_t i = 0; i < cap->samplers.cnt; i++) {
		const struct event *event = &cap->samplers.items[i].event;

		for (size_t k = 0; k < event->site_cnt; k++)
			if (event->sites[k].path &&
			    (!k || !event->sites[k - 1].path ||
			     strcmp(event->sites[k].path, event->sites[k - 1].path)))
				rows_feed_expect(&cap->rows, event->sites[k].path);
	}
}

/* The beginning has waited for rows for @waited_ns: may it go on without those that lack?
 * @has_read_all: all that was announced has been read. */
static bool is_prepared(const struct capture *cap, bool has_read_all, uint64_t waited_ns)
{
	uint64_t expected_ns = cap->program ? PREPARE_COMMAND_NS : PREPARE_EXPECTED_NS;

	if (has_read_all && rows_feed_is_settled(&cap->rows))
		return true;
	return waited_ns >= (rows_feed_has_expected(&cap->rows) ? PREPARE_ROWS_NS : expected_ns);
}

/*
 * A sample without rows becomes a snapshot, but those are for some: so what runs has its rows
 * before the first sample, which takes tens of milliseconds. What does not come in time, comes
 * later; on a machine so busy that this is the command, too, it is not begun without its own,
 * unless @wake_fd becomes readable.
 */
static int prepare_rows(struct capture *cap, int wake_fd)
{
	struct pollfd fds[] = {
		{.fd = loader_ring_fd(&cap->loader), .events = POLLIN},
		{.fd = rows_feed_fd(&cap->rows), .events = POLLIN},
		{.fd = wake_fd, .events = POLLIN},
	};
	uint64_t start_ns = clock_monotonic_ns(), waited_ns = 0;
	bool is_told = false;
	int err;

	rows_feed_preload(&cap->rows);
	if (!cap->rows.preload)
		return 0;
	expect_files(cap);
	for (;;) {
		/* Else the ring may have been read up to what another thread was about to announce,
		 * and the thread have come to its end meanwhile. */
		bool is_preloaded = rows_feed_is_preloaded(&cap->rows);

		err = capture_take_ring(cap);
		capture_take_rows(cap);
		if (err || is_prepared(cap, is_preloaded, waited_ns) || fds[2].revents)
			return err;
		if (cap->program && !is_told && waited_ns >= PREPARE_SILENT_NS) {
			log_info("sampling begins when the unwind rows of '%s' are made (^C: at "
				 "once)",
				 cap->program);
			is_told = true;
		}
		poll(fds, sizeof(fds) / sizeof(*fds), 1);
		waited_ns = clock_monotonic_ns() - start_ns;
	}
}

static int start(struct capture *cap, struct capture *old, int wake_fd)
{
	uint64_t started_ns = clock_process_start_ns();
	bool is_resumed = loader_is_resumed(&cap->loader);
	int err = is_resumed ? 0 : prepare_rows(cap, wake_fd);

	if (err)
		return err;
	begin_window_at(cap, is_resumed ? capture_pins_start_ns(cap) : clock_monotonic_ns());
	cap->next_drain_ns = cap->window_start_ns + cap->drain_period_ns;
	err = capture_enable(cap, old);
	if (err)
		return err;
	if (cap->wait_opts.is_wanted)
		begin_window_at(cap, cap->loader.mem.ctl->waits_start_ns);
	if (cap->is_pinned)
		cap->next_drain_ns = 0;
	if (started_ns)
		cap->start_ns = clock_boottime_ns() - started_ns;
	rows_feed_preload(&cap->rows);
	asleep_init(&cap->drain.asleep, cap->rows.preload);
	err = capture_watch_kernel(cap);
	return err ? err : rows_feed_ask(&cap->rows);
}

int capture_take_over(struct capture *cap, struct capture *old)
{
	return start(cap, old, -1);
}

int capture_start(struct capture *cap, int wake_fd)
{
	return start(cap, NULL, wake_fd);
}

static void add_to_books(void *arg, uint32_t shard, const struct bp_event_counters *counters)
{
	struct capture *cap = arg;

	cap->samples += samplers_add(&cap->samplers, shard, counters);
	if (cap->wait_opts.is_wanted)
		books_add(&cap->wait_books, shard, &counters[BP_EVENT_SWITCH]);
	cap->samples += counters[BP_EVENT_SWITCH].recorded;
}

/* The epoch that began at the last drain has ended at @now_ns. */
static void capture_end_epoch(struct capture *cap, uint64_t now_ns)
{
	struct drain *drain = &cap->drain;

	drain->epoch_start_ns = drain->epoch_end_ns ? drain->epoch_end_ns : cap->window_start_ns;
	drain->epoch_end_ns = now_ns;
	if (cap->kernel.map)
		kernel_watch_flipped(&cap->kernel, loader_module_loads(&cap->loader), now_ns);
}

/* Begin the next epoch: the number of the one that is closed by it, and when it ended. */
static int capture_flip(struct capture *cap, uint32_t *epoch, uint64_t *end_ns)
{
	if (cap->is_pinned)
		return capture_pins_end_epoch(cap, epoch, end_ns);
	*end_ns = clock_monotonic_ns();
	samplers_read_ticks(&cap->samplers);
	return loader_flip(&cap->loader, epoch);
}

int capture_drain(struct capture *cap, uint32_t *epoch)
{
	uint64_t rss, end_ns;
	int err = capture_flip(cap, epoch, &end_ns);

	if (err)
		return err;
	samplers_nudge(&cap->samplers);
	capture_end_epoch(cap, end_ns);
	err = drain_epoch(&cap->drain, *epoch, add_to_books, cap);
	if (!cap->is_pinned)
		drain_give_back(&cap->drain, *epoch);
	if (cap->drain.wants_flip && cap->drain_period_ns > CAPTURE_DRAIN_PERIOD_MIN_NS)
		cap->drain_period_ns /= 2;
	else if (!cap->drain.wants_flip && cap->drain_period_ns < DRAIN_PERIOD_NS)
		cap->drain_period_ns *= 2;
	cap->drain.wants_flip = false;
	if (!err)
		err = rows_feed_ask(&cap->rows);
	capture_ask_symbols(cap);
	rows_feed_mark_used(&cap->rows, ++cap->drain.nr);
	cap->last_drain_ns = clock_monotonic_ns();
	cap->next_drain_ns = cap->last_drain_ns + cap->drain_period_ns;
	rss = own_rss_anon_bytes();
	if (rss > cap->rss_anon_peak_bytes)
		cap->rss_anon_peak_bytes = rss;
	if (err)
		log_error("drain: %s", strerror(-err));
	return err;
}

/* Finish the snapshots of the window, with the rows that come in time. */
static int capture_settle(struct capture *cap)
{
	struct pollfd built = {.fd = rows_feed_fd(&cap->rows), .events = POLLIN};
	uint64_t now = clock_monotonic_ns();
	uint64_t until = now + (cap->is_stopped ? SETTLE_STOPPED_NS : SETTLE_RUNNING_NS);

	capture_take_rows(cap);
	while (snapshots_have_closed(&cap->drain.snapshots) && now < until) {
		if (poll(&built, 1, capture_timeout_ms(now, until)) > 0)
			capture_take_rows(cap);
		now = clock_monotonic_ns();
	}
	drain_snapshots(&cap->drain, true);
	capture_ask_symbols(cap);
	return cap->drain.prof->err;
}

struct ledger_stopped capture_stopped(struct capture *cap)
{
	/* What ended as it should was not stopped. */
	if (!cap->is_stopped)
		guard_check(&cap->guard, &cap->loader, clock_monotonic_ns());
	return cap->guard.stopped;
}

uint64_t capture_samples(const struct capture *cap)
{
	return cap->samples;
}

const struct event *capture_event(const struct capture *cap, uint32_t nr)
{
	return nr < cap->samplers.cnt ? &cap->samplers.items[nr].event : NULL;
}

static int collect_thread(void *arg, const void *thread)
{
	return drain_thread(arg, thread);
}

/* The threads that are asleep now, and what all have done, up to *@end_ns. */
static int capture_collect(struct capture *cap, uint64_t *end_ns)
{
	int err;

	if (!cap->wait_opts.is_wanted)
		return 0;
	*end_ns = cap->is_stopped ? cap->loader.mem.ctl->waits_end_ns : clock_monotonic_ns();
	err = waits_collect(&cap->waits, collect_thread, &cap->drain);
	if (cap->is_stopped)
		waits_stop(&cap->waits);
	if (err)
		log_error("threads at the window's end: %s", strerror(-err));
	return err;
}

/* The window's waits, for whoever it is handed to. */
static void hand_off_cpu(struct capture *cap)
{
	if (cap->handed_off_cpu)
		off_cpu_deinit(cap->handed_off_cpu);
	free(cap->handed_off_cpu);
	cap->handed_off_cpu = cap->drain.off_cpu;
	cap->drain.off_cpu = NULL;
}

int capture_window(struct capture *cap, struct profile **out_profile, struct ledger **out_ledger)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));
	uint64_t now, collected_ns = 0;
	bool is_again = cap->is_closed;
	uint32_t epoch;
	int err;

	if (!ledger)
		return -ENOMEM;
	ledger_init(ledger);
	if (cap->kernel.map)
		kernel_watch_finish(&cap->kernel, loader_module_loads(&cap->loader));
	err = capture_collect(cap, &collected_ns);
	if (!err)
		err = capture_drain(cap, &epoch);
	now = cap->replaced_ns		 ? cap->replaced_ns
	      : cap->is_pinned		 ? cap->drain.epoch_end_ns
	      : cap->wait_opts.is_wanted ? collected_ns
					 : clock_monotonic_ns();
	if (!err)
		err = capture_settle(cap);
	if (!err && cap->heap.opts.is_wanted)
		heap_fill(&cap->heap, &cap->drain);
	if (!err)
		err = capture_fill_ledger(cap, ledger);
	if (err) {
		ledger_deinit(ledger);
		free(ledger);
		return err;
	}
	ledger->duration_s = (now - cap->window_start_ns) / 1e9;
	cap->drain.prof->time_ns = cap->window_time_ns;
	cap->drain.prof->duration_ns = now - cap->window_start_ns;
	cap->origin.epoch = epoch;
	cap->origin.start_ns = cap->window_start_ns;
	cap->origin.end_ns = now;
	cap->origin.is_again = is_again;
	if (cap->is_pinned)
		capture_pins_handed(cap, epoch);
	*out_profile = cap->drain.prof;
	*out_ledger = ledger;
	begin_window_at(cap, now);
	cap->drain.prof = NULL;
	free(cap->handed_modules);
	cap->handed_modules = drain_take_modules(&cap->drain, &cap->handed_cnt);
	hand_off_cpu(cap);
	return drain_begin_window(&cap->drain);
}

int capture_stop(struct capture *cap)
{
	if (cap->is_pinned)
		return 0;
	samplers_disable(&cap->samplers, &cap->loader);
	waits_end(&cap->waits);
	heap_stop(&cap->heap);
	cap->is_stopped = true;
	return 0;
}

struct module *const *capture_modules(const struct capture *cap, size_t *cnt)
{
	*cnt = cap->handed_cnt;
	return cap->handed_modules;
}

struct off_cpu *capture_off_cpu(struct capture *cap)
{
	return cap->handed_off_cpu;
}

const struct heap_summary *capture_heap(const struct capture *cap)
{
	return cap->heap.opts.is_wanted ? &cap->heap.summary : NULL;
}

struct kernel_map *capture_kernel(struct capture *cap)
{
	return cap->kernel.map;
}

uint64_t capture_take_names_cpu_ns(struct capture *cap)
{
	uint64_t cpu_ns = cap->kernel.cpu_ns;

	cap->kernel.cpu_ns = 0;
	cap->names_cpu_ns += cpu_ns;
	return cpu_ns;
}

void capture_close(struct capture *cap)
{
	if (!cap)
		return;
	samplers_close(&cap->samplers);
	rows_feed_deinit(&cap->rows);
	drain_deinit(&cap->drain);
	free(cap->handed_modules);
	books_deinit(&cap->wait_books);
	heap_close(&cap->heap);
	waits_deinit(&cap->waits);
	hand_off_cpu(cap);
	hand_off_cpu(cap);
	targets_deinit(&cap->targets);
	kernel_watch_deinit(&cap->kernel);
	loader_close(&cap->loader);
	pins_close(&cap->pins);
	if (cap->hotplug_fd >= 0)
		close(cap->hotplug_fd);
	free(cap);
}
