/* SPDX-License-Identifier: Apache-2.0 */
/* What wakes the agent beside time and samples: signals, and changes of its configuration file. */
#ifndef BPFPROF_AGENT_EVENTS_H
#define BPFPROF_AGENT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct agent_events {
	int wake_fd; /* epoll of the others: what capture_run() waits on */
	int signal_fd, inotify_fd; /* the latter -1: no file is watched */
	const char *path; /* borrowed: the file; NULL: none */
	struct events_stamp { /* of the file as it was read last; zeroes: not there */
		uint64_t dev, ino, size_bytes;
		int64_t mtime_s, mtime_ns;
	} stamp;
	bool ends; /* SIGTERM or SIGINT */
	bool reloads; /* SIGHUP, or the file is another than it was */
};

/* Block the signals (before any thread is made), and watch the file @path (NULL: none) and its
 * folder. 0 or negative errno; events_close() in any case. */
int events_open(struct agent_events *events, const char *path);
void events_close(struct agent_events *events);

/* Take what has happened; sets @ends and @reloads. */
void events_take(struct agent_events *events);

#endif
