/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching programs to tracepoints, kprobes, uprobes and USDT. */
#include "capture/probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "capture/pins.h"
#include "capture/releaser.h"
#include "event/perf_open.h"

/* What bpf(2) takes for such a link, which our headers are too old for (include/uapi/linux/bpf.h of
 * 6.6, struct link_create). */
struct multi_link_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, semaphore_offs, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

enum { MULTI_IS_RETURN = 1 };

static int sys_bpf(int cmd, void *attr, size_t len)
{
	int fd = syscall(SYS_bpf, cmd, attr, len);

	return fd < 0 ? -errno : fd;
}

static int load_empty_multi(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = (uintptr_t)code,
		.insn_cnt = sizeof(code) / sizeof(*code),
		.license = (uintptr_t) "GPL",
		.expected_attach_type = UPROBE_MULTI_ATTACH_TYPE,
	};

	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* A kernel that knows such links finds that "/" is no file. */
static bool try_multi(void)
{
	_cleanup_close_ int prog_fd = load_empty_multi();
	uint64_t offset = 0;
	struct multi_link_attr attr = {
		.prog_fd = prog_fd,
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.cnt = 1,
	};

	return prog_fd >= 0 && sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr)) == -EBADF;
}

bool probes_have_multi(void)
{
	static int answer = -1;

	if (answer < 0)
		answer = try_multi();
	return answer;
}

static int probes_add(struct probes *probes, int fd)
{
	int err;

	if (fd < 0)
		return fd;
	err = array_reserve(&probes->fds, &probes->cap, probes->cnt + 1, sizeof(*probes->fds));
	if (err) {
		close(fd);
		return err;
	}
	probes->fds[probes->cnt++] = fd;
	return 0;
}

/* What is attached where, and under which names. */
struct attaching {
	const struct event *event;
	int prog_fd;
	bool at_return;
	const struct probe_pins *pins; /* NULL: under none */
	struct probes *probes;
};

static void place_name(const struct attaching *to, size_t place, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%c%u_p%zu", to->pins->kind, to->pins->event, place);
}

/* Does place @place have its probe, of who was here before us? */
static bool is_attached(const struct attaching *to, size_t place)
{
	_cleanup_close_ int fd = -1;
	char name[48];

	if (!to->pins || !to->pins->pins->is_resumed)
		return false;
	place_name(to, place, name, sizeof(name));
	fd = pins_get(to->pins->pins, "link", name);
	return fd >= 0;
}

static int keep_link(const struct attaching *to, size_t place, int link_fd)
{
	char name[48];

	place_name(to, place, name, sizeof(name));
	return pins_put(to->pins->pins, "link", name, link_fd);
}

