/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that an ELF image asks for. */
#ifndef BPFPROF_ELF_NEEDED_H
#define BPFPROF_ELF_NEEDED_H

#include "elf/elf_file.h"

/* @name and @folders are borrowed for the call. @folders: where the image says that its libraries
 * lie (DT_RUNPATH, else DT_RPATH), with ':' between, some with $ORIGIN for its own folder; or NULL.
 */
typedef void elf_needed_fn(void *arg, const char *name, const char *folders);

/* Call @fn for each library that the image names as needed (DT_NEEDED), in its order. A damaged
 * table counts as absent. */
void elf_each_needed(const struct elf_file *elf, elf_needed_fn *fn, void *arg);

#endif
