/* SPDX-License-Identifier: Apache-2.0 */
/* What wakes the agent beside time and samples: signals, and changes of its files. */
#ifndef BPFPROF_AGENT_EVENTS_H
#define BPFPROF_AGENT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum { EVENTS_FILES_MAX = 2 };

struct agent_events {
	int wake_fd; /* epoll of the others: what capture_run() waits on */
	int signal_fd, inotify_fd; /* the latter -1: no file is watched */
	struct events_file {
		char *path; /* owned; NULL: none */
		struct events_stamp { /* as it was read last; zeroes: not there */
			uint64_t dev, ino, size_bytes;
			int64_t mtime_s, mtime_ns;
		} stamp;
	} files[EVENTS_FILES_MAX];
	bool ends; /* SIGTERM or SIGINT */
	bool reloads; /* SIGHUP, or a file is another than it was */
};

/* Block the signals (before any thread is made), and watch the files @config and @policy (NULL:
 * none) and their folders. 0 or negative errno; events_close() in any case. */
int events_open(struct agent_events *events, const char *config, const char *policy);
void events_close(struct agent_events *events);

/* Take what has happened; sets @ends and @reloads. */
void events_take(struct agent_events *events);

#endif
