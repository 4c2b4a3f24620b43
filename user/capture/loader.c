/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the BPF object and looking after it. */
#include "capture/loader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/absent_call.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/priority.h"
#include "base/privilege.h"
#include "bpfprof.skel.h"
#include "capture/cpus.h"
#include "capture/event_programs.h"
#include "capture/glob.h"
#include "capture/heap.h"
#include "capture/iterate.h"
#include "capture/kernel_types.h"
#include "capture/pins.h"
#include "capture/samplers.h"
#include "capture/vma_selftest.h"
#include "capture/waits.h"
#include "proc/namespaces.h"

static int loader_print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	log_debug_va(fmt, args);
	return 0;
}

static uint32_t by_bits(const struct capture_opts *opts)
{
	static const struct {
		uint32_t asked, bit;
	} table[] = {
		{BY_PROCESS, BP_BY_PROCESS}, {BY_PID, BP_BY_PID},	{BY_TID, BP_BY_TID},
		{BY_CPU, BP_BY_CPU},	     {BY_CGROUP, BP_BY_CGROUP}, {BY_UID, BP_BY_UID},
	};
	uint32_t bits = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (opts->by & table[i].asked)
			bits |= table[i].bit;
	return bits;
}

static bool has_numbers(const struct number_set *set)
{
	return set && set->cnt;
}

static int config_globs(struct bpfprof *skel, const char *const *comms)
{
	struct bp_config *cfg = (struct bp_config *)&skel->rodata->cfg;

	for (; comms && *comms; comms++) {
		struct bp_glob *glob = (struct bp_glob *)&skel->rodata->globs[cfg->glob_cnt];

		if (cfg->glob_cnt == BP_GLOBS_MAX || glob_compile(*comms, glob)) {
			log_error("--comm '%s': at most %d patterns of %d characters", *comms,
				  BP_GLOBS_MAX, BP_GLOB_TOKENS_MAX);
			return -E2BIG;
		}
		cfg->glob_cnt++;
	}
	return 0;
}

/* The id of the control group at @path, which is its folder's inode number. 0, or negative errno
 * after log_error(). */
static int cgroup_id(const char *path, uint64_t *out)
{
	struct statfs fs;
	struct stat st;
	int err = 0;

	if (statfs(path, &fs) || stat(path, &st))
		err = -errno;
	else if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
		err = -EBADF;
	else
		*out = st.st_ino;
	if (err)
		log_error("cgroup '%s': %s; it must be a folder of the cgroup2 file system", path,
			  strerror(-err));
	return err;
}

static int config_cgroups(struct bp_config *cfg, const char *const *paths)
{
	int err = 0;

	for (; paths && *paths && !err; paths++) {
		if (cfg->cgroup_cnt == BP_CGROUPS_MAX) {
			log_error("--cgroup: at most %d", BP_CGROUPS_MAX);
			return -E2BIG;
		}
		err = cgroup_id(*paths, (uint64_t *)&cfg->cgroup_ids[cfg->cgroup_cnt++]);
	}
	return err;
}

/* A smaller ring is for announcements and samples alone. */
enum { SNAPSHOT_RING_MIN_BYTES = 256 << 10 };

