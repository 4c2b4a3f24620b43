/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other half of a split unit: in a .dwo file of the compiler's, or in a package (.dwp) of them
 * (DWARF 5, section 7.3.5; its predecessor of GCC's "DebugFissionDWP" for DWARF 4). What is opened
 * must be a regular file below the root of whoever wrote the name (elf/root_file.h), and its unit
 * must have the skeleton's id.
 */
#ifndef BPFPROF_ELF_DWARF_SPLIT_H
#define BPFPROF_ELF_DWARF_SPLIT_H

#include "elf/dwarf_unit.h"

/* Where to look. */
struct dwarf_split_files {
	char *path; /* owned: of the file with the skeletons, absolute; NULL: nowhere */
	int root_fd; /* borrowed: what paths start from; -1: our own root */
	struct dwarf_image package; /* PATH.dwp */
	bool has_package;
	bool is_package_tried;
	bool is_asked; /* there was a unit that was split off */
	struct dwarf_account *account; /* borrowed */
};

struct dwarf_split {
	struct dwarf_image image; /* of a .dwo file; empty for a package's unit */
	struct dwarf_unit unit;
};

/*
 * The split unit of @skeleton, which must outlive it; *owned*. Looked for in PATH.dwp, then by its
 * name in the compilation's directory and beside PATH. NULL when there is none that fits.
 */
struct dwarf_split *dwarf_split_find(struct dwarf_split_files *files, struct dwarf_unit *skeleton);
void dwarf_split_free(struct dwarf_split *split);

void dwarf_split_files_deinit(struct dwarf_split_files *files);

#endif
