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
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "web/site.h"

enum {
	COMM_BYTES = 128,
	CGROUP_BYTES = 4100,
	EVENT_BYTES = 160,
	WHY_BYTES_MAX = 8192,
	FD_CNT = 2, /* of a request: the pipe, the client */
	REAP_ROUND_MS = 1000,
	/* A worker that has answered may still be on its way out. */
	LEAVE_TRIES = 100,
};

static const long LEAVE_ROUND_NS = 2 * (long)NSEC_PER_MSEC;

/* A request as it crosses the border, one datagram. */
struct demand {
	uint64_t duration_ns;
	uint32_t kind, hz, pid;
	char comm[COMM_BYTES], cgroup[CGROUP_BYTES], event[EVENT_BYTES]; /* "": not given */
};

/* What comes back first; then the line, then pprof. */
struct answer_head {
	int32_t err;
	uint32_t why_len;
};

/* --- Behind the border --- */

/* @demand as the web side has it; its strings are borrowed from @demand. 0 or -EINVAL. */
static int read_demand(struct demand *demand, int client_fd, struct web_capture *out)
{
	if (demand->kind > WEB_CAPTURE_OFF_CPU ||
	    demand->duration_ns > WEB_CAPTURE_SECONDS_MAX * NSEC_PER_SEC ||
	    demand->hz > WEB_CAPTURE_HZ_MAX)
		return -EINVAL;
	demand->comm[COMM_BYTES - 1] = '\0';
	demand->cgroup[CGROUP_BYTES - 1] = '\0';
	demand->event[EVENT_BYTES - 1] = '\0';
	*out = (struct web_capture){
		.kind = (enum web_capture_kind)demand->kind,
		.duration_ns = demand->duration_ns,
		.hz = demand->hz,
		.pid = demand->pid,
		.comm = demand->comm[0] ? demand->comm : NULL,
		.cgroup = demand->cgroup[0] ? demand->cgroup : NULL,
		.event = demand->event[0] ? demand->event : NULL,
		.client_fd = client_fd,
	};
	return 0;
}

static void answer(int fd, int err, struct buf *why, const struct buf *data)
{
	struct answer_head head = {.err = err, .why_len = (uint32_t)why->len};

	/* Where nobody reads any more, nobody misses it. */
	if (fs_write_all(fd, &head, sizeof(head)) || fs_write_all(fd, why->data, why->len) ||
	    !data || err)
		return;
	fs_write_all(fd, data->data, data->len);
}

/* @parent: the helper. */
static _Noreturn void work(const char *program, struct demand *demand, const int fds[FD_CNT],
			   pid_t parent)
{
	struct on_demand on_demand = {.program = program};
	struct web_capture request;
	struct buf data, why;
	int err;

	/* The recording is waited for. */
	signal(SIGCHLD, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	buf_init(&data, WEB_REPLY_BYTES_MAX);
	buf_init(&why, WHY_BYTES_MAX);
	err = read_demand(demand, fds[1], &request);
	err = err ? err : on_demand_capture(&on_demand, &request, &data, &why);
	/* The client's connection ends when the agent says so. */
	close(fds[1]);
	answer(fds[0], err, &why, &data);
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

	buf_init(&why, WHY_BYTES_MAX);
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

/* 1: a request, with its descriptors, which are owned; 0: what is no request; -EPIPE: the agent is
 * gone. */
static int receive(int socket, struct demand *demand, int fds[FD_CNT])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FD_CNT * sizeof(int))];
	} control;
	struct iovec data = {demand, sizeof(*demand)};
	struct msghdr msg = {.msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t len = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);

	if (len <= 0)
		return len < 0 && errno == EINTR ? 0 : -EPIPE;
	if (take_fds(&msg, fds))
		return 0;
	if (len == sizeof(*demand) && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	close(fds[0]);
	close(fds[1]);
	return 0;
}

static void start_worker(const char *program, int socket, struct demand *demand,
			 const int fds[FD_CNT], unsigned int *workers)
{
	pid_t self = getpid(), pid;

	if (!has_room(workers)) {
		refuse(fds[0], -EBUSY);
		return;
	}
	pid = fork();
	if (!pid) {
		close(socket);
		work(program, demand, fds, self);
	}
	if (pid < 0)
		refuse(fds[0], -errno);
	else
		++*workers;
}

/* The helper's life. @parent: the agent. */
static _Noreturn void serve(const char *program, int socket, pid_t parent)
{
	struct demand demand;
	unsigned int workers = 0;
	sigset_t all;
	int fds[FD_CNT];

	/* What a terminal or a manager sends to the whole group is for the agent, which ends us. */
	sigfillset(&all);
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
		got = receive(socket, &demand, fds);
		if (got < 0)
			_exit(0);
		if (!got)
			continue;
		start_worker(program, socket, &demand, fds, &workers);
		close(fds[0]);
		close(fds[1]);
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

static int put(const char *name, const char *text, char *out, size_t bytes, struct buf *why)
{
	size_t len = text ? strlen(text) : 0;

	if (len >= bytes) {
		buf_printf(why, "%s: too long", name);
		return -EINVAL;
	}
	memcpy(out, text ? text : "", len + 1);
	return 0;
}

static int write_demand(const struct web_capture *request, struct demand *out, struct buf *why)
{
	int err;

	*out = (struct demand){
		.duration_ns = request->duration_ns,
		.kind = request->kind,
		.hz = request->hz,
		.pid = request->pid,
	};
	err = put("comm", request->comm, out->comm, sizeof(out->comm), why);
	if (!err)
		err = put("cgroup", request->cgroup, out->cgroup, sizeof(out->cgroup), why);
	if (!err)
		err = put("event", request->event, out->event, sizeof(out->event), why);
	return err;
}

/* The helper gets copies of @fds. */
static int send_demand(int socket, const struct demand *demand, const int fds[FD_CNT])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FD_CNT * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec data = {(void *)demand, sizeof(*demand)};
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

static int take_answer(const struct buf *all, struct buf *out, struct buf *why)
{
	struct answer_head head = {.err = -EIO};
	size_t at = sizeof(head);

	if (all->len >= at)
		memcpy(&head, all->data, at);
	if (all->len < at || head.why_len > all->len - at || head.err > 0) {
		buf_add_str(why, "who makes recordings has ended");
		return -EIO;
	}
	buf_add(why, all->data + at, head.why_len);
	at += head.why_len;
	if (!head.err)
		buf_add(out, all->data + at, all->len - at);
	return head.err ? head.err : out->err;
}

int recording_helper_capture(const struct recording_helper *helper,
			     const struct web_capture *request, struct buf *out, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf all;
	struct demand demand;
	int fds[2];
	int err = write_demand(request, &demand, why);

	buf_init(&all, WEB_REPLY_BYTES_MAX + WHY_BYTES_MAX + sizeof(struct answer_head));
	if (err)
		return err;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	err = send_demand(helper->fd, &demand, (int[FD_CNT]){fds[1], request->client_fd});
	close(fds[1]);
	err = err ? err : fs_read_fd(fds[0], &all);
	close(fds[0]);
	if (!err)
		return take_answer(&all, out, why);
	buf_printf(why, "no recording can be started: %s", strerror(-err));
	return -EIO;
}
