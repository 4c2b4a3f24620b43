/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what names the code of a module. */
#include "symbol/module_symbols.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "elf/dwarf_image.h"
#include "profile/profile.h"

enum {
	/* Of units of one module. Addresses come in ascending order, so few are needed at once. */
	DWARF_BUDGET_BYTES = 32 << 20,
};

/* --- Symbols --- */

/* Of a module without a file. */
static const char *file_absence_reason(const struct module *module)
{
	switch (module->absence) {
	case MODULE_FILE_CHANGED:
		return "file_changed";
	case MODULE_NOT_PERMITTED:
		return "not_permitted";
	case MODULE_BAD_ELF:
		return "bad_elf";
	default:
		return "no_file";
	}
}

static const char *absence_reason(const struct module *module, const char *path)
{
	if (!module && profile_path_is_anon(path))
		return "jit";
	if (!module)
		return path[0] == '/' ? "no_file" : "unknown_mapping";
	if (module->kind == MODULE_ANON)
		return "jit";
	if (module->fd < 0)
		return file_absence_reason(module);
	if (module_is_rewritten(module))
		return "file_changed";
	return NULL;
}

/* The module's path below its root_fd. */
static const char *path_in_root(const struct module *module)
{
	return module->path + module->path_in_root;
}

static struct debug_query query_of(const struct module_symbols *syms)
{
	const struct module *module = syms->module;

	return (struct debug_query){
		.elf = syms->elf,
		.path = path_in_root(module),
		.build_id = module->build_id,
		.build_id_len = module->build_id_len,
		.root_fd = module->root_fd,
		.debuginfod = syms->sources->debuginfod,
		.debug_dirs = syms->sources->debug_dirs,
	};
}

static int find_debug_file(const struct module_symbols *syms, enum debug_want want,
			   struct debug_file *out)
{
	const struct debug_query query = query_of(syms);
	int err = debug_file_find(&query, want, out);

	return err == -ENOENT ? 0 : err;
}

int module_symbols_open(const struct module *module, const char *path,
			const struct symbol_sources *sources, struct module_symbols *out)
{
	struct module_symbols syms = {
		.module = module,
		.sources = sources,
		.reason = absence_reason(module, path),
		.dwarf_err = -ENOENT,
	};

	if (!syms.reason) {
		syms.elf = elf_file_open_wary(module->fd, module->root_fd >= 0);
		if (!syms.elf && errno == ENOMEM)
			return -ENOMEM;
		if (!syms.elf)
			syms.reason = "bad_elf";
	}
	*out = syms;
	return 0;
}

/* Both kinds of tables: Go's know lines and inlined calls, and a Go program may have functions of
 * C. */
int module_symbols_load(struct module_symbols *syms)
{
	int err;

	if (syms->is_loaded)
		return 0;
	err = find_debug_file(syms, DEBUG_WANT_SYMBOLS, &syms->symbols_file);
	if (!err)
		err = symtab_from_elf(syms->elf, &syms->symbols_file, &syms->symtab);
	if (err)
		return err;
	syms->is_loaded = true;
	err = go_symbols_from_elf(syms->elf, &syms->go);
	return err == -ENOENT ? 0 : err;
}

bool module_symbols_source(const struct module_symbols *syms, struct name_source *out)
{
	struct debug_query query;

	if (syms->reason || syms->module->kind != MODULE_FILE ||
	    !file_stamp_get(syms->module->fd, &out->file))
		return false;
	query = query_of(syms);
	out->places = hash_mix(debug_places_hash(&query), syms->sources->debuginfod != NULL);
	return true;
}

bool module_symbols_are_passing(const struct module_symbols *syms)
{
	/* A server may have what it did not send this time. */
	if (syms->sources->debuginfod && syms->symbols_file.kind != DEBUG_FULL &&
	    !symtab_is_full(syms->elf))
		return true;
	/* Split units are in files that are looked for one by one. */
	return syms->lacks_part || (syms->dwarf && dwarf_index_is_split(syms->dwarf));
}

