/* SPDX-License-Identifier: Apache-2.0 */
/* What a stripped image itself says of its separate symbols: .gnu_debuglink and .gnu_debugdata. */
#ifndef BPFPROF_ELF_DEBUG_LINK_H
#define BPFPROF_ELF_DEBUG_LINK_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/elf_file.h"

/*
 * .gnu_debuglink: the debug file's name without a folder and the CRC-32 of its content (GDB
 * manual, "Separate Debug Files").
 */
struct debug_link {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

/* 0 and *@out; -ENOENT without such a section; -EBADMSG when it is damaged or its name is a path.
 */
int debug_link_read(const struct elf_file *elf, struct debug_link *out);

/* Has the content of @fd that CRC? 0; -ESTALE when it has another; -EFBIG when it is larger than is
 * worth reading for that (512 MiB); negative errno. */
int debug_link_check(const struct debug_link *link, int fd);

/*
 * .gnu_debugdata ("MiniDebuginfo"): an ELF image, compressed by xz, whose .symtab names the
 * functions that .dynsym does not. Unpacked into @out, an empty buffer with the wanted maximum.
 * 0; -ENOENT without such a section; -EBADMSG when it is damaged; -EFBIG: more than fits into @out,
 * or a dictionary that xz itself never makes; -ENOMEM.
 */
int debug_data_unpack(const struct elf_file *elf, struct buf *out);

#endif
