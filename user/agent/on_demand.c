/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that clients of the agent ask for: see on_demand.h. */
#include "agent/on_demand.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum {
	COMM_BYTES_MAX = 64,
	PATH_BYTES_MAX = 4096,
	EVENT_BYTES_MAX = 128,
	STDERR_BYTES_MAX = 4096,
	READ_BYTES = 64 << 10,
	NOTHING_SAMPLED = 4, /* exit status: the profile is there, and empty */
	USAGE = 2,
};

static const uint64_t SHORTEST_LIMIT_NS = 1500 * NSEC_PER_MSEC;
static const uint64_t FINISH_NS = 450 * NSEC_PER_MSEC; /* to name and write what was recorded */
static const uint64_t REAP_ROUND_NS = 2 * NSEC_PER_MSEC;

/* --- What a client may say --- */

static void add_arg(struct on_demand_args *args, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_arg(struct on_demand_args *args, const char *fmt, ...)
{
	va_list list;

	if (args->err || args->cnt == ON_DEMAND_ARGS_MAX) {
		args->err = args->err ? args->err : -E2BIG;
		return;
	}
	va_start(list, fmt);
	if (vasprintf(&args->items[args->cnt], fmt, list) < 0)
		args->err = -ENOMEM;
	else
		args->cnt++;
	va_end(list);
}

static int refuse(struct buf *why, const char *text)
{
	buf_add_str(why, text);
	return -EINVAL;
}

static bool is_printable(const char *text, size_t len_max)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return len && len <= len_max;
}

/* A counter ("cycles", "page-faults") or a tracepoint ("sched:sched_switch"). */
static bool is_event(const char *text)
{
	static const char *const probes[] = {
		"kprobe:", "kretprobe:", "uprobe:", "uretprobe:", "usdt:"};
	const char *colon = strchr(text, ':');
	size_t plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-:");

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (!strncmp(text, probes[i], strlen(probes[i])))
			return false;
	return *text && *text != '-' && !text[plain] && plain <= EVENT_BYTES_MAX &&
	       (!colon || !strchr(colon + 1, ':'));
}

static int check(const struct web_capture *request, struct buf *why)
{
	if (request->comm && !is_printable(request->comm, COMM_BYTES_MAX))
		return refuse(why, "comm: no pattern for names of threads");
	if (request->cgroup && (*request->cgroup != '/' || strstr(request->cgroup, "..") ||
				!is_printable(request->cgroup, PATH_BYTES_MAX)))
		return refuse(why, "cgroup: no path (wanted: /sys/fs/cgroup/...)");
	if (request->event && request->kind != WEB_CAPTURE_CPU)
		return refuse(why, "event: only of profile");
	if (request->event && !is_event(request->event))
		return refuse(why, "event: only counters (cycles, page-faults) and tracepoints "
				   "(sched:sched_switch) are recorded on demand");
	if (request->kind == WEB_CAPTURE_ALLOCS && !request->pid)
		return refuse(why, "the heap is one process's: pid=");
	if (request->hz && request->kind != WEB_CAPTURE_CPU)
		return refuse(why, "hz: only of profile");
	return 0;
}

int on_demand_args_make(const struct web_capture *request, struct on_demand_args *out,
			struct buf *why)
{
	int err;

	*out = (struct on_demand_args){0};
	err = check(request, why);
	if (err)
		return err;
	add_arg(out, "bpfprof");
	add_arg(out, "record");
	add_arg(out, "-q");
	add_arg(out, "--output=-.pb.gz");
	add_arg(out, "--duration=%" PRIu64 "ms", (uint64_t)(request->duration_ns / NSEC_PER_MSEC));
	if (request->kind == WEB_CAPTURE_OFF_CPU)
		add_arg(out, "--off-cpu");
	if (request->kind == WEB_CAPTURE_ALLOCS) {
		add_arg(out, "--heap");
		add_arg(out, "--heap-rate=512k");
	}
	if (request->hz)
		add_arg(out, "--freq=%" PRIu32, request->hz);
	if (request->pid)
		add_arg(out, "--pid=%" PRIu32, request->pid);
	if (request->comm)
		add_arg(out, "--comm=%s", request->comm);
	if (request->cgroup)
		add_arg(out, "--cgroup=%s", request->cgroup);
	if (request->event)
		add_arg(out, "--event=%s", request->event);
	return out->err;
}

