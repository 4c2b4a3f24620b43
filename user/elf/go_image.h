/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF image with Go code: where its table of functions is, and what the offsets in that table
 * count from.
 *
 * The header of .gopclntab told where the text starts until Go 1.25, but in a file that an external
 * linker made position-independent the place is empty, as a relocation fills it. What the inline
 * trees count from (the symbol go:func.*) stands in no header. Both are in the runtime's struct
 * moduledata, whose first word is the address of .gopclntab; that word, as it is in the file or as
 * a relocation will make it, is what it is found by.
 */
#ifndef BPFPROF_ELF_GO_IMAGE_H
#define BPFPROF_ELF_GO_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "elf/elf_file.h"
#include "elf/gopclntab.h"
#include "elf/segments.h"

struct go_image {
	const uint8_t *bytes; /* the whole file; borrowed from the struct elf_file, or copy */
	uint8_t *copy; /* owned; NULL where the file is mapped */
	size_t len;
	struct elf_segments segments;
	uint64_t pclntab_vaddr;
	struct go_pclntab pclntab;
	uint64_t gofunc_vaddr; /* 0: not found, or not used (before Go 1.18) */
};

/*
 * @elf must outlive @out. The table is looked for by its section's name, and by its magic in the
 * data segments of a file that names no sections. 0; -ENOENT: no table that can be used; -ENOMEM.
 * Reads the data segments up to moduledata: some ms where they hold tens of MB.
 */
int go_image_open(const struct elf_file *elf, struct go_image *out);
void go_image_deinit(struct go_image *image);

/* The image from @vaddr to the end of its segment's bytes in the file; empty where there are none.
 */
struct reader go_image_at(const struct go_image *image, uint64_t vaddr);

#endif
