/* SPDX-License-Identifier: Apache-2.0 */
/* Asked of the kernel each time (capget(2)): it takes less than a microsecond. */
#include "base/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"

static const struct {
	struct privilege_info info;
	unsigned int cap,
		wider; /* numbers; with the second one the kernel does without the first */
	bool is_of_machine; /* what a user namespace gives is not it */
} privileges[PRIVILEGE_ALL_CNT] = {
	[PRIVILEGE_BPF] = {{"CAP_BPF", "load BPF programs", "nothing can be recorded"},
			   CAP_BPF,
			   CAP_SYS_ADMIN,
			   true},
	[PRIVILEGE_PERFMON] = {{"CAP_PERFMON", "sample CPUs and other users' processes",
				"nothing can be recorded"},
			       CAP_PERFMON,
			       CAP_SYS_ADMIN,
			       true},
	[PRIVILEGE_SYS_PTRACE] = {{"CAP_SYS_PTRACE",
				   "files of processes in other roots and containers, JIT names",
				   "such code has no names and, without frame pointers, no stacks"},
				  CAP_SYS_PTRACE,
				  CAP_SYS_PTRACE},
	[PRIVILEGE_DAC_READ_SEARCH] = {{"CAP_DAC_READ_SEARCH",
					"programs and libraries that only others may read, tracefs",
					"such code has no names and, without frame pointers, no "
					"stacks; no tracepoints"},
				       CAP_DAC_READ_SEARCH,
				       CAP_DAC_OVERRIDE},
	[PRIVILEGE_CHECKPOINT_RESTORE] = {{"CAP_CHECKPOINT_RESTORE",
					   "libraries that were deleted while they are in use",
					   "such code has no names"},
					  CAP_CHECKPOINT_RESTORE,
					  CAP_SYS_ADMIN,
					  true},
	[PRIVILEGE_SYSLOG] = {{"CAP_SYSLOG", "kernel addresses, unless sysctls show them to all",
			       "kernel frames have no names"},
			      CAP_SYSLOG,
			      CAP_SYSLOG,
			      true},
	[PRIVILEGE_SYS_ADMIN] = {{"CAP_SYS_ADMIN",
				  "the kernel's own count of program runs, names of BPF programs",
				  "the ledger cannot be checked against the kernel's count"},
				 CAP_SYS_ADMIN,
				 CAP_SYS_ADMIN,
				 true},
	[PRIVILEGE_SYS_NICE] = {{"CAP_SYS_NICE"}, CAP_SYS_NICE, CAP_SYS_NICE},
	[PRIVILEGE_KILL] = {{"CAP_KILL"}, CAP_KILL, CAP_KILL},
	[PRIVILEGE_CHOWN] = {{"CAP_CHOWN"}, CAP_CHOWN, CAP_CHOWN},
	[PRIVILEGE_DAC_OVERRIDE] = {{"CAP_DAC_OVERRIDE"}, CAP_DAC_OVERRIDE, CAP_DAC_OVERRIDE},
	[PRIVILEGE_FOWNER] = {{"CAP_FOWNER"}, CAP_FOWNER, CAP_FOWNER},
};

const struct privilege_info *privilege_info(enum privilege privilege)
{
	return &privileges[privilege].info;
}

static bool is_in(const struct __user_cap_data_struct *data, unsigned int cap)
{
	return data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

/* include/linux/proc_ns.h: PROC_USER_INIT_INO */
static const ino_t first_user_ino = 0xeffffffd;

bool privilege_is_in_user_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && st.st_ino != first_user_ino;
}

bool privilege_has(enum privilege privilege)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data))
		return !geteuid();
	if (privileges[privilege].is_of_machine && privilege_is_in_user_namespace())
		return false;
	return is_in(data, privileges[privilege].cap) || is_in(data, privileges[privilege].wider);
}

static void add_name(struct buf *out, size_t nth, size_t cnt, const char *name)
{
	if (nth)
		buf_add_str(out, nth + 1 == cnt ? " and " : ", ");
	buf_add_str(out, name);
}

