/* SPDX-License-Identifier: Apache-2.0 */
/* A function whose stack has to be exactly what its source says. */
#ifndef BPFPROF_KEEP_FRAME_H
#define BPFPROF_KEEP_FRAME_H

/*
 * The function keeps a frame of its own: gcc gives a leaf function none, even with
 * -fno-omit-frame-pointer (its caller is then missing from a walk along frame pointers). At a
 * function's end it also keeps the last call from becoming a jump.
 */
#define KEEP_FRAME() __asm__ volatile("" ::"r"(__builtin_frame_address(0)) : "memory")

#endif
