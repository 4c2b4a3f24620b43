/* SPDX-License-Identifier: Apache-2.0 */
/* The filter, made by libseccomp. */
#include "base/confine.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine_calls.h"

/* Linux 5.17 names memory by it, and so does glibc from 2.39 on. */
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

enum { EXIT_CONFINED = 1 };

#define NAME(call) #call,
#define ONE(call) +1

enum { MOUNT_CALL_CNT = CONFINE_MOUNT(ONE) };

static const char *const common_calls[] = {CONFINE_COMMON(NAME)};
static const char *const record_calls[] = {CONFINE_RECORD(NAME)};
static const char *const network_calls[] = {CONFINE_NETWORK(NAME)};
static const char *const serve_calls[] = {CONFINE_SERVE(NAME)};
static const char *const agent_calls[] = {CONFINE_AGENT(NAME)};
static const char *const forbidden_calls[] = {CONFINE_MOUNT(NAME) CONFINE_FORBIDDEN(NAME)};

/* Maps are read and filled, programs that are loaded are run and attached; none is loaded or
 * pinned. Those of others can be looked at by the thread alone that has kept CAP_SYS_ADMIN for it.
 */
static const unsigned int bpf_commands[] = {
	BPF_MAP_CREATE,	      BPF_MAP_LOOKUP_ELEM,    BPF_MAP_UPDATE_ELEM,  BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY, BPF_PROG_TEST_RUN,      BPF_LINK_CREATE,	    BPF_LINK_DETACH,
	BPF_ITER_CREATE,      BPF_OBJ_GET_INFO_BY_FD, BPF_PROG_GET_NEXT_ID, BPF_PROG_GET_FD_BY_ID,
};

/* Of who records anew. */
static const unsigned int load_commands[] = {
	BPF_PROG_LOAD,	     BPF_BTF_LOAD,	   BPF_MAP_FREEZE,	 BPF_RAW_TRACEPOINT_OPEN,
	BPF_ENABLE_STATS,    BPF_LINK_UPDATE,	   BPF_PROG_BIND_MAP,	 BPF_BTF_GET_FD_BY_ID,
	BPF_BTF_GET_NEXT_ID, BPF_LINK_GET_NEXT_ID, BPF_MAP_GET_FD_BY_ID, BPF_OBJ_PIN,
	BPF_OBJ_GET,
};

/* Not TIOCSTI, which types for whoever reads the terminal after us. */
static const unsigned long terminal_requests[] = {
	TCGETS,	  TCSETS,  TCSETSW, TCSETSF,  TIOCGWINSZ, TIOCGPGRP,
	FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCOUTQ,	  TCFLSH,
};

static const unsigned long event_requests[] = {
	PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE,	  PERF_EVENT_IOC_RESET,
	PERF_EVENT_IOC_PERIOD, PERF_EVENT_IOC_SET_OUTPUT, PERF_EVENT_IOC_SET_BPF,
	PERF_EVENT_IOC_ID,     PERF_EVENT_IOC_REFRESH,	  PERF_EVENT_IOC_SET_FILTER,
};

static const int process_requests[] = {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_CAPBSET_READ,
				       PR_GET_NO_NEW_PRIVS};

#define ARRAY_CNT(array) (sizeof(array) / sizeof(*(array)))

/* --- The end of a process that has been taken over --- */

/* For the handler, which may not ask libseccomp: numbers of forbidden_calls, set once. */
static int forbidden_numbers[ARRAY_CNT(forbidden_calls)];

static const char *forbidden_name(int number)
{
	for (size_t i = 0; i < ARRAY_CNT(forbidden_calls); i++)
		if (forbidden_numbers[i] == number)
			return forbidden_calls[i];
	return "a process";
}

/* No memory, no locks. */
static void on_forbidden(int signo, siginfo_t *info, void *context)
{
	char line[160];
	int len = snprintf(line, sizeof(line),
			   "bpfprof: stopped before a system call that it never makes (%d, %s): "
			   "something it has read must have taken it over\n",
			   info->si_syscall, forbidden_name(info->si_syscall));

	if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0)
		_exit(EXIT_CONFINED);
	_exit(EXIT_CONFINED);
}

static int catch_forbidden(void)
{
	struct sigaction action = {.sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO};

	for (size_t i = 0; i < ARRAY_CNT(forbidden_calls); i++)
		forbidden_numbers[i] = seccomp_syscall_resolve_name(forbidden_calls[i]);
	return sigaction(SIGSYS, &action, NULL) ? -errno : 0;
}

/* --- The filter --- */

static int add(scmp_filter_ctx filter, uint32_t action, const char *const names[], size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);

		if (number != __NR_SCMP_ERROR)
			err = seccomp_rule_add(filter, action, number, 0);
	}
	return err;
}

static int allow_if(scmp_filter_ctx filter, int number, struct scmp_arg_cmp cmp)
{
	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 1, &cmp);
}

static int allow_ioctls(scmp_filter_ctx filter, const unsigned long *requests, size_t cnt)
{
	int err = 0;

	/* The kernel looks at 32 bits of it. */
	for (size_t i = 0; i < cnt && !err; i++)
		err = allow_if(filter, SCMP_SYS(ioctl),
			       SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]));
	return err;
}