size_t privilege_missing(unsigned int set, struct buf *out)
{
	size_t missing_cnt = 0, said_cnt = 0;

	for (int i = 0; i < PRIVILEGE_CNT; i++)
		missing_cnt += (set & PRIVILEGE_BIT(i)) && !privilege_has(i);
	for (int i = 0; i < PRIVILEGE_CNT; i++) {
		if (!(set & PRIVILEGE_BIT(i)) || privilege_has(i))
			continue;
		add_name(out, said_cnt++, missing_cnt, privileges[i].info.name);
	}
	return missing_cnt;
}

bool privilege_is_locked_down(const char *what, struct buf *out)
{
	_cleanup_free_ char *line = fs_read_line("/sys/kernel/security/lockdown");

	if (!line || !strstr(line, "[confidentiality]"))
		return false;
	buf_printf(out,
		   "%s: kernel lockdown is 'confidentiality', which forbids BPF to read the "
		   "kernel's memory: boot with lockdown=integrity",
		   what);
	return true;
}

/*
 * Modules say EACCES, the kernel itself and container runtimes' filters EPERM. "capability" and the
 * like are in the list of modules as well.
 */
static void explain_denial(const char *what, int err, struct buf *out)
{
	_cleanup_free_ char *modules = fs_read_line("/sys/kernel/security/lsm");

	buf_printf(out, "%s: not permitted, though no capability is missing: ", what);
	if (err == -EACCES)
		buf_printf(out,
			   "a security module (SELinux, AppArmor, ...; active here: %s) must "
			   "allow it: its denial is in the audit log (ausearch -m avc, dmesg)",
			   modules ? modules : "unknown, securityfs is not mounted");
	else
		buf_add_str(out, "in a container its seccomp profile must allow it; see bpfprof "
				 "doctor");
}

void privilege_explain(const char *what, unsigned int set, int err, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf missing;
	size_t cnt = (size_t)__builtin_popcount(set), said_cnt = 0;

	buf_init(&missing, BUF_NO_MAX);
	if (!privilege_missing(set, &missing)) {
		if (!privilege_is_locked_down(what, out))
			explain_denial(what, err, out);
		return;
	}
	if (privilege_is_in_user_namespace()) {
		buf_printf(out,
			   "%s: not permitted without %s, which nobody has in a user namespace (a "
			   "rootless container): run on the host",
			   what, buf_cstr(&missing));
		return;
	}
	buf_printf(out, "%s: not permitted without %s: run as root, or give the binary ", what,
		   buf_cstr(&missing));
	for (int i = 0; i < PRIVILEGE_CNT; i++)
		if (set & PRIVILEGE_BIT(i))
			add_name(out, said_cnt++, cnt, privileges[i].info.name);
}

int privilege_drop(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (!geteuid())
		return 0;
	/* Where there is no ambient set (before 4.3) there is nothing to clear. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* @is_on: all that is permitted is in effect; else nothing is. */
static void set_effective(bool is_on)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	int saved_errno = errno;

	/* Of a binary with capabilities, or a setuid one. */
	if (getauxval(AT_SECURE) && geteuid() && !syscall(SYS_capget, &header, data)) {
		for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
			data[i].effective = is_on ? data[i].permitted : 0;
		syscall(SYS_capset, &header, data);
	}
	errno = saved_errno;
}

void privilege_pause(void)
{
	set_effective(false);
}

void privilege_resume(void)
{
	set_effective(true);
}

int privilege_keep(unsigned int set)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	uint32_t kept[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data))
		return -errno;
	for (int i = 0; i < PRIVILEGE_ALL_CNT; i++) {
		unsigned int cap = privileges[i].cap;

		if (!(set & PRIVILEGE_BIT(i)))
			continue;
		if (!is_in(data, cap))
			cap = privileges[i].wider;
		kept[CAP_TO_INDEX(cap)] |= CAP_TO_MASK(cap);
	}
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].effective &= kept[i];
		data[i].permitted &= kept[i];
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}
