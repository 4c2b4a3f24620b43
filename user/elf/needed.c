/* SPDX-License-Identifier: Apache-2.0 */
/* DT_NEEDED of dynamic sections. */
#include "elf/needed.h"

#include "elf/elf_priv.h"

enum { DYNAMIC_MAX_BYTES = 1 << 20 };

/* The string of the first entry @tag from @*i on, which then stands behind it; NULL: no more. */
static const char *next_string(const struct elf_file *elf, const GElf_Shdr *shdr, Elf_Data *data,
			       GElf_Sxword tag, int *i)
{
	GElf_Dyn dyn;

	while (data && gelf_getdyn(data, (*i)++, &dyn) && dyn.d_tag != DT_NULL) {
		const char *string = dyn.d_tag == tag
					     ? elf_strptr(elf->elf, shdr->sh_link, dyn.d_un.d_val)
					     : NULL;

		if (string)
			return string;
	}
	return NULL;
}

static void each_of(const struct elf_file *elf, Elf_Scn *scn, const GElf_Shdr *shdr,
		    elf_needed_fn *fn, void *arg)
{
	Elf_Data *data = elf_section_bytes(scn, DYNAMIC_MAX_BYTES);
	const char *folders = next_string(elf, shdr, data, DT_RUNPATH, &(int){0});
	const char *name;

	if (!folders)
		folders = next_string(elf, shdr, data, DT_RPATH, &(int){0});
	for (int i = 0; (name = next_string(elf, shdr, data, DT_NEEDED, &i));)
		fn(arg, name, folders);
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