void on_demand_args_deinit(struct on_demand_args *args)
{
	for (size_t i = 0; i < args->cnt; i++)
		free(args->items[i]);
	*args = (struct on_demand_args){0};
}

/* --- The child --- */

struct recording {
	pid_t pid;
	int out_fd, err_fd; /* owned; -1: at its end */
	int client_fd; /* borrowed */
	uint64_t soft_ns, hard_ns; /* CLOCK_MONOTONIC: when it is asked to finish, and killed */
	struct buf *out; /* borrowed */
	struct buf said; /* on stderr */
};

/* Our environment without the servers for symbols, which would be waited for: *owned*, its strings
 * are borrowed. */
static char **make_environment(void)
{
	size_t cnt = 0, kept = 0;
	char **copy;

	while (environ[cnt])
		cnt++;
	copy = calloc(cnt + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < cnt; i++)
		if (strncmp(environ[i], "DEBUGINFOD_URLS=", strlen("DEBUGINFOD_URLS=")))
			copy[kept++] = environ[i];
	return copy;
}

/* Behind fork() in a program with threads: only what is async-signal-safe. */
static _Noreturn void become(const char *program, char *const argv[], char *const envp[],
			     int out_fd, int err_fd, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(127);
	if (dup2(out_fd, STDOUT_FILENO) < 0 || dup2(err_fd, STDERR_FILENO) < 0)
		_exit(127);
	close(STDIN_FILENO);
	if (open("/dev/null", O_RDONLY) != STDIN_FILENO)
		_exit(127);
	execve(program, argv, envp);
	_exit(127);
}

static int start(const char *program, char *const argv[], struct recording *rec)
{
	_cleanup_free_ char **envp = make_environment();
	int out[2], err[2];
	pid_t parent = getpid();

	if (!envp)
		return -ENOMEM;
	if (pipe2(out, O_CLOEXEC))
		return -errno;
	if (pipe2(err, O_CLOEXEC)) {
		close(out[0]);
		close(out[1]);
		return -EMFILE;
	}
	rec->pid = fork();
	if (!rec->pid)
		become(program, argv, envp, out[1], err[1], parent);
	close(out[1]);
	close(err[1]);
	rec->out_fd = out[0];
	rec->err_fd = err[0];
	return rec->pid < 0 ? -EAGAIN : 0;
}

/* Move what is there from *@fd; at its end *@fd is closed and -1. */
static int take(int *fd, struct buf *out)
{
	char data[READ_BYTES];
	ssize_t len = read(*fd, data, sizeof(data));

	if (len < 0)
		return errno == EINTR ? 0 : -errno;
	if (!len) {
		close(*fd);
		*fd = -1;
		return 0;
	}
	buf_add(out, data, (size_t)len);
	return out->err;
}

static int until(uint64_t moment_ns, uint64_t now_ns)
{
	return moment_ns > now_ns ? (int)((moment_ns - now_ns) / NSEC_PER_MSEC) + 1 : 0;
}

/* Wait for something to happen, and act. 0: go on. */
static int step(struct recording *rec)
{
	struct pollfd fds[] = {
		{rec->out_fd, POLLIN, 0}, {rec->err_fd, POLLIN, 0}, {rec->client_fd, POLLRDHUP, 0}};
	uint64_t now_ns = clock_monotonic_ns();
	int err = 0;

	if (now_ns >= rec->hard_ns)
		return -ETIMEDOUT;
	if (now_ns >= rec->soft_ns) {
		kill(rec->pid, SIGINT);
		rec->soft_ns = UINT64_MAX;
	}
	if (poll(fds, 3, until(rec->soft_ns < rec->hard_ns ? rec->soft_ns : rec->hard_ns, now_ns)) <
	    0)
		return errno == EINTR ? 0 : -errno;
	if (fds[2].revents)
		return -ECANCELED;
	if (fds[0].revents)
		err = take(&rec->out_fd, rec->out);
	/* Of what it says the beginning is enough. */
	if (!err && fds[1].revents) {
		err = take(&rec->err_fd, &rec->said);
		err = err == -EFBIG ? 0 : err;
	}
	return err;
}

