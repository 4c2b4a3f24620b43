/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel structures read as one block, because a block costs hardly more than a field, and all
 * fields are then of one moment. Where a field is in the block is this kernel's (CO-RE); a field
 * beyond it reads as 0, which the self-test of the walk at start would show.
 */
#ifndef BPFPROF_COPY_BPF_H
#define BPFPROF_COPY_BPF_H

enum { COPY_BYTES = 192 };

static __always_inline __u64 copy_word(const __u64 *copy, __u32 off)
{
	return off <= COPY_BYTES - 8 ? *(const __u64 *)((const char *)copy + off) : 0;
}

static __always_inline __u32 copy_half(const __u64 *copy, __u32 off)
{
	return off <= COPY_BYTES - 4 ? *(const __u32 *)((const char *)copy + off) : 0;
}

#define INODE_OFF(type, field) bpf_core_field_offset(struct type, field)
#define VMA_WORD(copy, field) copy_word(copy, bpf_core_field_offset(struct vm_area_struct, field))

#endif
