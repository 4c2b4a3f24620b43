/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF object of a recording that outlives its process: pinned when it is new, found again when
 * it is not. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/log.h"
#include "capture/loader.h"

#include "bpfprof.skel.h"
#include "capture/pins.h"
#include "capture/samplers.h"

static uint64_t hash_string(uint64_t hash, const char *text)
{
	return hash_mix(hash, text ? hash_bytes(text, strlen(text)) : 0);
}

static uint64_t hash_numbers(uint64_t hash, const struct number_set *set)
{
	hash = hash_mix(hash, set ? set->cnt : 0);
	for (size_t i = 0; set && i < set->cnt; i++)
		hash = hash_mix(hash, set->items[i]);
	return hash;
}

/* A program that was replaced meanwhile is another place. */
static uint64_t hash_site(uint64_t hash, const struct event_site *site)
{
	struct stat st;

	hash = hash_string(hash, site->path);
	hash = hash_string(hash, site->symbol);
	hash = hash_mix(hash, site->symbol_off);
	hash = hash_mix(hash, site->file_off);
	hash = hash_mix(hash, site->kernel_ip);
	hash = hash_mix(hash, site->semaphore_off);
	if (site->path && !stat(site->path, &st))
		hash = hash_mix(hash_mix(hash, st.st_ino), st.st_dev);
	return hash;
}

static uint64_t hash_event(uint64_t hash, const struct event *event)
{
	hash = hash_string(hash, event->name);
	hash = hash_mix(hash, event->type);
	hash = hash_mix(hash, event->config);
	hash = hash_mix(hash, event->config1);
	hash = hash_mix(hash, event->config2);
	/* What can be changed meanwhile is no reason to begin anew. */
	if (!event_follows_freq(event))
		hash = hash_mix(hash, event->is_freq ? event->freq_hz : event->period);
	hash = hash_mix(hash, event->is_freq);
	hash = hash_mix(hash, event->spec.user_only | event->spec.kernel_only << 1);
	for (size_t i = 0; i < event->tracepoint_cnt; i++)
		hash = hash_mix(hash, event->tracepoint_ids[i]);
	for (size_t i = 0; i < event->site_cnt; i++)
		hash = hash_site(hash, &event->sites[i]);
	return hash;
}

/* Of all that the kernel side was configured with, but for what belongs to the process alone. */
static uint64_t options_hash(const struct loader *loader, const struct capture_opts *opts,
			     const struct samplers *samplers)
{
	uint64_t hash = hash_bytes(loader->skel->rodata, sizeof(*loader->skel->rodata));

	hash = hash_mix(hash, hash_bytes(&loader->sizes, sizeof(loader->sizes)));
	hash = hash_numbers(hash, opts->cpus);
	hash = hash_numbers(hash, opts->tgids);
	hash = hash_numbers(hash, opts->tids);
	hash = hash_numbers(hash, opts->uids);
	hash = hash_mix(hash, opts->no_inherit);
	hash = hash_string(hash, opts->where);
	hash = hash_string(hash, opts->weight);
	hash = hash_string(hash, opts->hist);
	for (uint32_t i = 0; i < samplers->cnt; i++)
		hash = hash_event(hash, &samplers->items[i].event);
	return hash;
}

/* What only userspace needs, or only who loads. */
static bool is_shared(const struct bpfprof *skel, const struct bpf_map *map)
{
	return !bpf_map__is_internal(map) && bpf_map__autocreate(map) &&
	       map != skel->maps.barrier && map != skel->maps.no_private_stack;
}

static int reuse_maps(struct loader *loader)
{
	struct bpf_map *map;
	int err = 0;

	bpf_object__for_each_map(map, loader->skel->obj)
	{
		_cleanup_close_ int fd = -1;

		if (err || !is_shared(loader->skel, map))
			continue;
		fd = pins_get(loader->pins, "map", bpf_map__name(map));
		err = fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
		if (err)
			log_error("pins: map '%s': %s; --detach ends that recording",
				  bpf_map__name(map), strerror(-err));
	}
	return err;
}

