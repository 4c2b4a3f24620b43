/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that a confined process may make, and those that end it. Names that an
 * architecture does not have are skipped there. Arguments are looked at in confine.c.
 */
#ifndef BPFPROF_BASE_CONFINE_CALLS_H
#define BPFPROF_BASE_CONFINE_CALLS_H

/* clang-format off */

/* Of all work: files, memory, threads, time, waiting. */
#define CONFINE_COMMON(call) \
	call(read) call(readv) call(pread64) call(preadv) call(preadv2) \
	call(write) call(writev) call(pwrite64) call(pwritev) call(pwritev2) \
	call(lseek) call(_llseek) call(open) call(openat) call(openat2) call(close) \
	call(close_range) call(dup) call(dup2) call(dup3) call(fcntl) call(fcntl64) call(flock) \
	call(fsync) call(fdatasync) call(ftruncate) call(ftruncate64) call(fallocate) \
	call(stat) call(lstat) call(fstat) call(newfstatat) call(statx) \
	call(access) call(faccessat) call(faccessat2) call(readlink) call(readlinkat) \
	call(getdents) call(getdents64) call(getcwd) call(statfs) call(fstatfs) call(umask) \
	call(mkdir) call(mkdirat) call(unlink) call(unlinkat) call(rmdir) \
	call(rename) call(renameat) call(renameat2) call(link) call(linkat) \
	call(chmod) call(fchmod) call(fchmodat) call(fchown) call(utimensat) call(utime) \
	call(munmap) call(mremap) call(madvise) call(brk) call(msync) call(membarrier) \
	call(memfd_create) call(futex) call(futex_waitv) call(set_robust_list) \
	call(get_robust_list) call(rseq) call(set_tid_address) call(sched_yield) \
	call(sched_getaffinity) call(getcpu) call(gettid) call(getpid) call(getppid) \
	call(getpgrp) call(getpgid) call(getsid) call(getuid) call(geteuid) call(getgid) \
	call(getegid) call(getresuid) call(getresgid) call(getgroups) call(capget) call(capset) \
	call(clock_gettime) call(clock_getres) call(clock_nanosleep) call(nanosleep) \
	call(gettimeofday) call(time) call(times) call(getrusage) call(sysinfo) call(uname) \
	call(getrandom) call(getrlimit) call(setrlimit) call(getpriority) call(setpriority) \
	call(rt_sigaction) call(rt_sigprocmask) call(rt_sigreturn) call(rt_sigtimedwait) \
	call(rt_sigpending) call(rt_sigsuspend) call(sigaltstack) call(signalfd) call(signalfd4) \
	call(poll) call(ppoll) call(select) call(pselect6) call(epoll_create) \
	call(epoll_create1) call(epoll_ctl) call(epoll_wait) call(epoll_pwait) \
	call(epoll_pwait2) call(eventfd) call(eventfd2) call(pipe) call(pipe2) \
	call(timerfd_create) call(timerfd_settime) call(timerfd_gettime) \
	call(exit) call(exit_group) call(restart_syscall)

/* Of recordings: processes that come later, events of CPUs that come later, what COMMAND came to. */
#define CONFINE_RECORD(call) \
	call(perf_event_open) call(process_vm_readv) call(pidfd_open) call(recvfrom) \
	call(wait4) call(waitid)

/* Of questions to servers. */
#define CONFINE_NETWORK(call) \
	call(socket) call(socketpair) call(connect) call(bind) call(getsockname) \
	call(getpeername) call(getsockopt) call(setsockopt) call(sendto) call(sendmsg) \
	call(sendmmsg) call(recvfrom) call(recvmsg) call(recvmmsg) call(shutdown) \
	call(mmap) call(mmap2) call(mprotect)

/* Of who is asked: sockets that are there already, an agent's manager's among them. */
#define CONFINE_SERVE(call) \
	call(accept) call(accept4) call(getsockname) call(getpeername) call(getsockopt) \
	call(setsockopt) call(sendto) call(sendmsg) call(sendfile) call(recvfrom) call(recvmsg) \
	call(shutdown)

/* Of an agent: its configuration. */
#define CONFINE_AGENT(call) call(inotify_add_watch) call(inotify_rm_watch)

/* Of events that are looked up: an agent does it again, and is told that there is no such call. */
#define CONFINE_MOUNT(call) call(fsopen) call(fsconfig) call(fsmount)

/* What nobody does by mistake. */
#define CONFINE_FORBIDDEN(call) \
	call(execve) call(execveat) call(fork) call(vfork) \
	call(ptrace) call(process_vm_writev) call(pidfd_getfd) call(pidfd_send_signal) \
	call(init_module) call(finit_module) call(delete_module) call(kexec_load) \
	call(kexec_file_load) call(reboot) call(swapon) call(swapoff) call(iopl) call(ioperm) \
	call(mount) call(umount) call(umount2) call(move_mount) call(open_tree) call(fspick) call(mount_setattr) call(pivot_root) \
	call(chroot) call(setns) call(unshare) call(mknod) call(mknodat) \
	call(name_to_handle_at) call(open_by_handle_at) \
	call(setuid) call(setgid) call(setreuid) call(setregid) call(setresuid) call(setresgid) \
	call(setgroups) call(setfsuid) call(setfsgid) \
	call(settimeofday) call(clock_settime) call(adjtimex) call(clock_adjtime) \
	call(sethostname) call(setdomainname) call(acct) call(quotactl) call(syslog) \
	call(add_key) call(request_key) call(keyctl) \
	call(io_uring_setup) call(io_uring_enter) call(io_uring_register) call(userfaultfd)

/* clang-format on */

#endif
