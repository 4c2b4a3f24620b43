/* SPDX-License-Identifier: Apache-2.0 */
/* The heap's tables: sized, mapped, read. */
#include "capture/heap.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bpfprof.skel.h"
#include "capture/drain.h"
#include "capture/frames.h"
#include "capture/heap_follow.h"
#include "capture/heap_probe.h"
#include "capture/labels.h"
#include "capture/loader.h"

/* 1.8 million live blocks in 67 MB; sampled, what stands for a hundred times as many bytes as a
 * machine has. */
enum {
	BUCKETS_EXACT = 1 << 18,
	BUCKETS_SAMPLED = 1 << 14,
	BUCKETS_MIN = 1 << 8,
	BUCKET_BYTES = sizeof(struct bp_heap_bucket) + 8 * sizeof(struct bp_heap_block),
	SITES = 1 << 16, /* with what finds them, 15 MB */
	SITES_MIN = 1 << 10,
	SITE_BYTES = sizeof(struct bp_heap_site) + 2 * sizeof(__u64),
	PAIRS = 1 << 14,
};

struct heap_stack {
	struct bp_stack stack;
	struct bp_who who;
	__u64 frames[]; /* kernel, then user */
};

struct heap_old {
	double objects, bytes;
};

struct heap_told {
	uint64_t objects, bytes, temporary, variance;
};

static uint32_t bucket_cnt(const struct capture_opts *opts)
{
	uint32_t cnt = opts->heap.rate_bytes ? BUCKETS_SAMPLED : BUCKETS_EXACT;

	while (opts->max_kernel_bytes && cnt > BUCKETS_MIN &&
	       (uint64_t)cnt * BUCKET_BYTES > opts->max_kernel_bytes / 2)
		cnt /= 2;
	return cnt;
}

/* An eighth of the memory at most; half of it is the blocks'. */
static uint32_t site_cnt(const struct capture_opts *opts)
{
	uint32_t cnt = SITES;

	while (opts->max_kernel_bytes && cnt > SITES_MIN &&
	       (uint64_t)cnt * SITE_BYTES > opts->max_kernel_bytes / 8)
		cnt /= 2;
	return cnt;
}

static void choose_programs(struct bpfprof *skel, bool is_wanted)
{
	bool has_sessions = is_wanted && heap_sessions_work();

	bpf_program__set_autoload(skel->progs.bp_heap_session, has_sessions);
	bpf_program__set_autoload(skel->progs.bp_heap_enter, is_wanted && !has_sessions);
	bpf_program__set_autoload(skel->progs.bp_heap_leave, is_wanted && !has_sessions);
	bpf_program__set_autoload(skel->progs.bp_heap_free, is_wanted);
	bpf_program__set_autoload(skel->progs.bp_heap_exec, is_wanted);
	bpf_program__set_autoload(skel->progs.bp_heap_fork, is_wanted);
	if (has_sessions)
		heap_make_session(skel);
}

