/* SPDX-License-Identifier: Apache-2.0 */
/* A recording in a child process: see compare_run.h. */
#include "cli/compare_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "cli/cli.h"
#include "cli/record.h"

static uint64_t children_cpu_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage))
		return 0;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NSEC_PER_USEC;
}

/* What the child tells of its command. */
struct times {
	uint64_t wall_ns, cpu_ns;
};

/* The child: never returns. */
static void record(int argc, char **argv, bool show_output, const sigset_t *mask, int result_fd)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), status = CLI_COMMAND_FAILED;
	struct times times = {0};

	sigprocmask(SIG_SETMASK, mask, NULL);
	if (null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
	    (show_output || dup2(null_fd, STDOUT_FILENO) >= 0))
		status = record_timed(argc, argv, &times.wall_ns);
	times.cpu_ns = children_cpu_ns();
	if (fs_write_all(result_fd, &times, sizeof(times)))
		status = CLI_COMMAND_FAILED;
	fflush(NULL);
	_exit(status);
}

/* Wait for the child's end; a signal that only we have got is passed on. */
static int wait_for(pid_t pid, const sigset_t *signals, struct compare_run *out)
{
	int status;

	for (;;) {
		siginfo_t info;
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended < 0 && errno != EINTR)
			return -errno;
		if (ended == pid)
			break;
		if (sigwaitinfo(signals, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		out->is_stopped = true;
		/* What the terminal sends goes to all of its foreground processes. */
		if (info.si_code != SI_KERNEL)
			kill(pid, info.si_signo);
	}
	out->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

static int run(int argc, char **argv, bool show_output, const sigset_t *signals,
	       const sigset_t *mask, struct compare_run *out)
{
	_cleanup_close_ int read_fd = -1, write_fd = -1;
	struct times times;
	int fds[2], err;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	read_fd = fds[0];
	write_fd = fds[1];
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		record(argc, argv, show_output, mask, write_fd);
	close(take_fd(&write_fd));
	err = wait_for(pid, signals, out);
	if (!err && read(read_fd, &times, sizeof(times)) == sizeof(times)) {
		out->wall_ns = times.wall_ns;
		out->cpu_ns = times.cpu_ns;
	}
	return err;
}

int compare_run(int argc, char **argv, bool show_output, struct compare_run *out)
{
	sigset_t signals, mask;
	int err;

	*out = (struct compare_run){0};
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &signals, &mask))
		return -errno;
	err = run(argc, argv, show_output, &signals, &mask, out);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return err;
}
