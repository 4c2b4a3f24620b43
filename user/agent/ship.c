/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that ship, and who keeps them: see ship.h. */
#include "agent/ship.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/keeper.h"
#include "agent/uploads.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/confinement.h"
#include "sink/fleet_names.h"
#include "sink/sink.h"
#include "store/shipper.h"
#include "store/store_probe.h"

enum {
	LOOK_MIN_MS = 10000, /* between two looks into the store */
	LOOK_SPREAD_MS = 10000, /* up to so much more: hosts do not come all at once */
	STORE_LOOK_MS = 500, /* for a store that is not there yet */
};

/* A worker's life. */
struct worker {
	const struct sink_config *sink;
	const char *path; /* of the store */
	struct ship_counts *counts;
	bool uploads_symbols;
	int end_fd; /* readable when the agent has ended */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: it has not */
	struct shipper_status told; /* of which counts has everything */
	uint32_t failures; /* in a row */
};

/* Has the agent ended? Waits up to @timeout_ms. */
static bool has_ended(void *arg, int timeout_ms)
{
	struct worker *worker = arg;
	struct pollfd fd = {.fd = worker->end_fd, .events = POLLIN};

	if (!worker->deadline_ns && poll(&fd, 1, timeout_ms) > 0)
		worker->deadline_ns = clock_monotonic_ns() + SHIP_LAST_NS;
	return worker->deadline_ns;
}

static bool is_over(const struct worker *worker)
{
	return worker->deadline_ns && clock_monotonic_ns() >= worker->deadline_ns;
}

/* A request that runs may go on until the time is over. */
static bool is_cancelled(void *arg)
{
	struct worker *worker = arg;

	has_ended(worker, 0);
	return is_over(worker);
}

static int random_ms(int limit)
{
	uint32_t chance;

	return getrandom(&chance, sizeof(chance), 0) == sizeof(chance) ? (int)(chance % limit) : 0;
}

static void publish(struct worker *worker, const struct shipper *shipper)
{
	const struct shipper_status *now = shipper_status(shipper);
	struct shipper_status *told = &worker->told;
	struct ship_counts *counts = worker->counts;
	const uint64_t cpu_ns = clock_process_cpu_ns();

	counts->acked += now->batches - told->batches;
	counts->retries += now->failures - told->failures;
	counts->quarantined += now->quarantined - told->quarantined;
	counts->rejected += now->rejected - told->rejected;
	counts->dict_rows += now->dict_rows - told->dict_rows;
	counts->sent_bytes += now->sent_bytes - told->sent_bytes;
	counts->lag_windows = now->lag.windows;
	counts->oldest_ns = now->lag.oldest_ns;
	counts->cpu_ns = cpu_ns;
	*told = *now;
}

/* Said when it changes, not each time. */
static void tell(struct worker *worker, const struct shipper *shipper, int err,
		 const struct buf *why)
{
	if (err < 0 && !worker->failures++)
		log_warn("sink '%s': %s; windows stay in the store, and are tried again",
			 shipper_name(shipper), buf_cstr(why));
	else if (err > 0 && worker->failures) {
		worker->failures = 0;
		log_info("sink '%s': works again", shipper_name(shipper));
	}
}

/* After a failure: as long as the sink asks for, and not less than others wait. */
static int backoff_ms(const struct worker *worker, const struct shipper *shipper)
{
	const uint64_t asked_ns = shipper_status(shipper)->retry_after_ns;
	const uint64_t wait_ns = shipper_backoff_ns(worker->failures);

	return (int)((asked_ns > wait_ns ? asked_ns : wait_ns) / NSEC_PER_MSEC);
}

/* Until the agent has ended, and all is shipped or the time is over. */
static void ship(struct worker *worker, struct shipper *shipper, struct uploads *uploads)
{
	_cleanup_(buf_deinit) struct buf why;
	uint64_t uploaded;
	int err;

	buf_init(&why, BUF_NO_MAX);
	while (!is_over(worker)) {
		const bool is_last = has_ended(worker, 0);

		buf_reset(&why);
		err = shipper_step(shipper, is_last, &why);
		publish(worker, shipper);
		tell(worker, shipper, err, &why);
		if (err > 0)
			continue;
		if (!err && !is_last && uploads_step(uploads, &uploaded)) {
			worker->counts->uploads++;
			worker->counts->upload_bytes += uploaded;
			continue;
		}
		/* At the end once more, and not for long. */
		if (is_last && (!err || worker->failures > 1))
			return;
		if (err < 0 && is_last)
			poll(NULL, 0, STORE_LOOK_MS);
		else if (err < 0)
			has_ended(worker, backoff_ms(worker, shipper));
		else
			has_ended(worker, LOOK_MIN_MS + random_ms(LOOK_SPREAD_MS));
	}
}

