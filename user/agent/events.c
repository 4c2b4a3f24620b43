/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/events.h"

#include <errno.h>
#include <pthread.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

static struct events_stamp stamp_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return (struct events_stamp){.ino = 0};
	return (struct events_stamp){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size_bytes = (uint64_t)st.st_size,
		.mtime_s = st.st_mtim.tv_sec,
		.mtime_ns = st.st_mtim.tv_nsec,
	};
}

/* Its folder: editors, and whoever hands out configurations, put a new file in the old one's place.
 */
static int watch_file(struct agent_events *events, const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path + 1) : 1,
		 slash ? path : ".");
	events->path = path;
	events->stamp = stamp_of(path);
	events->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (events->inotify_fd < 0 ||
	    inotify_add_watch(events->inotify_fd, folder,
			      IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE) < 0)
		return -errno;
	return 0;
}

static int poll_for(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int events_open(struct agent_events *events, const char *path)
{
	sigset_t set;
	int err = 0;

	*events = (struct agent_events){.wake_fd = -1, .signal_fd = -1, .inotify_fd = -1};
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	events->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	events->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (events->wake_fd < 0 || events->signal_fd < 0)
		return -errno;
	if (path)
		err = watch_file(events, path);
	if (!err)
		err = poll_for(events->wake_fd, events->signal_fd);
	if (!err && path)
		err = poll_for(events->wake_fd, events->inotify_fd);
	return err;
}

void events_close(struct agent_events *events)
{
	const int fds[] = {events->wake_fd, events->signal_fd, events->inotify_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void take_file(struct agent_events *events)
{
	char told[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct events_stamp now;
	bool is_told = false;

	while (read(events->inotify_fd, told, sizeof(told)) > 0)
		is_told = true;
	if (!is_told)
		return;
	now = stamp_of(events->path);
	/* What is not there now may be about to come. */
	if (!now.ino || !memcmp(&now, &events->stamp, sizeof(now)))
		return;
	events->stamp = now;
	events->reloads = true;
}

void events_take(struct agent_events *events)
{
	struct signalfd_siginfo info;

	while (read(events->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			events->reloads = true;
		else
			events->ends = true;
	}
	if (events->inotify_fd >= 0)
		take_file(events);
}
