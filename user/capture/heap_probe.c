/* SPDX-License-Identifier: Apache-2.0 */
/* Links: by bpf() itself for what libbpf 1.1 does not know, else by perf_event_open(). */
#include "capture/heap_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "bpfprof.skel.h"
#include "capture/heap.h"
#include "capture/heap_follow.h"
#include "capture/loader.h"
#include "capture/releaser.h"

/* enum bpf_attach_type of 6.6 and 6.13; Debian 12's headers are of 6.1. */
enum { TRACE_UPROBE_MULTI = 48, TRACE_UPROBE_SESSION = 57 };

/* union bpf_attr as BPF_LINK_CREATE reads it for them. */
struct link_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

static int link_create(const struct link_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

bool heap_probes_work(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL) == 1;
}

/* A folder cannot be probed, and a kernel that knows sessions says that: -EBADF. Another does not
 * get so far. */
bool heap_sessions_work(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)TRACE_UPROBE_SESSION);
	_cleanup_close_ int prog_fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", code,
						    sizeof(code) / sizeof(*code), &opts);
	uint64_t off = 0;
	struct link_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = TRACE_UPROBE_SESSION,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&off,
		.cnt = 1,
	};
	int fd = prog_fd < 0 ? prog_fd : link_create(&attr);

	if (fd >= 0)
		close(fd);
	return fd == -EBADF;
}

void heap_make_session(struct bpfprof *skel)
{
	bpf_program__set_expected_attach_type(skel->progs.bp_heap_session,
					      (enum bpf_attach_type)TRACE_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(skel->progs.bp_heap_free,
					      (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

int heap_watch_processes(struct heap *heap)
{
	struct bpfprof *skel = heap->loader->skel;

	skel->links.bp_heap_exec = bpf_program__attach(skel->progs.bp_heap_exec);
	if (!skel->links.bp_heap_exec)
		return -errno;
	skel->links.bp_heap_fork = bpf_program__attach(skel->progs.bp_heap_fork);
	return skel->links.bp_heap_fork ? 0 : -errno;
}

static int add_link(struct heap *heap, struct heap_link link)
{
	int err = array_reserve(&heap->links, &heap->link_cap, heap->link_cnt + 1,
				sizeof(*heap->links));

	if (!err)
		heap->links[heap->link_cnt++] = link;
	else if (link.link)
		bpf_link__destroy(link.link);
	else
		close(link.fd);
	return err;
}

/* All places that free, or all others, by one link. */
static int probe_multi(struct heap *heap, struct link_attr *attr, const struct heap_places *places,
		       bool frees)
{
	uint64_t offs[HEAP_PLACES_MAX], cookies[HEAP_PLACES_MAX];
	int fd;

	attr->cnt = 0;
	for (size_t i = 0; i < places->cnt; i++) {
		if ((places->items[i].call == BP_HEAP_FREE) != frees)
			continue;
		offs[attr->cnt] = places->items[i].probe_off;
		cookies[attr->cnt++] = places->items[i].call;
	}
	attr->offsets = (uintptr_t)offs;
	attr->cookies = (uintptr_t)cookies;
	fd = link_create(attr);
	return fd < 0 ? fd : add_link(heap, (struct heap_link){.fd = fd, .frees = frees});
}

static int probe_sessions(struct heap *heap, pid_t tgid, const char *path,
			  const struct heap_places *places)
{
	const struct bpfprof *skel = heap->loader->skel;
	struct link_attr frees = {
		.prog_fd = (uint32_t)bpf_program__fd(skel->progs.bp_heap_free),
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.pid = (uint32_t)tgid,
	};
	struct link_attr allocates = frees;
	int err;

	allocates.prog_fd = (uint32_t)bpf_program__fd(skel->progs.bp_heap_session);
	allocates.attach_type = TRACE_UPROBE_SESSION;
	/* First: a block whose freeing is not seen would be live for ever. */
	err = probe_multi(heap, &frees, places, true);
	return err ? err : probe_multi(heap, &allocates, places, false);
}

static int probe_one(struct heap *heap, struct bpf_program *prog, pid_t tgid, const char *path,
		     const struct heap_place *place, bool is_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = is_return, .bpf_cookie = place->call);
	struct bpf_link *link;

	link = bpf_program__attach_uprobe_opts(prog, tgid, path, place->probe_off, &opts);
	if (!link)
		return -errno;
	return add_link(heap, (struct heap_link){.fd = -1,
						 .link = link,
						 .frees = place->call == BP_HEAP_FREE});
}

static int probe_pairs(struct heap *heap, pid_t tgid, const char *path,
		       const struct heap_places *places)
{
	const struct bpfprof *skel = heap->loader->skel;
	int err = 0;

	for (size_t i = 0; i < places->cnt && !err; i++)
		if (places->items[i].call == BP_HEAP_FREE)
			err = probe_one(heap, skel->progs.bp_heap_free, tgid, path,
					&places->items[i], false);
	for (size_t i = 0; i < places->cnt && !err; i++) {
		if (places->items[i].call == BP_HEAP_FREE)
			continue;
		err = probe_one(heap, skel->progs.bp_heap_leave, tgid, path, &places->items[i],
				true);
		if (!err)
			err = probe_one(heap, skel->progs.bp_heap_enter, tgid, path,
					&places->items[i], false);
	}
	return err;
}

int heap_probe(struct heap *heap, pid_t tgid, const char *path, const struct heap_places *places)
{
	return heap->has_sessions ? probe_sessions(heap, tgid, path, places)
				  : probe_pairs(heap, tgid, path, places);
}

static int link_fd(const struct heap_link *link)
{
	return link->link ? bpf_link__fd(link->link) : link->fd;
}

static void close_links(struct heap *heap, bool frees)
{
	_cleanup_free_ int *fds = malloc((heap->link_cnt + 1) * sizeof(*fds));
	struct releaser releaser;
	size_t cnt = 0;

	for (size_t i = 0; fds && i < heap->link_cnt; i++)
		if (heap->links[i].frees == frees)
			fds[cnt++] = link_fd(&heap->links[i]);
	releaser_begin(&releaser, fds, cnt);
	for (size_t i = 0; i < heap->link_cnt; i++) {
		const struct heap_link *link = &heap->links[i];

		if (link->frees != frees)
			continue;
		if (link->link)
			bpf_link__destroy(link->link);
		else
			close(link->fd);
	}
	releaser_end(&releaser);
}

void heap_stop(struct heap *heap)
{
	heap_follow_stop(heap->follower);
	heap->follower = NULL;
	/* Those that free were put first, and go last. */
	close_links(heap, false);
	close_links(heap, true);
	heap->link_cnt = 0;
}
