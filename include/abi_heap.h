/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) OR Apache-2.0 */
/*
 * The heap's part of the kernel/user contract (bpf/heap.bpf.h says how it works). All tables are
 * mmap-able: userspace reads them without a system call, while programs go on writing.
 */
#ifndef BPFPROF_ABI_HEAP_H
#define BPFPROF_ABI_HEAP_H

#include <linux/types.h>

enum bp_heap_limits {
	BP_HEAP_PROCS = 1024, /* processes of one recording, exec counted as a new one */
	BP_HEAP_BUCKET_KEYS = 7,
	BP_HEAP_SPILL = 16, /* buckets in a row that a block may lie in */
	BP_HEAP_SITE_PROBES = 32,
	BP_HEAP_MEMO_BITS = 8, /* remembered walks per CPU */
	BP_HEAP_MEMO_WORDS = 64, /* of the stack, of a walk that is remembered; a power of two */
	BP_HEAP_LIFETIMES = 16,
	BP_HEAP_UNIT_BITS = 16, /* sampled: objects are counted in 1 << 16ths */
	BP_HEAP_ADDR_BITS = 48, /* of a block */
};

/* What an allocator's function does, by its arguments: the probe's cookie. */
enum bp_heap_call {
	BP_HEAP_ALLOC = 1, /* (size) */
	BP_HEAP_ALLOC_COUNT, /* (count, size) */
	BP_HEAP_ALIGNED, /* (alignment, size) */
	BP_HEAP_OUT, /* (&block, alignment, size): posix_memalign() */
	BP_HEAP_REALLOC, /* (block, size) */
	BP_HEAP_REALLOC_COUNT, /* (block, count, size) */
	BP_HEAP_RUST_REALLOC, /* (block, old size, alignment, size) */
	BP_HEAP_REMAP, /* (block, old size, size): mremap(), which fails with -1 */
	BP_HEAP_MAP, /* (address, size): mmap(), likewise */
	BP_HEAP_BREAK, /* (size): sbrk(), likewise; no allocation unless it is more than 0 */
	BP_HEAP_FREE, /* (block) */
	BP_HEAP_CALL_CNT,
};

/*
 * A process, from exec (or the recording's begin) to exec or exit. Index 0 is nobody's. Its live
 * sum is its peak when nr says so: see struct bp_heap_site.
 */
struct bp_heap_proc {
	__u32 tgid;
	__u32 is_over; /* exec has replaced it: nothing of it is live any more */
	__u64 start_ns; /* of the process */
	/* Exact in either mode. */
	__u64 recorded; /* outermost allocations that succeeded, and that chance did not pass over
			 */
	__u64 passed_over; /* by chance, whether they succeed or not */
	__u64 asked_bytes; /* the sizes of both */
	__u64 frees; /* of blocks, not of NULL */
	__u64 unknown_frees; /* of blocks that are in no table: not sampled, or from before */
	__u64 failed; /* allocations that gave NULL */
	__u64 nested; /* inside others: theirs */
	__u64 cut_short; /* left without a return: longjmp(), an exception */
	__u64 unseen_frees; /* blocks that were given out again without a free that we saw */
	__u64 overflows; /* blocks that found no room in the table: allocated, never live */
	/* In units of the mode. */
	__u64 live_objects, live_bytes;
	__u64 peak_objects, peak_bytes;
	__u64 peak_nr; /* counts the peaks so far */
};

/* (process, who, stack): what it has allocated, in units of the mode. Index 0 has what found no
 * room elsewhere. */
struct bp_heap_site {
	__u64 hash; /* 0: not used */
	__u64 alloc_objects, alloc_bytes;
	__u64 freed_objects, freed_bytes;
	/* At the process' peak number peak_nr; if that is not the last, what is live now. */
	__u64 peak_objects, peak_bytes, peak_nr;
	__u64 temporary;
	__u64 variance; /* of alloc_bytes as an estimate, in 1 << BP_VARIANCE_SHIFT */
	__u32 proc;
	__u32 pad;
	__u64 lifetimes[BP_HEAP_LIFETIMES]; /* of freed objects, by bp_heap_lifetime() */
};

/* A power of four of microseconds. */
static inline __u32 bp_heap_lifetime(__u32 log2_ns)
{
	__u32 i = log2_ns < 10 ? 0 : (log2_ns - 10) / 2;

	return i < BP_HEAP_LIFETIMES ? i : BP_HEAP_LIFETIMES - 1;
}

/* The live blocks' keys: one cache line. Block i of bucket b is blocks[b * 8 + i]. */
struct bp_heap_bucket {
	__u64 keys[BP_HEAP_BUCKET_KEYS]; /* bp_heap_key(); 0: free */
	__u64 spilled; /* blocks of this bucket that lie in the next ones */
};

struct bp_heap_block {
	__u64 born_ns; /* CLOCK_MONOTONIC */
	__u64 bytes;
	__u32 site;
	__u32 is_set; /* the rest is */
};

/* No two live blocks have the same: a block is aligned by 8, and of a process. */
static inline __u64 bp_heap_key(__u32 proc, __u64 block)
{
	return block >> 3 | (__u64)proc << (BP_HEAP_ADDR_BITS - 3);
}

/* (site of allocation, site of freeing): --heap=sites. */
struct bp_heap_pair {
	__u32 alloc_site, free_site;
};

struct bp_heap_pair_sum {
	__u64 objects, bytes;
};

/* In a ring of its own: a process has come by fork, or has other files mapped by exec. */
struct bp_heap_event {
	__u32 tgid;
	__u32 parent; /* whose child it is, by fork; 0: by exec */
	__u32 is_other_task; /* a thread has called exec and is the process now */
	__u32 pad;
	__u64 time_ns; /* CLOCK_MONOTONIC */
};

/* One element. */
struct bp_heap_ctl {
	__u32 proc_cnt; /* indices given out, 0 included */
	__u32 site_cnt;
	__u64 sites_full; /* allocations that went to site 0 */
	__u64 procs_full;
	__u64 pairs_full;
	__u64 no_thread; /* calls of what allocates whose thread got no memory to be followed */
};

/* Set between open and load. */
struct bp_heap_config {
	__u32 bucket_mask;
	__u32 site_mask; /* of the index, which has twice as many slots as there are sites */
	__u32 site_cnt;
	__u16 pairs; /* --heap=sites */
	__u16 follows; /* children are processes of the recording, too */
	__u64 rate_bytes; /* 0: exact */
};

_Static_assert(sizeof(struct bp_heap_proc) == 136, "no padding");
_Static_assert(sizeof(struct bp_heap_site) == 88 + 8 * BP_HEAP_LIFETIMES, "no padding");
_Static_assert(sizeof(struct bp_heap_bucket) == 64, "a cache line");
_Static_assert(sizeof(struct bp_heap_block) == 24, "no padding");
_Static_assert(sizeof(struct bp_heap_ctl) == 40, "no padding");
_Static_assert(BP_HEAP_PROCS <= 1 << (64 - BP_HEAP_ADDR_BITS + 3), "keys are of 64 bits");

#endif
