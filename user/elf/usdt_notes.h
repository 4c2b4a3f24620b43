/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The USDT probes (sys/sdt.h) of an ELF image: notes of owner "stapsdt" and type 3, in a section
 * that no program header speaks of.
 *
 * A note's descriptor is three addresses and three strings:
 *
 *	pc          of the nop that is the probe
 *	base        where .stapsdt.base lay when the note was written
 *	semaphore   of a 16-bit count of who is looking; 0: the probe has none
 *	provider, name, arguments ("-4@%edi 8@-8(%rbp)")
 *
 * A tool that moves an image (prelink) corrects addresses in it, but not those in notes. The one
 * byte of section .stapsdt.base moves along, so what it has moved by is added to pc and semaphore:
 * with base 0x2000 and .stapsdt.base now at 0x5000, pc 0x1180 means 0x4180.
 */
#ifndef BPFPROF_ELF_USDT_NOTES_H
#define BPFPROF_ELF_USDT_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* Strings are borrowed from the image. Addresses are vaddrs. */
struct usdt_note {
	const char *provider, *name, *args;
	uint64_t pc_vaddr;
	uint64_t base_vaddr; /* as written; not of interest once the others are corrected */
	uint64_t semaphore_vaddr; /* 0: none */
};

/* A non-zero result ends the walk. */
typedef int usdt_note_fn(void *arg, const struct usdt_note *note);

/*
 * The notes of @elf (64-bit), corrected. Damage ends a section's notes. 0, or what @fn returned. At
 * most 16 MiB of notes are read.
 */
int usdt_notes_for_each(const struct elf_file *elf, usdt_note_fn *fn, void *arg);

/* The notes in the @len bytes of a section, not corrected: of little-endian images. */
int usdt_notes_parse(const void *bytes, size_t len, usdt_note_fn *fn, void *arg);

#endif
