/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child of `-- COMMAND`. Two pipes hold it together:
 *
 *	go	we -> child	one byte: exec; EOF: we are gone or gave up, so _exit
 *	exec	child -> we	the errno of a failed exec; EOF when exec closed it (O_CLOEXEC)
 *
 * All that allocates or asks the user database is done before fork(): the child of a threaded
 * process may only make plain system calls.
 */
#include "capture/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"

enum {
	GROUPS_MAX = 1024 /* sudo itself stops at NGROUPS_MAX, practice at a few dozen */
};

/* Whom the child becomes. */
struct identity {
	bool is_other;
	uid_t uid;
	gid_t gid;
	gid_t groups[GROUPS_MAX];
	int group_cnt;
};

static int env_id(const char *name, uint32_t *out)
{
	const char *text = getenv(name);
	uint64_t value;

	if (!text)
		return -ENOENT;
	/* (uid_t)-1 means "unchanged" to setresuid(). */
	if (parse_u64(text, &value) || value >= UINT32_MAX)
		return -EINVAL;
	*out = (uint32_t)value;
	return 0;
}

static int identity_get(struct identity *who)
{
	const struct passwd *entry;
	int err;

	who->is_other = false;
	if (geteuid() != 0)
		return 0;
	err = env_id("SUDO_UID", &who->uid);
	if (err)
		return err == -ENOENT ? 0 : err;
	entry = getpwuid(who->uid);
	err = env_id("SUDO_GID", &who->gid);
	if (err == -ENOENT && entry) {
		who->gid = entry->pw_gid;
		err = 0;
	}
	if (err)
		return -EINVAL;
	who->group_cnt = GROUPS_MAX;
	if (!entry) {
		who->groups[0] = who->gid;
		who->group_cnt = 1;
	} else if (getgrouplist(entry->pw_name, who->gid, who->groups, &who->group_cnt) < 0) {
		return -E2BIG;
	}
	who->is_other = who->uid != 0;
	return 0;
}

static int identity_become(const struct identity *who)
{
	if (!who->is_other)
		return 0;
	if (setgroups((size_t)who->group_cnt, who->groups) ||
	    setresgid(who->gid, who->gid, who->gid) || setresuid(who->uid, who->uid, who->uid))
		return -errno;
	return 0;
}

/* The child, from fork to exec. */
static void __attribute__((noreturn))
child_run(const struct identity *who, int go_fd, int exec_fd, char *const argv[])
{
	const char *base = strrchr(argv[0], '/');
	sigset_t none;
	char go;
	int err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* What is sampled between here and exec is the command's start, not ours. */
	prctl(PR_SET_NAME, base ? base + 1 : argv[0]);
	if (TEMP_FAILURE_RETRY(read(go_fd, &go, 1)) != 1)
		_exit(125);
	err = identity_become(who);
	if (!err) {
		execvp(argv[0], argv);
		err = -errno;
	}
	/* Nobody is left to tell when the pipe is gone too. */
	if (write(exec_fd, &err, sizeof(err)) != sizeof(err))
		_exit(125);
	_exit(126);
}

int command_start(struct command *cmd, char *const argv[])
{
	_cleanup_free_ struct identity *who = calloc(1, sizeof(*who));
	int go[2], exec[2], err;
	pid_t pid;

	if (!who)
		return -ENOMEM;
	err = identity_get(who);
	if (err)
		return err;
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(exec, O_CLOEXEC)) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]); /* or the child would keep its own pipe from ending */
		child_run(who, go[0], exec[1], argv);
	}
	err = -errno;
	close(go[0]);
	close(exec[1]);
	if (pid < 0) {
		close(go[1]);
		close(exec[0]);
		return err;
	}
	*cmd = (struct command){.pid = pid, .go_fd = go[1], .exec_fd = exec[0]};
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int command_release(struct command *cmd)
{
	sigset_t pipe_signal, before;
	ssize_t len;
	int err = 0, go_err;

	/* A child that died meanwhile must give EPIPE here, not kill us. */
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	cmd->released_ns = clock_monotonic_ns();
	go_err = TEMP_FAILURE_RETRY(write(cmd->go_fd, "", 1)) == 1 ? 0 : -errno;
	if (go_err == -EPIPE)
		sigtimedwait(&pipe_signal, NULL, &(const struct timespec){0});
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close_fd(&cmd->go_fd);
	len = TEMP_FAILURE_RETRY(read(cmd->exec_fd, &err, sizeof(err)));
	close_fd(&cmd->exec_fd);
	/* A child that was not let go has left. */
	if (go_err && go_err != -EPIPE)
		err = go_err;
	else if (len != sizeof(err))
		return 0; /* exec closed the pipe; or a signal ended the child: command_wait() */
	command_wait(cmd);
	return err;
}

int command_wait(struct command *cmd)
{
	int status;

	if (cmd->pid <= 0)
		return -ECHILD;
	if (TEMP_FAILURE_RETRY(waitpid(cmd->pid, &status, 0)) < 0)
		return -errno;
	cmd->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void command_abandon(struct command *cmd)
{
	bool is_unreleased = cmd->go_fd >= 0;

	close_fd(&cmd->go_fd);
	close_fd(&cmd->exec_fd);
	if (cmd->pid > 0 && is_unreleased) {
		kill(cmd->pid, SIGKILL);
		command_wait(cmd);
	}
	cmd->pid = 0;
}
