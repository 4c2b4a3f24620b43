/* SPDX-License-Identifier: Apache-2.0 */
/* ELF images: program headers, build-id, symbols. The only folder that knows libelf. Images are
 * hostile: sizes are checked by libelf and by us. */
#ifndef BPFPROF_ELF_ELF_FILE_H
#define BPFPROF_ELF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

enum { BUILD_ID_MAX = 64 }; /* bytes; SHA-1 makes 20 */

/* From a descriptor (borrowed; must stay open) or from memory (borrowed, as the vdso's). *owned*;
 * NULL + errno (EBADMSG: not a usable ELF file). */
struct elf_file *elf_file_open(int fd);
struct elf_file *elf_file_from_memory(void *image, size_t len);

/* The same without mapping the file: what is asked for is copied, and a file that is cut short
 * meanwhile is a short read. */
struct elf_file *elf_file_open_unmapped(int fd);

/*
 * Mapped where only root or we ourselves can change the file or cut it short, else unmapped: for
 * programs, and what they lead us to. @is_foreign: it lies in another root than ours, whose root
 * may be anybody.
 */
struct elf_file *elf_file_open_wary(int fd, bool is_foreign);

/* Was some of a mapped one read as zeros, since it had been cut short? What was learned of it may
 * be wrong then. False for NULL. */
bool elf_file_is_cut(const struct elf_file *elf);
void elf_file_free(struct elf_file *elf);

/* The GNU build-id into @out (at most @max bytes), from section or program-header notes. Its
 * length; 0 when there is none. */
size_t elf_build_id(const struct elf_file *elf, uint8_t *out, size_t max);

/* The same for a descriptor, without libelf's set-up cost: reads program headers and notes by
 * pread. */
size_t elf_build_id_fd(int fd, uint8_t *out, size_t max);

/*
 * The same from the first @len bytes of a file, as a process has them mapped, where the file itself
 * is gone. Believed only when its program headers load code from file offset @exec_off.
 */
size_t elf_build_id_head(const void *head, size_t len, uint64_t exec_off, uint8_t *out, size_t max);

#endif
