/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs are written down here as instructions: they are a dozen lines each, and where a
 * tracepoint's fields are is only known on the machine.
 */
#include "capture/task_counts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "event/kernel_fs.h"
#include "event/perf_open.h"
#include "event/tracepoint.h"
#include "proc/namespaces.h"

enum {
	TASKS_MAX = 1 << 18,
	PROGRAM_INSNS_MAX = 32,
	/* Values of the set. */
	IS_WAITING = 0, /* for its exec */
	IS_COUNTED = 1,
	/* The stack, below r10. */
	KEY_AT = -4,
	VALUE_AT = -8,
};

struct task_counts {
	int tasks_map, counts_map; /* owned */
	int *fds; /* owned: programs and the events that hold them */
	size_t cnt, cap;
};

/* --- Instructions --- */

struct program {
	struct bpf_insn insns[PROGRAM_INSNS_MAX];
	size_t cnt;
};

static void emit(struct program *prog, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		 int32_t imm)
{
	prog->insns[prog->cnt++] = (struct bpf_insn){
		.code = code, .dst_reg = dst & 0xf, .src_reg = src & 0xf, .off = off, .imm = imm};
}

static void emit_call(struct program *prog, int32_t helper)
{
	emit(prog, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void emit_move(struct program *prog, uint8_t dst, uint8_t src)
{
	emit(prog, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

/* dst = r10 + off */
static void emit_stack_address(struct program *prog, uint8_t dst, int32_t off)
{
	emit_move(prog, dst, 10);
	emit(prog, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, off);
}

static void emit_map(struct program *prog, uint8_t dst, int map)
{
	emit(prog, BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, map);
	emit(prog, 0, 0, 0, 0, 0);
}

static void emit_exit(struct program *prog)
{
	emit(prog, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	emit(prog, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* *(key) = the current thread's number */
static void emit_current_key(struct program *prog)
{
	emit_call(prog, BPF_FUNC_get_current_pid_tgid);
	emit(prog, BPF_STX | BPF_MEM | BPF_W, 10, 0, KEY_AT, 0);
}

/* *(key) = the u32 at @off of the tracepoint's record, whose address is in r6 */
static void emit_field_key(struct program *prog, uint32_t off)
{
	emit(prog, BPF_LDX | BPF_MEM | BPF_W, 1, 6, (int16_t)off, 0);
	emit(prog, BPF_STX | BPF_MEM | BPF_W, 10, 1, KEY_AT, 0);
}

/* r0 = the value of *(key) in @map; leave when there is none. */
static void emit_lookup(struct program *prog, int map)
{
	emit_map(prog, 1, map);
	emit_stack_address(prog, 2, KEY_AT);
	emit_call(prog, BPF_FUNC_map_lookup_elem);
	emit(prog, BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0);
	emit_exit(prog);
}

/* tasks[*(key)] = IS_COUNTED */
static void emit_join(struct program *prog, int map)
{
	emit(prog, BPF_ST | BPF_MEM | BPF_W, 10, 0, VALUE_AT, IS_COUNTED);
	emit_map(prog, 1, map);
	emit_stack_address(prog, 2, KEY_AT);
	emit_stack_address(prog, 3, VALUE_AT);
	emit(prog, BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, BPF_ANY);
	emit_call(prog, BPF_FUNC_map_update_elem);
}

/* r1 = *(u32 *)r0; leave when it is IS_WAITING. */
static void emit_leave_if_waiting(struct program *prog)
{
	emit(prog, BPF_LDX | BPF_MEM | BPF_W, 1, 0, 0, 0);
	emit(prog, BPF_JMP | BPF_JNE | BPF_K, 1, 0, 2, IS_WAITING);
	emit_exit(prog);
}

/* --- Loading and attaching --- */

static int keep_fd(struct task_counts *counts, int fd)
{
	int err = array_reserve(&counts->fds, &counts->cap, counts->cnt + 1, sizeof(*counts->fds));

	if (err)
		close(fd);
	else
		counts->fds[counts->cnt++] = fd;
	return err;
}

static int load(struct task_counts *counts, enum bpf_prog_type type, const struct program *prog,
		int *out)
{
	int fd = bpf_prog_load(type, "bpfprof_stat", "GPL", prog->insns, prog->cnt, NULL);

	if (fd < 0)
		return -errno;
	*out = fd;
	return keep_fd(counts, fd);
}

/* A program runs on every CPU, wherever its perf event is. */
static int attach(struct task_counts *counts, struct perf_event_attr *attr, int prog_fd)
{
	int fd = perf_open(attr, -1, 0, 0), err;

	if (fd < 0)
		return fd;
	err = keep_fd(counts, fd);
	if (!err && ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd))
		err = -errno;
	if (!err && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	return err;
}

static int attach_tracepoint(struct task_counts *counts, uint64_t id, const struct program *prog)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .config = id, .disabled = 1};
	int prog_fd = -1, err = load(counts, BPF_PROG_TYPE_TRACEPOINT, prog, &prog_fd);

	return err ? err : attach(counts, &attr, prog_fd);
}

/* --- Who belongs --- */

/* Offset of a tracepoint's u32 field; 0: it has none (the record begins with other things). */
static uint32_t field_off(const struct tracepoint_format *format, const char *name)
{
	for (size_t i = 0; i < format->cnt; i++)
		if (!strcmp(format->fields[i].name, name) && format->fields[i].size == 4)
			return format->fields[i].off;
	return 0;
}

static int follow_forks(struct task_counts *counts, int tracefs)
{
	struct program prog = {0};
	struct tracepoint_format format;
	int err = tracepoint_load(tracefs, "task:task_newtask", &format);

	if (err)
		return err;
	emit_move(&prog, 6, 1);
	emit_current_key(&prog);
	emit_lookup(&prog, counts->tasks_map);
	emit_leave_if_waiting(&prog);
	emit_field_key(&prog, field_off(&format, "pid"));
	emit_join(&prog, counts->tasks_map);
	emit_exit(&prog);
	err = field_off(&format, "pid") ? attach_tracepoint(counts, format.id, &prog) : -EBADMSG;
	tracepoint_format_deinit(&format);
	return err;
}

/* A thread that calls exec takes over the number of its process's first one. */
static int follow_execs(struct task_counts *counts, int tracefs)
{
	struct program prog = {0};
	struct tracepoint_format format;
	int err = tracepoint_load(tracefs, "sched:sched_process_exec", &format);

	if (err)
		return err;
	emit_move(&prog, 6, 1);
	emit_field_key(&prog, field_off(&format, "old_pid"));
	emit_lookup(&prog, counts->tasks_map);
	emit_field_key(&prog, field_off(&format, "pid"));
	emit_join(&prog, counts->tasks_map);
	emit_exit(&prog);
	err = field_off(&format, "pid") && field_off(&format, "old_pid")
		      ? attach_tracepoint(counts, format.id, &prog)
		      : -EBADMSG;
	tracepoint_format_deinit(&format);
	return err;
}

static int follow_exits(struct task_counts *counts, int tracefs)
{
	struct program prog = {0};
	struct tracepoint_format format;
	int err = tracepoint_load(tracefs, "sched:sched_process_exit", &format);

	if (err)
		return err;
	emit_current_key(&prog);
	emit_map(&prog, 1, counts->tasks_map);
	emit_stack_address(&prog, 2, KEY_AT);
	emit_call(&prog, BPF_FUNC_map_delete_elem);
	emit_exit(&prog);
	err = attach_tracepoint(counts, format.id, &prog);
	tracepoint_format_deinit(&format);
	return err;
}

/* --- The interface --- */

static int make_maps(struct task_counts *counts, size_t event_cnt)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);

	counts->tasks_map = bpf_map_create(BPF_MAP_TYPE_HASH, "bpfprof_tasks", sizeof(uint32_t),
					   sizeof(uint32_t), TASKS_MAX, &opts);
	if (counts->tasks_map < 0)
		return -errno;
	counts->counts_map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bpfprof_counts", sizeof(uint32_t),
					    sizeof(uint64_t), (uint32_t)event_cnt, NULL);
	return counts->counts_map < 0 ? -errno : 0;
}

int task_counts_open(size_t event_cnt, struct task_counts **out, struct buf *why)
{
	_cleanup_close_ int tracefs = -1;
	struct task_counts *counts;
	int err;

	if (namespaces_pid()) {
		buf_add_str(why, "probes of single processes are not counted in a pid name space "
				 "of its own (a container): use -a, or run on the host");
		return -EOPNOTSUPP;
	}
	tracefs = kernel_fs_tracefs(why);
	if (tracefs < 0)
		return tracefs;
	counts = calloc(1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	counts->tasks_map = counts->counts_map = -1;
	err = make_maps(counts, event_cnt);
	err = err ? err : follow_forks(counts, tracefs);
	err = err ? err : follow_execs(counts, tracefs);
	err = err ? err : follow_exits(counts, tracefs);
	if (err) {
		buf_printf(why, "BPF: cannot follow processes: %s", strerror(-err));
		task_counts_close(counts);
		return err;
	}
	*out = counts;
	return 0;
}

int task_counts_add(struct task_counts *counts, uint32_t tid, bool on_exec)
{
	uint32_t value = on_exec ? IS_WAITING : IS_COUNTED;

	return bpf_map_update_elem(counts->tasks_map, &tid, &value, BPF_ANY) ? -errno : 0;
}

int task_counts_attach(struct task_counts *counts, size_t index, const struct event *event,
		       struct buf *why)
{
	struct program prog = {0};
	int prog_fd = -1, err;

	emit_current_key(&prog);
	emit_lookup(&prog, counts->tasks_map);
	emit_leave_if_waiting(&prog);
	emit(&prog, BPF_ST | BPF_MEM | BPF_W, 10, 0, KEY_AT, (int32_t)index);
	emit_lookup(&prog, counts->counts_map);
	emit(&prog, BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1);
	emit(&prog, BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD);
	emit_exit(&prog);
	err = load(counts, BPF_PROG_TYPE_KPROBE, &prog, &prog_fd);
	for (size_t i = 0; i < event->site_cnt && !err; i++) {
		struct perf_event_attr attr;

		err = perf_attr_probe(&event->sites[i], event_is_return(event->spec.kind), &attr);
		err = err ? err : attach(counts, &attr, prog_fd);
	}
	if (err)
		buf_printf(why, "event '%s' cannot be counted: %s", event->name, strerror(-err));
	return err;
}

int task_counts_read(const struct task_counts *counts, size_t index, uint64_t *out)
{
	uint32_t key = (uint32_t)index;

	return bpf_map_lookup_elem(counts->counts_map, &key, out) ? -errno : 0;
}

void task_counts_close(struct task_counts *counts)
{
	if (!counts)
		return;
	while (counts->cnt)
		close(counts->fds[--counts->cnt]);
	if (counts->tasks_map >= 0)
		close(counts->tasks_map);
	if (counts->counts_map >= 0)
		close(counts->counts_map);
	free(counts->fds);
	free(counts);
}
