/* SPDX-License-Identifier: Apache-2.0 */
/* What a confined process can still do, and how what it cannot do ends: each case in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/privilege.h"

/* No errno is as large: the process was ended. */
enum { ENDED = 1000, SETUP_FAILED = 250 };

typedef int attempt_fn(void); /* 0 or errno */

static int result_of(long result)
{
	return result < 0 ? errno : 0;
}

static int try_execve(void)
{
	char *argv[] = {"true", NULL};

	return result_of(execve("/bin/true", argv, environ));
}

static int try_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return result_of(pid);
}

static int try_vfork(void)
{
	/* As posix_spawn() and system() do. */
	return result_of(syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0));
}

static int try_copy(void)
{
	/* As capture/releaser.c does. */
	long pid = syscall(SYS_clone, 0, 0, 0, 0, 0);

	if (!pid)
		_exit(0);
	return result_of(pid);
}

static int try_clone3(void)
{
	return result_of(syscall(SYS_clone3, NULL, 0));
}

static int try_ptrace(void)
{
	return result_of(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int try_write_memory(void)
{
	char byte = 0;
	struct iovec vec = {&byte, 1};

	return result_of(process_vm_writev(getpid(), &vec, 1, &vec, 1, 0));
}

static int try_read_memory(void)
{
	char from = 7, to = 0;
	struct iovec source = {&from, 1}, target = {&to, 1};
	long got = process_vm_readv(getpid(), &target, 1, &source, 1, 0);

	return got < 0 ? errno : to != 7;
}

static int try_module(void)
{
	return result_of(syscall(SYS_finit_module, -1, "", 0));
}

static int try_mount(void)
{
	return result_of(mount("none", "/nowhere", "tmpfs", 0, NULL));
}

static int try_unshare(void)
{
	return result_of(unshare(CLONE_NEWNS));
}

static int try_setuid(void)
{
	return result_of(syscall(SYS_setuid, getuid()));
}

static int try_uring(void)
{
	return result_of(syscall(SYS_io_uring_setup, 1, NULL));
}

static int try_inet(void)
{
	return result_of(socket(AF_INET, SOCK_STREAM, 0));
}

/* Of nothing: who may tries, and is told. */
static int try_accept(void)
{
	return result_of(accept4(-1, NULL, NULL, 0));
}

static int try_unix(void)
{
	return result_of(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int try_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? errno
		       : 0;
}

static int try_make_code(void)
{
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return result_of(mprotect(mem, 4096, PROT_READ | PROT_EXEC));
}

static int try_bpf(int command)
{
	union bpf_attr attr = {0};

	return result_of(syscall(SYS_bpf, command, &attr, sizeof(attr)));
}

static int try_prog_load(void)
{
	return try_bpf(BPF_PROG_LOAD);
}

static int try_obj_pin(void)
{
	return try_bpf(BPF_OBJ_PIN);
}

static int try_obj_get(void)
{
	return try_bpf(BPF_OBJ_GET);
}

static int try_map_lookup(void)
{
	return try_bpf(BPF_MAP_LOOKUP_ELEM);
}

static int try_event(void)
{
	return result_of(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

/* Standard input is /dev/null: who may ask is told that it is no terminal. */
static int try_type(void)
{
	return result_of(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

static int try_terminal_size(void)
{
	struct winsize size;

	return result_of(ioctl(STDIN_FILENO, TIOCGWINSZ, &size));
}

static int try_kill_parent(void)
{
	return result_of(kill(getppid(), SIGCONT));
}

static int try_look_for_parent(void)
{
	return result_of(kill(getppid(), 0));
}

static int try_raise(void)
{
	signal(SIGUSR1, SIG_IGN);
	return raise(SIGUSR1);
}

static int try_signal_itself(void)
{
	signal(SIGUSR1, SIG_IGN);
	return result_of(kill(getpid(), SIGUSR1));
}

static int try_limits_of_parent(void)
{
	struct rlimit limit;

	return result_of(prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit));
}

static int try_own_limits(void)
{
	struct rlimit limit;

	return result_of(getrlimit(RLIMIT_NOFILE, &limit));
}

static int try_unknown(void)
{
	return result_of(syscall(1999));
}

static void *thread_main(void *arg)
{
	return arg;
}

static int try_thread(void)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, thread_main, NULL);

	return err ? err : pthread_join(thread, NULL);
}

static int try_files(void)
{
	char path[] = "/tmp/bpfprof-confine-XXXXXX";
	int fd = mkstemp(path), err;

	if (fd < 0)
		return errno;
	err = write(fd, "x", 1) == 1 ? result_of(rename(path, path)) : errno;
	close(fd);
	return err ? err : result_of(unlink(path));
}

static int try_memory(void)
{
	char *mem = malloc(64 << 20);

	if (!mem)
		return ENOMEM;
	mem[1 << 20] = 1;
	free(mem);
	return 0;
}

enum { READ, RECORD, ASK, SERVE, WORK_CNT };

static const struct confine_opts works[WORK_CNT] = {
	[READ] = {.work = CONFINE_READING},
	[RECORD] = {.work = CONFINE_RECORDING},
	[ASK] = {.work = CONFINE_RECORDING, .has_network = true},
	[SERVE] = {.work = CONFINE_READING, .serves = true},
};

/* What a recording is told by the kernel itself is another errno than the filter's. */
static const struct {
	const char *name;
	attempt_fn *attempt;
	int expected[WORK_CNT];
} attempts[] = {
	{"execve", try_execve, {ENDED, ENDED, ENDED, ENDED}},
	{"fork", try_fork, {ENDED, ENDED, ENDED, ENDED}},
	{"vfork", try_vfork, {ENDED, ENDED, ENDED, ENDED}},
	{"a copy", try_copy, {ENOSYS, 0, 0, ENOSYS}},
	{"clone3", try_clone3, {ENOSYS, ENOSYS, ENOSYS, ENOSYS}},
	{"ptrace", try_ptrace, {ENDED, ENDED, ENDED, ENDED}},
	{"writing into memory", try_write_memory, {ENDED, ENDED, ENDED, ENDED}},
	{"reading memory", try_read_memory, {ENOSYS, 0, 0, ENOSYS}},
	{"a module", try_module, {ENDED, ENDED, ENDED, ENDED}},
	{"mount", try_mount, {ENDED, ENDED, ENDED, ENDED}},
	{"unshare", try_unshare, {ENDED, ENDED, ENDED, ENDED}},
	{"setuid", try_setuid, {ENDED, ENDED, ENDED, ENDED}},
	{"io_uring", try_uring, {ENDED, ENDED, ENDED, ENDED}},
	{"a socket to hosts", try_inet, {EACCES, EACCES, 0, EACCES}},
	{"a client", try_accept, {ENOSYS, ENOSYS, ENOSYS, EBADF}},
	{"a local socket", try_unix, {EACCES, EACCES, 0, EACCES}},
	{"a map of code", try_code, {ENOSYS, ENOSYS, 0, ENOSYS}},
	{"making code of data", try_make_code, {ENOSYS, ENOSYS, 0, ENOSYS}},
	{"loading a BPF program", try_prog_load, {ENOSYS, ENOSYS, ENOSYS, ENOSYS}},
	{"pinning a BPF object", try_obj_pin, {ENOSYS, ENOSYS, ENOSYS, ENOSYS}},
	{"pinned BPF objects", try_obj_get, {ENOSYS, ENOSYS, ENOSYS, ENOSYS}},
	{"what is no map", try_map_lookup, {ENOSYS, EINVAL, EINVAL, ENOSYS}},
	{"a perf event of nothing", try_event, {ENOSYS, EFAULT, EFAULT, ENOSYS}},
	{"typing into the terminal", try_type, {ENOSYS, ENOSYS, ENOSYS, ENOSYS}},
	{"the terminal's size", try_terminal_size, {ENOTTY, ENOTTY, ENOTTY, ENOTTY}},
	{"a signal to the parent", try_kill_parent, {ENOSYS, ENOSYS, ENOSYS, ENOSYS}},
	{"is the parent there", try_look_for_parent, {ENOSYS, 0, 0, ENOSYS}},
	{"raise", try_raise, {0, 0, 0, 0}},
	{"a signal to itself", try_signal_itself, {0, 0, 0, 0}},
	{"limits of others", try_limits_of_parent, {ENOSYS, ENOSYS, ENOSYS, ENOSYS}},
	{"its own limits", try_own_limits, {0, 0, 0, 0}},
	{"a call that does not exist", try_unknown, {ENOSYS, ENOSYS, ENOSYS, ENOSYS}},
	{"a thread", try_thread, {0, 0, 0, 0}},
	{"files", try_files, {0, 0, 0, 0}},
	{"memory", try_memory, {0, 0, 0, 0}},
};

enum { ATTEMPT_CNT = sizeof(attempts) / sizeof(*attempts) };

/* What came of it: an errno, ENDED, or something else that is no errno. @said: of the child. */
static int outcome(attempt_fn *attempt, const struct confine_opts *opts, char said[static 512])
{
	int pipe_fds[2], status;
	ssize_t len;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (!pid) {
		int null_fd = open("/dev/null", O_RDWR);

		dup2(null_fd, STDIN_FILENO);
		dup2(pipe_fds[1], STDERR_FILENO);
		if (confine(opts))
			_exit(SETUP_FAILED);
		_exit(100 + attempt());
	}
	close(pipe_fds[1]);
	len = read(pipe_fds[0], said, 511);
	said[len > 0 ? len : 0] = '\0';
	close(pipe_fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		return -status;
	return WEXITSTATUS(status) == 1 ? ENDED : WEXITSTATUS(status) - 100;
}

static void test_attempts(void **state)
{
	char said[512];

	for (int work = READ; work < WORK_CNT; work++)
		for (int i = 0; i < ATTEMPT_CNT; i++) {
			int got = outcome(attempts[i].attempt, &works[work], said);
			bool is_ended = attempts[i].expected[work] == ENDED;

			if (got != attempts[i].expected[work] || !*said == is_ended)
				fail_msg("%s, work %d: %d, not %d; said '%s'", attempts[i].name,
					 work, got, attempts[i].expected[work], said);
		}
}

static void test_the_call_is_named(void **state)
{
	char said[512], expected[512];

	outcome(try_execve, &works[RECORD], said);
	snprintf(expected, sizeof(expected),
		 "bpfprof: stopped before a system call that it never makes (%d, execve): "
		 "something it has read must have taken it over\n",
		 SYS_execve);
	assert_string_equal(said, expected);
}

static int try_signal_to_child(void)
{
	return try_kill_parent();
}

static void test_child_may_be_signalled(void **state)
{
	const struct confine_opts opts = {.work = CONFINE_RECORDING, .child = getpid()};
	char said[512];

	assert_int_equal(outcome(try_signal_to_child, &opts, said), 0);
}

/* A thread that was there before. */
static int go[2];

static void *older_main(void *arg)
{
	char byte;

	if (read(go[0], &byte, 1) != 1)
		_exit(SETUP_FAILED);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		_exit(SETUP_FAILED);
	try_execve();
	return NULL;
}

static void test_threads_that_were_there(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		pthread_t thread;
		int null_fd = open("/dev/null", O_RDWR);

		dup2(null_fd, STDERR_FILENO);
		if (pipe(go) || pthread_create(&thread, NULL, older_main, NULL) ||
		    confine(&works[RECORD]) || write(go[1], "", 1) != 1)
			_exit(SETUP_FAILED);
		pthread_join(thread, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

/* A kernel, or a container's filter, that has no seccomp for us. */
static void forbid_seccomp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(SETUP_FAILED);
}

static void test_without_seccomp(void **state)
{
	int status;
	pid_t pid;

	assert_int_equal(confine_probe(), 0);
	pid = fork();
	if (!pid) {
		forbid_seccomp();
		if (!confine_probe())
			_exit(2);
		_exit(confine(&works[RECORD]) < 0 && !try_fork() ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void read_capabilities(struct __user_cap_data_struct data[static 2])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	assert_int_equal(syscall(SYS_capget, &header, data), 0);
}

static bool has(const struct __user_cap_data_struct data[static 2], unsigned int cap)
{
	return data[CAP_TO_INDEX(cap)].permitted & CAP_TO_MASK(cap);
}

/* In a child's exit status: 0, or which check failed. */
static int check_kept(void)
{
	struct __user_cap_data_struct before[2], after[2];

	read_capabilities(before);
	if (privilege_keep(PRIVILEGE_BIT(PRIVILEGE_SYSLOG) | PRIVILEGE_BIT(PRIVILEGE_KILL)))
		return 1;
	read_capabilities(after);
	if (has(after, CAP_SYSLOG) != has(before, CAP_SYSLOG) ||
	    has(after, CAP_KILL) != has(before, CAP_KILL))
		return 2;
	for (unsigned int cap = 0; cap < 64; cap++)
		if (cap != CAP_SYSLOG && cap != CAP_KILL && has(after, cap))
			return 3;
	if (after[0].inheritable || after[1].inheritable)
		return 4;
	return memcmp(&after[0].effective, &after[0].permitted, sizeof(after[0].effective)) ? 5 : 0;
}

static void test_capabilities_are_given_up(void **state)
{
	int status;
	pid_t pid;

	if (geteuid())
		skip();
	pid = fork();
	if (!pid)
		_exit(check_kept());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Who has CAP_SYS_ADMIN instead of CAP_BPF keeps it; who has both does not. */
static int check_wider(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	read_capabilities(data);
	data[CAP_TO_INDEX(CAP_BPF)].permitted &= ~CAP_TO_MASK(CAP_BPF);
	data[CAP_TO_INDEX(CAP_BPF)].effective &= ~CAP_TO_MASK(CAP_BPF);
	if (syscall(SYS_capset, &header, data))
		return 1;
	if (privilege_keep(PRIVILEGE_BIT(PRIVILEGE_PERFMON)))
		return 2;
	read_capabilities(data);
	if (has(data, CAP_SYS_ADMIN) || !has(data, CAP_PERFMON))
		return 3;
	return 0;
}

static int check_wider_alone(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	read_capabilities(data);
	data[CAP_TO_INDEX(CAP_BPF)].permitted &= ~CAP_TO_MASK(CAP_BPF);
	data[CAP_TO_INDEX(CAP_BPF)].effective &= ~CAP_TO_MASK(CAP_BPF);
	if (syscall(SYS_capset, &header, data))
		return 1;
	if (privilege_keep(PRIVILEGE_BIT(PRIVILEGE_BPF)))
		return 2;
	read_capabilities(data);
	return has(data, CAP_SYS_ADMIN) && privilege_has(PRIVILEGE_BPF) ? 0 : 3;
}

static void test_wider_capability(void **state)
{
	int (*const checks[])(void) = {check_wider, check_wider_alone};

	if (geteuid() || !privilege_has(PRIVILEGE_SYS_ADMIN))
		skip();
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		int status;
		pid_t pid = fork();

		if (!pid)
			_exit(checks[i]());
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attempts),
		cmocka_unit_test(test_the_call_is_named),
		cmocka_unit_test(test_child_may_be_signalled),
		cmocka_unit_test(test_threads_that_were_there),
		cmocka_unit_test(test_without_seccomp),
		cmocka_unit_test(test_capabilities_are_given_up),
		cmocka_unit_test(test_wider_capability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
