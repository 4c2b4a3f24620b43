/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching the scheduler's programs, and reading the task iterator. */
#include "capture/waits.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "bpfprof.skel.h"
#include "capture/loader.h"

/* The moment after a switch, as a tracepoint of its own. */
static const char resume_tracepoint[] = "sched_exit_tp";

/* The interrupt that stands in for it. */
#ifdef __x86_64__
static const char irq_tracepoint[] = "irq_work_entry";
#else
static const char irq_tracepoint[] = "ipi_entry";
#endif

/* A perf event whose output raises an interrupt. */
struct bell {
	int fd;
	void *mem;
};

/* Does this kernel have the raw tracepoint @name? */
static bool has_tracepoint(const char *name)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	_cleanup_close_ int prog_fd =
		bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", insns, 2, NULL);
	_cleanup_close_ int fd = prog_fd < 0 ? -1 : bpf_raw_tracepoint_open(name, prog_fd);

	return fd >= 0;
}

static uint32_t parts_of(uint32_t states)
{
	uint32_t parts = 0;

	if (!states)
		return (1U << BP_PART_WAITS) - 1;
	if (states & WAIT_INTERRUPTIBLE)
		parts |= 1U << BP_PART_INTERRUPTIBLE | 1U << BP_PART_PARKED;
	if (states & WAIT_UNINTERRUPTIBLE)
		parts |= 1U << BP_PART_UNINTERRUPTIBLE;
	if (states & WAIT_STOPPED)
		parts |= 1U << BP_PART_STOPPED;
	if (states & WAIT_RUNNABLE)
		parts |= 1U << BP_PART_PREEMPTED;
	return parts;
}

void waits_configure(const struct capture_opts *opts, bool has_task_storage, struct bp_config *cfg)
{
	const struct capture_wait_opts *waits = &opts->waits;

	cfg->waits = waits->is_wanted;
	cfg->parallelism = opts->parallelism;
	if (!waits_are_attached(opts))
		return;
	cfg->has_task_storage =
		has_task_storage && libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1;
	if (!waits->is_wanted)
		return;
	cfg->wakers = waits->wakers;
	cfg->kernel_threads = waits->kernel_threads;
	cfg->min_block_ns = waits->min_ns;
	cfg->max_block_ns = waits->max_ns ? waits->max_ns : UINT64_MAX;
	cfg->parts = parts_of(waits->states);
	if (waits->max_cpu_permille < 1000)
		cfg->budget = 1 + waits->max_cpu_permille * 1024 / 1000;
	cfg->resumes_by_irq = !has_tracepoint(resume_tracepoint);
}

void waits_choose_programs(struct bpfprof *skel, const struct capture_opts *opts)
{
	const volatile struct bp_config *cfg = &skel->rodata->cfg;
	bool is_attached = waits_are_attached(opts), is_wanted = opts->waits.is_wanted;

	bpf_program__set_autoload(skel->progs.bp_switch, is_attached);
	bpf_program__set_autoload(skel->progs.bp_born, is_attached);
	bpf_program__set_autoload(skel->progs.bp_adopt, is_attached);
	bpf_program__set_autoload(skel->progs.bp_wakeup, is_wanted);
	bpf_program__set_autoload(skel->progs.bp_queue_times, is_wanted);
	bpf_program__set_autoload(skel->progs.bp_migrated, is_wanted);
	bpf_program__set_autoload(skel->progs.bp_resumed, is_wanted);
	bpf_program__set_autoload(skel->progs.bp_renamed, is_wanted);
	bpf_program__set_autoload(skel->progs.bp_collect, is_wanted);
	bpf_program__set_autoload(skel->progs.bp_waking, is_wanted && opts->waits.wakers);
	bpf_map__set_autocreate(skel->maps.threads, is_attached && cfg->has_task_storage);
	bpf_map__set_autocreate(skel->maps.thread_table, is_attached && !cfg->has_task_storage);
	bpf_map__set_max_entries(skel->maps.thread_table, BP_THREADS_TABLE);
	bpf_map__set_autocreate(skel->maps.sched_cpus, is_attached);
	bpf_map__set_autocreate(skel->maps.asleep_slot, is_wanted);
	bpf_map__set_autocreate(skel->maps.kernel_stacks, is_wanted);
	bpf_map__set_autocreate(skel->maps.kernel_memos, is_wanted);
	bpf_map__set_autocreate(skel->maps.user_memos, is_wanted);
	bpf_map__set_autocreate(skel->maps.bells, is_wanted && cfg->resumes_by_irq);
}

bool waits_storage_works(const struct bpfprof *skel)
{
	_cleanup_close_ int pidfd = -1;
	_cleanup_free_ char *value = NULL;
	int map_fd;
	bool works;

	if (!skel->rodata->cfg.has_task_storage)
		return true;
	map_fd = bpf_map__fd(skel->maps.threads);
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	value = calloc(1, bpf_map__value_size(skel->maps.threads));
	if (pidfd < 0 || !value)
		return true;
	works = !bpf_map_update_elem(map_fd, &pidfd, value, BPF_NOEXIST);
	bpf_map_delete_elem(map_fd, &pidfd);
	return works;
}