static int config_fill(struct bpfprof *skel, const struct sizes *sizes,
		       const struct capture_opts *opts, const struct samplers *samplers,
		       bool has_task_storage)
{
	struct bp_config *cfg = (struct bp_config *)&skel->rodata->cfg;
	int err;

	cfg->abi_hash = BP_ABI_HASH;
	cfg->by = by_bits(opts);
	cfg->bucket_ns = opts->bucket_ns;
	cfg->stacks_cnt = sizes->stacks_cnt;
	cfg->counts_cnt = sizes->counts_cnt;
	cfg->stack_index_mask = 2 * sizes->stacks_cnt - 1;
	cfg->count_index_mask = 2 * sizes->counts_cnt - 1;
	cfg->arena_cnt = sizes->arena_cnt;
	cfg->exe_stride = sizes->cpu_cnt * BP_SLOTS_PER_CPU;
	cfg->include_idle = opts->include_idle;
	cfg->filter_tgid = has_numbers(opts->tgids) || opts->follow_command;
	cfg->filter_tid = has_numbers(opts->tids);
	cfg->filter_uid = has_numbers(opts->uids);
	cfg->pid_ns = namespaces_pid();
	cfg->no_kernel_stacks = opts->no_kernel_stacks;
	cfg->no_user_stacks = opts->no_user_stacks;
	cfg->test_plain_scratch = opts->test_plain_scratch;
	cfg->no_snapshots = sizes->ring_bytes < SNAPSHOT_RING_MIN_BYTES;
	waits_configure(opts, has_task_storage, cfg);
	samplers_configure(samplers, opts, cfg->events);
	err = config_cgroups(cfg, opts->cgroups);
	return err ? err : config_globs(skel, opts->comms);
}

static int size_maps(struct bpfprof *skel, const struct sizes *sizes, uint32_t possible_cpus)
{
	uint32_t shards = 2 * sizes->cpu_cnt;
	int err = 0;

	err |= bpf_map__set_max_entries(skel->maps.cpus, possible_cpus);
	err |= bpf_map__set_max_entries(skel->maps.shards, shards);
	err |= bpf_map__set_max_entries(skel->maps.stack_index, shards * 2 * sizes->stacks_cnt);
	err |= bpf_map__set_max_entries(skel->maps.stacks, shards * sizes->stacks_cnt);
	err |= bpf_map__set_max_entries(skel->maps.count_index, shards * 2 * sizes->counts_cnt);
	err |= bpf_map__set_max_entries(skel->maps.counts, shards * sizes->counts_cnt);
	err |= bpf_map__set_max_entries(skel->maps.arenas, shards);
	err |= bpf_map__set_value_size(skel->maps.arenas, sizes->arena_cnt * sizeof(uint64_t));
	err |= bpf_map__set_max_entries(skel->maps.scratch, sizes->cpu_cnt * BP_SLOTS_PER_CPU);
	err |= bpf_map__set_max_entries(skel->maps.snapshots, sizes->cpu_cnt);
	err |= bpf_map__set_max_entries(skel->maps.exes, sizes->exes_cnt);
	err |= bpf_map__set_max_entries(skel->maps.targets, sizes->targets_cnt);
	err |= bpf_map__set_max_entries(skel->maps.row_blocks, sizes->row_blocks_cnt);
	err |= bpf_map__set_max_entries(skel->maps.row_pages, sizes->row_pages_cnt);
	err |= bpf_map__set_max_entries(skel->maps.row_rules, sizes->row_rules_cnt);
	err |= bpf_map__set_max_entries(skel->maps.ring, sizes->ring_bytes);
	err |= bpf_map__set_max_entries(skel->maps.sched_cpus, possible_cpus);
	err |= bpf_map__set_max_entries(skel->maps.bells, possible_cpus);
	err |= bpf_map__set_max_entries(skel->maps.user_memos,
					sizes->cpu_cnt * BP_USER_MEMOS_PER_CPU);
	err |= bpf_map__set_max_entries(skel->maps.kernel_stacks, possible_cpus);
	err |= bpf_map__set_max_entries(skel->maps.kernel_memos,
					possible_cpus * BP_KERNEL_MEMOS_PER_CPU);
	return err ? -EINVAL : 0;
}

/* Only what this recording attaches is verified and loaded. */
static void choose_programs(struct bpfprof *skel, const struct capture_opts *opts)
{
	bool follows = (has_numbers(opts->tgids) && !opts->no_inherit) || opts->follow_command;

	bpf_program__set_autoload(skel->progs.bp_fork, follows);
	bpf_program__set_autoload(skel->progs.bp_exit, follows);
	bpf_program__set_autoload(skel->progs.bp_find_targets, skel->rodata->cfg.pid_ns);
	bpf_program__set_autoload(skel->progs.bp_module,
				  capture_watches_kernel(opts) && !access("/proc/modules", F_OK));
}

