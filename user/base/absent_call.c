/* SPDX-License-Identifier: Apache-2.0 */
/* By what proc(5) shows. */
#include "base/absent_call.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"

static const struct {
	const char *feature, *config, *sign;
} calls[] = {
	[ABSENT_PERF_EVENT_OPEN] = {"perf events", "CONFIG_PERF_EVENTS",
				    "sys/kernel/perf_event_paranoid"},
	[ABSENT_BPF] = {"BPF", "CONFIG_BPF_SYSCALL", "sys/kernel/unprivileged_bpf_disabled"},
};

static bool is_there(const char *proc, const char *path)
{
	_cleanup_(buf_deinit) struct buf full;

	buf_init(&full, BUF_NO_MAX);
	buf_printf(&full, "%s/%s", proc, path);
	return !access(buf_cstr(&full), F_OK);
}

/* By a filter, that is: mode 2. */
static bool is_filtered(const char *proc)
{
	_cleanup_(buf_deinit) struct buf path, status;

	buf_init(&path, BUF_NO_MAX);
	buf_init(&status, BUF_NO_MAX);
	buf_printf(&path, "%s/self/status", proc);
	return !fs_read_file(buf_cstr(&path), &status) &&
	       strstr(buf_cstr(&status), "\nSeccomp:\t2\n");
}

void absent_call_explain(const char *what, enum absent_call call, const char *proc, struct buf *out)
{
	const char *feature = calls[call].feature, *config = calls[call].config;

	if (!is_there(proc, "sys/kernel"))
		buf_printf(out,
			   "%s: there is no such call: without %s/sys it cannot be told whether "
			   "the kernel lacks it (%s) or a filter of system calls hides it",
			   what, proc, config);
	else if (!is_there(proc, calls[call].sign))
		buf_printf(out,
			   "%s: this kernel was built without %s: use one with %s=y (any current "
			   "distribution's)",
			   what, feature, config);
	else if (is_filtered(proc))
		buf_printf(out,
			   "%s: the kernel has %s, but a filter of system calls (seccomp) hides "
			   "the call: let the container's profile allow perf_event_open and bpf "
			   "(docker, podman: --security-opt seccomp=FILE) or the service's unit "
			   "(SystemCallFilter=), or run on the host",
			   what, feature);
	else
		buf_printf(out,
			   "%s: the kernel has %s, but what runs this program does not pass the "
			   "call on, as qemu-user does not: run on the host itself",
			   what, feature);
}
