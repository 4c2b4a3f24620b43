/* SPDX-License-Identifier: Apache-2.0 */
/* DT_NEEDED of dynamic sections. */
#include "elf/needed.h"

#include "elf/elf_priv.h"

enum { DYNAMIC_MAX_BYTES = 1 << 20 };

static void each_of(const struct elf_file *elf, Elf_Scn *scn, const GElf_Shdr *shdr,
		    elf_needed_fn *fn, void *arg)
{
	Elf_Data *data = elf_section_bytes(scn, DYNAMIC_MAX_BYTES);
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		const char *name = dyn.d_tag == DT_NEEDED
					   ? elf_strptr(elf->elf, shdr->sh_link, dyn.d_un.d_val)
					   : NULL;

		if (name)
			fn(arg, name);
	}
}

void elf_each_needed(const struct elf_file *elf, elf_needed_fn *fn, void *arg)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf->elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_DYNAMIC)
			each_of(elf, scn, &shdr, fn, arg);
	}
}
