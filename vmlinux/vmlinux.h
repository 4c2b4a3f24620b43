/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types we read, reduced to the fields we read (CO-RE finds the offsets on the running
 * kernel). A suffix ___x names an older or newer shape of the same type; the comment says which
 * commit changed it.
 */
#ifndef BPFPROF_VMLINUX_H
#define BPFPROF_VMLINUX_H

#include <linux/types.h>

typedef _Bool bool;
enum { false = 0, true = 1 };

#ifdef __TARGET_ARCH_x86
#include "x86.h"
#else
#include "arm64.h"
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct maple_tree {
	void *ma_root;
};

typedef struct {
	void *vdso;
} mm_context_t;

/* mm_mt since "mm: start tracking VMAs with maple tree" (6.1) */
/* Where uprobes' instructions are single-stepped, and where returns of probed functions go. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct maple_tree mm_mt;
	unsigned long start_stack;
	mm_context_t context;
	struct uprobes_state uprobes_state;
};

/* A call of a function whose return is probed. */
struct return_instance {
	unsigned long stack; /* sp at its entry */
	unsigned long orig_ret_vaddr;
	struct return_instance *next; /* the call around it */
};

struct uprobe_task {
	struct return_instance *return_instances;
};

/* mm_rb until "mm: remove rb tree." (6.1) */
struct mm_struct___rbtree {
	struct rb_root mm_rb;
};

/* mm_lock_seq since "mm: write-lock VMAs while removing them from VMA tree" (6.4), with
 * CONFIG_PER_VMA_LOCK */
struct mm_struct___6_4 {
	int mm_lock_seq;
};

/* "mm: convert mm_lock_seq to a proper seqcount" (6.13) */
struct seqcount {
	unsigned int sequence;
};

typedef struct seqcount seqcount_t;

struct mm_struct___6_13 {
	seqcount_t mm_lock_seq;
};

struct super_block {
	__u32 s_dev;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

/* i_mtime_sec, i_mtime_nsec since "fs: switch timespec64 fields in inode to discrete integers"
 * (6.11) */
struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	__s64 i_size;
	__s64 i_mtime_sec;
	__u32 i_mtime_nsec;
	__u32 i_generation;
};

/* __i_mtime since "fs: rename inode i_atime and i_mtime fields" (6.7) */
struct inode___6_7 {
	struct timespec64 __i_mtime;
};

struct inode___old {
	struct timespec64 i_mtime;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

/* An entry of a page table. */
typedef struct {
	unsigned long pte;
} pte_t;

/* A page fault that is being handled. */
struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long address; /* of the page */
	unsigned long *pmd, *pud; /* entries of the upper page tables, in the kernel's memory */
	pte_t orig_pte; /* as it was */
};

struct vm_area_struct___rbtree {
	struct rb_node vm_rb;
};

struct task_struct;

/* The run queue of a CPU; tasks lead to it with CONFIG_FAIR_GROUP_SCHED. */
struct rq {
	struct task_struct *idle;
	__u64 clock; /* ns */
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
	unsigned char sched_delayed; /* asleep, but still on the run queue: since 6.12 */
};

/* With CONFIG_SCHED_INFO: what a task has waited for a CPU, ns. */
struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival; /* on a CPU */
	unsigned long long
		last_queued; /* rq.clock at which it was put on a run queue; 0: it is on none */
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
};

struct kernfs_node {
	__u64 id;
};

/* ancestors since "cgroup: Replace cgroup->ancestor_ids[] with ->ancestors[]" (6.1) */
struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[];
};

struct cgroup___5 {
	int level;
	__u64 ancestor_ids[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

/* A number in a namespace; those of a struct pid begin with the first namespace's. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[];
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	/* Bytes since 7.2: unsigned, so that a load may be made narrower. */
	unsigned int on_cpu;
	unsigned int on_rq;
	int pid;
	int tgid;
	const struct cred *cred;
	struct css_set *cgroups;
	void *stack;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct pid *thread_pid; /* NULL once it has been waited for */
	__u64 start_boottime;
	__u32 self_exec_id;
	char comm[16];
	unsigned long nivcsw;
	struct sched_entity se;
	struct sched_info sched_info;
	struct uprobe_task *utask;
};

/* __state since "sched: Change task_struct::state" (5.14) */
struct task_struct___5 {
	volatile long state;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* Layouts that are read as a whole into our own memory; the walk's self-test at start guards them.
 */
enum { MAPLE_RANGE64_SLOTS = 16, MAPLE_ARANGE64_SLOTS = 10, MAPLE_NODE_BYTES = 256 };

struct maple_range_64 {
	void *parent;
	unsigned long pivot[MAPLE_RANGE64_SLOTS - 1];
	void *slot[MAPLE_RANGE64_SLOTS];
};

struct maple_arange_64 {
	void *parent;
	unsigned long pivot[MAPLE_ARANGE64_SLOTS - 1];
	void *slot[MAPLE_ARANGE64_SLOTS];
};

enum {
	TASK_INTERRUPTIBLE = 0x0001,
	TASK_UNINTERRUPTIBLE = 0x0002,
	__TASK_STOPPED = 0x0004,
	__TASK_TRACED = 0x0008,
	TASK_DEAD = 0x0080,
	TASK_WAKING = 0x0200,
	PF_KTHREAD = 0x00200000,
	VM_EXEC = 0x00000004,
};

struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

#endif
