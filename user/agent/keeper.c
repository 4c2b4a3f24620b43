/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/keeper.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"

enum { NICE = 10, RESTART_MS = 5000 };

static _Noreturn void be_worker(const struct keeper *keeper, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	_exit(keeper->work(keeper->arg) ? 1 : 0);
}

void keeper_run(const struct keeper *keeper)
{
	int status = 0;
	sigset_t all;
	pid_t pid;

	/* What a terminal or a manager sends to the whole group is for the agent, which ends us. */
	signals_fill_but_faults(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE);
	do {
		const pid_t self = getpid();

		pid = fork();
		if (!pid)
			be_worker(keeper, self);
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		/* One that ended by itself has said why. */
		if (pid > 0 && !WIFSIGNALED(status))
			_exit(0);
		++*keeper->restarts;
	} while (!keeper->has_ended(keeper->arg, RESTART_MS));
	_exit(0);
}
