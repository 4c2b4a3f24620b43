/* SPDX-License-Identifier: Apache-2.0 */
/* What our programs and maps cost, in the kernel's own numbers. */
#include "capture/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"
#include "bpfprof.skel.h"
#include "capture/pins.h"

void loader_program_stats(int prog_fd, struct program_stats *out)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);

	*out = (struct program_stats){0};
	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return;
	out->runs = info.run_cnt;
	out->run_ns = info.run_time_ns;
	out->verified_insns = info.verified_insns;
	out->misses = info.recursion_misses;
}

static void add_cost(int prog_fd, struct program_stats *sum)
{
	struct program_stats stats;

	if (prog_fd < 0)
		return;
	loader_program_stats(prog_fd, &stats);
	sum->runs += stats.runs;
	sum->run_ns += stats.run_ns;
}

void loader_cost(const struct loader *loader, struct program_stats *out)
{
	const struct bpf_program *const programs[] = {
		loader->skel->progs.bp_switch,	   loader->skel->progs.bp_wakeup,
		loader->skel->progs.bp_resumed,	   loader->skel->progs.bp_waking,
		loader->skel->progs.bp_born,	   loader->skel->progs.bp_renamed,
		loader->skel->progs.bp_migrated,   loader->skel->progs.bp_heap_session,
		loader->skel->progs.bp_heap_enter, loader->skel->progs.bp_heap_leave,
		loader->skel->progs.bp_heap_free,
	};

	*out = (struct program_stats){0};
	for (uint32_t i = 0; i < BP_EVENTS_SAMPLED; i++) {
		add_cost(loader_sampler_fd(loader, i), out);
		add_cost(loader_call_fd(loader, i), out);
	}
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		add_cost(bpf_program__fd(programs[i]), out);
}

static uint64_t fd_memlock_bytes(int fd)
{
	_cleanup_(buf_deinit) struct buf text;
	struct reader rd;
	const char *line;
	char path[64];
	size_t len;

	buf_init(&text, 1 << 16);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (fd < 0 || fs_read_file(path, &text))
		return 0;
	reader_init(&rd, text.data, text.len);
	while ((line = reader_until(&rd, '\n', &len))) {
		struct reader value;

		if (len < 9 || strncmp(line, "memlock:", 8))
			continue;
		reader_init(&value, line + 8, len - 8);
		while (reader_accept(&value, '\t') || reader_accept(&value, ' '))
			;
		return reader_number(&value, 10);
	}
	return 0;
}

uint64_t loader_kernel_bytes(const struct loader *loader)
{
	struct bpf_program *prog;
	struct bpf_map *map;
	uint64_t bytes = 0;

	bpf_object__for_each_map(map, loader->skel->obj) bytes +=
		fd_memlock_bytes(bpf_map__fd(map));
	bpf_object__for_each_program(prog, loader->skel->obj) bytes +=
		fd_memlock_bytes(bpf_program__fd(prog));
	if (loader->pins)
		bytes += fd_memlock_bytes(loader->pins->state_fd) +
			 fd_memlock_bytes(loader->pins->exes_fd);
	for (int i = 0; loader_is_resumed(loader) && i < BP_EVENTS_SAMPLED; i++)
		bytes += fd_memlock_bytes(loader->sampler_fds[i]) +
			 fd_memlock_bytes(loader->call_fds[i]);
	return bytes;
}

uint64_t loader_verified_insns(const struct loader *loader)
{
	struct bpf_program *prog;
	uint64_t insns = 0;

	bpf_object__for_each_program(prog, loader->skel->obj)
	{
		struct program_stats stats;

		if (bpf_program__fd(prog) < 0)
			continue;
		loader_program_stats(bpf_program__fd(prog), &stats);
		insns += stats.verified_insns;
	}
	return insns;
}