/* Threads, memory that is not executed, limits of our own, signals to ourselves. */
static int add_common(scmp_filter_ctx filter)
{
	const scmp_datum_t self = (scmp_datum_t)getpid();
	int err = add(filter, SCMP_ACT_ALLOW, common_calls, ARRAY_CNT(common_calls));

	/* clone3() takes its flags from memory, where no filter can look: libraries fall back. */
	err = err ? err
		  : allow_if(filter, SCMP_SYS(clone),
			     SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, CSIGNAL, SIGCHLD));
	err = err ? err : allow_if(filter, SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_EQ, 0));
	err = err ? err : allow_if(filter, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, self));
	/* Ctrl-Z on a full screen. */
	err = err ? err : allow_if(filter, SCMP_SYS(kill), SCMP_A0(SCMP_CMP_EQ, self));
	for (size_t i = 0; i < ARRAY_CNT(process_requests) && !err; i++)
		err = allow_if(filter, SCMP_SYS(prctl),
			       SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)process_requests[i]));
	return err ? err : allow_ioctls(filter, terminal_requests, ARRAY_CNT(terminal_requests));
}

static int add_agent(scmp_filter_ctx filter)
{
	int err = add(filter, SCMP_ACT_ALLOW, agent_calls, ARRAY_CNT(agent_calls));

	for (size_t i = 0; i < ARRAY_CNT(load_commands) && !err; i++)
		err = allow_if(filter, SCMP_SYS(bpf), SCMP_A0(SCMP_CMP_EQ, load_commands[i]));
	return err;
}

static int add_recording(scmp_filter_ctx filter, pid_t child)
{
	int err = add(filter, SCMP_ACT_ALLOW, record_calls, ARRAY_CNT(record_calls));

	for (size_t i = 0; i < ARRAY_CNT(bpf_commands) && !err; i++)
		err = allow_if(filter, SCMP_SYS(bpf), SCMP_A0(SCMP_CMP_EQ, bpf_commands[i]));
	/* Copies that let go of probes: capture/releaser.h. */
	err = err ? err : allow_if(filter, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_EQ, 0));
	/* Is it there? */
	err = err ? err : allow_if(filter, SCMP_SYS(kill), SCMP_A1(SCMP_CMP_EQ, 0));
	if (!err && child)
		err = allow_if(filter, SCMP_SYS(kill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)child));
	return err ? err : allow_ioctls(filter, event_requests, ARRAY_CNT(event_requests));
}

static int add_network(scmp_filter_ctx filter, bool has_network)
{
	const int memory[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect)};
	int err = 0;

	if (has_network)
		return add(filter, SCMP_ACT_ALLOW, network_calls, ARRAY_CNT(network_calls));
	for (size_t i = 0; i < ARRAY_CNT(memory) && !err; i++)
		err = allow_if(filter, memory[i], SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* Libraries that look for a daemon go on without it. */
	return err ? err : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), 0);
}

static int set_attributes(scmp_filter_ctx filter)
{
	static const struct {
		enum scmp_filter_attr attr;
		uint32_t value;
	} attributes[] = {
		{SCMP_FLTATR_CTL_NNP, 1},
		{SCMP_FLTATR_CTL_TSYNC, 1},
		{SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS},
		/* Before 5.16 a filter also slows down stores, against code that is run in a
		 * sandbox, of which we have none. */
		{SCMP_FLTATR_CTL_SSB, 1},
		/* A tree: bpf() is made often, and at the end of a list. */
		{SCMP_FLTATR_CTL_OPTIMIZE, 2},
		/* Else all errors of the kernel are -ECANCELED. */
		{SCMP_FLTATR_API_SYSRAWRC, 1},
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_CNT(attributes) && !err; i++)
		err = seccomp_attr_set(filter, attributes[i].attr, attributes[i].value);
	return err;
}

static int fill(scmp_filter_ctx filter, const struct confine_opts *opts)
{
	size_t spared = opts->is_agent ? MOUNT_CALL_CNT : 0;
	int err = set_attributes(filter);

	err = err ? err : add_common(filter);
	if (!err && opts->work == CONFINE_RECORDING)
		err = add_recording(filter, opts->child);
	if (!err && opts->is_agent)
		err = add_agent(filter);
	if (!err && opts->serves)
		err = add(filter, SCMP_ACT_ALLOW, serve_calls, ARRAY_CNT(serve_calls));
	err = err ? err : add_network(filter, opts->has_network);
	/* CONFINE_MOUNT's come first. */
	return err ? err
		   : add(filter, SCMP_ACT_TRAP, forbidden_calls + spared,
			 ARRAY_CNT(forbidden_calls) - spared);
}

int confine(const struct confine_opts *opts)
{
	scmp_filter_ctx filter;
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	if (!filter)
		return -ENOMEM;
	err = fill(filter, opts);
	err = err ? err : catch_forbidden();
	err = err ? err : seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

int confine_probe(void)
{
	const uint32_t action = SCMP_ACT_TRAP;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) ? -errno : 0;
}
