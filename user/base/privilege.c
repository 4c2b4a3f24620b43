/* SPDX-License-Identifier: Apache-2.0 */
/* Asked of the kernel each time (capget(2)): it takes less than a microsecond. */
#include "base/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

static const struct {
	struct privilege_info info;
	unsigned int cap,
		wider; /* numbers; with the second one the kernel does without the first */
} privileges[] = {
	[PRIVILEGE_BPF] = {{"CAP_BPF", "load BPF programs", "nothing can be recorded"},
			   CAP_BPF,
			   CAP_SYS_ADMIN},
	[PRIVILEGE_PERFMON] = {{"CAP_PERFMON", "sample CPUs and other users' processes",
				"nothing can be recorded"},
			       CAP_PERFMON,
			       CAP_SYS_ADMIN},
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
					  CAP_SYS_ADMIN},
	[PRIVILEGE_SYSLOG] = {{"CAP_SYSLOG", "kernel addresses, where kernel.kptr_restrict is 1",
			       "kernel frames have no names there"},
			      CAP_SYSLOG,
			      CAP_SYSLOG},
	[PRIVILEGE_SYS_ADMIN] = {{"CAP_SYS_ADMIN",
				  "the kernel's own count of program runs, names of BPF programs",
				  "the ledger cannot be checked against the kernel's count"},
				 CAP_SYS_ADMIN,
				 CAP_SYS_ADMIN},
};

const struct privilege_info *privilege_info(enum privilege privilege)
{
	return &privileges[privilege].info;
}

static bool is_in(const struct __user_cap_data_struct *data, unsigned int cap)
{
	return data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

bool privilege_has(enum privilege privilege)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data))
		return !geteuid();
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

void privilege_explain(const char *what, unsigned int set, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf missing;
	size_t cnt = (size_t)__builtin_popcount(set), said_cnt = 0;

	buf_init(&missing, BUF_NO_MAX);
	if (!privilege_missing(set, &missing)) {
		buf_printf(out,
			   "%s: not permitted, though no capability is missing: in a container its "
			   "seccomp profile must allow it; see bpfprof doctor",
			   what);
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