/* NULL: the agent has ended before there was one. */
static struct store *wait_for_store(struct worker *worker)
{
	struct store_probe probe;
	struct store *store;

	while (!has_ended(worker, STORE_LOOK_MS))
		if (!store_probe(worker->path, &probe) && probe.version == probe.own_version &&
		    !store_open(worker->path, STORE_SHIP, &store))
			return store;
	return NULL;
}

/* NULL: they are not wanted. @name: the sink's. */
static struct uploads *open_uploads(struct worker *worker, struct store *store, const char *name)
{
	char host_id[STORE_BOOT_ID_BYTES];
	struct uploads_opts opts = {
		.url = worker->sink->url,
		.name = name,
		.bytes_per_s = worker->sink->max_rate,
		.is_cancelled = is_cancelled,
		.arg = worker,
	};

	if (!worker->uploads_symbols || store_host_id(store, host_id))
		return NULL;
	opts.host = fleet_host(host_id);
	return uploads_open(&opts);
}

static int work(void *arg)
{
	struct worker *worker = arg;
	const struct shipper_opts opts = {
		.url = worker->sink->url,
		.name = worker->sink->name,
		.bytes_per_s = worker->sink->max_rate,
		.is_cancelled = is_cancelled,
		.arg = worker,
	};
	_cleanup_(buf_deinit) struct buf why;
	struct shipper *shipper;
	struct uploads *uploads;
	struct store *store;
	int err;

	buf_init(&why, BUF_NO_MAX);
	store = wait_for_store(worker);
	if (!store)
		return 0;
	confine_reader(true);
	err = shipper_open(store, &opts, &shipper, &why);
	if (err) {
		log_error("sink: %s; nothing is shipped there", buf_cstr(&why));
	} else {
		uploads = open_uploads(worker, store, shipper_name(shipper));
		ship(worker, shipper, uploads);
		uploads_close(uploads);
		shipper_close(shipper);
	}
	store_close(store);
	return err;
}

/* --- The agent's side --- */

static void take_label(const struct sink_config *sink, struct shipping *shipping)
{
	_cleanup_(buf_deinit) struct buf label;
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&label, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	if (sink->name)
		buf_add_str(&label, sink->name);
	else
		sink_name(sink->url, &label, &why);
	snprintf(shipping->label, sizeof(shipping->label), "%s", buf_cstr(&label));
}

static int start(struct shippings *shippings, const struct sink_config *sink,
		 const struct agent_opts *opts, int other_fd)
{
	struct shipping *shipping = &shippings->items[shippings->cnt];
	int fds[2];

	*shipping = (struct shipping){.fd = -1};
	take_label(sink, shipping);
	shipping->counts = mmap(NULL, sizeof(*shipping->counts), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shipping->counts == MAP_FAILED)
		return -errno;
	shippings->cnt++;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	shipping->fd = fds[1];
	shipping->pid = fork();
	if (!shipping->pid) {
		struct worker worker = {
			.sink = sink,
			.path = opts->store,
			.counts = shipping->counts,
			.uploads_symbols = opts->upload_symbols,
			.end_fd = fds[0],
		};

		/* Else they would not see their ends. */
		for (size_t i = 0; i < shippings->cnt; i++)
			close(shippings->items[i].fd);
		if (other_fd >= 0)
			close(other_fd);
		keeper_run(&(const struct keeper){
			.work = work,
			.has_ended = has_ended,
			.arg = &worker,
			.restarts = &worker.counts->restarts,
		});
	}
	close(fds[0]);
	return shipping->pid < 0 ? -EAGAIN : 0;
}

int shippings_start(const struct agent_opts *opts, int other_fd, struct shippings *out)
{
	int err = 0;

	out->cnt = 0;
	for (size_t i = 0; i < opts->sinks.cnt && !err; i++)
		err = start(out, &(const struct sink_config){.url = opts->sinks.items[i]}, opts,
			    other_fd);
	for (size_t i = 0; i < opts->config.sink_cnt && !err; i++)
		err = start(out, &opts->config.sinks[i], opts, other_fd);
	return err;
}

void shippings_stop(struct shippings *shippings)
{
	for (size_t i = 0; i < shippings->cnt; i++)
		if (shippings->items[i].fd >= 0)
			close(shippings->items[i].fd);
	for (size_t i = 0; i < shippings->cnt; i++) {
		struct shipping *shipping = &shippings->items[i];

		if (shipping->pid > 0)
			while (waitpid(shipping->pid, NULL, 0) < 0 && errno == EINTR)
				;
		munmap(shipping->counts, sizeof(*shipping->counts));
	}
	shippings->cnt = 0;
}
