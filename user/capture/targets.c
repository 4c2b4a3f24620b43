/* SPDX-License-Identifier: Apache-2.0 */
/* pidfds of the -p targets in one epoll descriptor. */
#include "capture/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

static int target_add(struct targets *targets, uint32_t pid)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 && errno == ESRCH) {
		log_error("no process with pid %u (-p)", pid);
		return -ESRCH;
	}
	if (fd < 0) {
		int err = -errno;

		log_error("pid %u (-p): %s%s", pid, strerror(-err),
			  err == -EINVAL ? "; it is a thread: use -t, or the process' pid" : "");
		return err;
	}
	event.data.fd = fd;
	targets->pidfds[targets->cnt++] = fd;
	targets->alive++;
	return epoll_ctl(targets->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int targets_open(struct targets *targets, const struct number_set *tgids)
{
	int err = 0;

	*targets = (struct targets){.epoll_fd = -1};
	if (!tgids || !tgids->cnt)
		return 0;
	targets->pidfds = calloc(tgids->cnt, sizeof(*targets->pidfds));
	targets->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!targets->pidfds || targets->epoll_fd < 0)
		return -ENOMEM;
	for (size_t i = 0; i < tgids->cnt && !err; i++)
		err = target_add(targets, tgids->items[i]);
	return err;
}

int targets_poll_fd(const struct targets *targets)
{
	return targets->epoll_fd;
}

bool targets_all_gone(struct targets *targets)
{
	struct epoll_event event;

	while (targets->alive && epoll_wait(targets->epoll_fd, &event, 1, 0) == 1) {
		epoll_ctl(targets->epoll_fd, EPOLL_CTL_DEL, event.data.fd, NULL);
		targets->alive--;
	}
	return !targets->alive;
}

void targets_deinit(struct targets *targets)
{
	if (!targets->pidfds)
		return;
	for (size_t i = 0; i < targets->cnt; i++)
		close(targets->pidfds[i]);
	free(targets->pidfds);
	if (targets->epoll_fd >= 0)
		close(targets->epoll_fd);
	*targets = (struct targets){.epoll_fd = -1};
}
