/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that outlives its process. Its maps, programs and links are pinned (pin_dir.h), and
 * beside them one map that only userspace knows, struct pin_state: which epochs are committed, and
 * what the books stood at where each began. The next process goes on with the same kernel side; it
 * loads no program that samples and opens no event that is still alive. So the programs stay those
 * of who began, also when a later version of ours has others of the same layout: what is in the
 * maps is a contract (abi.h), and other options or --detach begin anew.
 *
 * An epoch n is
 *
 *	open       ctl.epoch == n
 *	closed     ctl.epoch == n + 1: nothing writes it any more; it is read as often as need be
 *	committed  state.committed == n: it is kept elsewhere; shards and ring records may go
 *
 * and n + 1 is closed only after n is committed and cleared. What stands in the state of an epoch's
 * beginning is written before the epoch begins (ticks, times) or before its predecessor is
 * committed (totals), under the number's last bit, so that a death between any two stores leaves
 * one consistent reading:
 *
 *	marks of n + 1: times, ticks -> ctl.epoch = n + 1 -> [read n, totals of n + 1, store n]
 *	-> state.old_at -> state.committed = n -> shards of n cleared -> ring released
 *
 * Who dies before state.committed is written makes the successor hand out n again; who dies after
 * makes it clear n again.
 */
#ifndef BPFPROF_CAPTURE_PINS_H
#define BPFPROF_CAPTURE_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "base/parse.h"
#include "elf/segments.h"

/* Of one event on one CPU, where an epoch begins. */
struct pin_book {
	uint64_t ticks; /* counted since the recording began */
	uint64_t ran_total, never_ran_total; /* of the epochs before */
	uint64_t idle_ns, idle_exits; /* struct idle */
};

/* Where an epoch begins. */
struct pin_mark {
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t misses[BP_EVENTS_SAMPLED]; /* the kernel's count of the event's program */
	uint64_t misses_total[BP_EVENTS_SAMPLED]; /* of those, in the books of the epochs before */
	uint64_t ran_off[BP_EVENTS_SAMPLED]; /* likewise */
};

/* A perf event of one CPU. */
struct pin_counter {
	uint64_t ticks_closed; /* of those that died with their CPU, or had another rate */
	uint64_t rate; /* of the one that is there: struct event_cpu */
};

struct pin_state {
	uint64_t options; /* hash of all that the programs were configured with */
	uint64_t instance; /* random: which recording this is */
	uint32_t cpu_cnt;
	uint32_t is_complete; /* all is pinned and sampling has begun */
	uint64_t committed; /* number of the epoch */
	uint64_t old_at; /* ring: samples before it of epochs with committed's last bit are
			    committed */
	uint64_t misses_before[BP_EVENTS_SAMPLED]; /* when sampling began */
	struct pin_mark marks[2]; /* by the number's last bit, as the books */
	/* Of each event and CPU: books of either bit; behind them a struct pin_counter each. */
	struct pin_book books[];
};

enum { PIN_EXE_SEGMENTS = 4 }; /* most files have one with code */

/* An executable as userspace has come to know it. */
struct pin_exe {
	struct bp_exe_key key;
	uint64_t vma_start, vma_end;
	uint32_t tgid;
	uint32_t is_sampled;
	uint32_t build_id_len;
	uint32_t path_bytes;
	uint32_t segment_cnt;
	uint32_t pad;
	struct elf_segment segments[PIN_EXE_SEGMENTS]; /* those of code; all of them, or none */
	uint8_t build_id[64];
	char path[BP_PATH_BYTES]; /* as in struct bp_exe_event */
};

struct pins {
	int base_fd, dir_fd; /* owned */
	char name[32]; /* of the folder of our layout */
	char taken_name[32]; /* of another's, whose place it will take; "": there is none */
	struct pin_state *state; /* owned mapping */
	size_t state_bytes;
	int state_fd, exes_fd; /* owned */
	bool is_resumed;
	bool is_detaching; /* what is ended is ended because somebody said so */
	/* How counters are read: bp_read_ticks and its result. */
	int counters_fd, ticks_fd; /* borrowed from the object */
	struct bp_tick_read *read; /* owned mapping */
	uint32_t possible_cnt; /* CPUs, in the map of counters */
};

/* Open the folder @path for a recording. 0, or negative errno after log_error(); -EOPNOTSUPP: this
 * kernel cannot (it must be 5.15). @pins is to be pins_close()d also on failure. */
int pins_open(struct pins *pins, const char *path);

/* The same for one that will take the place of @old, which records there: 0 or negative errno. */
int pins_open_beside(struct pins *pins, const struct pins *old);

/* It takes that place: the old one ends, and goes. 0, or negative errno after log_error(). */
int pins_move_in(struct pins *pins);

/* Let go of it: the recording goes on; one that never began is removed. */
void pins_close(struct pins *pins);

/*
 * Is there a recording of our layout with these @options on as many CPUs? Then is_resumed is set.
 * What else is there is ended and removed, with a warning of what is lost by it, and the state of a
 * new recording is made. 0 or negative errno, logged.
 */
int pins_choose(struct pins *pins, uint64_t options, uint32_t cpu_cnt);

/* Pin @obj_fd (borrowed) as KIND_NAME; or get it, *owned*. 0 or the descriptor; or negative errno.
 */
int pins_put(struct pins *pins, const char *kind, const char *name, int obj_fd);
int pins_get(struct pins *pins, const char *kind, const char *name);

/* The books of event @nr where epochs of last bit @parity begin: cpu_cnt of them. */
struct pin_book *pins_books(struct pins *pins, uint32_t parity, uint32_t nr);

/* Of event @nr on the CPU of index @index. */
struct pin_counter *pins_counter(struct pins *pins, uint32_t nr, uint32_t index);

/* Attach @prog_fd to the counter @perf_fd (both borrowed), event @nr on CPU @cpu, and pin both. 0
 * or negative errno; -EOPNOTSUPP where there are no such links. */
int pins_keep_counter(struct pins *pins, uint32_t nr, uint32_t cpu, int prog_fd, int perf_fd);
bool pins_has_counter(const struct pins *pins, uint32_t nr, uint32_t cpu);
void pins_drop_counter(struct pins *pins, uint32_t nr, uint32_t cpu);

/* What a pinned counter has counted; @cpu must be online. 0 or negative errno. */
int pins_read_counter(struct pins *pins, uint32_t nr, uint32_t cpu, uint64_t *out);

/* A counter whose CPU went away counts no more, also when the CPU is back. */
bool pins_counter_is_alive(struct pins *pins, uint32_t nr, uint32_t cpu);

/* Keep what is known of executable @id. 0 or negative errno. */
int pins_keep_exe(struct pins *pins, uint32_t id, const struct pin_exe *exe);

/* Call @each with all that are kept, until it is not 0, which is returned. */
typedef int pins_exe_fn(void *arg, uint32_t id, const struct pin_exe *exe);
int pins_each_exe(struct pins *pins, pins_exe_fn *each, void *arg);

#endif
