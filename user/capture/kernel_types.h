/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's types, as far as our BPF programs ask for them. Reading all of a kernel's BTF (5 MB,
 * 100,000 types) costs as much CPU time as verifying the programs; what the programs name of it is
 * 10 KB, made once per kernel and kept (base/cache_dir.h, kind "btf").
 */
#ifndef BPFPROF_CAPTURE_KERNEL_TYPES_H
#define BPFPROF_CAPTURE_KERNEL_TYPES_H

#include "base/buf.h"

struct btf;

/*
 * Raw BTF, appended to @out, with the types of @kernel that a CO-RE relocation of an object with
 * the types @local may resolve to: those of the same name (___flavor apart), their members of a
 * name that @local has, at the same offsets, and what these consist of; pointers point to void. 0
 * or negative errno.
 */
int kernel_types_reduce(const struct btf *kernel, const struct btf *local, struct buf *out);

/*
 * An unnamed file with the running kernel's types for the BPF object @elf (@len bytes, borrowed),
 * from the cache or made. A descriptor, *owned*, or negative errno: the kernel's own BTF will do.
 */
int kernel_types_open(const void *elf, size_t len);

#endif