static void choose_maps(struct bpfprof *skel, bool is_wanted)
{
	struct bpf_map *const maps[] = {
		skel->maps.heap_buckets, skel->maps.heap_blocks,
		skel->maps.heap_sites,	 skel->maps.heap_site_index,
		skel->maps.heap_procs,	 skel->maps.heap_ctl,
		skel->maps.heap_proc_of, skel->maps.heap_pairs,
		skel->maps.heap_threads, skel->maps.heap_memos,
		skel->maps.heap_spares,	 skel->maps.heap_calls_none,
		skel->maps.heap_ring,	 skel->maps.heap_free_calls_none,
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		bpf_map__set_autocreate(maps[i], is_wanted);
}

void heap_configure(struct bpfprof *skel, const struct capture_opts *opts, uint32_t cpu_cnt)
{
	struct bp_heap_config *cfg = (struct bp_heap_config *)&skel->rodata->heap_cfg;
	uint32_t buckets = bucket_cnt(opts), sites = site_cnt(opts);

	choose_programs(skel, opts->heap.is_wanted);
	choose_maps(skel, opts->heap.is_wanted);
	if (!opts->heap.is_wanted)
		return;
	((struct bp_config *)&skel->rodata->cfg)->heap = 1;
	cfg->bucket_mask = buckets - 1;
	cfg->site_mask = 2 * sites - 1;
	cfg->site_cnt = sites;
	cfg->pairs = opts->heap.pairs;
	cfg->follows = !opts->no_inherit;
	cfg->rate_bytes = opts->heap.rate_bytes;
	bpf_map__set_max_entries(skel->maps.heap_buckets, buckets);
	bpf_map__set_max_entries(skel->maps.heap_blocks, buckets * 8);
	bpf_map__set_max_entries(skel->maps.heap_sites, sites);
	bpf_map__set_max_entries(skel->maps.heap_site_index, 2 * sites);
	bpf_map__set_max_entries(skel->maps.heap_procs, BP_HEAP_PROCS);
	bpf_map__set_max_entries(skel->maps.heap_proc_of, BP_HEAP_PROCS);
	bpf_map__set_max_entries(skel->maps.heap_pairs, opts->heap.pairs ? PAIRS : 1);
	bpf_map__set_max_entries(skel->maps.heap_memos, cpu_cnt << BP_HEAP_MEMO_BITS);
	bpf_map__set_max_entries(skel->maps.heap_spares, cpu_cnt * BP_SLOTS_PER_CPU);
}

static void *map_shared(struct bpf_map *map, size_t *bytes_out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t element = (bpf_map__value_size(map) + 7) & ~(size_t)7;
	size_t bytes = (bpf_map__max_entries(map) * element + page - 1) / page * page;
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	*bytes_out = bytes;
	return mem == MAP_FAILED ? NULL : mem;
}

static int map_memory(struct heap *heap)
{
	const struct bpfprof *skel = heap->loader->skel;
	struct heap_memory *mem = &heap->mem;

	mem->ctl = map_shared(skel->maps.heap_ctl, &heap->mem_bytes[0]);
	mem->procs = map_shared(skel->maps.heap_procs, &heap->mem_bytes[1]);
	mem->sites = map_shared(skel->maps.heap_sites, &heap->mem_bytes[2]);
	mem->buckets = map_shared(skel->maps.heap_buckets, &heap->mem_bytes[3]);
	mem->blocks = map_shared(skel->maps.heap_blocks, &heap->mem_bytes[4]);
	if (!mem->ctl || !mem->procs || !mem->sites || !mem->buckets || !mem->blocks)
		return -errno;
	/* Number 0 is nobody's. */
	mem->ctl->proc_cnt = mem->ctl->site_cnt = 1;
	mem->sites[0].hash = 1;
	return 0;
}

int heap_open(struct heap *heap, struct loader *loader, const struct capture_opts *opts)
{
	int err;

	heap->loader = loader;
	heap->opts = opts->heap;
	heap->site_cnt = site_cnt(opts);
	heap->follows = !opts->no_inherit;
	heap->has_sessions = bpf_program__autoload(loader->skel->progs.bp_heap_session);
	heap->stacks = calloc(heap->site_cnt, sizeof(*heap->stacks));
	heap->told = calloc(heap->site_cnt, sizeof(*heap->told));
	heap->old = calloc(heap->site_cnt, sizeof(*heap->old));
	heap->bucket_cnt = bpf_map__max_entries(loader->skel->maps.heap_buckets);
	err = heap->stacks && heap->told && heap->old ? map_memory(heap) : -ENOMEM;
	if (!err)
		err = heap_watch_processes(heap);
	if (err)
		log_error("record the heap: %s", strerror(-err));
	return err;
}

int heap_follow(struct heap *heap)
{
	int err = heap_follow_start(heap, &heap->follower);

	if (err)
		log_error("heap: follow children: %s", strerror(-err));
	return err;
}

void heap_close(struct heap *heap)
{
	void *mem[] = {heap->mem.ctl, heap->mem.procs, heap->mem.sites, heap->mem.buckets,
		       heap->mem.blocks};

	heap_stop(heap);
	for (size_t i = 0; i < sizeof(mem) / sizeof(*mem); i++)
		if (mem[i])
			munmap(mem[i], heap->mem_bytes[i]);
	for (uint32_t i = 0; heap->stacks && i < heap->site_cnt; i++)
		free(heap->stacks[i]);
	free(heap->stacks);
	free(heap->told);
	free(heap->old);
	heap_files_deinit(&heap->files);
	free(heap->probed);
	free(heap->links);
	*heap = (struct heap){0};
}

int heap_define(struct heap *heap, uint32_t site, const struct bp_stack *stack, const __u64 *frames,
		const struct bp_who *who)
{
	size_t bytes = ((size_t)stack->kernel_cnt + stack->user_cnt) * sizeof(*frames);
	struct heap_stack *copy;

	if (site >= heap->site_cnt)
		return 0;
	copy = malloc(sizeof(*copy) + bytes);
	if (!copy)
		return -ENOMEM;
	copy->stack = *stack;
	copy->who = *who;
	memcpy(copy->frames, frames, bytes);
	free(heap->stacks[site]);
	heap->stacks[site] = copy;
	return 0;
}

/* From units of the mode. */
static uint64_t objects_of(const struct heap *heap, uint64_t units)
{
	const uint64_t half = heap->opts.rate_bytes ? 1 << (BP_HEAP_UNIT_BITS - 1) : 0;

	return heap->opts.rate_bytes ? (units + half) >> BP_HEAP_UNIT_BITS : units;
}

/* No less than nothing: a program may be between the two. */
static uint64_t less(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

/* What a recorded block of @bytes counts as: bpf/heap_chance.bpf.h. */
static double weight_of(const struct heap *heap, uint64_t bytes)
{
	double rate = (double)heap->opts.rate_bytes;

	return heap->opts.rate_bytes ? -1 / expm1(-(double)(bytes ? bytes : 1) / rate) : 1;
}

/* Add the live blocks of a bucket that were born before @before_ns to their sites' sums. */
static void age_bucket(const struct heap *heap, uint32_t nr, uint64_t before_ns)
{
	const struct bp_heap_bucket *bucket = &heap->mem.buckets[nr];

	for (uint32_t i = 0; i < BP_HEAP_BUCKET_KEYS; i++) {
		const struct bp_heap_block *block = &heap->mem.blocks[nr * 8 + i];
		uint32_t proc = (uint32_t)(bucket->keys[i] >> (BP_HEAP_ADDR_BITS - 3));
		double weight;

		if (!bucket->keys[i] || !block->is_set || block->born_ns > before_ns ||
		    block->site >= heap->site_cnt || proc >= BP_HEAP_PROCS ||
		    heap->mem.procs[proc].is_over)
			continue;
		weight = weight_of(heap, block->bytes);
		heap->old[block->site].objects += weight;
		heap->old[block->site].bytes += weight * (double)block->bytes;
	}
}

/* The leak view: read while programs go on, so a block that comes or goes now may be in it or not.
 */
static void age_blocks(const struct heap *heap)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!heap->opts.leak_age_ns)
		return;
	memset(heap->old, 0, heap->site_cnt * sizeof(*heap->old));
	for (uint32_t i = 0; i < heap->bucket_cnt; i++)
		age_bucket(heap, i, less(now_ns, heap->opts.leak_age_ns));
}

