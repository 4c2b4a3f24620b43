/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Naming the locations of a profile, module by module in ascending order of address: one symbol
 * index is in memory at a time, and neighbours in one function share its name.
 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "elf/debug_file.h"
#include "elf/elf_file.h"
#include "elf/go_symbols.h"
#include "elf/symtab.h"
#include "proc/kallsyms.h"
#include "symbol/demangle.h"

static const char kernel_path[] = "[kernel.kallsyms]";

/* A location that waits for its name. */
struct pending {
	uint64_t address;
	uint32_t mapping;
	uint32_t location;
};

struct symbolizer {
	struct profile *prof;
	struct module *const *modules;
	size_t module_cnt;
	const struct symbolizer_opts *opts;
	struct ledger_frames *frames;
	struct pending *items; /* owned */
	size_t item_cnt;
	struct demangler *demangler; /* owned */
	struct kallsyms *kallsyms; /* owned; NULL until the kernel's turn, or when unreadable */
	struct buf name, system_name; /* scratch */
};

/* The symbols of one module, and the function that the last location was in. */
struct module_symbols {
	struct elf_file *elf; /* owned */
	struct debug_file debug; /* owned: what was split off elf */
	struct symtab *symtab; /* owned; NULL with a reason */
	struct go_symbols *go; /* owned; NULL unless it is a Go program without .symtab */
	size_t go_cnt; /* locations that these have named */
	const char *reason; /* why nothing in this module has a name */
	uint64_t last_start, last_end;
	uint32_t last_function;
};

static void module_symbols_deinit(struct module_symbols *syms)
{
	go_symbols_free(syms->go);
	symtab_free(syms->symtab);
	debug_file_deinit(&syms->debug);
	elf_file_free(syms->elf);
}

static void symbolizer_deinit(struct symbolizer *sym)
{
	free(sym->items);
	demangler_free(sym->demangler);
	kallsyms_free(sym->kallsyms);
	buf_deinit(&sym->name);
	buf_deinit(&sym->system_name);
}

static int pending_cmp(const void *left, const void *right)
{
	const struct pending *lhs = left, *rhs = right;

	if (lhs->mapping != rhs->mapping)
		return lhs->mapping < rhs->mapping ? -1 : 1;
	return (lhs->address > rhs->address) - (lhs->address < rhs->address);
}

static int collect_pending(struct symbolizer *sym)
{
	const struct profile *prof = sym->prof;

	sym->items = malloc((prof->location_cnt + 1) * sizeof(*sym->items));
	if (!sym->items)
		return -ENOMEM;
	for (size_t i = 0; i < prof->location_cnt; i++) {
		const struct profile_location *loc = &prof->locations[i];

		if (loc->flags & LOCATION_SYNTHETIC)
			continue;
		sym->frames->distinct++;
		if (loc->line_cnt)
			sym->frames->named++;
		else
			sym->items[sym->item_cnt++] = (struct pending){
				loc->address,
				loc->mapping,
				(uint32_t)i,
			};
	}
	qsort(sym->items, sym->item_cnt, sizeof(*sym->items), pending_cmp);
	return 0;
}

static void set_function(struct symbolizer *sym, const struct pending *item, uint32_t function)
{
	struct profile_line line = {.function = function};

	if (function != PROFILE_NONE)
		profile_set_lines(sym->prof, item->location, &line, 1);
}

static const char *mapping_path(const struct symbolizer *sym, uint32_t mapping)
{
	if (mapping == PROFILE_NONE)
		return "";
	return profile_str(sym->prof, sym->prof->mappings[mapping].path);
}

static bool is_anon_path(const char *path)
{
	return !strcmp(path, "//anon");
}

/* What stands before the '+' of a frame without a name: the file's, without its folder. */
static void add_base_name(const struct symbolizer *sym, const struct pending *item, bool is_jit,
			  struct buf *out)
{
	const char *path = mapping_path(sym, item->mapping);
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t len = strlen(base);

