/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/events.h"

#include <errno.h>
#include <pthread.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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
static int watch_file(const struct agent_events *events, struct events_file *file)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(file->path, '/');

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - file->path + 1) : 1,
		 slash ? file->path : ".");
	file->stamp = stamp_of(file->path);
	if (inotify_add_watch(events->inotify_fd, folder,
			      IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE) < 0)
		return -errno;
	return 0;
}

static int poll_for(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int watch_files(struct agent_events *events)
{
	int err = 0;

	events->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (events->inotify_fd < 0)
		return -errno;
	for (size_t i = 0; i < EVENTS_FILES_MAX && !err; i++)
		if (events->files[i].path)
			err = watch_file(events, &events->files[i]);
	return err ? err : poll_for(events->wake_fd, events->inotify_fd);
}

int events_open(struct agent_events *events, const char *config, const char *policy)
{
	sigset_t set;
	int err;

	*events = (struct agent_events){
		.wake_fd = -1,
		.signal_fd = -1,
		.inotify_fd = -1,
	};
	events->files[0].path = config ? strdup(config) : NULL;
	events->files[1].path = policy ? strdup(policy) : NULL;
	if ((config && !events->files[0].path) || (policy && !events->files[1].path))
		return -ENOMEM;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	events->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	events->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (events->wake_fd < 0 || events->signal_fd < 0)
		return -errno;
	err = poll_for(events->wake_fd, events->signal_fd);
	return err || (!config && !policy) ? err : watch_files(events);
}

void events_close(struct agent_events *events)
{
	const int fds[] = {events->wake_fd, events->signal_fd, events->inotify_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	for (size_t i = 0; i < EVENTS_FILES_MAX; i++)
		free(events->files[i].path);
}

/* Is it another than it was? What is not there now may be about to come. */
static bool take_file(struct events_file *file)
{
	struct events_stamp now = {.ino = 0};

	if (file->path)
		now = stamp_of(file->path);
	if (!now.ino || !memcmp(&now, &file->stamp, sizeof(now)))
		return false;
	file->stamp = now;
	return true;
}

static void take_files(struct agent_events *events)
{
	char told[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool is_told = false;

	while (read(events->inotify_fd, told, sizeof(told)) > 0)
		is_told = true;
	for (size_t i = 0; i < EVENTS_FILES_MAX && is_told; i++)
		events->reloads |= take_file(&events->files[i]);
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
		take_files(events);
}