static void site_values(const struct heap *heap, uint32_t nr, struct heap_values *out)
{
	const struct bp_heap_site *site = &heap->mem.sites[nr];
	const struct bp_heap_proc *proc = &heap->mem.procs[site->proc % BP_HEAP_PROCS];
	const struct heap_told *told = &heap->told[nr];
	uint64_t live_objects = less(site->alloc_objects, site->freed_objects);
	uint64_t live_bytes = less(site->alloc_bytes, site->freed_bytes);
	bool is_settled = site->peak_nr == proc->peak_nr;

	*out = (struct heap_values){
		.alloc_objects = objects_of(heap, less(site->alloc_objects, told->objects)),
		.alloc_bytes = less(site->alloc_bytes, told->bytes),
		.inuse_objects = proc->is_over ? 0 : objects_of(heap, live_objects),
		.inuse_bytes = proc->is_over ? 0 : live_bytes,
		.peak_objects = objects_of(heap, is_settled ? site->peak_objects : live_objects),
		.peak_bytes = is_settled ? site->peak_bytes : live_bytes,
		.temporary = objects_of(heap, less(site->temporary, told->temporary)),
		.old_objects = (uint64_t)(heap->old[nr].objects + 0.5),
		.old_bytes = (uint64_t)(heap->old[nr].bytes + 0.5),
	};
}

