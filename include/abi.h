/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) OR Apache-2.0 */
/*
 * The kernel/user contract: every struct that crosses the boundary, declared once, fixed-width,
 * without padding.
 *
 * Memory, for C = CPUs present and the sizes in struct bp_config (defaults in
 * user/capture/sizes.c):
 *
 *	per CPU and epoch, written by that CPU's owner of slot 0 alone, read and cleared by
 *	userspace through mmap:
 *	  bp_shard       counters and fill marks
 *	  stack_index    u64 per slot: bp_index_entry() of a stack, 0 free
 *	  count_index    likewise of a count
 *	  stacks         bp_stack: one distinct stack, its frames at frames_off in the arena
 *	  counts         bp_count: one distinct (stack, who, event) with its count and sum
 *	  arena          u64 frames
 *	per CPU:         BP_SLOTS_PER_CPU scratch slots
 *	once:            exes (executable identity -> id), ring (records that found no room or no
 *	                 exclusive shard; new executables), targets
 *
 * Epochs have numbers: programs read ctl.epoch once at entry and write only the shard of that
 * number modulo 2. Userspace counts the word up, waits for running programs (one map-in-map update
 * implies synchronize_rcu()), then owns the closed epoch, and gives its shards back, cleared,
 * before it counts up again: so one epoch is open and at most one closed, and the number modulo 2
 * tells them apart.
 */
#ifndef BPFPROF_ABI_H
#define BPFPROF_ABI_H

#include <linux/types.h>

#include "abi_heap.h"
#include "abi_unwind.h"
#include "limits.h"

enum { BP_ABI_VERSION = 1 };

enum bp_stack_outcome {
#define BP_STACK_OUTCOME(id, name, help) BP_STACK_##id,
#include "outcomes.def"
	BP_STACK_OUTCOME_CNT,
};

enum bp_loss {
#define BP_LOSS(id, name, help) BP_LOST_##id,
#include "outcomes.def"
	BP_LOSS_CNT,
};

/*
 * A user frame is one u64:
 *
 *	bit 63 set:    a raw instruction pointer in the other bits: memory without a file (JIT
 *	               code), or an executable that got no id
 *	bit 63 clear:  executable id << 40 | offset into its file
 *
 * Offsets, not virtual addresses, because the offset follows from the VMA alone: a file never seen
 * before has it right in its very first sample. Userspace turns it into the ELF's virtual address
 * by the file's program headers. Callers' frames are already moved back onto the call instruction
 * (return address - 1).
 */
#define BP_FRAME_RAW (1ULL << 63)
#define BP_FRAME_OFF_BITS 40

enum {
	BP_EXE_NONE = 0,
	BP_EXE_VDSO = 1, /* offsets are into the vdso image */
	BP_EXE_FIRST = 16, /* below: reserved */
	BP_EXE_MAX = (1 << 23) - 1,
};

static inline __u32 bp_frame_exe(__u64 frame)
{
	return frame >> BP_FRAME_OFF_BITS;
}

static inline __u64 bp_frame_off(__u64 frame)
{
	return frame & ((1ULL << BP_FRAME_OFF_BITS) - 1);
}

/* What makes two mappings the same executable, from the VMA's inode. */
struct bp_exe_key {
	__u64 ino;
	__u64 size_bytes;
	__s64 mtime_s;
	__u32 mtime_ns;
	__u32 dev; /* the superblock's s_dev, kernel encoding */
	__u32 generation;
	__u32 pad;
};

struct bp_exe {
	__u32 id;
	__u32 is_announced; /* the ring took its bp_exe_event */
	struct bp_rows rows;
};

/* Who a sample belongs to. Fields that --by does not ask for are 0, so that they do not split; but
 * a stack with raw frames always has its process. */
struct bp_who {
	__u64 start_ns; /* the thread group's start, CLOCK_BOOTTIME: with tgid the process' identity
			 */
	__u64 cgroup_id;
	__u32 tgid;
	__u32 tid;
	__u32 uid;
	__u32 cpu; /* 1 + CPU number, so that 0 is "not asked" */
	char comm[BP_COMM_BYTES];
	char process[BP_COMM_BYTES];
	__u64 waker; /* --wakers: which BP_PART_WAKER record has the stack of who ended the wait; 0:
			none */
	__u64 bucket; /* --timeline: 1 + CLOCK_MONOTONIC / bucket_ns, so that 0 is "not asked" */
};

