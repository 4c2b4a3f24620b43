/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a perf event with attr.ksymbol, attr.sample_id_all and PERF_SAMPLE_TIME alone writes
 * (perf_event_open(2), PERF_RECORD_KSYMBOL, Linux 5.1): kernel code that comes and goes outside of
 * the core and its modules. Trampolines of ftrace and pages of kprobes since "ftrace: Add perf
 * ksymbol events for ftrace trampolines" and "kprobes: Add perf ksymbol events for kprobe insn
 * pages" (5.9).
 */
#ifndef BPFPROF_PROC_KSYM_RECORD_H
#define BPFPROF_PROC_KSYM_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

enum ksym_record_kind {
	KSYM_RECORD_OTHER, /* of no interest */
	KSYM_RECORD_CAME,
	KSYM_RECORD_WENT,
	KSYM_RECORD_LOST, /* the ring was full: some are missing */
};

struct ksym_record {
	enum ksym_record_kind kind;
	/* Of CAME and WENT: */
	uint32_t code_bytes; /* from ip on */
	uint64_t ip;
	uint64_t time_ns; /* by the clock of the event */
	const char *name; /* borrowed, NUL-terminated */
};

/* The record at the cursor of @rd, a ring's bytes in order. False at the end, and with rd->err set
 * where the bytes are no records; @out is then untouched. */
bool ksym_record_next(struct reader *rd, struct ksym_record *out);

#endif