static uint32_t named_stack(struct profile *prof, const char *name)
{
	uint32_t location = profile_named_location(prof, name, LOCATION_SYNTHETIC);

	return profile_stack(prof, &location, 1);
}

uint32_t heap_site_stack(const struct heap *heap, struct drain *drain, uint32_t nr,
			 uint32_t *labels_out)
{
	const struct heap_stack *known = heap->stacks[nr];

	if (known) {
		*labels_out = labels_of(drain->prof, &known->who, drain->by);
		return frames_to_stack(drain, &known->stack, known->frames, &known->who);
	}
	*labels_out = profile_labels(drain->prof, NULL, 0);
	return named_stack(drain->prof, nr ? "[truncated: stack_lost]" : "[other sites]");
}

static void fill_site(struct heap *heap, struct drain *drain, uint32_t nr)
{
	const struct bp_heap_site *site = &heap->mem.sites[nr];
	struct heap_summary *summary = &heap->summary;
	struct profile *prof = drain->prof;
	struct heap_values values;
	uint32_t stack, labels;

	site_values(heap, nr, &values);
	if (!site->alloc_objects)
		return;
	stack = heap_site_stack(heap, drain, nr, &labels);
	heap_add(prof, summary, stack, labels, &values);
	summary->variance +=
		ldexp((double)less(site->variance, heap->told[nr].variance), BP_VARIANCE_SHIFT);
	for (size_t i = 0; i < BP_HEAP_LIFETIMES; i++)
		summary->lifetimes[i] += objects_of(heap, site->lifetimes[i]);
	heap->told[nr] = (struct heap_told){site->alloc_objects, site->alloc_bytes, site->temporary,
					    site->variance};
}

static void sum_procs(const struct heap *heap, struct heap_summary *summary)
{
	for (uint32_t i = 1; i < heap->mem.ctl->proc_cnt && i < BP_HEAP_PROCS; i++) {
		const struct bp_heap_proc *proc = &heap->mem.procs[i];

		summary->calls += proc->recorded + proc->passed_over;
		summary->recorded += proc->recorded;
		summary->ran += proc->recorded + proc->passed_over + proc->nested + proc->failed +
				proc->cut_short;
		summary->asked_bytes += proc->asked_bytes;
		summary->frees += proc->frees;
		summary->failed += proc->failed;
		summary->cut_short += proc->cut_short;
		summary->unknown_frees += proc->unknown_frees;
		summary->overflows += proc->overflows;
		summary->unseen_frees += proc->unseen_frees;
		log_debug("heap: process %u: %llu calls, %llu nested, %llu failed, %llu cut short, "
			  "%llu frees (%llu unknown), peak %llu bytes",
			  proc->tgid, (unsigned long long)(proc->recorded + proc->passed_over),
			  (unsigned long long)proc->nested, (unsigned long long)proc->failed,
			  (unsigned long long)proc->cut_short, (unsigned long long)proc->frees,
			  (unsigned long long)proc->unknown_frees,
			  (unsigned long long)proc->peak_bytes);
	}
	summary->children = __atomic_load_n(&heap->children.cnt, __ATOMIC_RELAXED);
	summary->children_missed = __atomic_load_n(&heap->children.missed, __ATOMIC_RELAXED);
	summary->children_lag_ns = __atomic_load_n(&heap->children.lag_ns, __ATOMIC_RELAXED);
	summary->sites_full = heap->mem.ctl->sites_full;
	summary->procs_full = heap->mem.ctl->procs_full;
	summary->no_thread = heap->mem.ctl->no_thread;
}

_Static_assert((int)HEAP_LIFETIMES == (int)BP_HEAP_LIFETIMES, "the same powers of four");

void heap_fill(struct heap *heap, struct drain *drain)
{
	uint32_t cnt = heap->mem.ctl->site_cnt;

	heap->summary = (struct heap_summary){.rate_bytes = heap->opts.rate_bytes,
					      .old_ns = heap->opts.leak_age_ns};
	age_blocks(heap);
	for (uint32_t i = 0; i < cnt && i < heap->site_cnt; i++)
		fill_site(heap, drain, i);
	if (heap->opts.pairs)
		heap_fill_pairs(heap, drain);
	sum_procs(heap, &heap->summary);
	heap_add_comments(drain->prof, &heap->summary);
}
