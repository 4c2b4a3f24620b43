/* SPDX-License-Identifier: Apache-2.0 */
/* The directories and files of a line table, in either of their two layouts. */
#ifndef BPFPROF_ELF_DWARF_LINE_FILES_H
#define BPFPROF_ELF_DWARF_LINE_FILES_H

#include "elf/dwarf_lines.h"

/* Note where each entry is; @rd is behind the opcodes' operand counts. 0, -EBADMSG or -ENOMEM. */
int dwarf_line_files_read(struct dwarf_lines *lines, struct reader *rd);

#endif
