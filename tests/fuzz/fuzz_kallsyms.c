/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: /proc/kallsyms as text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct kallsyms *syms = kallsyms_parse((const char *)data, len);
	struct kallsyms *modules;
	uint64_t ip = 0;
	size_t cnt;

	if (!syms)
		return 0;
	if (kallsyms_is_restricted(syms) && kallsyms_cnt(syms))
		abort();
	for (int i = 0; i < 64; i++) {
		const char *name = kallsyms_find(syms, ip);

		if (name && (!*name || strlen(name) > len))
			abort();
		ip = ip * 16 + (i < (int)len ? data[i] : 0xf);
	}
	if (kallsyms_add_ends(syms, &ip, 1))
		abort();
	cnt = kallsyms_cnt(syms);
	modules = kallsyms_split(syms);
	if (!modules || kallsyms_cnt(syms) + kallsyms_cnt(modules) != cnt)
		abort();
	if (kallsyms_find(syms, ip) && *kallsyms_module(syms, ip))
		abort();
	kallsyms_free(modules);
	kallsyms_free(syms);
	return 0;
}