/* The events of a recording: index of bp_shard.events. */
enum bp_event {
	BP_EVENT_SAMPLED = 0, /* the first of BP_EVENTS_SAMPLED: what -e names */
	BP_EVENT_SWITCH = BP_EVENTS_SAMPLED, /* threads that come back to a CPU */
	BP_EVENT_HEAP, /* allocations */
};

/*
 * What of a thread's time a count of BP_EVENT_SWITCH is. Those of a wait have the time blocked as
 * sum and the time runnable after it as sum2.
 */
enum bp_part {
	BP_PART_NONE = 0, /* a sample */
	BP_PART_INTERRUPTIBLE, /* the states in which a thread leaves the CPU: blocked, ... */
	BP_PART_UNINTERRUPTIBLE,
	BP_PART_STOPPED, /* by a signal or a debugger */
	BP_PART_PARKED, /* kernel threads; frozen */
	BP_PART_PREEMPTED, /* ... or runnable: sum is 0 */
	BP_PART_NEW, /* runnable, never run before */
	BP_PART_WAITS, /* those before are waits */

	BP_PART_TOTALS = 8, /* of a thread, all its time: sum CPU, sum2 blocked, weight runnable */
	BP_PART_WAKER, /* the stack that who.waker of others means */
	BP_PART_RUNNING, /* not sent: a thread's state */
	BP_PART_DEAD, /* likewise */
};

/* The key of a count: its event, the part of waits, and as a power of two the time blocked or the
 * value of --hist. */
static inline __u32 bp_event_key(__u32 event, __u32 part, __u32 log2)
{
	return event | part << 8 | log2 << 16;
}

static inline __u32 bp_key_event(__u32 key)
{
	return key & 0xff;
}

static inline __u32 bp_key_part(__u32 key)
{
	return key >> 8 & 0xff;
}

static inline __u32 bp_key_log2(__u32 key)
{
	return key >> 16;
}

/* The record that tells the stack of heap site @site. */
static inline __u32 bp_heap_site_key(__u32 site)
{
	return BP_EVENT_HEAP | site << 8;
}

static inline __u32 bp_key_heap_site(__u32 key)
{
	return key >> 8;
}

/* An index slot: the hash's upper half, to skip most misses without touching the entry, and 1 + the
 * entry's number. */
static inline __u64 bp_index_entry(__u64 hash, __u32 index)
{
	return (hash & 0xffffffff00000000ULL) | (index + 1);
}

static inline __u32 bp_index_tag(__u64 hash_or_entry)
{
	return hash_or_entry >> 32;
}

static inline __u32 bp_index_of(__u64 entry)
{
	return (__u32)entry - 1;
}

struct bp_stack {
	__u64 hash;
	__u32 frames_off; /* index of the first frame in the arena */
	__u16 kernel_cnt;
	__u16 user_cnt; /* frames stored: min(user_total, BP_FRAMES_USER) */
	__u32 user_total; /* frames walked */
	__u32 outcome; /* enum bp_stack_outcome */
};

enum { BP_VARIANCE_SHIFT = 20 };

struct bp_count {
	struct bp_who who;
	__u64 count; /* records */
	__u64 weight; /* what happened: more than the records where they are a sample of it */
	__u64 sum, sum2;
	__u64 variance; /* of sum as an estimate, in units of 1 << BP_VARIANCE_SHIFT */
	__u32 stack; /* index into stacks */
	__u32 key; /* bp_event_key() */
};

/* One event on one CPU in one epoch. ran = recorded + lost[] + filtered. */
struct bp_event_counters {
	__u64 ran;
	__u64 filtered;
	__u64 recorded;
	__u64 ran_idle; /* of ran: those that found the idle task */
	__u64 unseen; /* must have happened, but no program ran: a thread that runs and has not come
		       */
	__u64 ran_off; /* beside ran: a probe's hits while nothing was to be sampled */
	__u64 passed_over; /* of filtered: hits of a probe between two samples, which stand for
			      them */
	__u64 lost[8];
};

