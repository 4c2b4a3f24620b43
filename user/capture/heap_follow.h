/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of the recorded processes, and what these load later.
 *
 * Nothing holds a child until it is probed: between its first instruction and its first allocation
 * there is about a millisecond (exec, the dynamic linker), without exec nothing at all. So a thread
 * does nothing but wait for the kernel side's word, and puts on a child what its parent has before
 * anything is looked up.
 */
#ifndef BPFPROF_CAPTURE_HEAP_FOLLOW_H
#define BPFPROF_CAPTURE_HEAP_FOLLOW_H

struct heap;
struct heap_follower;

/* From now on the thread alone searches and probes. 0 or negative errno. */
int heap_follow_start(struct heap *heap, struct heap_follower **out);

/* The thread ends; NULL does nothing. */
void heap_follow_stop(struct heap_follower *follower);

#endif