static size_t bell_bytes(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

/* Mapped for reading only, the buffer is written round and round. */
static int bell_open(struct bell *bell, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	int err;

	bell->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (bell->fd < 0)
		return -errno;
	bell->mem = mmap(NULL, bell_bytes(), PROT_READ, MAP_SHARED, bell->fd, 0);
	if (bell->mem != MAP_FAILED)
		return 0;
	err = -errno;
	close(bell->fd);
	return err;
}

/* A CPU that is offline has none, and nothing is switched there. */
static int open_bells(struct waits *waits, const struct number_set *cpus)
{
	int map_fd = bpf_map__fd(waits->loader->skel->maps.bells);

	waits->bells = calloc(cpus->cnt, sizeof(*waits->bells));
	if (!waits->bells)
		return -ENOMEM;
	for (size_t i = 0; i < cpus->cnt; i++) {
		struct bell *bell = &waits->bells[waits->bell_cnt];
		int err = bell_open(bell, cpus->items[i]);

		if (err == -ENODEV)
			continue;
		if (err)
			return err;
		waits->bell_cnt++;
		if (bpf_map_update_elem(map_fd, &cpus->items[i], &bell->fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int attach_raw(struct bpf_program *prog, const char *tracepoint, struct bpf_link **link)
{
	if (!bpf_program__autoload(prog))
		return 0;
	*link = tracepoint ? bpf_program__attach_raw_tracepoint(prog, tracepoint)
			   : bpf_program__attach(prog);
	return *link ? 0 : -errno;
}

/* New threads first, so that each is either adopted or seen to be born. */
static int attach(struct bpfprof *skel, enum bp_queue_times queue_times)
{
	const char *resume = skel->rodata->cfg.resumes_by_irq ? irq_tracepoint : resume_tracepoint;
	int err = attach_raw(skel->progs.bp_born, NULL, &skel->links.bp_born);

	err = err ? err : attach_raw(skel->progs.bp_resumed, resume, &skel->links.bp_resumed);
	if (!err && queue_times == BP_QUEUE_TIMES_NONE)
		err = attach_raw(skel->progs.bp_wakeup, NULL, &skel->links.bp_wakeup);
	if (!err && queue_times == BP_QUEUE_TIMES_MISLEAD)
		err = attach_raw(skel->progs.bp_migrated, NULL, &skel->links.bp_migrated);
	err = err ? err : attach_raw(skel->progs.bp_renamed, NULL, &skel->links.bp_renamed);
	err = err ? err : attach_raw(skel->progs.bp_waking, NULL, &skel->links.bp_waking);
	return err ? err : attach_raw(skel->progs.bp_switch, NULL, &skel->links.bp_switch);
}

/* Wakers are asked for at wake-ups, which have to be seen then. */
static enum bp_queue_times queue_times(const struct bpfprof *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	if (skel->rodata->cfg.wakers ||
	    bpf_prog_test_run_opts(bpf_program__fd(skel->progs.bp_queue_times), &opts))
		return BP_QUEUE_TIMES_NONE;
	return opts.retval;
}

int waits_start(struct waits *waits, struct loader *loader, const struct number_set *cpus)
{
	struct bpfprof *skel = loader->skel;
	int err = 0;

	waits->loader = loader;
	loader->mem.ctl->queue_times = queue_times(skel);
	if (skel->rodata->cfg.resumes_by_irq)
		err = open_bells(waits, cpus);
	if (!err)
		err = attach(skel, loader->mem.ctl->queue_times);
	if (!err)
		err = iterate_tasks(skel->progs.bp_adopt, NULL, NULL, 0);
	if (err)
		log_error("record waits: the scheduler's tracepoints: %s", strerror(-err));
	loader->mem.ctl->waits_start_ns = clock_monotonic_ns();
	return err;
}

void waits_end(struct waits *waits)
{
	if (waits->loader)
		waits->loader->mem.ctl->waits_end_ns = clock_monotonic_ns();
}

static void detach(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

/* What bp_switch has counted, bp_resumed records or filters a moment later, before its CPU lets a
 * grace period end: until then it stays. */
void waits_stop(struct waits *waits)
{
	struct bpfprof *skel;
	int err;

	if (!waits->loader)
		return;
	skel = waits->loader->skel;
	detach(&skel->links.bp_switch);
	detach(&skel->links.bp_wakeup);
	detach(&skel->links.bp_migrated);
	detach(&skel->links.bp_waking);
	detach(&skel->links.bp_born);
	detach(&skel->links.bp_renamed);
	err = loader_wait_for_programs(waits->loader);
	if (err)
		log_debug("record waits: the last switches: %s", strerror(-err));
	detach(&skel->links.bp_resumed);
}

void waits_deinit(struct waits *waits)
{
	for (size_t i = 0; i < waits->bell_cnt; i++) {
		munmap(waits->bells[i].mem, bell_bytes());
		close(waits->bells[i].fd);
	}
	free(waits->bells);
	*waits = (struct waits){0};
}

int waits_collect(struct waits *waits, iterate_fn *fn, void *arg)
{
	return iterate_tasks(waits->loader->skel->progs.bp_collect, fn, arg,
			     sizeof(struct bp_asleep));
}

void waits_runs(const struct waits *waits, uint64_t *runs, uint64_t *misses)
{
	struct program_stats stats;

	loader_program_stats(bpf_program__fd(waits->loader->skel->progs.bp_switch), &stats);
	*runs = stats.runs;
	*misses = stats.misses;
}

const char *waits_describe(const struct loader *loader)
{
	const volatile struct bp_config *cfg = &loader->skel->rodata->cfg;

	if (!cfg->resumes_by_irq)
		return "stacks are walked at sched_exit_tp";
	if (cfg->has_task_storage)
		return "no tracepoint after the switch: an interrupt stands in for it";
	return "an interrupt stands in for a tracepoint after the switch; 32,768 threads at most";
}