struct bp_shard {
	__u32 abi; /* BP_ABI_VERSION, written by userspace */
	__u32 epoch; /* of its epochs' numbers the last bit */
	__u64 committed; /* the epoch that was cleared last, written by userspace */
	__u64 stack_cnt, count_cnt, arena_cnt; /* fill marks */
	__u64 ring_records; /* samples that went to the ring instead */
	__u64 vma_misses; /* walks that gave a VMA not containing the address */
	__u64 exe_misses; /* executables that got no id (table full or busy): raw frames */
	__u64 targets_full; /* children that could not be followed */
	__u64 snapshots_refused; /* walks that wanted one: the rate, the ring, or no stack to copy
				  */
	__u64 thinned; /* waits left to chance by their length; in filtered */
	__u64 judged; /* waits of any length while chance was at work */
	__u64 threshold_sum_ns, threshold_max_ns; /* under which they were */
	__u64 totals_lost; /* BP_PART_TOTALS that found no room */
	__u64 run_delays[BP_LOG2_CNT]; /* waits on a run queue by their length, log2 of ns */
	struct bp_event_counters events[BP_EVENTS_MAX];
};

/* Does the kernel's account of time on run queues say when threads are woken? */
enum bp_queue_times {
	BP_QUEUE_TIMES_NONE, /* no, or not at once: bp_wakeup is attached instead */
	BP_QUEUE_TIMES_HOLD,
	BP_QUEUE_TIMES_MISLEAD, /* but for some that are asleep, which bp_migrated knows */
};

/* In mmap-able memory, one element. */
struct bp_ctl {
	__u32 epoch; /* the number of the one that is open */
	__u32 is_sampling; /* set by userspace; probes are in place before and after */
	__u32 rows_nr; /* counts what was published and withdrawn */
	struct bp_rows vdso_rows;
	__u32 module_loads; /* counted by bp_module */
	__u32 queue_times; /* enum bp_queue_times, set by userspace */
	__u32 pad;
	/* When threads' times began and ended, CLOCK_MONOTONIC; 0: not yet. */
	__u64 waits_start_ns, waits_end_ns;
	/* Until when, CLOCK_MONOTONIC, samples are recorded without a word from userspace; 0: there
	 * is no such time. */
	__u64 lease_until_ns;
};

/* What bp_read_ticks found, in mmap-able memory, one element. */
struct bp_tick_read {
	__s64 err; /* 0 or negative errno */
	__u64 count;
	__u64 enabled_ns; /* stands still where the event is dead */
};

/* An event's hits on one CPU. */
struct bp_hits {
	__u64 cnt; /* of a probe, for which there is no counter as there is for timers */
	__u64 sampled_cnt; /* at the last sample: cnt, or of a counter what it had counted */
	__u64 sampled_ns; /* when that was, CLOCK_MONOTONIC */
};

/* Per CPU number. */
struct bp_cpu {
	__u32 shard; /* 1 + shard number, 0: none */
	__u32 is_excluded; /* by -C */
	struct bp_hits hits[BP_EVENTS_SAMPLED];
};

enum bp_ring_type {
	BP_RING_SAMPLE = 1,
	BP_RING_EXE = 2,
	BP_RING_SNAPSHOT = 3,
	BP_RING_MODULE = 4, /* wakes userspace: ctl.module_loads has changed */
};

/* A sample: assembled in a scratch slot; the same bytes go to the ring when the shard cannot take
 * them. */
struct bp_record {
	__u32 type; /* BP_RING_SAMPLE */
	__u32 epoch; /* its number modulo 2 */
	__u32 key; /* bp_event_key() */
	__u32 outcome;
	__u16 kernel_cnt;
	__u16 user_cnt;
	__u32 user_total;
	__u64 value, value2; /* added to sum and sum2 */
	__u64 weight;
	__u64 variance;
	struct bp_who who;
	__u64 frames[BP_FRAMES_MAX + 1]; /* kernel, leaf first, then user, leaf first; one spare */
};

enum { BP_RECORD_HEAD_BYTES = 136 };

/*
 * A sample whose walk met an executable without rows yet: what was walked so far, and all that
 * userspace needs to walk on from the frame pushed last when the rows are there. Sent up to
 * stack_bytes of stack, pages of which may be missing: large arrays that nobody has touched.
 * user_total is the frames so far.
 */
