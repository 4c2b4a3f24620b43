/* SPDX-License-Identifier: Apache-2.0 */
/* Where the code of an entry is: low_pc and high_pc, or a range list of either generation (DWARF 4,
 * section 2.17.3; DWARF 5, section 2.17.3 and 7.25). */
#ifndef BPFPROF_ELF_DWARF_RANGES_H
#define BPFPROF_ELF_DWARF_RANGES_H

#include "elf/addr_map.h"
#include "elf/dwarf_unit.h"

struct dwarf_spans {
	struct addr_span *items; /* owned */
	size_t cnt, cap;
};

/*
 * Append the code that @where says of an entry of @unit, under @id. Ranges that are not loaded code
 * are left out, and a malformed list ends where it breaks. 0, -E2BIG or -ENOMEM.
 */
int dwarf_spans_add(struct dwarf_spans *spans, const struct dwarf_unit *unit,
		    const struct dwarf_where *where, uint32_t id);
void dwarf_spans_deinit(struct dwarf_spans *spans);

#endif
