/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child of `-- COMMAND`. Two pipes hold it together:
 *
 *	go	we -> child	one byte, or the last argument: exec. EOF instead: _exit
 *	exec	child -> we	the errno of a failed exec; EOF when exec closed it (O_CLOEXEC)
 *
 * All that allocates or asks the user database is done before fork(): the child of a threaded
 * process may only make plain system calls.
 */
#include "capture/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/account.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
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
	char *name, *home; /* owned; NULL: the user database does not know it */
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
	entry = account_of(who->uid);
	err = env_id("SUDO_GID", &who->gid);
	if (err == -ENOENT && entry) {
		who->gid = entry->pw_gid;
		err = 0;
	}
	if (err)
		return -EINVAL;
	who->is_other = who->uid != 0;
	who->group_cnt = GROUPS_MAX;
	if (!entry) {
		who->groups[0] = who->gid;
		who->group_cnt = 1;
	} else if (account_groups(entry->pw_name, who->gid, who->groups, &who->group_cnt) < 0) {
		return -E2BIG;
	} else {
		who->name = strdup(entry->pw_name);
		who->home = strdup(entry->pw_dir);
		return who->name && who->home ? 0 : -ENOMEM;
	}
	return 0;
}

static void identity_freep(struct identity **who)
{
	if (!*who)
		return;
	free((*who)->name);
	free((*who)->home);
	free(*who);
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

/* What the child is to be beside that. */
struct child {
	char *const *argv;
	char **env; /* NULL: ours */
	bool is_detached; /* in a session of its own, with nothing on its standard streams */
	char *late_arg; /* PATH_MAX bytes that what comes through the pipe is written to; NULL: one
			   byte is all that comes */
};

static void detach(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (int i = STDIN_FILENO; i <= STDERR_FILENO && fd >= 0; i++)
		dup2(fd, i);
}

/* Stop here until the parent says go. Leaves when it does not; 0 or negative errno. */
static int await_go(int go_fd, char *late_arg)
{
	size_t len = 0;
	ssize_t got;
	char go;

	if (!late_arg) {
		got = TEMP_FAILURE_RETRY(read(go_fd, &go, 1));
		if (!got)
			_exit(125);
		return got < 0 ? -errno : 0;
	}
	do {
		got = TEMP_FAILURE_RETRY(read(go_fd, late_arg + len, PATH_MAX - 1 - len));
		if (got < 0)
			return -errno;
		len += (size_t)got;
	} while (got > 0);
	if (!len)
		_exit(125);
	late_arg[len] = '\0';
	return 0;
}

/* The child, from fork to exec. */
static void __attribute__((noreturn))
child_run(const struct identity *who, int go_fd, int exec_fd, const struct child *child)
{
	char *const *argv = child->argv;
	const char *base = strrchr(argv[0], '/');
	sigset_t none;
	int err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* What is sampled between here and exec is the command's start, not ours. */
	prctl(PR_SET_NAME, base ? base + 1 : argv[0]);
	if (child->is_detached)
		detach(); /* or what ends us at the terminal would end it */
	err = await_go(go_fd, child->late_arg);
	if (!err)
		err = identity_become(who);
	if (!err) {
		if (child->env)
			environ = child->env;
		execvp(argv[0], argv);
		err = -errno;
	}
	/* Nobody is left to tell when the pipe is gone too. */
	if (write(exec_fd, &err, sizeof(err)) != sizeof(err))
		_exit(125);
	_exit(126);
}

static int start(const struct identity *who, const struct child *child, struct command *cmd)
{
	int go[2], exec[2], err;
	pid_t pid;

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
		child_run(who, go[0], exec[1], child);
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

int command_start(struct command *cmd, char *const argv[])
{
	_cleanup_(identity_freep) struct identity *who = calloc(1, sizeof(*who));
	const struct child child = {.argv = argv};
	int err = who ? identity_get(who) : -ENOMEM;

	return err ? err : start(who, &child, cmd);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Say go: @len bytes of @data. */
static int release(struct command *cmd, const char *data, size_t data_len)
{
	sigset_t pipe_signal, before;
	ssize_t len;
	int err = 0, go_err;

	/* A child that died meanwhile must give EPIPE here, not kill us. */
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	cmd->released_ns = clock_monotonic_ns();
	go_err = fs_write_all(cmd->go_fd, data, data_len);
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

int command_release(struct command *cmd)
{
	return release(cmd, "", 1);
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

static const char runtime_name[] = "XDG_RUNTIME_DIR=";

/* NAME=VALUE of the user's own, each where there is room for it in front of what we have. */
struct session {
	char home[PATH_MAX], user[LOGIN_NAME_MAX + 8], logname[LOGIN_NAME_MAX + 8], runtime[64];
};

static bool is_of_session(const char *variable)
{
	static const char *const names[] = {"HOME=", "USER=", "LOGNAME=", runtime_name};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Our environment, but for what tells of a user: that is of @who. Owned array, whose strings are
 * borrowed from ours and
 * @session; NULL without memory. */
static char **session_env(const struct identity *who, struct session *session)
{
	size_t cnt = 0;
	char **env;

	while (environ[cnt])
		cnt++;
	env = calloc(cnt + 5, sizeof(*env));
	if (!env)
		return NULL;
	cnt = 0;
	if (who->name) {
		snprintf(session->home, sizeof(session->home), "HOME=%s", who->home);
		snprintf(session->user, sizeof(session->user), "USER=%s", who->name);
		snprintf(session->logname, sizeof(session->logname), "LOGNAME=%s", who->name);
		env[cnt++] = session->home;
		env[cnt++] = session->user;
		env[cnt++] = session->logname;
	}
	snprintf(session->runtime, sizeof(session->runtime), "%s/run/user/%u", runtime_name,
		 who->uid);
	if (!access(session->runtime + strlen(runtime_name), F_OK))
		env[cnt++] = session->runtime;
	for (char **one = environ; *one; one++)
		if (!is_of_session(*one))
			env[cnt++] = *one;
	return env;
}

int command_prepare(struct command *cmd, char *const argv[], char late_arg[PATH_MAX])
{
	_cleanup_(identity_freep) struct identity *who = calloc(1, sizeof(*who));
	_cleanup_free_ char **env = NULL;
	struct child child = {.argv = argv, .is_detached = true, .late_arg = late_arg};
	struct session session;
	int err = who ? identity_get(who) : -ENOMEM;

	if (err)
		return err;
	if (who->is_other) {
		env = session_env(who, &session);
		if (!env)
			return -ENOMEM;
		child.env = env;
	}
	return start(who, &child, cmd);
}

int command_launch(struct command *cmd, const char *late_arg)
{
	size_t len = strlen(late_arg);

	return len && len < PATH_MAX ? release(cmd, late_arg, len) : -ENAMETOOLONG;
}
