/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only file that knows which build this is. In the kernel build: the kernel's types, libbpf's
 * helpers. In the host build the unwinder is plain C that runs in a test program: a map is an array
 * of that program's (`value` points to its first element, `max_entries` says how many), kernel
 * memory is its own memory, and it supplies what reads the unwound task's memory.
 */
#ifndef BPFPROF_SHIM_BPF_H
#define BPFPROF_SHIM_BPF_H

#ifdef __bpf__

#include "vmlinux.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#else

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __TARGET_ARCH_x86
#include "x86.h"
#else
#include "arm64.h"
#endif

enum { MAPLE_NODE_BYTES = 256 };

/* Return probes: see vmlinux.h. */
struct xol_area {
	unsigned long vaddr;
};

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct task_struct {
	struct uprobe_task *utask;
};

/* What the unwinder asks of the unwound task's memory map. */
struct mm_struct {
	unsigned long start_stack;
	struct {
		struct xol_area *xol_area;
	} uprobes_state;
};

/* One field, or one of what a field points to, which may be nothing. */
#define HOST_READ_1(object, field) ((object)->field)
#define HOST_READ_2(object, field, of) ((object)->field ? (object)->field->of : 0)
#define HOST_READ(object, one, two, name, ...) name
#define BPF_CORE_READ(object, ...) \
	HOST_READ(object, __VA_ARGS__, HOST_READ_2, HOST_READ_1, )(object, __VA_ARGS__)
#define bpf_core_field_exists(field) 1

/* In the kernel build these functions are global, so that the verifier sees each once. */
#define __noinline static __attribute__((noinline, unused))
#define SEC(name)
#define __uint(name, val) __u32 name
#define __type(name, val) __typeof__(val) *name
#define __array(name, val) __typeof__(val) *name

#define bpf_map_lookup_elem(map, key) \
	host_element((map)->value, *(key), (map)->max_entries, sizeof(*(map)->value))

static inline void *host_element(void *elements, __u32 index, __u32 cnt, size_t element_bytes)
{
	return index < cnt ? (char *)elements + index * element_bytes : NULL;
}

/* Supplied by the program: copy from the memory of the task that is unwound. 0, or negative. */
static long bpf_probe_read_user(void *dst, __u32 bytes, const void *user);

static inline long bpf_probe_read_kernel(void *dst, __u32 bytes, const void *kernel)
{
	memcpy(dst, kernel, bytes);
	return 0;
}

/* There is one task; the program's compat_user_regs() knows its registers. */
static struct task_struct host_task;

static inline __u64 bpf_get_current_task(void)
{
	return (__u64)&host_task;
}

#endif
#endif
