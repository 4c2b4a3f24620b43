/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What triggers samples: an -e as written, and what that is on this machine.
 *
 * event_parse() makes a struct event_spec of text, by grammar alone: it knows no machine.
 * event_resolve() makes a struct event of it, with numbers of PMUs and tracepoints and with
 * addresses of probes, or says in one line why it cannot be had here, and what is nearest.
 * capture/ opens it, with a program.
 */
#ifndef BPFPROF_EVENT_EVENT_H
#define BPFPROF_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

enum event_kind {
	EVENT_COUNTER, /* PMU, cache, raw and software events, clocks */
	EVENT_TRACEPOINT,
	EVENT_KPROBE,
	EVENT_KRETPROBE,
	EVENT_UPROBE,
	EVENT_URETPROBE,
	EVENT_USDT,
};

/* An -e as written. Strings are *owned*, NULL where the kind has none. */
struct event_spec {
	enum event_kind kind;
	char *text; /* all of it, for messages and as the value's name: "uprobe:libc:malloc" */
	char *group; /* a PMU's name, a tracepoint's category, a USDT provider */
	char *name; /* counter, raw code ("r1a8"), PMU terms, tracepoint, function or USDT name; of
		       tracepoints and probes it may be a glob */
	char *path; /* of user probes: file or bare library name, as the target sees it */
	uint64_t addr; /* has_addr: instead of a name; kernel address, or vaddr in the ELF file */
	uint64_t off; /* +OFF bytes into the function */
	uint64_t freq_hz, period; /* of /freq=N/ and /period=N/; 0: not said */
	bool has_addr, has_off;
	bool user_only, kernel_only; /* :u, :k */
};

void event_spec_deinit(struct event_spec *spec);

/* One place that a probe is put. Strings are *owned*. */
struct event_site {
	char *path; /* file to open, through /proc/PID/root where need be; NULL: in the kernel */
	char *symbol; /* function that it is in; NULL: an address without name */
	uint64_t symbol_off; /* where the probe really sits, in it */
	uint64_t file_off; /* of user probes: where the probe really sits, in the file */
	uint64_t asked_file_off; /* ... and where it was asked for */
	uint64_t kernel_ip; /* of kernel probes by address; 0: by symbol */
	uint64_t semaphore_off; /* USDT: file offset of its reference counter; 0: none */
	char *usdt_args; /* USDT: the note's argument string, "-4@%edi 8@-8(%rbp)" */
	uint32_t cost_ns; /* estimated, of one hit */
	bool is_entry; /* before the function has changed its stack: the caller is at sp (x86-64) or
			  in lr (arm64) */
};

/* A field of a tracepoint's record. */
struct event_field {
	char *name; /* *owned* */
	char *type; /* *owned*: in C's words, "unsigned long", "char[16]", for people */
	uint32_t off, size; /* bytes; off from the record's begin, which is the program's context */
	bool is_signed;
	bool is_array; /* of @size bytes in place: char comm[16] */
	bool is_data_loc; /* __data_loc: a u32, offset in the low half, length in the high half */
	bool is_string; /* of characters */
};

void event_field_deinit(struct event_field *field);

/* An event of this machine. */
struct event {
	struct event_spec spec; /* *owned* */
	char name[64]; /* as the ledger and the profile call it */
	uint32_t type; /* counters and tracepoints: as perf_event_attr has it */
	uint64_t config, config1, config2;
	bool is_clock; /* counts nanoseconds of CPU time */
	bool is_fallback; /* cpu-clock because there is no PMU */
	bool is_freq; /* samples are freq_hz a second: else one every period */
	uint64_t freq_hz;
	uint64_t period; /* ns for clocks, else events */
	struct event_site *sites; /* *owned*: of probes */
	size_t site_cnt, site_cap;
	uint64_t *tracepoint_ids; /* *owned*: every match of a tracepoint's glob; config is the
				     first */
	size_t tracepoint_cnt, tracepoint_cap;
	struct event_field *fields; /* *owned*: of a tracepoint; of several those that all have at
				       the same place */
	size_t field_cnt, field_cap;
};

void event_deinit(struct event *event);

/* Is its rate that of -F: a clock or a counter of a PMU, with nothing else said by the event
 * itself? */
bool event_follows_freq(const struct event *event);

/* Have it come @freq_hz times a second, if its rate is that of -F. False: it is not, nothing was
 * changed. */
bool event_set_freq(struct event *event, uint64_t freq_hz);

/* Release the last of its sites. */
void event_drop_site(struct event *event);

static inline bool event_is_probe(enum event_kind kind)
{
	return kind >= EVENT_KPROBE;
}

static inline bool event_is_user_probe(enum event_kind kind)
{
	return kind >= EVENT_UPROBE;
}

static inline bool event_is_return(enum event_kind kind)
{
	return kind == EVENT_KRETPROBE || kind == EVENT_URETPROBE;
}

/*
 * Parse an option's text, a comma list of events, into *@out, an *owned* array of *@cnt (each
 * event_spec_deinit(), then free). Commas and colons between slashes or braces belong to the event.
 * 0; -EINVAL with one line in @why that names the text and says how it should be; -ENOMEM.
 */
int event_parse(const char *text, struct event_spec **out, size_t *cnt, struct buf *why);

/* Where and how often to look for an event. */
struct event_scope {
	pid_t tgid; /* bare library names and paths are those that this process sees; 0: ours */
	uint64_t freq_hz, period; /* -F, -c; 0: not given */
	bool freq_is_for_clocks; /* -F, and of counters of a PMU: all else is sampled each time */
	bool is_counting; /* nothing will be sampled: PMUs that can only count will do */
};

/*
 * Find @spec (*taken*, also on failure; NULL: cycles where there is a PMU, else cpu-clock) on this
 * machine. 0 and *@out
 * (event_deinit()); negative errno with one line in @why: what cannot be had, why, and the nearest
 * that can. -EACCES where more privilege would do.
 */
int event_resolve(struct event_spec *spec, const struct event_scope *scope, struct event *out,
		  struct buf *why);

#endif
