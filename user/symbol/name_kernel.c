/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernel code. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "symbol/naming.h"

static int load_kallsyms(struct symbolizer *sym)
{
	if (sym->kallsyms)
		return 0;
	sym->kallsyms = kallsyms_open("/proc/kallsyms");
	if (!sym->kallsyms) {
		if (errno == ENOMEM)
			return -ENOMEM;
		log_warn("kernel symbols: read '/proc/kallsyms': %s", strerror(errno));
	} else if (kallsyms_is_restricted(sym->kallsyms)) {
		log_warn("kernel symbols are hidden: record as root, with `sysctl "
			 "kernel.kptr_restrict=1`");
	}
	return 0;
}

int name_kernel(struct symbolizer *sym, const struct pending *items, size_t cnt)
{
	const char *last_name = NULL;
	uint32_t function = PROFILE_NONE;
	int err = load_kallsyms(sym);

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		const char *name =
			sym->kallsyms ? kallsyms_find(sym->kallsyms, items[i].address) : NULL;

		if (!name) {
			naming_set_unnamed(sym, &items[i],
					   sym->kallsyms && kallsyms_is_restricted(sym->kallsyms)
						   ? "kptr_restrict"
						   : "no_kernel_symbol");
			continue;
		}
		if (name != last_name) {
			const struct profile_function known =
				naming_intern(sym, name, strlen(name), "");

			function = profile_function_add(sym->prof, &known);
		}
		last_name = name;
		naming_set_named(sym, &items[i], function);
	}
	return sym->prof->err;
}