	if (is_jit || is_anon_path(path))
		buf_add_str(out, "anon");
	else if (!strcmp(path, kernel_path) ||
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

/* A name from the address, and a count under @reason. */
static void set_unnamed(struct symbolizer *sym, const struct pending *item, const char *reason)
{
	struct buf *name = &sym->name;

	buf_reset(name);
	buf_add_char(name, '[');
	add_base_name(sym, item, !strcmp(reason, "jit"), name);
	buf_printf(name, "+0x%" PRIx64 "]", item->address);
	set_function(sym, item, profile_function(sym->prof, buf_cstr(name), buf_cstr(name), "", 0));
	ledger_reason_add(&sym->frames->unnamed, reason, 1);
}

static void count_named(struct symbolizer *sym, const struct pending *item)
{
	sym->frames->named++;
	if (item->mapping != PROFILE_NONE)
		sym->prof->mappings[item->mapping].flags |= MAPPING_HAS_FUNCTIONS;
}

static void set_named(struct symbolizer *sym, const struct pending *item, uint32_t function)
{
	set_function(sym, item, function);
	count_named(sym, item);
}

/* The profile's function for the symbol @name; @suffix as "@plt". */
static uint32_t intern_function(struct symbolizer *sym, const char *name, size_t len,
				const char *suffix)
{
	char demangled[DEMANGLE_MAX];

	demangle(sym->demangler, name, len, demangled);
	buf_reset(&sym->name);
	buf_add_str(&sym->name, demangled);
	buf_add_str(&sym->name, suffix);
	buf_reset(&sym->system_name);
	buf_add(&sym->system_name, name, len);
	buf_add_str(&sym->system_name, suffix);
	return profile_function(sym->prof, buf_cstr(&sym->name), buf_cstr(&sym->system_name), "",
				0);
}

static const char *module_reason(const struct module *module, const char *path)
{
	if (!module)
		return is_anon_path(path) ? "jit" : "unknown_mapping";
	if (module->kind == MODULE_ANON)
		return "jit";
	if (module->fd < 0)
		return module->absence == MODULE_FILE_CHANGED ? "file_changed" : "no_file";
	return NULL;
}

static int find_debug_file(const struct module *module, const struct elf_file *elf,
			   struct debug_file *out)
{
	const struct debug_query query = {
		.elf = elf,
		.path = module->path,
		.build_id = module->build_id,
		.build_id_len = module->build_id_len,
		.root_fd = module->root_fd,
	};
	int err = debug_file_find(&query, out);

	return err == -ENOENT ? 0 : err;
}

/* Both kinds of tables: Go's know lines and inlined calls, and a Go program may have functions of
 * C. */
static int module_tables_load(const struct module *module, struct module_symbols *syms)
{
	int err = find_debug_file(module, syms->elf, &syms->debug);

	if (!err)
		err = symtab_from_elf(syms->elf, &syms->debug, &syms->symtab);
	if (err)
		return err;
	err = go_symbols_from_elf(syms->elf, &syms->go);
	return err == -ENOENT ? 0 : err;
}

/* 0 also when there are no symbols; the reason is in @out then. */
static int module_symbols_load(const struct symbolizer *sym, uint32_t mapping,
			       struct module_symbols *out)
{
	const struct module *module =
		mapping < sym->module_cnt && mapping != PROFILE_NONE ? sym->modules[mapping] : NULL;

	*out = (struct module_symbols){.last_function = PROFILE_NONE};
	out->reason = module_reason(module, mapping_path(sym, mapping));
	if (out->reason)
		return 0;
	out->elf = elf_file_open(module->fd);
	if (!out->elf) {
		out->reason = "bad_elf";
		return errno == ENOMEM ? -ENOMEM : 0;
	}
	return module_tables_load(module, out);
}

/* Go's names are not mangled. */
static bool name_by_go(struct symbolizer *sym, struct module_symbols *syms,
		       const struct pending *item)
{
	struct profile_line lines[GO_FRAMES_MAX];
	struct go_chain chain;

	if (!syms->go || go_symbols_find(syms->go, item->address, &chain))
		return false;
	for (size_t i = 0; i < chain.cnt; i++) {
		const struct go_frame *frame = &chain.frames[i];

		lines[i] = (struct profile_line){
			.function = profile_function(sym->prof, frame->name, frame->name,
						     frame->file, frame->start_line),
			.line = frame->line,
		};
	}
	profile_set_lines(sym->prof, item->location, lines, chain.cnt);
	count_named(sym, item);
	syms->go_cnt++;
	return true;
}

static void name_by_symtab(struct symbolizer *sym, struct module_symbols *syms,
			   const struct pending *item)
{
	struct symtab_name name;

	if (syms->last_function == PROFILE_NONE || item->address < syms->last_start ||
	    item->address >= syms->last_end) {
		if (symtab_find(syms->symtab, item->address, &name)) {
			set_unnamed(sym, item, "no_symbol");
			return;
		}
		syms->last_function =
			intern_function(sym, name.str, name.len, name.is_plt ? "@plt" : "");
		syms->last_start = name.start;
		syms->last_end = name.end;
	}
	set_named(sym, item, syms->last_function);
}

/* @items: all that wait in one mapping. */
static int name_module(struct symbolizer *sym, const struct pending *items, size_t cnt)
{
	_cleanup_(module_symbols_deinit) struct module_symbols syms = {0};
	int err = module_symbols_load(sym, items[0].mapping, &syms);

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		if (sym->prof->locations[items[i].location].flags & LOCATION_JIT)
			set_unnamed(sym, &items[i], "jit");
		else if (syms.reason)
			set_unnamed(sym, &items[i], syms.reason);
		else if (!name_by_go(sym, &syms, &items[i]))
			name_by_symtab(sym, &syms, &items[i]);
	}
	if (syms.go_cnt == cnt)
		sym->prof->mappings[items[0].mapping].flags |=
			MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES | MAPPING_HAS_INLINES;
	return sym->prof->err;
}

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

static int name_kernel(struct symbolizer *sym, const struct pending *items, size_t cnt)
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
			set_unnamed(sym, &items[i],
				    sym->kallsyms && kallsyms_is_restricted(sym->kallsyms)
					    ? "kptr_restrict"
					    : "no_kernel_symbol");
			continue;
		}
		if (name != last_name)
			function = intern_function(sym, name, strlen(name), "");
		last_name = name;
		set_named(sym, &items[i], function);
	}
	return sym->prof->err;
}

