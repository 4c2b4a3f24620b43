/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that owns the signals: see stopper.h. */
#include "cli/stopper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/privilege.h"
#include "cli/cli.h"

enum { RAISE_TRIES = 1000 };

/* Who is not woken waits for ever, so an error is not the last word. */
static void raise_event(int fd)
{
	const uint64_t one = 1;

	/* EAGAIN: the counter is full, and the reader woken anyway. */
	for (int i = 0; i < RAISE_TRIES; i++) {
		if (write(fd, &one, sizeof(one)) == sizeof(one) || errno == EAGAIN)
			return;
		nanosleep(&(const struct timespec){.tv_nsec = NSEC_PER_MSEC}, NULL);
	}
}

static void __attribute__((noreturn)) leave_at_once(struct stopper *stopper)
{
	pthread_mutex_lock(&stopper->lock);
	for (size_t i = 0; i < stopper->doomed_cnt; i++)
		unlink(stopper->doomed[i]);
	_exit(CLI_FAILED);
}

static void on_signal(struct stopper *stopper, const struct signalfd_siginfo *info)
{
	pid_t child = atomic_load(&stopper->child);

	if (info->ssi_signo != SIGCHLD) {
		if (child && info->ssi_code != SI_KERNEL)
			kill(child, (int)info->ssi_signo);
		if (atomic_fetch_add(&stopper->stops, 1) >= 1)
			leave_at_once(stopper);
	} else {
		atomic_store(&stopper->child_ns, clock_monotonic_ns());
	}
	raise_event(stopper->wake_fd);
}

static void *stopper_main(void *arg)
{
	struct stopper *stopper = arg;
	struct pollfd fds[] = {
		{.fd = stopper->quit_fd, .events = POLLIN},
		{.fd = stopper->signal_fd, .events = POLLIN},
	};
	struct signalfd_siginfo info;

	/* Signals to COMMAND, and files to be removed. */
	privilege_keep(PRIVILEGE_BIT(PRIVILEGE_KILL) | PRIVILEGES_OUTPUT);
	while (!fds[0].revents) {
		if (poll(fds, 2, -1) < 0 || !fds[1].revents)
			continue;
		if (read(stopper->signal_fd, &info, sizeof(info)) == sizeof(info))
			on_signal(stopper, &info);
	}
	return NULL;
}

static void owned_signals(sigset_t *set)
{
	struct sigaction hup;

	sigemptyset(set);
	/* INT and TERM also where they were ignored, as in a script's background job: writing what
	 * was recorded is the only sensible answer to them. HUP not under nohup. */
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGCHLD);
	if (!sigaction(SIGHUP, NULL, &hup) && hup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

static void close_fds(struct stopper *stopper)
{
	const int fds[] = {stopper->signal_fd, stopper->wake_fd, stopper->quit_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int stopper_start(struct stopper *stopper)
{
	sigset_t owned;
	int err;

	*stopper = (struct stopper){0};
	owned_signals(&owned);
	err = pthread_mutex_init(&stopper->lock, NULL);
	if (err)
		return -err;
	pthread_sigmask(SIG_BLOCK, &owned, &stopper->mask_before);
	stopper->signal_fd = signalfd(-1, &owned, SFD_CLOEXEC);
	stopper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	stopper->quit_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = stopper->signal_fd < 0 || stopper->wake_fd < 0 || stopper->quit_fd < 0 ? errno : 0;
	if (!err)
		err = pthread_create(&stopper->thread, NULL, stopper_main, stopper);
	if (err) {
		close_fds(stopper);
		pthread_sigmask(SIG_SETMASK, &stopper->mask_before, NULL);
		return -err;
	}
	stopper->is_running = true;
	return 0;
}

void stopper_end(struct stopper *stopper)
{
	if (!stopper->is_running)
		return;
	raise_event(stopper->quit_fd);
	pthread_join(stopper->thread, NULL);
	close_fds(stopper);
	pthread_sigmask(SIG_SETMASK, &stopper->mask_before, NULL);
	stopper_spare(stopper);
	free(stopper->doomed);
	pthread_mutex_destroy(&stopper->lock);
	*stopper = (struct stopper){0};
}

void stopper_set_child(struct stopper *stopper, pid_t pid)
{
	atomic_store(&stopper->child, pid);
}

bool stopper_is_asked(struct stopper *stopper)
{
	return atomic_load(&stopper->stops) > 0;
}

unsigned int stopper_pardon(struct stopper *stopper)
{
	return atomic_exchange(&stopper->stops, 0);
}

void stopper_recall(struct stopper *stopper, unsigned int stops)
{
	atomic_fetch_add(&stopper->stops, stops);
}

bool stopper_child_ended(struct stopper *stopper)
{
	pid_t child = atomic_load(&stopper->child);
	siginfo_t info = {0};

	return child && !waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == child;
}

void stopper_rearm(struct stopper *stopper)
{
	uint64_t events;

	while (read(stopper->wake_fd, &events, sizeof(events)) < 0 && errno == EINTR)
		;
}

void stopper_wait(struct stopper *stopper, uint64_t deadline_ns)
{
	struct pollfd wake = {.fd = stopper->wake_fd, .events = POLLIN};
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	struct timespec left = {(time_t)(left_ns / NSEC_PER_SEC), (long)(left_ns % NSEC_PER_SEC)};

	ppoll(&wake, 1, deadline_ns == UINT64_MAX ? NULL : &left, NULL);
}

int stopper_doom(struct stopper *stopper, const char *path)
{
	char *copy = strdup(path);
	int err = copy ? 0 : -ENOMEM;

	pthread_mutex_lock(&stopper->lock);
	if (!err)
		err = array_reserve(&stopper->doomed, &stopper->doomed_cap, stopper->doomed_cnt + 1,
				    sizeof(*stopper->doomed));
	if (!err)
		stopper->doomed[stopper->doomed_cnt++] = copy;
	pthread_mutex_unlock(&stopper->lock);
	if (err)
		free(copy);
	return err;
}

void stopper_spare(struct stopper *stopper)
{
	pthread_mutex_lock(&stopper->lock);
	for (size_t i = 0; i < stopper->doomed_cnt; i++)
		free(stopper->doomed[i]);
	stopper->doomed_cnt = 0;
	pthread_mutex_unlock(&stopper->lock);
}
