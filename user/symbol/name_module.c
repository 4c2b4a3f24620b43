/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code in a file. One symbol's name serves all locations in it: they come in ascending
 * order of address.
 */
#include <errno.h>
#include <string.h>

#include "symbol/module_symbols.h"
#include "symbol/naming.h"

/* The symbol that the last location of a module was in, as strings of the profile. */
struct last_symbol {
	uint64_t start, end; /* of its code; end 0: there was none */
	uint32_t name, system_name;
};

/* The module that is being named. */
struct module_naming {
	struct module_symbols syms;
	struct last_symbol last;
	size_t go_cnt; /* locations that Go's tables have named */
	size_t lined_cnt; /* locations with lines from DWARF */
	size_t cut_cnt; /* locations that there was no time for */
};

/* Go's names are not mangled. */
static bool name_by_go(struct symbolizer *sym, struct module_naming *naming,
		       const struct pending *item)
{
	struct profile_line lines[GO_FRAMES_MAX];
	struct go_chain chain;
	size_t first;

	if (!naming->syms.go || go_symbols_find(naming->syms.go, item->address, &chain))
		return false;
	first = sym->opts->no_inline ? chain.cnt - 1 : 0;
	for (size_t i = first; i < chain.cnt; i++) {
		const struct go_frame *frame = &chain.frames[i];

		lines[i] = (struct profile_line){
			.function = profile_function(sym->prof, frame->name, frame->name,
						     frame->file, frame->start_line),
			.line = frame->line,
		};
	}
	profile_set_lines(sym->prof, item->location, lines + first, chain.cnt - first);
	naming_count_named(sym, item);
	naming->go_cnt++;
	return true;
}

/* Make @naming->last the symbol at @vaddr. False when there is none. */
static bool find_symbol(struct symbolizer *sym, struct module_naming *naming, uint64_t vaddr)
{
	struct last_symbol *last = &naming->last;
	struct profile_function function;
	struct symtab_name name;

	if (vaddr >= last->start && vaddr < last->end)
		return true;
	if (symtab_find(naming->syms.symtab, vaddr, &name))
		return false;
	function = naming_intern(sym, name.str, name.len, name.is_plt ? "@plt" : "");
	*last = (struct last_symbol){
		.start = name.start,
		.end = name.end,
		.name = function.name,
		.system_name = function.system_name,
	};
	return true;
}

static struct profile_line line_of(struct symbolizer *sym, struct profile_function function,
				   const struct dwarf_frame *frame)
{
	function.start_line = frame->start_line;
	function.file = profile_string(sym->prof, frame->file ? frame->file : "");
	return (struct profile_line){
		.function = profile_function_add(sym->prof, &function),
		.line = frame->line,
	};
}

static struct profile_line inlined_line(struct symbolizer *sym, const struct dwarf_frame *frame)
{
	return line_of(sym, naming_intern(sym, frame->name, strlen(frame->name), ""), frame);
}

/*
 * What is inlined into a function has its name from DWARF, the function itself from @symbol, where
 * there is one: it says which clone it is. False when DWARF knows nothing of the place.
 */
static bool name_by_dwarf(struct symbolizer *sym, struct module_naming *naming,
			  const struct pending *item, const struct last_symbol *symbol)
{
	struct dwarf_frame frames[DWARF_FRAMES_MAX];
	struct profile_line lines[DWARF_FRAMES_MAX];
	const struct dwarf_frame *outermost;
	size_t cnt = 0;
	int found;

	if (sym->opts->no_inline)
		return false;
	found = module_symbols_chain(&naming->syms, item->address, sym->deadline_ns, frames);
	if (found <= 0) {
		naming->cut_cnt += found == -ETIME;
		return false;
	}
	outermost = &frames[found - 1];
	if (!symbol && !outermost->name)
		return false;
	/* What has no name is left out: part of the file was not found (dwz, split units). */
	for (const struct dwarf_frame *frame = frames; frame < outermost; frame++)
		if (frame->name)
			lines[cnt++] = inlined_line(sym, frame);
	if (symbol)
		lines[cnt++] =
			line_of(sym, (struct profile_function){symbol->name, symbol->system_name},
				outermost);
	else
		lines[cnt++] = inlined_line(sym, outermost);
	profile_set_lines(sym->prof, item->location, lines, cnt);
	naming_count_named(sym, item);
	naming->lined_cnt++;
	return true;
}

static void name_by_symbol(struct symbolizer *sym, const struct pending *item,
			   const struct last_symbol *symbol)
{
	const struct profile_function function = {
		.name = symbol->name,
		.system_name = symbol->system_name,
		.file = profile_string(sym->prof, ""),
	};

	naming_set_named(sym, item, profile_function_add(sym->prof, &function));
}

static void name_location(struct symbolizer *sym, struct module_naming *naming,
			  const struct pending *item)
{
	const struct last_symbol *symbol;

	if (sym->prof->locations[item->location].flags & LOCATION_JIT) {
		naming_set_unnamed(sym, item, "jit");
		return;
	}
	if (naming->syms.reason) {
		naming_set_unnamed(sym, item, naming->syms.reason);
		return;
	}
	if (name_by_go(sym, naming, item))
		return;
	symbol = find_symbol(sym, naming, item->address) ? &naming->last : NULL;
	if (name_by_dwarf(sym, naming, item, symbol))
		return;
	if (symbol)
		name_by_symbol(sym, item, symbol);
	else
		naming_set_unnamed(sym, item, "no_symbol");
}

/*
 * Of Go's tables each function has its part: what they do not know has no lines here. DWARF leaves
 * out what was built without -g: lines are claimed as soon as it was asked for all of the mapping,
 * as nobody else could find more.
 */
static uint32_t resolution(const struct symbolizer *sym, const struct module_naming *naming,
			   size_t cnt)
{
	if (naming->go_cnt < cnt && (!naming->lined_cnt || naming->cut_cnt))
		return 0;
	return MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES |
	       (sym->opts->no_inline ? 0 : MAPPING_HAS_INLINES);
}

static void count_cut(struct symbolizer *sym, uint32_t mapping, size_t cnt)
{
	if (!cnt)
		return;
	sym->frames->lines_cut += cnt;
	sym->cut.file_cnt++;
	if (cnt > sym->cut.most_cnt) {
		sym->cut.most_cnt = cnt;
		sym->cut.most_mapping = mapping;
	}
}

int name_module(struct symbolizer *sym, const struct module *module, const struct pending *items,
		size_t cnt)
{
	uint32_t mapping = items[0].mapping;
	struct module_naming naming = {0};
	int err = module_symbols_load(module, naming_path(sym, mapping), &naming.syms);

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++)
		name_location(sym, &naming, &items[i]);
	module_symbols_deinit(&naming.syms);
	if (mapping != PROFILE_NONE)
		sym->prof->mappings[mapping].flags |= resolution(sym, &naming, cnt);
	count_cut(sym, mapping, naming.cut_cnt);
	return sym->prof->err;
}