static int name_all(struct symbolizer *sym)
{
	size_t first = 0;

	while (first < sym->item_cnt) {
		const struct pending *items = sym->items + first;
		size_t cnt = 1;
		int err;

		while (first + cnt < sym->item_cnt && items[cnt].mapping == items[0].mapping)
			cnt++;
		if (!strcmp(mapping_path(sym, items[0].mapping), kernel_path))
			err = name_kernel(sym, items, cnt);
		else
			err = name_module(sym, items, cnt);
		if (err)
			return err;
		first += cnt;
	}
	return 0;
}

static void name_by_address(struct symbolizer *sym)
{
	for (size_t i = 0; i < sym->item_cnt; i++)
		set_unnamed(sym, &sym->items[i], "not_wanted");
}

int symbolizer_run(struct profile *prof, struct module *const *modules, size_t module_cnt,
		   const struct symbolizer_opts *opts, struct ledger_frames *frames)
{
	_cleanup_(symbolizer_deinit) struct symbolizer sym = {
		.prof = prof,
		.modules = modules,
		.module_cnt = module_cnt,
		.opts = opts,
		.frames = frames,
	};
	int err = collect_pending(&sym);

	if (err)
		return err;
	buf_init(&sym.name, BUF_NO_MAX);
	buf_init(&sym.system_name, BUF_NO_MAX);
	if (opts->no_symbols) {
		name_by_address(&sym);
		return prof->err;
	}
	sym.demangler = demangler_new();
	if (!sym.demangler)
		return -ENOMEM;
	return name_all(&sym);
}
