/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending a recording: a thread that owns SIGINT, SIGTERM, SIGHUP and SIGCHLD for the whole run.
 *
 * The first of the ending signals asks the recording to finish; the second one (the next, where the
 * second has only cut short a wait: stopper_pardon()) ends the process at once, also in the middle
 * of loading, symbolizing or writing (nothing is visible then: see fs_output). It is a thread
 * because the main one may be deep in a computation, and it uses no signal handler because those
 * need globals. A signal that somebody sent to us alone is passed on to COMMAND; one from the
 * terminal has reached it already, as it is in our process group.
 */
#ifndef BPFPROF_CLI_STOPPER_H
#define BPFPROF_CLI_STOPPER_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stopper {
	pthread_t thread;
	bool is_running;
	int signal_fd;
	int wake_fd; /* eventfd: something has happened; what capture_run() waits on */
	int quit_fd; /* eventfd: ends the thread */
	sigset_t mask_before;
	atomic_uint stops; /* ending signals so far */
	_Atomic pid_t child; /* COMMAND, 0: none */
	_Atomic uint64_t child_ns; /* CLOCK_MONOTONIC of its last change of state: its end */
	pthread_mutex_t lock; /* of doomed */
	char **doomed; /* names to unlink when leaving at once; owned */
	size_t doomed_cnt, doomed_cap;
};

/* Block the signals and start the thread; it must be the first to make a thread. 0 or negative
 * errno. */
int stopper_start(struct stopper *stopper);

/* End the thread and restore the signal mask. Fine when never started on a zeroed struct. */
void stopper_end(struct stopper *stopper);

/* Pass signals on to @pid from now on; 0: to nobody. */
void stopper_set_child(struct stopper *stopper, pid_t pid);

/* Has somebody asked us to finish? */
bool stopper_is_asked(struct stopper *stopper);

/* For a wait that the next ending signal is to cut short, and nothing else: forget those that came
 * before, and remember them afterwards. */
unsigned int stopper_pardon(struct stopper *stopper);
void stopper_recall(struct stopper *stopper, unsigned int stops);

/* Has the child ended (and not been waited for)? */
bool stopper_child_ended(struct stopper *stopper);

/* Make wake_fd wait for the next event; ask the questions above afterwards. */
void stopper_rearm(struct stopper *stopper);

/* Sleep until CLOCK_MONOTONIC @deadline_ns (UINT64_MAX: for ever) or until something has happened.
 */
void stopper_wait(struct stopper *stopper, uint64_t deadline_ns);

/* Remember a temporary name that leaving at once must remove, and forget all of them. 0 or
 * -ENOMEM. */
int stopper_doom(struct stopper *stopper, const char *path);
void stopper_spare(struct stopper *stopper);

#endif
