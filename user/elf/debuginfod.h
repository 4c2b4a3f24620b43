/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files and executables by build-id, from the servers that $DEBUGINFOD_URLS names. Asking
 * returns at once: threads look whether a file is needed, ask, and keep what has come until it is
 * opened. Only what was asked for is ever fetched, and nobody asks unless a client is handed around
 * (debug_query.debuginfod, capture_opts.debuginfod, symbolizer_opts.debuginfod).
 *
 *	client = debuginfod_new()		$DEBUGINFOD_URLS is set
 *	debuginfod_ask(client, ...)		an executable was sampled
 *	...
 *	debuginfod_wait(client, in 10 s)	the recording has ended
 *	debuginfod_cancel(client)		what is not here by now is not waited for
 *	debuginfod_open(client, ...)		names are looked for
 *	debuginfod_weigh(client, ...)		what matters more is told of first
 *	debuginfod_report(client)		what did not arrive, in one line
 *	debuginfod_stop(client)
 *
 * libdebuginfod is loaded when the first file is needed. It keeps files and negative answers in its
 * own cache, so that the next recording asks nothing again. Whatever it hands out is hostile: a
 * regular file of bounded size, whose own build-id is the one that was asked for, or refused and
 * taken out of the cache. A server that does not answer costs its timeout ($DEBUGINFOD_TIMEOUT, 90
 * s) once: after two questions without an answer nothing is asked any more.
 */
#ifndef BPFPROF_ELF_DEBUGINFOD_H
#define BPFPROF_ELF_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEBUGINFOD_ID_MAX_BYTES = 63 }; /* libdebuginfod's limit */

enum debuginfod_kind {
	DEBUGINFOD_DEBUG_FILE,
	DEBUGINFOD_EXECUTABLE,
	DEBUGINFOD_KIND_CNT,
};

struct debuginfod;

/* What is wanted; all borrowed for the call. */
struct debuginfod_wish {
	enum debuginfod_kind kind;
	const uint8_t *build_id;
	size_t build_id_len;
	const char *path; /* of the image, as its process sees it: it is told by that name */
	int fd; /* the image: asked for only when debug_file_is_missed(); -1: in any case */
	int root_fd; /* that path counts from, O_PATH; -1 when that is our own */
};

/* Are there servers to ask? Not in a program with more privileges than its caller. */
bool debuginfod_is_configured(void);

/* *Owned* (debuginfod_stop()); NULL + errno. Loads nothing and starts nothing yet. */
struct debuginfod *debuginfod_new(void);

/*
 * Ask for a file, unless it was asked for before; never waits. Descriptors are duplicated. 0;
 * -EINVAL for a build-id that no server knows; -ENOSPC: 1,000 files are asked for already, and this
 * is counted as one that did not arrive; other negative errno.
 */
int debuginfod_ask(struct debuginfod *client, const struct debuginfod_wish *wish);

/* Wait until all that was asked for is decided, at most until CLOCK_MONOTONIC @deadline_ns. How
 * many are not. */
size_t debuginfod_wait(struct debuginfod *client, uint64_t deadline_ns);

/* Ask for nothing more; what is being asked for ends within about a second. */
void debuginfod_cancel(struct debuginfod *client);

/*
 * Open what has arrived: the descriptor, and its path, both *owned*. -EAGAIN while it is not
 * decided; -ENOENT when it was not asked for, or did not arrive. Never waits.
 */
int debuginfod_open(struct debuginfod *client, enum debuginfod_kind kind, const uint8_t *build_id,
		    size_t build_id_len, char **path_out);

/* How much the file matters, in any unit: it is told of before those that matter less. 0 until
 * this is called; nothing for a file that was not asked for. */
void debuginfod_weigh(struct debuginfod *client, enum debuginfod_kind kind, const uint8_t *build_id,
		      size_t build_id_len, uint64_t weight);

/* Say by log_warn(), one line each: that the library is missing, which files were refused, which
 * did not arrive and why. Files that no server has are no news. */
void debuginfod_report(struct debuginfod *client);

/*
 * Cancel, wait two seconds at most for the threads, and release. A thread that is stuck in the
 * library longer than that (a name server that is silent) releases the rest when it comes back.
 * NULL is fine.
 */
void debuginfod_stop(struct debuginfod *client);

#endif
