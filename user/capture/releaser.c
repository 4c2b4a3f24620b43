/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/releaser.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

/* A copy without a word to the parent's SIGCHLD handlers. In it only system calls are made: other
 * threads are not there, but their locks are. */
static pid_t copy_process(void)
{
	return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
}

/* Of @fds each @step-th from @first on is this copy's, the others are left at once: another copy's
 * exit is then what releases them. */
static _Noreturn void hold(const int *fds, size_t cnt, size_t first, size_t step, int wait_fd,
			   int go_fd)
{
	char byte;

	close(go_fd);
	for (size_t i = 0; i < cnt; i++)
		if (i % step != first)
			close(fds[i]);
	while (read(wait_fd, &byte, 1) < 0 && errno == EINTR) {
	}
	_exit(0);
}

void releaser_begin(struct releaser *releaser, const int *fds, size_t cnt)
{
	size_t wanted = cnt < RELEASER_COPIES_MAX ? cnt : RELEASER_COPIES_MAX;
	int pipe_fds[2];

	*releaser = (struct releaser){.go_fd = -1};
	if (!cnt || pipe2(pipe_fds, O_CLOEXEC))
		return;
	while (releaser->copy_cnt < wanted) {
		pid_t pid = copy_process();

		if (!pid)
			hold(fds, cnt, releaser->copy_cnt, wanted, pipe_fds[0], pipe_fds[1]);
		if (pid < 0) {
			log_debug("probes are released by this process itself: clone: errno %d",
				  errno);
			break;
		}
		releaser->copies[releaser->copy_cnt++] = pid;
	}
	close(pipe_fds[0]);
	releaser->go_fd = pipe_fds[1];
}

void releaser_end(struct releaser *releaser)
{
	if (releaser->go_fd >= 0)
		close(releaser->go_fd);
	releaser->go_fd = -1;
	for (size_t i = 0; i < releaser->copy_cnt; i++)
		while (waitpid(releaser->copies[i], NULL, __WCLONE) < 0 && errno == EINTR) {
		}
	releaser->copy_cnt = 0;
}