/* The programs that sample are there already. */
static void leave_out_samplers(struct loader *loader, const struct samplers *samplers)
{
	for (uint32_t i = 0; i < samplers->cnt; i++) {
		bpf_program__set_autoload(loader->programs.samplers[i], false);
		if (loader->programs.calls[i])
			bpf_program__set_autoload(loader->programs.calls[i], false);
	}
	bpf_program__set_autoload(loader->skel->progs.bp_fork, false);
	bpf_program__set_autoload(loader->skel->progs.bp_exit, false);
}

int loader_pins_choose(struct loader *loader, const struct capture_opts *opts,
		       const struct samplers *samplers, uint32_t possible_cnt)
{
	struct bpfprof *skel = loader->skel;
	bool is_wanted = loader->pins;
	int err = 0;

	bpf_program__set_autoload(skel->progs.bp_read_ticks, is_wanted);
	bpf_map__set_autocreate(skel->maps.counters, is_wanted);
	bpf_map__set_autocreate(skel->maps.tick_read, is_wanted);
	if (!is_wanted)
		return 0;
	loader->pins->possible_cnt = possible_cnt;
	err = bpf_map__set_max_entries(skel->maps.counters, possible_cnt * BP_EVENTS_SAMPLED);
	if (!err)
		err = pins_choose(loader->pins, options_hash(loader, opts, samplers),
				  loader->sizes.cpu_cnt);
	if (err || !loader->pins->is_resumed)
		return err;
	leave_out_samplers(loader, samplers);
	return reuse_maps(loader);
}

static int keep_program(struct loader *loader, const char *kind, uint32_t nr,
			const struct bpf_program *prog)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", nr);
	return prog ? pins_put(loader->pins, kind, name, bpf_program__fd(prog)) : 0;
}

static int keep_object(struct loader *loader)
{
	struct bpf_map *map;
	int err = 0;

	bpf_object__for_each_map(map, loader->skel->obj)
	{
		if (!err && is_shared(loader->skel, map))
			err = pins_put(loader->pins, "map", bpf_map__name(map), bpf_map__fd(map));
	}
	for (uint32_t i = 0; i < BP_EVENTS_SAMPLED && !err; i++) {
		err = keep_program(loader, "prog_e", i, loader->programs.samplers[i]);
		if (!err)
			err = keep_program(loader, "prog_f", i, loader->programs.calls[i]);
	}
	return err;
}

static int find_programs(struct loader *loader)
{
	for (uint32_t i = 0; i < BP_EVENTS_SAMPLED; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		if (!loader->programs.samplers[i])
			continue;
		loader->sampler_fds[i] = pins_get(loader->pins, "prog_e", name);
		if (loader->sampler_fds[i] < 0)
			return loader->sampler_fds[i];
		if (loader->programs.calls[i])
			loader->call_fds[i] = pins_get(loader->pins, "prog_f", name);
		if (loader->call_fds[i] < -1)
			return loader->call_fds[i];
	}
	return 0;
}

int loader_pins_keep(struct loader *loader)
{
	struct pins *pins = loader->pins;
	struct bpfprof *skel = loader->skel;
	void *mem;
	int err;

	if (!pins)
		return 0;
	pins->counters_fd = bpf_map__fd(skel->maps.counters);
	pins->ticks_fd = bpf_program__fd(skel->progs.bp_read_ticks);
	mem = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
		   bpf_map__fd(skel->maps.tick_read), 0);
	if (mem == MAP_FAILED)
		return -errno;
	pins->read = mem;
	err = pins->is_resumed ? find_programs(loader) : keep_object(loader);
	if (err)
		log_error("pins: maps and programs: %s", strerror(-err));
	return err;
}

/* Of the programs that keep the targets' children. */
int loader_pins_keep_link(struct loader *loader, const char *name, const struct bpf_link *link)
{
	return loader->pins ? pins_put(loader->pins, "link", name, bpf_link__fd(link)) : 0;
}

int loader_sampler_fd(const struct loader *loader, uint32_t nr)
{
	const struct bpf_program *prog = loader->programs.samplers[nr];

	return loader->sampler_fds[nr] >= 0 ? loader->sampler_fds[nr]
	       : prog			    ? bpf_program__fd(prog)
					    : -1;
}

int loader_call_fd(const struct loader *loader, uint32_t nr)
{
	const struct bpf_program *prog = loader->programs.calls[nr];

	return loader->call_fds[nr] >= 0 ? loader->call_fds[nr] : prog ? bpf_program__fd(prog) : -1;
}