bool module_symbols_have_changed(const struct module_symbols *syms)
{
	if (syms->reason)
		return false;
	return elf_file_is_cut(syms->elf) || elf_file_is_cut(syms->symbols_file.elf) ||
	       elf_file_is_cut(syms->lines_file.elf) || module_is_rewritten(syms->module);
}

void module_symbols_deinit(struct module_symbols *syms)
{
	dwarf_index_free(syms->dwarf);
	debug_file_deinit(&syms->lines_file);
	go_symbols_free(syms->go);
	symtab_free(syms->symtab);
	debug_file_deinit(&syms->symbols_file);
	elf_file_free(syms->elf);
}

/* --- Lines --- */

/* @elf, which lies at @path below @root_fd (-1: our own root), has .debug_info. */
static int open_dwarf(struct module_symbols *syms, struct elf_file *elf, const char *path,
		      int root_fd, uint64_t deadline_ns)
{
	const struct module *module = syms->module;
	const struct debug_query query = query_of(syms);
	_cleanup_close_ int alt_fd = debug_alt_open(&query, elf, path, root_fd);
	const struct dwarf_index_opts opts = {
		.alt_fd = alt_fd,
		/* Split units belong to the program, whichever file has the skeletons. */
		.root_fd = module->root_fd,
		.path = module->path[0] == '/' ? path_in_root(module) : NULL,
		.budget_bytes = DWARF_BUDGET_BYTES,
		.deadline_ns = deadline_ns,
	};
	int err = dwarf_index_new(elf, &opts, &syms->dwarf);
	struct dwarf_alt_link link;

	syms->lacks_part = alt_fd < 0 && !dwarf_alt_link(elf, &link);
	if (err)
		log_debug("lines of '%s': debugging information in '%s': %s", module->path, path,
			  strerror(-err));
	return err;
}

static int open_debug_file(struct module_symbols *syms, const struct debug_file *file,
			   uint64_t deadline_ns)
{
	int root_fd = file->is_in_root ? syms->module->root_fd : -1;

	return open_dwarf(syms, file->elf, file->path, root_fd, deadline_ns);
}

/* Of an image whose symbols were left in it; once. */
static int find_lines_file(struct module_symbols *syms)
{
	if (syms->lines_file.kind != DEBUG_NONE)
		return 0;
	return find_debug_file(syms, DEBUG_WANT_LINES, &syms->lines_file);
}

static int find_dwarf(struct module_symbols *syms, uint64_t deadline_ns)
{
	int err;

	if (dwarf_is_there(syms->elf))
		return open_dwarf(syms, syms->elf, path_in_root(syms->module),
				  syms->module->root_fd, deadline_ns);
	if (syms->symbols_file.kind == DEBUG_FULL && dwarf_is_there(syms->symbols_file.elf))
		return open_debug_file(syms, &syms->symbols_file, deadline_ns);
	/* Of a stripped image both would have been in one file. */
	if (!symtab_is_full(syms->elf))
		return -ENOENT;
	err = find_lines_file(syms);
	if (err || syms->lines_file.kind != DEBUG_FULL)
		return err ? err : -ENOENT;
	return open_debug_file(syms, &syms->lines_file, deadline_ns);
}

int module_symbols_walk(struct module_symbols *syms, uint64_t vaddr, uint64_t deadline_ns,
			struct dwarf_range *range, const struct dwarf_walk_ops *ops, void *arg)
{
	if (!syms->is_dwarf_tried) {
		syms->is_dwarf_tried = true;
		syms->dwarf_err = find_dwarf(syms, deadline_ns);
	}
	if (syms->dwarf_err)
		return syms->dwarf_err;
	return dwarf_index_walk(syms->dwarf, vaddr, range, ops, arg);
}

bool module_symbols_have_lines(struct module_symbols *syms)
{
	if (dwarf_is_there(syms->elf) ||
	    (syms->symbols_file.kind == DEBUG_FULL && dwarf_is_there(syms->symbols_file.elf)))
		return true;
	return symtab_is_full(syms->elf) && !find_lines_file(syms) &&
	       syms->lines_file.kind == DEBUG_FULL;
}

bool module_symbols_are_full(const struct module_symbols *syms)
{
	return symtab_is_full(syms->elf) || syms->symbols_file.kind == DEBUG_FULL;
}
