/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernel code, and the module that each is in: "[nf_tables]" as its mapping, of what was
 * announced alone "[bpf_prog_TAG_NAME]". */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/privilege.h"
#include "symbol/naming.h"

/* The map that capture has kept, else one of the moment. NULL: no memory. */
static struct kernel_map *kernel_map_of(struct symbolizer *sym)
{
	if (sym->opts->kernel)
		return sym->opts->kernel;
	if (!sym->own_kernel)
		sym->own_kernel = kernel_map_new();
	return sym->own_kernel;
}

static int read_kernel(struct kernel_map *map)
{
	struct kallsyms *syms;

	if (kernel_map_is_read(map))
		return 0;
	syms = kallsyms_open(KALLSYMS_PATH);
	if (syms)
		return kernel_map_add(map, syms, 0);
	if (errno == ENOMEM)
		return -ENOMEM;
	if (kernel_map_say_once(map))
		log_warn("kernel symbols: read '" KALLSYMS_PATH "': %s", strerror(errno));
	return 0;
}

/* The mapping's owner, into @buf: NULL for the kernel's own mapping. */
static const char *owner_of(const struct symbolizer *sym, uint32_t mapping, struct buf *buf)
{
	const char *path = naming_path(sym, mapping);
	size_t len = strlen(path);

	if (!strcmp(path, naming_kernel_path) || len < 2)
		return NULL;
	buf_reset(buf);
	buf_add(buf, path + 1, len - 2);
	return buf_cstr(buf);
}

/* A module's function moves out of the kernel's own mapping. */
static struct pending into_module(struct symbolizer *sym, const struct pending *item,
				  const struct kernel_name *found)
{
	struct pending moved = *item;

	if (!found->owner)
		return moved;
	buf_reset(&sym->name);
	buf_printf(&sym->name, "[%s]", found->owner);
	moved.mapping = profile_mapping(sym->prof, buf_cstr(&sym->name), "");
	profile_set_mapping(sym->prof, item->location, moved.mapping);
	return moved;
}

static void set_hidden(struct symbolizer *sym, struct kernel_map *map, const struct pending *item,
		       int err)
{
	if (err == -EPERM && kernel_map_say_once(map))
		log_warn("kernel symbols are hidden: %s",
			 privilege_has(PRIVILEGE_SYSLOG)
				 ? "sysctl kernel.kptr_restrict=1"
				 : "not permitted without CAP_SYSLOG: run as root, or give the "
				   "binary CAP_SYSLOG; kernel.kptr_restrict must not be 2");
	naming_set_unnamed(sym, item, err == -EPERM ? "kptr_restrict" : "no_kernel_symbol");
}

static int name_in(struct symbolizer *sym, struct kernel_map *map, const struct pending *items,
		   size_t cnt, const char *owner)
{
	struct kernel_name last = {0};
	uint32_t function = PROFILE_NONE;

	for (size_t i = 0; i < cnt; i++) {
		struct kernel_name found;
		struct pending moved;
		int err = kernel_map_find(map, items[i].address, owner, &found);

		if (err) {
			set_hidden(sym, map, &items[i], err);
			continue;
		}
		moved = owner ? items[i] : into_module(sym, &items[i], &found);
		if (found.name != last.name) {
			const struct profile_function known =
				naming_intern(sym, found.name, strlen(found.name), "");

			function = profile_function_add(sym->prof, &known);
		}
		last = found;
		naming_set_named(sym, &moved, function);
	}
	return sym->prof->err;
}

int name_kernel(struct symbolizer *sym, const struct pending *items, size_t cnt)
{
	struct kernel_map *map = kernel_map_of(sym);
	_cleanup_(buf_deinit) struct buf owner;
	int err = map ? read_kernel(map) : -ENOMEM;

	buf_init(&owner, BUF_NO_MAX);
	if (!err)
		err = name_in(sym, map, items, cnt, owner_of(sym, items[0].mapping, &owner));
	return err ? err : owner.err;
}