static void *map_shared(struct bpf_map *map, size_t elem_bytes, size_t *bytes_out)
{
	size_t page = sysconf(_SC_PAGESIZE), bytes = bpf_map__max_entries(map) * elem_bytes;
	void *mem;

	bytes = (bytes + page - 1) / page * page;
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	*bytes_out = bytes;
	return mem == MAP_FAILED ? NULL : mem;
}

static int map_memory(struct loader *loader)
{
	struct bpfprof *skel = loader->skel;
	size_t arena_bytes = loader->sizes.arena_cnt * sizeof(uint64_t), *bytes = loader->mem_bytes;
	struct shard_memory *mem = &loader->mem;

	mem->ctl = map_shared(skel->maps.ctl, sizeof(*mem->ctl), &bytes[0]);
	mem->shards = map_shared(skel->maps.shards, sizeof(*mem->shards), &bytes[1]);
	mem->stack_index = map_shared(skel->maps.stack_index, sizeof(*mem->stack_index), &bytes[2]);
	mem->stacks = map_shared(skel->maps.stacks, sizeof(*mem->stacks), &bytes[3]);
	mem->count_index = map_shared(skel->maps.count_index, sizeof(*mem->count_index), &bytes[4]);
	mem->counts = map_shared(skel->maps.counts, sizeof(*mem->counts), &bytes[5]);
	mem->arenas = map_shared(skel->maps.arenas, arena_bytes, &bytes[6]);
	mem->rows =
		map_shared(skel->maps.row_blocks, BP_ROWS_PER_BLOCK * sizeof(uint32_t), &bytes[7]);
	mem->row_pages = map_shared(skel->maps.row_pages, sizeof(*mem->row_pages), &bytes[8]);
	mem->row_rules = map_shared(skel->maps.row_rules, sizeof(*mem->row_rules), &bytes[9]);
	if (!mem->rows || !mem->row_pages || !mem->row_rules || !mem->ctl || !mem->shards ||
	    !mem->stack_index || !mem->stacks || !mem->count_index || !mem->counts || !mem->arenas)
		return -errno;
	for (uint32_t i = 0; i < 2 * loader->sizes.cpu_cnt && !loader_is_resumed(loader); i++) {
		mem->shards[i].abi = BP_ABI_VERSION;
		mem->shards[i].epoch = i & 1;
	}
	return 0;
}