/* The exit status; 128 + N for signal N. Killed when it takes too long. */
static int reap(const struct recording *rec)
{
	struct timespec pause = {.tv_nsec = (long)REAP_ROUND_NS};
	int status;

	for (;;) {
		pid_t pid = waitpid(rec->pid, &status, WNOHANG);

		if (pid == rec->pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (pid < 0 && errno != EINTR)
			return 127;
		if (clock_monotonic_ns() >= rec->hard_ns)
			kill(rec->pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
}

/* What the child said, as one line without its prefix. */
static void explain(const struct recording *rec, int status, struct buf *why)
{
	const char *text = buf_cstr(&rec->said);
	size_t prefix = strncmp(text, "bpfprof: ", 9) ? 0 : 9;
	const char *end = strchr(text, '\n');

	if (!*text)
		buf_printf(why, "the recording ended with status %d", status);
	else
		buf_printf(why, "%.*s", (int)((end ? (size_t)(end - text) : strlen(text)) - prefix),
			   text + prefix);
}

static int finish(struct recording *rec, int err, struct buf *why)
{
	int status;

	if (err)
		kill(rec->pid, SIGKILL);
	status = reap(rec);
	if (err == -ETIMEDOUT)
		buf_add_str(why, "the recording took too long: the machine is too busy for it");
	else if (err == -EFBIG)
		buf_add_str(why, "the profile is too large: ask for less time, or a pid");
	if (err || !status || status == NOTHING_SAMPLED)
		return err;
	explain(rec, status, why);
	return status == USAGE ? -EINVAL : -EIO;
}

static int run(const char *program, char *const argv[], const struct web_capture *request,
	       struct buf *out, struct buf *why)
{
	uint64_t now_ns = clock_monotonic_ns(), limit_ns = request->duration_ns * 3 / 2;
	struct recording rec = {.out_fd = -1, .err_fd = -1, .client_fd = request->client_fd};
	int err;

	if (limit_ns < SHORTEST_LIMIT_NS)
		limit_ns = SHORTEST_LIMIT_NS;
	rec.hard_ns = now_ns + limit_ns;
	/* On a busy machine it starts late; what it has by then is an answer in time. */
	rec.soft_ns = rec.hard_ns - FINISH_NS;
	rec.out = out;
	buf_init(&rec.said, STDERR_BYTES_MAX);
	err = start(program, argv, &rec);
	if (err)
		buf_printf(why, "no recording can be started: %s", strerror(-err));
	while (!err && (rec.out_fd >= 0 || rec.err_fd >= 0))
		err = step(&rec);
	if (rec.pid > 0)
		err = finish(&rec, err, why);
	if (rec.out_fd >= 0)
		close(rec.out_fd);
	if (rec.err_fd >= 0)
		close(rec.err_fd);
	buf_deinit(&rec.said);
	return err;
}

int on_demand_capture(void *arg, const struct web_capture *request, struct buf *out,
		      struct buf *why)
{
	struct on_demand *on_demand = arg;
	const char *program = on_demand->program ? on_demand->program : "/proc/self/exe";
	struct on_demand_args args;
	int err = on_demand_args_make(request, &args, why);

	if (!err && atomic_fetch_add(&on_demand->running, 1) >= ON_DEMAND_AT_ONCE_MAX) {
		atomic_fetch_sub(&on_demand->running, 1);
		buf_printf(why, "%d recordings are under way already", ON_DEMAND_AT_ONCE_MAX);
		err = -EBUSY;
	} else if (!err) {
		err = run(program, args.items, request, out, why);
		atomic_fetch_sub(&on_demand->running, 1);
	}
	on_demand_args_deinit(&args);
	return err;
}