/* Attach by a link, which can be pinned, that is of the enabled event @fd (taken). */
static int attach_link(const struct attaching *to, size_t place, int fd)
{
	_cleanup_close_ int perf_fd = fd;
	int link_fd = bpf_link_create(to->prog_fd, perf_fd, BPF_PERF_EVENT, NULL), err;

	/* Of an attach type that it does not know a kernel says that it is invalid. */
	if (link_fd < 0)
		return errno == EINVAL ? -EOPNOTSUPP : -errno;
	err = probes_add(to->probes, link_fd);
	if (!err && ioctl(perf_fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	return err ? err : keep_link(to, place, link_fd);
}

/* Open @attr on one CPU: the program runs on all of them. 0 or negative errno. */
static int attach(const struct attaching *to, size_t place, struct perf_event_attr *attr)
{
	int fd, err;

	if (is_attached(to, place))
		return 0;
	fd = perf_open(attr, -1, 0, 0);
	if (fd >= 0 && to->pins)
		return attach_link(to, place, fd);
	err = probes_add(to->probes, fd);
	if (err)
		return err;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, to->prog_fd) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return 0;
}

static int attach_tracepoints(const struct attaching *to)
{
	const struct event *event = to->event;
	int err = 0;

	for (size_t i = 0; i < event->tracepoint_cnt && !err; i++) {
		struct perf_event_attr attr;

		perf_attr_init(event, &attr);
		attr.config = event->tracepoint_ids[i];
		err = attach(to, i, &attr);
	}
	if (err)
		log_error("tracepoint '%s': %s", event->name, strerror(-err));
	return err;
}

static void log_place(const struct event *event, const struct event_site *site, int err)
{
	log_error("event '%s': probe at %s+0x%llx%s%s: %s", event->name,
		  site->symbol ? site->symbol : "",
		  (unsigned long long)(site->symbol ? site->symbol_off
				       : site->path ? site->file_off
						    : site->kernel_ip),
		  site->path ? " of " : "", site->path ? site->path : "", strerror(-err));
}

static int attach_places(const struct attaching *to)
{
	const struct event *event = to->event;
	int err = 0;

	for (size_t i = 0; i < event->site_cnt && !err; i++) {
		const struct event_site *site = &event->sites[i];
		struct perf_event_attr attr;

		err = perf_attr_probe(site, to->at_return, &attr);
		if (!err)
			err = attach(to, i, &attr);
		if (err)
			log_place(event, site, err);
	}
	return err;
}

/* As many sites from @first on as are in the same file, at @offsets and @semaphores. */
static uint32_t take_file(const struct event *event, size_t first, uint64_t *offsets,
			  uint64_t *semaphores)
{
	const struct event_site *sites = event->sites;
	uint32_t cnt = 0;

	for (size_t i = first; i < event->site_cnt && !strcmp(sites[i].path, sites[first].path);
	     i++) {
		offsets[cnt] = sites[i].file_off;
		semaphores[cnt++] = sites[i].semaphore_off;
	}
	return cnt;
}

/* As many sites as @attr has, from the one of number @place on, by one link. */
static int attach_file(const struct attaching *to, size_t place, struct multi_link_attr *attr)
{
	int fd, err;

	if (is_attached(to, place))
		return 0;
	fd = sys_bpf(BPF_LINK_CREATE, attr, sizeof(*attr));
	err = probes_add(to->probes, fd);
	return err || !to->pins ? err : keep_link(to, place, fd);
}

static int attach_multi(const struct attaching *to)
{
	const struct event *event = to->event;
	_cleanup_free_ uint64_t *offsets = calloc(2 * event->site_cnt, sizeof(*offsets));
	uint64_t *semaphores = offsets ? offsets + event->site_cnt : NULL;
	int err = offsets ? 0 : -ENOMEM;

	for (size_t i = 0; i < event->site_cnt && !err;) {
		struct multi_link_attr attr = {
			.prog_fd = to->prog_fd,
			.attach_type = UPROBE_MULTI_ATTACH_TYPE,
			.path = (uintptr_t)event->sites[i].path,
			.offsets = (uintptr_t)offsets,
			.semaphore_offs = (uintptr_t)semaphores,
			.cnt = take_file(event, i, offsets, semaphores),
			.multi_flags = to->at_return ? MULTI_IS_RETURN : 0,
		};

		err = attach_file(to, i, &attr);
		if (err)
			log_place(event, &event->sites[i], err);
		i += attr.cnt;
	}
	return err;
}

int probes_open(const struct event *event, int prog_fd, enum probes_where where,
		const struct probe_pins *pins, struct probes *probes)
{
	const struct attaching to = {
		.event = event,
		.prog_fd = prog_fd,
		.at_return = event_is_return(event->spec.kind) && where == PROBES_AT_KIND,
		.pins = pins && pins->pins ? pins : NULL,
		.probes = probes,
	};

	*probes = (struct probes){0};
	if (event->spec.kind == EVENT_TRACEPOINT)
		return attach_tracepoints(&to);
	if (event_is_user_probe(event->spec.kind) && probes_have_multi())
		return attach_multi(&to);
	return attach_places(&to);
}

void probes_close(struct probes *probes)
{
	struct releaser releaser;

	releaser_begin(&releaser, probes->fds, probes->cnt);
	for (size_t i = 0; i < probes->cnt; i++)
		close(probes->fds[i]);
	releaser_end(&releaser);
	free(probes->fds);
	*probes = (struct probes){0};
}
