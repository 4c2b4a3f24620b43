/* SPDX-License-Identifier: Apache-2.0 */
/* Announcements and readings into the map. */
#include "capture/kernel_watch.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/privilege.h"
#include "capture/bpf_code.h"

/* What the drain waits for a reading: usually it is there, for a drain comes once a second. */
#define READING_WAIT_NS (100 * NSEC_PER_MSEC)

/* Readings may take a tenth of the time since the start, and that of so many as the last one. */
enum { READING_SHARE = 10, READING_BURST = 8 };

int kernel_watch_init(struct kernel_watch *watch)
{
	*watch = (struct kernel_watch){.map = kernel_map_new(), .events = {.epoll_fd = -1}};
	return watch->map ? 0 : -ENOMEM;
}

/* Programs end where they end, and not with the next symbol: a module may be loaded behind them. */
static void end_programs(struct kallsyms *syms)
{
	struct bpf_code code = {0};
	int err = kallsyms_is_restricted(syms) ? 0 : bpf_code_read(&code);

	if (!err)
		err = kallsyms_add_ends(syms, code.ends, code.cnt);
	if (err)
		log_debug("kernel symbols: ends of BPF programs: %s", strerror(-err));
	bpf_code_deinit(&code);
}

static void *reading_main(void *arg)
{
	struct kernel_reading *reading = arg;

	/* The first reading asks for programs as well, which takes it. */
	privilege_keep(PRIVILEGES_RUN | PRIVILEGE_BIT(PRIVILEGE_SYS_ADMIN));
	reading->start_ns = clock_monotonic_ns();
	reading->syms = kallsyms_open(KALLSYMS_PATH);
	if (reading->syms)
		end_programs(reading->syms);
	else
		log_debug("kernel symbols: read '" KALLSYMS_PATH "': %s", strerror(errno));
	reading->cpu_ns = clock_thread_cpu_ns();
	reading->end_ns = clock_monotonic_ns();
	return NULL;
}

static void start_reading(struct kernel_watch *watch, uint64_t from_ns)
{
	int err;

	watch->reading = (struct kernel_reading){.from_ns = from_ns};
	err = pthread_create(&watch->thread, NULL, reading_main, &watch->reading);
	watch->is_reading = !err;
	if (err)
		log_debug("kernel symbols: a thread to read them: %s", strerror(err));
}

/* Wait until @until_ns for the reading to end, and take it in. */
static void join_reading(struct kernel_watch *watch, uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(until_ns % NSEC_PER_SEC),
	};

	if (!watch->is_reading ||
	    pthread_clockjoin_np(watch->thread, NULL, CLOCK_MONOTONIC, &until))
		return;
	watch->is_reading = false;
	watch->cpu_ns += watch->reading.cpu_ns;
	watch->spent_ns += watch->reading.end_ns - watch->reading.start_ns;
	if (watch->reading.syms &&
	    kernel_map_add(watch->map, watch->reading.syms, watch->reading.from_ns))
		log_debug("kernel symbols: no memory");
	watch->reading.syms = NULL;
}

void kernel_watch_deinit(struct kernel_watch *watch)
{
	uint64_t dropped = watch->map ? kernel_map_dropped(watch->map) : 0;

	join_reading(watch, UINT64_MAX);
	ksym_events_close(&watch->events);
	if (dropped)
		log_warn("kernel symbols: too many changes to remember them all: %llu forgotten",
			 (unsigned long long)dropped);
	kernel_map_free(watch->map);
	*watch = (struct kernel_watch){.events = {.epoll_fd = -1}};
}

void kernel_watch_begin(struct kernel_watch *watch, const struct number_set *cpus,
			uint64_t epoch_ns, uint32_t module_loads)
{
	int err = ksym_events_open(&watch->events, cpus);

	watch->module_loads = module_loads;
	watch->epoch_ns = epoch_ns;
	watch->begin_ns = epoch_ns;
	if (err) {
		log_debug("announcements of kernel code: %s", strerror(-err));
		ksym_events_close(&watch->events);
	}
	start_reading(watch, 0);
}

static void want_reading(struct kernel_watch *watch)
{
	if (!watch->wanted_ns)
		watch->wanted_ns = clock_monotonic_ns();
}

static void on_record(void *arg, const struct ksym_record *record)
{
	struct kernel_watch *watch = arg;

	if (record->kind == KSYM_RECORD_LOST)
		want_reading(watch);
	else if (record->kind == KSYM_RECORD_WENT)
		kernel_map_went(watch->map, record);
	else
		watch->must_flip |= kernel_map_came(watch->map, record, watch->epoch_ns);
}

static bool may_read(const struct kernel_watch *watch)
{
	const struct kernel_reading *last = &watch->reading;
	uint64_t free_ns = READING_BURST * (last->end_ns - last->start_ns);

	return watch->spent_ns <=
	       free_ns + (clock_monotonic_ns() - watch->begin_ns) / READING_SHARE;
}

void kernel_watch_take(struct kernel_watch *watch, uint32_t module_loads)
{
	uint64_t wanted_ns;

	if (ksym_events_read(&watch->events, on_record, watch))
		want_reading(watch);
	if (module_loads != watch->module_loads) {
		watch->module_loads = module_loads;
		watch->must_flip = true;
		want_reading(watch);
	}
	join_reading(watch, 0);
	if (!watch->wanted_ns || watch->is_reading || !may_read(watch))
		return;
	wanted_ns = watch->wanted_ns;
	watch->wanted_ns = 0;
	start_reading(watch, wanted_ns);
}

void kernel_watch_flipped(struct kernel_watch *watch, uint32_t module_loads, uint64_t now_ns)
{
	watch->epoch_ns = now_ns;
	watch->must_flip = false;
	kernel_watch_take(watch, module_loads);
	if (watch->is_reading && kernel_map_is_read(watch->map))
		join_reading(watch, now_ns + READING_WAIT_NS);
}

void kernel_watch_finish(struct kernel_watch *watch, uint32_t module_loads)
{
	uint64_t wanted_ns;

	kernel_watch_take(watch, module_loads);
	join_reading(watch, UINT64_MAX);
	wanted_ns = watch->wanted_ns;
	if (!wanted_ns)
		return;
	watch->wanted_ns = 0;
	start_reading(watch, wanted_ns);
	join_reading(watch, UINT64_MAX);
}
