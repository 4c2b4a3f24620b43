/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indirect functions (STT_GNU_IFUNC): the symbol is that of a resolver, which runs once, when the
 * dynamic linker binds the name, and says which code the name stands for on this CPU. A probe on
 * the symbol would count how often that was asked. glibc's strlen, memcpy and their like are such.
 */
#ifndef BPFPROF_EVENT_IFUNC_H
#define BPFPROF_EVENT_IFUNC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What our own process has for function @name of the library that is open as @fd, or of a copy of
 * it (by build-id): the choice depends on the CPU and is the same in all processes that are not
 * told otherwise (GLIBC_TUNABLES). No code is loaded for it. 0 and *@vaddr in that library;
 * -ENOENT: we do not use the library, or it has no such name; -EXDEV: the code lies elsewhere, as
 * that of time() in the vdso.
 */
int ifunc_own_choice(int fd, const char *name, uint64_t *vaddr);

/* Is @function, as glibc names them, code that @name may stand for: __strlen_avx2 for strlen? */
bool ifunc_is_variant(const char *name, const char *function);

#endif