/* @wanted: of -C; NULL: all. */
static int assign_shards(struct loader *loader, const struct number_set *present,
			 const struct number_set *wanted)
{
	int fd = bpf_map__fd(loader->skel->maps.cpus);

	for (uint32_t i = 0; i < present->cnt; i++) {
		struct bp_cpu cpu = {
			.shard = 1 + i,
			.is_excluded = wanted && !number_set_has(wanted, present->items[i]),
		};

		if (bpf_map_update_elem(fd, &present->items[i], &cpu, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int add_targets(struct loader *loader, const struct number_set *set,
		       enum bp_target_kind kind)
{
	for (size_t i = 0; set && i < set->cnt; i++) {
		int err = loader_add_target(loader, kind, set->items[i]);

		if (err) {
			log_error("targets: %s; at most %u can be listed", strerror(-err),
				  loader->sizes.targets_cnt);
			return err;
		}
	}
	return 0;
}

/* What no verifier looks at. */
static bool can_make_maps(void)
{
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bp_probe", 4, 4, 1, NULL);

	return fd >= 0;
}

/* Of the verifier's refusals too the number is EACCES. */
static bool is_refused(int err)
{
	return err == -EPERM || (err == -EACCES && !can_make_maps());
}

static void explain_load_failure(int err)
{
	static const char what[] = "load the BPF programs";
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (err == -ENOSYS)
		absent_call_explain(what, ABSENT_BPF, "/proc", &why);
	else if (is_refused(err))
		privilege_explain(what, PRIVILEGES_RECORD, err, &why);
	else
		privilege_is_locked_down(what, &why);
	if (why.len) {
		log_error("%s", buf_cstr(&why));
		return;
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		log_error("load the BPF programs: the kernel has no BTF (/sys/kernel/btf/vmlinux): "
			  "it needs CONFIG_DEBUG_INFO_BTF=y, or --btf FILE");
	else
		log_error("load the BPF programs: %s; -v shows the kernel's reason, `bpfprof "
			  "doctor` what is missing",
			  strerror(-err));
}

/* Open the object, to be relocated by --btf or by what our cache has of the kernel's types. *@fd,
 * *owned*, is needed until it is loaded. */
static struct bpfprof *open_object(const struct capture_opts *opts, int *fd)
{
	LIBBPF_OPTS(bpf_object_open_opts, open_opts, .btf_custom_path = opts->btf_path);
	char path[32];

	if (!opts->btf_path) {
		size_t len;
		const void *elf = bpfprof__elf_bytes(&len);

		*fd = kernel_types_open(elf, len);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
		if (*fd >= 0)
			open_opts.btf_custom_path = path;
	}
	return bpfprof__open_opts(&open_opts);
}

/* Everything between opening the object, *owned* by @loader, and loading it. */
static int loader_prepare(struct loader *loader, const struct capture_opts *opts,
			  const struct samplers *samplers, bool has_task_storage)
{
	struct number_set possible = {0};
	uint32_t possible_cnt;
	int err = cpus_read("possible", &possible);

	if (err)
		return err;
	possible_cnt = possible.items[possible.cnt - 1] + 1;
	number_set_deinit(&possible);
	err = config_fill(loader->skel, &loader->sizes, opts, samplers, has_task_storage);
	if (err)
		return err;
	choose_programs(loader->skel, opts);
	event_programs_choose(&loader->programs, loader->skel, samplers);
	waits_choose_programs(loader->skel, opts);
	heap_configure(loader->skel, opts, loader->sizes.cpu_cnt);
	err = size_maps(loader->skel, &loader->sizes, possible_cnt);
	if (!err && opts->elapsed)
		err = bpf_map__set_max_entries(loader->skel->maps.calls, BP_CALLS_MAX);
	return err ? err : loader_pins_choose(loader, opts, samplers, possible_cnt);
}

static int loader_load(struct loader *loader, const struct capture_opts *opts,
		       const struct samplers *samplers, bool has_task_storage)
{
	_cleanup_close_ int types_fd = -1;
	int load_err, err = event_programs_begin(&loader->programs, samplers);

	if (err)
		return err;
	loader->skel = open_object(opts, &types_fd);
	load_err = loader->skel ? 0 : -errno;
	if (loader->skel) {
		err = loader_prepare(loader, opts, samplers, has_task_storage);
		if (!err)
			load_err = bpfprof__load(loader->skel);
	}
	if (load_err)
		explain_load_failure(load_err);
	err = err ? err : load_err;
	if (err || loader_is_resumed(loader))
		event_programs_abandon(&loader->programs);
	else
		err = event_programs_end(&loader->programs);
	return err ? err : loader_pins_keep(loader);
}

static int loader_fill(struct loader *loader, const struct capture_opts *opts,
		       const struct number_set *present)
{
	int err = map_memory(loader);

	if (err) {
		log_error("map the BPF maps into memory: %s", strerror(-err));
		return err;
	}
	loader->barrier_inner_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bp_barrier", 4, 4, 1, NULL);
	if (loader->barrier_inner_fd < 0)
		return -errno;
	if (loader_is_resumed(loader))
		return 0;
	/* So that there is a number before the first. */
	loader->mem.ctl->epoch = 1;
	err = assign_shards(loader, present, opts->cpus);
	if (!err)
		err = add_targets(loader, opts->tgids, BP_TARGET_TGID);
	if (!err)
		err = add_targets(loader, opts->tids, BP_TARGET_TID);
	if (!err)
		err = add_targets(loader, opts->uids, BP_TARGET_UID);
	return err;
}

int loader_open(struct loader *loader, const struct capture_opts *opts,
		const struct samplers *samplers, struct pins *pins)
{
	struct number_set present = {0};
	bool has_targets;
	int err, priority;

	*loader = (struct loader){.barrier_inner_fd = -1, .stats_fd = -1, .pins = pins};
	memset(loader->sampler_fds, 0xff, sizeof(loader->sampler_fds));
	memset(loader->call_fds, 0xff, sizeof(loader->call_fds));
	libbpf_set_print(loader_print);
	err = cpus_read("present", &present);
	if (err) {
		log_error("/sys/devices/system/cpu/present: %s", strerror(-err));
		return err;
	}
	has_targets = has_numbers(opts->tgids) || has_numbers(opts->tids) ||
		      has_numbers(opts->uids) || opts->follow_command;
	sizes_choose(present.cnt, opts->max_kernel_bytes, has_targets, &loader->sizes);
	/* It costs some 40 ms of CPU time. */
	priority = priority_raise();
	err = loader_load(loader, opts, samplers, true);
	if (!err && !waits_storage_works(loader->skel)) {
		bpfprof__destroy(loader->skel);
		err = loader_load(loader, opts, samplers, false);
	}
	priority_restore(priority);
	if (!err)
		err = loader_fill(loader, opts, &present);
	number_set_deinit(&present);
	if (err)
		return err;
	/* They cost a switch 110 ns, as much as all that is recorded of it: there only for who asks
	 * what programs cost. */
	if ((!waits_are_attached(opts) && !opts->heap.is_wanted) || opts->max_cpu_percent > 0)
		loader->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (loader->stats_fd < 0 && opts->max_cpu_percent > 0)
		log_warn("--max-cpu: the kernel does not tell what its programs cost "
			 "(CAP_SYS_ADMIN is needed); only bpfprof's own CPU time is bounded");
	loader->vma_walk_ok = vma_selftest(bpf_program__fd(loader->skel->progs.bp_selftest));
	if (!loader->vma_walk_ok)
		log_warn("the self-test of the memory-map walk failed on this kernel: user frames "
			 "will be missing or unnamed");
	return 0;
}

void loader_close(struct loader *loader)
{
	void *mem[] = {loader->mem.ctl,	   loader->mem.shards,	    loader->mem.stack_index,
		       loader->mem.stacks, loader->mem.count_index, loader->mem.counts,
		       loader->mem.arenas};

	for (size_t i = 0; i < sizeof(mem) / sizeof(mem[0]); i++)
		if (mem[i])
			munmap(mem[i], loader->mem_bytes[i]);
	bpfprof__destroy(loader->skel);
	if (loader->barrier_inner_fd >= 0)
		close(loader->barrier_inner_fd);
	if (loader->stats_fd >= 0)
		close(loader->stats_fd);
	/* Zeros of a loader that was never opened are no descriptors of ours. */
	for (int i = 0; i < BP_EVENTS_SAMPLED && loader->pins; i++) {
		if (loader->sampler_fds[i] >= 0)
			close(loader->sampler_fds[i]);
		if (loader->call_fds[i] >= 0)
			close(loader->call_fds[i]);
	}
	*loader = (struct loader){.barrier_inner_fd = -1, .stats_fd = -1};
}

bool loader_is_resumed(const struct loader *loader)
{
	return loader->pins && loader->pins->is_resumed;
}

void loader_set_sampling(struct loader *loader, bool is_sampling)
{
	__atomic_store_n(&loader->mem.ctl->is_sampling, is_sampling, __ATOMIC_SEQ_CST);
}

int loader_exes_fd(const struct loader *loader)
{
	return bpf_map__fd(loader->skel->maps.exes);
}

int loader_ring_fd(const struct loader *loader)
{
	return bpf_map__fd(loader->skel->maps.ring);
}

/* What goes by numbers of processes, in a pid namespace of our own. */
static enum bp_target_kind kind_here(const struct loader *loader, enum bp_target_kind kind)
{
	if (!loader->skel->rodata->cfg.pid_ns || kind == BP_TARGET_UID)
		return kind;
	return kind == BP_TARGET_TGID ? BP_TARGET_TGID_HERE : BP_TARGET_TID_HERE;
}

int loader_add_target(struct loader *loader, enum bp_target_kind kind, uint32_t id)
{
	struct bp_target key = {.kind = kind_here(loader, kind), .id = id};
	uint64_t start_ns = 0;

	if (bpf_map_update_elem(bpf_map__fd(loader->skel->maps.targets), &key, &start_ns, BPF_ANY))
		return -errno;
	return key.kind == kind ? 0
				: iterate_tasks(loader->skel->progs.bp_find_targets, NULL, NULL, 0);
}

int loader_follow_children(struct loader *loader)
{
	struct bpfprof *skel = loader->skel;

	int err;

	if (!bpf_program__autoload(skel->progs.bp_fork))
		return 0;
	skel->links.bp_fork = bpf_program__attach(skel->progs.bp_fork);
	skel->links.bp_exit = bpf_program__attach(skel->progs.bp_exit);
	if (!skel->links.bp_fork || !skel->links.bp_exit)
		return -errno;
	err = loader_pins_keep_link(loader, "fork", skel->links.bp_fork);
	return err ? err : loader_pins_keep_link(loader, "exit", skel->links.bp_exit);
}

int loader_watch_modules(struct loader *loader)
{
	struct bpfprof *skel = loader->skel;

	if (!bpf_program__autoload(skel->progs.bp_module))
		return 0;
	skel->links.bp_module =
		bpf_program__attach_raw_tracepoint(skel->progs.bp_module, "module_load");
	return skel->links.bp_module ? 0 : -errno;
}

uint32_t loader_module_loads(const struct loader *loader)
{
	return __atomic_load_n(&loader->mem.ctl->module_loads, __ATOMIC_RELAXED);
}

int loader_wait_for_programs(struct loader *loader)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(bpf_map__fd(loader->skel->maps.barrier), &zero,
				   &loader->barrier_inner_fd, BPF_ANY)
		       ? -errno
		       : 0;
}

void loader_publish_rows(struct loader *loader, const struct bp_exe_key *key,
			 const struct bp_rows *rows)
{
	uint64_t args[11] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	memcpy(args, key, sizeof(*key));
	args[5] = rows->page_base;
	args[6] = rows->page_cnt;
	args[7] = rows->first_page;
	args[8] = rows->rule_base;
	args[9] = rows->state;
	args[10] = rows->tracks_bx;
	bpf_prog_test_run_opts(bpf_program__fd(loader->skel->progs.bp_publish), &opts);
}

int loader_meet_fd(const struct loader *loader)
{
	return bpf_program__fd(loader->skel->progs.bp_meet);
}

int loader_idle_fd(const struct loader *loader)
{
	return bpf_program__fd(loader->skel->progs.bp_idle_exits);
}

int loader_flip(struct loader *loader, uint32_t *closed)
{
	uint32_t old = __atomic_load_n(&loader->mem.ctl->epoch, __ATOMIC_RELAXED);
	int err;

	__atomic_store_n(&loader->mem.ctl->epoch, old + 1, __ATOMIC_SEQ_CST);
	err = loader_wait_for_programs(loader);
	if (!err)
		*closed = old;
	return err;
}