struct bp_snapshot_vma {
	__u64 start, end;
	__u64 frame_base; /* the frame of ip is frame_base + (ip - start) */
};

struct bp_snapshot {
	/* As a struct bp_record begins, with type BP_RING_SNAPSHOT. */
	__u64 record[BP_RECORD_HEAD_BYTES / 8 + BP_SNAPSHOT_FRAMES];
	__u64 ip, sp, fp, bx;
	__u64 stack_start; /* the page of sp, or the one before */
	__u64 start_stack; /* the main thread's first sp */
	__u64 regs[BP_SNAPSHOT_REGS]; /* by DWARF number; valid when has_regs */
	__u32 is_call_site; /* ip is a return address */
	__u32 is_leaf;
	__u32 has_regs, has_bx;
	__u32 guess; /* enum bp_stack_outcome of what fails from here on, 0: of its own */
	__u32 vma_cnt;
	__u32 stack_bytes;
	__u32 stack_pages; /* bit i: page i of stack could be read */
	struct bp_snapshot_vma vmas[BP_SNAPSHOT_VMAS]; /* executable, ascending */
	__u8 stack[BP_SNAPSHOT_STACK_BYTES];
};

struct bp_exe_event {
	__u32 type; /* BP_RING_EXE */
	__u32 id;
	__u32 tgid;
	__u32 path_bytes; /* used in path */
	__u64 vma_start, vma_end;
	__u64 file_off; /* of vma_start */
	struct bp_exe_key key;
	__u64 head_bytes; /* in head; 0 where it could not be read */
	/* Where the file's first bytes are mapped when its segments follow each other as in the
	 * file: its ELF header, as likely as not. */
	__u8 head[BP_EXE_HEAD_BYTES];
	char path[BP_PATH_BYTES]; /* components leaf first, each NUL-terminated */
};

/*
 * A thread as userspace finds it at the end of a window: what the task iterator writes, one after
 * another. The totals are those since it was asked last. A thread that is off the CPU has its wait
 * in @head (key 0: it runs), so far as it lies in the window; its user stack is for userspace to
 * read.
 */
struct bp_asleep {
	__u64 head[BP_RECORD_HEAD_BYTES / 8]; /* as a struct bp_record begins */
	__u64 cpu_ns, blocked_ns, runnable_ns;
	__u64 ip, sp, fp;
	__u64 start_stack;
	__u64 start_ns; /* of the process */
	__u32 tgid, tid;
	__u32 has_regs;
	__u32 is_call_site;
	__u64 regs[BP_SNAPSHOT_REGS]; /* by DWARF number */
	__u64 kernel[BP_FRAMES_KERNEL]; /* head.kernel_cnt of them */
};

/* Keys of the map of targets. */
enum bp_target_kind {
	BP_TARGET_TGID = 1,
	BP_TARGET_TID = 2,
	BP_TARGET_UID = 3,
	/* By numbers of the namespace that bpfprof is in, until bp_find_targets() has found them.
	 */
	BP_TARGET_TGID_HERE = 4,
	BP_TARGET_TID_HERE = 5,
};

struct bp_target {
	__u32 kind;
	__u32 id;
};

enum bp_by {
	BP_BY_PROCESS = 1 << 0,
	BP_BY_PID = 1 << 1,
	BP_BY_TID = 1 << 2,
	BP_BY_CPU = 1 << 3,
	BP_BY_CGROUP = 1 << 4,
	BP_BY_UID = 1 << 5,
};

/*
 * A glob as an automaton: bit i of the state set says that i tokens (characters or '?') have
 * matched. A byte c takes state i to i + 1 where token_mask[c] has bit i, and keeps it where
 * star_mask has it (a '*' stands before token i). Start: bit 0; accepted: accept_mask.
 */
struct bp_glob {
	__u32 star_mask;
	__u32 accept_mask;
	__u32 token_mask[256];
};

