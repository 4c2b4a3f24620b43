/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that outlives its process: what pins.h says, in the order that it must be done. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "capture/capture_priv.h"
#include "capture/rows_adopt.h"

/* Who wants windows early because code has moved in the kernel does not get them faster. */
#define MOVED_WINDOW_MIN_NS NSEC_PER_SEC

static const char *why_not(const struct capture_opts *opts)
{
	if (opts->heap.is_wanted)
		return "the table of live allocations (--heap)";
	if (waits_are_attached(opts))
		return "what threads are doing now (--off-cpu, --wall, --parallelism)";
	return opts->follow_command ? "a COMMAND" : NULL;
}

static void origin_begin(struct capture_origin *origin)
{
	_cleanup_free_ char *boot_id = fs_read_line("/proc/sys/kernel/random/boot_id");

	snprintf(origin->boot_id, sizeof(origin->boot_id), "%.39s", boot_id ? boot_id : "");
	if (getrandom(&origin->instance, sizeof(origin->instance), 0) < 0)
		origin->instance = clock_realtime_ns();
}

int capture_pins_open(struct capture *cap, const struct capture_opts *opts)
{
	const char *reason = why_not(opts);

	origin_begin(&cap->origin);
	if (!opts->pin_dir)
		return 0;
	if (reason) {
		log_error("pins: %s cannot outlive the process that records it", reason);
		return -EOPNOTSUPP;
	}
	cap->is_pinned = true;
	cap->lease_ns = opts->lease_ns;
	return opts->replaces ? pins_open_beside(&cap->pins, &opts->replaces->pins)
			      : pins_open(&cap->pins, opts->pin_dir);
}

int capture_move_in(struct capture *cap)
{
	return pins_move_in(&cap->pins);
}

void capture_pins_renew_lease(struct capture *cap)
{
	uint64_t until_ns = cap->lease_ns ? clock_monotonic_ns() + cap->lease_ns : 0;

	__atomic_store_n(&cap->loader.mem.ctl->lease_until_ns, until_ns, __ATOMIC_SEQ_CST);
}

static void tell_lease(const struct capture *cap)
{
	uint64_t until_ns = cap->loader.mem.ctl->lease_until_ns, now_ns = clock_monotonic_ns();

	if (until_ns && now_ns > until_ns)
		log_warn("nobody was here for so long that recording stopped %.1f s ago: what "
			 "happened since then is in the next ledger as lost (no_lease)",
			 (double)(now_ns - until_ns) / NSEC_PER_SEC);
}

int capture_pins_resume(struct capture *cap)
{
	struct pin_state *state = cap->pins.state;
	uint32_t open = cap->loader.mem.ctl->epoch;
	uint32_t committed = (uint32_t)__atomic_load_n(&state->committed, __ATOMIC_SEQ_CST);
	int err;

	cap->origin.instance = state->instance;
	cap->drain.holds_ring = true;
	if (!cap->pins.is_resumed) {
		cap->drain.exes.pins = &cap->pins;
		return 0;
	}
	cap->drain.old_at = state->old_at;
	cap->drain.old_parity = committed & 1;
	if (open - committed < 1 || open - committed > 2) {
		log_error("pins: the recording's state is damaged (epoch %u open, %u committed); "
			  "--detach ends it",
			  open, committed);
		return -EBADMSG;
	}
	/* Whoever counted the epoch up may not have come to waiting. */
	err = loader_wait_for_programs(&cap->loader);
	if (err)
		return err;
	tell_lease(cap);
	err = exes_restore(&cap->drain.exes, &cap->pins);
	if (!err)
		err = rows_adopt(&cap->rows);
	if (err)
		return err;
	cap->is_closed = open - committed == 2;
	/* Where an epoch was closed since, that was done, and the shards are the open one's. */
	if (!cap->is_closed)
		drain_give_back(&cap->drain, committed);
	samplers_load_begin(&cap->samplers, &cap->pins, committed + 1);
	if (cap->is_closed)
		samplers_load_end(&cap->samplers, &cap->pins, open);
	log_info("going on with a recording; epoch %u is open%s", open,
		 cap->is_closed ? ", the one before not stored" : "");
	return 0;
}

uint64_t capture_pins_start_ns(const struct capture *cap)
{
	uint32_t first = cap->loader.mem.ctl->epoch - cap->is_closed;

	return cap->pins.state->marks[first & 1].start_ns;
}

void capture_pins_begin(struct capture *cap)
{
	struct pin_state *state = cap->pins.state;
	uint32_t open = cap->loader.mem.ctl->epoch;

	if (cap->pins.is_resumed) {
		capture_pins_renew_lease(cap);
		return;
	}
	state->committed = open - 1;
	state->marks[open & 1].start_ns = cap->window_start_ns;
	for (uint32_t i = 0; i < cap->samplers.cnt; i++)
		state->misses_before[i] = cap->samplers.items[i].misses_before;
	samplers_save_marks(&cap->samplers, &cap->pins, open);
	samplers_save_totals(&cap->samplers, &cap->pins, open);
	capture_pins_renew_lease(cap);
	__atomic_store_n(&state->is_complete, 1, __ATOMIC_SEQ_CST);
}

bool capture_pins_are_full(const struct capture *cap)
{
	const struct drain *drain = &cap->drain;

	if (cap->is_handed)
		return false;
	return cap->is_closed || drain->wants_flip ||
	       drain_is_half_full(drain, cap->loader.mem.ctl->epoch) ||
	       ring_reader_held_bytes(&drain->ring) > drain->ring.bytes / 2 ||
	       (cap->kernel.map && cap->kernel.must_flip &&
		clock_monotonic_ns() - cap->window_start_ns > MOVED_WINDOW_MIN_NS);
}

int capture_pins_end_epoch(struct capture *cap, uint32_t *epoch, uint64_t *end_ns)
{
	uint32_t open = cap->loader.mem.ctl->epoch;
	struct pin_mark *mark;
	int err = 0;

	if (cap->is_handed)
		return -EBUSY;
	capture_pins_renew_lease(cap);
	if (cap->is_closed) {
		*epoch = open - 1;
		mark = &cap->pins.state->marks[open & 1];
	} else {
		mark = &cap->pins.state->marks[(open + 1) & 1];
		samplers_mark_end(&cap->samplers);
		mark->start_ns = clock_monotonic_ns();
		samplers_save_marks(&cap->samplers, &cap->pins, open + 1);
		err = loader_flip(&cap->loader, epoch);
	}
	*end_ns = mark->start_ns;
	/* Until it is handed out, whatever fails. */
	cap->is_closed = true;
	return err;
}

void capture_pins_handed(struct capture *cap, uint32_t epoch)
{
	samplers_save_totals(&cap->samplers, &cap->pins, epoch + 1);
	cap->is_closed = false;
	cap->is_handed = true;
}

void capture_origin(const struct capture *cap, struct capture_origin *out)
{
	*out = cap->origin;
}

int capture_commit(struct capture *cap)
{
	struct pin_state *state = cap->pins.state;
	uint32_t epoch = (uint32_t)cap->origin.epoch;

	if (!cap->is_pinned)
		return 0;
	if (!cap->is_handed)
		return -EINVAL;
	__atomic_store_n(&state->old_at, cap->drain.ring.pos, __ATOMIC_SEQ_CST);
	__atomic_store_n(&state->committed, epoch, __ATOMIC_SEQ_CST);
	drain_give_back(&cap->drain, epoch);
	cap->is_handed = false;
	return 0;
}
