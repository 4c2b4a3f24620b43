/* SPDX-License-Identifier: Apache-2.0 */
/* Names into locations. */
#include "symbol/naming.h"

#include <inttypes.h>
#include <string.h>

const char naming_kernel_path[] = "[kernel.kallsyms]";

static void set_function(struct symbolizer *sym, const struct pending *item, uint32_t function)
{
	struct profile_line line = {.function = function};

	if (function != PROFILE_NONE)
		profile_set_lines(sym->prof, item->location, &line, 1);
}

const char *naming_path(const struct symbolizer *sym, uint32_t mapping)
{
	if (mapping == PROFILE_NONE)
		return "";
	return profile_str(sym->prof, sym->prof->mappings[mapping].path);
}

/* What stands before the '+' of a frame without a name: the file's, without its folder. */
static void add_base_name(const struct symbolizer *sym, const struct pending *item, bool is_jit,
			  struct buf *out)
{
	const char *path = naming_path(sym, item->mapping);
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t len = strlen(base);

	if (is_jit || profile_path_is_anon(path))
		buf_add_str(out, "anon");
	else if (!strcmp(path, naming_kernel_path) ||
		 (item->mapping == PROFILE_NONE &&
		  (sym->prof->locations[item->location].flags & LOCATION_KERNEL)))
		buf_add_str(out, "kernel");
	else if (!len)
		buf_add_str(out, "unknown");
	else if (base[0] == '[' && base[len - 1] == ']' && len > 2) /* [vdso] */
		buf_add(out, base + 1, len - 2);
	else
		buf_add(out, base, len);
}

void naming_set_unnamed(struct symbolizer *sym, const struct pending *item, const char *reason)
{
	const struct symbolizer_elsewhere *elsewhere = sym->opts->elsewhere;
	struct buf *name = &sym->name;

	if (elsewhere && elsewhere->put_back(elsewhere->arg, item->location)) {
		naming_count_named(sym, item);
		return;
	}
	buf_reset(name);
	buf_add_char(name, '[');
	add_base_name(sym, item, !strcmp(reason, "jit"), name);
	buf_printf(name, "+0x%" PRIx64 "]", item->address);
	set_function(sym, item, profile_function(sym->prof, buf_cstr(name), buf_cstr(name), "", 0));
	ledger_reason_add(&sym->frames->unnamed, reason, 1);
}

void naming_count_named(struct symbolizer *sym, const struct pending *item)
{
	sym->frames->named++;
	if (item->mapping != PROFILE_NONE)
		sym->prof->mappings[item->mapping].flags |= MAPPING_HAS_FUNCTIONS;
}

void naming_set_named(struct symbolizer *sym, const struct pending *item, uint32_t function)
{
	set_function(sym, item, function);
	naming_count_named(sym, item);
}

struct profile_function naming_intern(struct symbolizer *sym, const char *name, size_t len,
				      const char *suffix)
{
	char demangled[DEMANGLE_MAX];

	demangle(sym->demangler, name,
		 sym->opts->merge_clones ? demangle_trunk_len(name, len) : len, demangled);
	buf_reset(&sym->name);
	buf_add_str(&sym->name, demangled);
	buf_add_str(&sym->name, suffix);
	buf_reset(&sym->system_name);
	buf_add(&sym->system_name, name, len);
	buf_add_str(&sym->system_name, suffix);
	return (struct profile_function){
		.name = profile_string(sym->prof, buf_cstr(&sym->name)),
		.system_name = profile_string(sym->prof, buf_cstr(&sym->system_name)),
		.file = profile_string(sym->prof, ""),
	};
}
