/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that servers send: asked for while a recording runs (capture_opts.debuginfod), awaited
 * when it has ended. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/record.h"
#include "symbol/debuginfod_rank.h"

/* How soon a signal ends the wait. */
#define LOOK_NS (100 * NSEC_PER_MSEC)

int record_symbols_start(struct recording *rec)
{
	if (rec->opts->no_symbols || !debuginfod_is_configured())
		return 0;
	rec->debuginfod = debuginfod_new();
	if (rec->debuginfod)
		return 0;
	log_error("debuginfod: %s", strerror(errno));
	return -errno;
}

static uint64_t earlier(uint64_t one, uint64_t two)
{
	return one < two ? one : two;
}

/* The Ctrl-C that has ended the recording is not meant for this wait: the next one is. */
static void wait_visibly(struct recording *rec)
{
	unsigned int stops = stopper_pardon(&rec->stopper);
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t end_ns = now_ns + RECORD_SYMBOLS_WAIT_S * NSEC_PER_SEC;
	size_t left_cnt;

	progress_start(&rec->progress, now_ns);
	while ((left_cnt = debuginfod_wait(rec->debuginfod, earlier(now_ns + LOOK_NS, end_ns)))) {
		now_ns = clock_monotonic_ns();
		if (now_ns >= end_ns || stopper_is_asked(&rec->stopper))
			break;
		progress_wait(&rec->progress, now_ns, left_cnt, end_ns - now_ns);
	}
	progress_clear(&rec->progress);
	stopper_recall(&rec->stopper, stops);
}

void record_symbols_wait(struct recording *rec, const struct profile *prof)
{
	if (!rec->debuginfod)
		return;
	if (debuginfod_wait(rec->debuginfod, clock_monotonic_ns() + LOOK_NS))
		wait_visibly(rec);
	debuginfod_cancel(rec->debuginfod);
	if (debuginfod_rank(rec->debuginfod, prof))
		log_debug("debuginfod: files are named in the order they were asked for");
	debuginfod_report(rec->debuginfod);
}
