/* SPDX-License-Identifier: Apache-2.0 */
/* The process that records for a confined agent: see recording_helper.h. */
#include "agent/recording_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/on_demand.h"
#include "agent/recording_message.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/signals.h"
#include "web/site.h"

enum {
	FD_CNT = 2, /* of a request: the pipe, the client */
	REAP_ROUND_MS = 1000,
	/* A worker that has answered may still be on its way out. */
	LEAVE_TRIES = 100,
};

static const long LEAVE_ROUND_NS = 2 * (long)NSEC_PER_MSEC;

struct request {
	uint8_t bytes[RECORDING_REQUEST_BYTES];
	int fds[FD_CNT]; /* owned */
};

/* --- Behind the border --- */

static void answer(int fd, int err, const struct buf *why, const struct buf *data)
{
	_cleanup_(buf_deinit) struct buf head;

	buf_init(&head, BUF_NO_MAX);
	recording_answer_write(err, why, &head);
	/* Where nobody reads any more, nobody misses it. */
	if (head.err || fs_write_all(fd, head.data, head.len) || !data || err)
		return;
	fs_write_all(fd, data->data, data->len);
}

/* @parent: the helper. */
static _Noreturn void work(const char *program, const struct request *request, pid_t parent)
{
	struct on_demand on_demand = {.program = program};
	struct web_capture capture;
	struct buf data, why;
	int err;

	/* The recording is waited for. */
	signal(SIGCHLD, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	buf_init(&data, WEB_REPLY_BYTES_MAX);
	buf_init(&why, RECORDING_LINE_BYTES_MAX);
	err = recording_request_read(request->bytes, sizeof(request->bytes), &capture);
	capture.client_fd = request->fds[1];
	err = err ? err : on_demand_capture(&on_demand, &capture, &data, &why);
	/* The client's connection ends when the agent says so. */
	close(request->fds[1]);
	answer(request->fds[0], err, &why, &data);
	_exit(0);
}

/* Forget the workers that have ended. */
static void reap(unsigned int *workers)
{
	while (*workers && waitpid(-1, NULL, WNOHANG) > 0)
		--*workers;
}

static bool has_room(unsigned int *workers)
{
	struct timespec pause = {.tv_nsec = LEAVE_ROUND_NS};

	for (int i = 0; i < LEAVE_TRIES; i++) {
		reap(workers);
		if (*workers < ON_DEMAND_AT_ONCE_MAX)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void refuse(int fd, int err)
{
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, RECORDING_LINE_BYTES_MAX);
	if (err == -EBUSY)
		buf_printf(&why, "%d recordings are under way already", ON_DEMAND_AT_ONCE_MAX);
	else
		buf_printf(&why, "no recording can be started: %s", strerror(-err));
	answer(fd, err, &why, NULL);
}

/* The descriptors that came with @msg. 0; -EINVAL: not those of a request, and closed. */
static int take_fds(struct msghdr *msg, int out[FD_CNT])
{
	size_t cnt = 0;
	int fds[FD_CNT];

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		cnt = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(cmsg), cnt * sizeof(int));
	}
	if (cnt == FD_CNT) {
		memcpy(out, fds, sizeof(fds));
		return 0;
	}
	for (size_t i = 0; i < cnt; i++)
		close(fds[i]);
	return -EINVAL;
}

/* 1: a request, whose descriptors are owned; 0: what is no request; -EPIPE: the agent is gone. */
static int receive(int socket, struct request *out)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FD_CNT * sizeof(int))];
	} control;
	struct iovec data = {out->bytes, sizeof(out->bytes)};
	struct msghdr msg = {.msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t len = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);

	if (len <= 0)
		return len < 0 && errno == EINTR ? 0 : -EPIPE;
	if (take_fds(&msg, out->fds))
		return 0;
	if (len == sizeof(out->bytes) && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	close(out->fds[0]);
	close(out->fds[1]);
	return 0;
}

static void start_worker(const char *program, int socket, const struct request *request,
			 unsigned int *workers)
{
	pid_t self = getpid(), pid;

	if (!has_room(workers)) {
		refuse(request->fds[0], -EBUSY);
		return;
	}
	pid = fork();
	if (!pid) {
		close(socket);
		work(program, request, self);
	}
	if (pid < 0)
		refuse(request->fds[0], -errno);
	else
		++*workers;
}

/* The helper's life. @parent: the agent. */
static _Noreturn void serve(const char *program, int socket, pid_t parent)
{
	struct request request;
	unsigned int workers = 0;
	sigset_t all;

	/* What a terminal or a manager sends to the whole group is for the agent, which ends us. */
	signals_fill_but_faults(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	for (;;) {
		struct pollfd fd = {.fd = socket, .events = POLLIN};
		int got;

		reap(&workers);
		if (poll(&fd, 1, workers ? REAP_ROUND_MS : -1) <= 0)
			continue;
		got = receive(socket, &request);
		if (got < 0)
			_exit(0);
		if (!got)
			continue;
		start_worker(program, socket, &request, &workers);
		close(request.fds[0]);
		close(request.fds[1]);
	}
}

/* --- The agent's side --- */

int recording_helper_start(const char *program, struct recording_helper *out)
{
	pid_t self = getpid(), pid;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork();
	if (!pid) {
		close(fds[0]);
		serve(program, fds[1], self);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return -EAGAIN;
	}
	*out = (struct recording_helper){.pid = pid, .fd = fds[0]};
	return 0;
}

void recording_helper_stop(struct recording_helper *helper)
{
	if (helper->fd >= 0)
		close(helper->fd);
	if (helper->pid > 0)
		while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
			;
	*helper = (struct recording_helper){.fd = -1};
}

/* The helper gets copies of @fds. */
static int send_request(int socket, const struct buf *request, const int fds[FD_CNT])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FD_CNT * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec data = {request->data, request->len};
	struct msghdr msg = {.msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(FD_CNT * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, FD_CNT * sizeof(int));
	return TEMP_FAILURE_RETRY(sendmsg(socket, &msg, MSG_NOSIGNAL)) < 0 ? -errno : 0;
}

static int ask(const struct recording_helper *helper, const struct buf *request, int client_fd,
	       struct buf *reply)
{
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	err = send_request(helper->fd, request, (int[FD_CNT]){fds[1], client_fd});
	close(fds[1]);
	err = err ? err : fs_read_fd(fds[0], reply);
	close(fds[0]);
	return err;
}

int recording_helper_capture(const struct recording_helper *helper,
			     const struct web_capture *capture, struct buf *out, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf request, reply;
	int err;

	buf_init(&request, BUF_NO_MAX);
	buf_init(&reply,
		 WEB_REPLY_BYTES_MAX + RECORDING_LINE_BYTES_MAX + RECORDING_ANSWER_HEAD_BYTES);
	err = recording_request_write(capture, &request, why);
	if (err)
		return err;
	err = ask(helper, &request, capture->client_fd, &reply);
	if (err) {
		buf_printf(why, "no recording can be started: %s", strerror(-err));
		return -EIO;
	}
	err = recording_answer_read(reply.data, reply.len, out, why);
	if (err != -EBADMSG)
		return err;
	buf_add_str(why, "who makes recordings has ended");
	return -EIO;
}