/* An event that is sampled. */
struct bp_event_config {
	__u64 period; /* a sample every so many hits; 0: by frequency */
	__u64 interval_ns; /* then, of probes: a sample when so long after the last one */
	__u8 is_counted; /* by the program: probes and tracepoints */
	__u8 is_return; /* of a function */
	__u8 by_caller; /* the stack is the function and its caller */
	__u8 elapsed; /* the value is the time since the function was entered */
	__u8 has_where, has_weight, has_hist; /* expressions */
	__u8 is_entry; /* of functions, at their first instruction */
};

/* Set between open and load; constants to the verifier. */
struct bp_config {
	__u32 abi_hash;
	__u32 by; /* enum bp_by */
	__u32 stacks_cnt; /* per shard; indices have twice as many slots, a power of two */
	__u32 counts_cnt;
	__u32 stack_index_mask;
	__u32 count_index_mask;
	__u32 arena_cnt; /* u64 per shard */
	__u32 exe_stride; /* shards * BP_SLOTS_PER_CPU: executable ids are handed out per slot */
	__u32 glob_cnt;
	__u32 cgroup_cnt;
	__u8 include_idle;
	__u8 filter_tgid, filter_tid, filter_uid;
	__u8 no_kernel_stacks, no_user_stacks;
	__u8 test_plain_scratch; /* tests only: slot 0 unclaimed, to show what the claim is for */
	__u8 no_snapshots;
	__u8 has_task_storage; /* else: a table by thread number */
	__u8 kernel_threads;
	__u8 waits; /* --off-cpu, --wall: the scheduler's programs are attached */
	__u8 wakers;
	__u8 resumes_by_irq; /* no tracepoint after the switch: an interrupt is raised */
	__u8 parallelism; /* value2 of samples: the value shared among the process' running threads
			   */
	__u8 heap; /* --heap */
	__u8 pad;
	__u32 pid_ns; /* inode number of our pid namespace; 0: the first one, whose numbers the
			 kernel uses */
	__u32 pad2;
	__u32 parts; /* bits: time blocked as which enum bp_part is wanted; BP_PART_PREEMPTED: time
			runnable */
	__u32 budget; /* of a CPU's time for waits' stacks, in 1/1024; 0: no bound */
	__u64 min_block_ns, max_block_ns;
	__u64 bucket_ns; /* --timeline: how wide one is; 0: no time is kept */
	__u64 cgroup_ids[BP_CGROUPS_MAX];
	struct bp_event_config events[BP_EVENTS_SAMPLED];
};

_Static_assert(sizeof(struct bp_exe_key) == 40, "no padding");
_Static_assert(sizeof(struct bp_who) == 80, "no padding");
_Static_assert(sizeof(struct bp_stack) == 24, "no padding");
_Static_assert(sizeof(struct bp_count) == 128, "no padding");
_Static_assert(sizeof(struct bp_event_counters) == 120, "no padding");
_Static_assert(sizeof(struct bp_record) == BP_RECORD_HEAD_BYTES + 8 * (BP_FRAMES_MAX + 1),
	       "no padding");
_Static_assert(sizeof(struct bp_snapshot) ==
		       BP_RECORD_HEAD_BYTES +
			       8 * (BP_SNAPSHOT_FRAMES + 6 + BP_SNAPSHOT_REGS + 4 +
				    3 * BP_SNAPSHOT_VMAS) +
			       BP_SNAPSHOT_STACK_BYTES,
	       "no padding");
_Static_assert(sizeof(struct bp_exe_event) == 88 + BP_EXE_HEAD_BYTES + BP_PATH_BYTES, "no padding");
_Static_assert(BP_LOSS_CNT <= 8, "fits bp_event_counters.lost");

/* Compiled into both sides and compared at load: a stale object cannot run against other structs.
 */
enum {
	BP_ABI_HASH = BP_ABI_VERSION * 1000003 ^ (int)sizeof(struct bp_record) * 8191 ^
		      (int)sizeof(struct bp_count) * 131 ^ (int)sizeof(struct bp_shard) * 31 ^
		      (int)sizeof(struct bp_config) * 17 ^ (int)sizeof(struct bp_snapshot) * 3 ^
		      (int)sizeof(struct bp_exe_event) * 7 ^ (int)sizeof(struct bp_asleep) * 5 ^
		      (int)sizeof(struct bp_ctl) * 257 ^
		      (BP_STACK_OUTCOME_CNT * 64 + BP_LOSS_CNT) * 524287,
};

#endif
