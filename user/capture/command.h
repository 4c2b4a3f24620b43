/* SPDX-License-Identifier: Apache-2.0 */
/* `-- COMMAND`: a child that is started stopped, so that sampling is on before its first
 * instruction, as the user who called sudo. */
#ifndef BPFPROF_CAPTURE_COMMAND_H
#define BPFPROF_CAPTURE_COMMAND_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

struct command {
	pid_t pid; /* 0: none, or already reaped */
	int go_fd; /* owned: one byte releases the child; closing ends it, so that our death cannot
		      start the command unobserved */
	uint64_t released_ns; /* CLOCK_MONOTONIC; 0: not yet */
	int exec_fd; /* owned: readable with an errno when exec failed, EOF when it succeeded */
};

/*
 * Fork @argv (NULL-terminated) stopped before exec. When we are root through sudo it becomes
 * $SUDO_UID/$SUDO_GID, with that user's groups; the environment is kept as it is. Signal mask and
 * SIGPIPE are the default ones in the child. 0; -EINVAL when $SUDO_UID or $SUDO_GID is no number;
 * other negative errno. Close with command_release() and command_wait(), or command_abandon().
 */
int command_start(struct command *cmd, char *const argv[]);

/* Let it exec. 0; -ENOENT/-EACCES/... when exec failed or -EPERM/... when the user could not be
 * changed to (exit statuses 127/126 as env(1)); the child is then reaped. */
int command_release(struct command *cmd);

/* Wait for the end; its exit status, or 128 + N for signal N; negative errno. */
int command_wait(struct command *cmd);

/* Kill (if still unreleased) and forget. A released child is left alone. */
void command_abandon(struct command *cmd);

/*
 * As command_start(), for what is to run when we are done and nobody waits for: in a session of its
 * own, with nothing on its standard streams, in our environment. @late_arg is one of @argv,
 * borrowed until this returns: what command_launch() gives takes its place. When it becomes another
 * user, HOME, USER, LOGNAME and XDG_RUNTIME_DIR are that one's, which sudo may have set to root's
 * or dropped. Errors of command_start(); end with command_launch() or command_abandon().
 */
int command_prepare(struct command *cmd, char *const argv[], char late_arg[PATH_MAX]);

/* Let it exec, with @late_arg, and do not wait for its end. Errors of command_release(). */
int command_launch(struct command *cmd, const char *late_arg);

#endif
