/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code in a file: those that are kept from earlier runs, and what has to be learned now, a
 * function at a time (symbol/name_learn.h). Locations come in ascending order of address, so that
 * what was learned for one serves the next.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbol/name_keeper.h"
#include "symbol/name_learn.h"
#include "symbol/name_memory.h"
#include "symbol/naming.h"

enum {
	/* A module with fewer symbols and no DWARF is read faster than what would be kept of it. */
	WORTH_KEEPING_SYMBOLS = 4096,
};

/* A table, and its functions as the profile has them. */
struct names {
	struct name_table table;
	uint32_t *functions; /* owned; PROFILE_NONE: not there yet */
	size_t functions_cnt, functions_cap;
};

/* What was read in this run. */
struct learned {
	struct name_builder builder;
	struct names names;
	bool is_begun;
};

/* The module that is being named. */
struct module_naming {
	struct module_symbols syms;
	struct kept_names kept_names;
	struct names kept;
	struct learned lines; /* with lines, as far as there are any */
	struct learned symbols; /* without: there was no time for more, or it is not wanted */
	size_t go_cnt; /* locations that Go's tables have named */
	size_t lined_cnt; /* locations with lines */
	size_t cut_cnt; /* locations that there was no time for */
};

/* --- What is known --- */

static void learned_end(struct learned *learned)
{
	if (learned->is_begun)
		name_builder_deinit(&learned->builder);
	free(learned->names.functions);
	*learned = (struct learned){0};
}

static void naming_deinit(struct module_naming *naming)
{
	learned_end(&naming->lines);
	learned_end(&naming->symbols);
	free(naming->kept.functions);
	kept_names_deinit(&naming->kept_names);
	module_symbols_deinit(&naming->syms);
}

/* The site at @vaddr, and in *@names whose it is. False when nothing is known yet. */
static bool find_site(struct module_naming *naming, uint64_t vaddr, struct names **names,
		      uint32_t *site)
{
	struct names *all[] = {&naming->kept, &naming->lines.names, &naming->symbols.names};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct name_stretch *stretch = name_table_find(&all[i]->table, vaddr);

		if (stretch) {
			*names = all[i];
			*site = stretch->site;
			return true;
		}
	}
	return false;
}

/* Room for all functions of @names. */
static int reserve_functions(struct names *names)
{
	int err;

	if (names->functions_cnt >= names->table.functions_cnt)
		return 0;
	err = array_reserve(&names->functions, &names->functions_cap, names->table.functions_cnt,
			    sizeof(*names->functions));
	while (!err && names->functions_cnt < names->table.functions_cnt)
		names->functions[names->functions_cnt++] = PROFILE_NONE;
	return err;
}

/* @function of @table as strings of the profile. A name that was kept demangled is not demangled
 * again; it is the whole one, which --merge-clones does not want. */
static struct profile_function intern_function(struct symbolizer *sym,
					       const struct name_table *table,
					       const struct name_function *function)
{
	const char *name = table->strings + function->name;
	const char *shown = table->strings + function->shown;

	if (!*shown || sym->opts->merge_clones)
		return naming_intern(sym, name, strlen(name),
				     function->flags & NAME_IS_PLT ? "@plt" : "");
	return (struct profile_function){
		.name = profile_string(sym->prof, shown),
		.system_name = profile_string(sym->prof, name),
	};
}

/* Function @id of @names in the profile. */
static uint32_t function_of(struct symbolizer *sym, struct names *names, uint32_t id)
{
	const struct name_function *function = &names->table.functions[id];
	struct profile_function known;

	if (names->functions[id] != (uint32_t)PROFILE_NONE)
		return names->functions[id];
	known = intern_function(sym, &names->table, function);
	known.file = profile_string(sym->prof, names->table.strings + function->file);
	known.start_line = function->start_line;
	names->functions[id] = profile_function_add(sym->prof, &known);
	return names->functions[id];
}

/* @site of @names, and what it is called from, into @item. */
static int set_sites(struct symbolizer *sym, struct module_naming *naming, struct names *names,
		     const struct pending *item, uint32_t site)
{
	struct profile_line lines[DWARF_SITES_DEEP];
	bool has_lines = false;
	size_t cnt = 0;
	int err = reserve_functions(names);

	if (err)
		return err;
	while (site != (uint32_t)NAME_NONE && cnt < DWARF_SITES_DEEP) {
		const struct name_site *at = &names->table.sites[site];

		lines[cnt++] = (struct profile_line){
			.function = function_of(sym, names, at->function),
			.line = at->line,
		};
		has_lines |= at->line || names->table.functions[at->function].start_line;
		site = at->caller;
	}
	profile_set_lines(sym->prof, item->location, lines, cnt);
	naming_count_named(sym, item);
	naming->lined_cnt += has_lines;
	return sym->prof->err;
}

/* --- Learning --- */

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

static int learn(struct symbolizer *sym, struct module_naming *naming, struct learned *learned,
		 uint64_t vaddr)
{
	enum name_depth depth = learned == &naming->lines ? NAME_LINES : NAME_SYMBOLS;
	int err = 0;

	if (!learned->is_begun) {
		err = name_builder_init(&learned->builder);
		learned->is_begun = true;
	}
	if (!err)
		err = name_learn(&naming->syms, depth, vaddr, sym->deadline_ns, &naming->kept.table,
				 &learned->builder);
	learned->names.table = name_builder_table(&learned->builder);
	return err;
}

/* Without lines, where they are not wanted or the time for them is over. */
static int learn_site(struct symbolizer *sym, struct module_naming *naming, uint64_t vaddr)
{
	int err = -ETIME;

	if (!sym->opts->no_inline) {
		err = learn(sym, naming, &naming->lines, vaddr);
		if (err == -E2BIG) {
			/* What lies before this address is not needed any more. */
			learned_end(&naming->lines);
			err = learn(sym, naming, &naming->lines, vaddr);
		}
		naming->cut_cnt += err == -ETIME;
	}
	if (err != -ETIME && err != -E2BIG)
		return err;
	err = learn(sym, naming, &naming->symbols, vaddr);
	if (err == -E2BIG) {
		learned_end(&naming->symbols);
		err = learn(sym, naming, &naming->symbols, vaddr);
	}
	return err;
}

static int name_location(struct symbolizer *sym, struct module_naming *naming,
			 const struct pending *item)
{
	const char *reason = naming->syms.reason;
	struct names *names;
	uint32_t site;
	int err;

	if (sym->prof->locations[item->location].flags & LOCATION_JIT)
		reason = "jit";
	if (reason) {
		naming_set_unnamed(sym, item, reason);
		return 0;
	}
	if (!find_site(naming, item->address, &names, &site)) {
		err = module_symbols_load(&naming->syms);
		if (err || name_by_go(sym, naming, item))
			return err;
		err = learn_site(sym, naming, item->address);
		if (err)
			return err;
		if (!find_site(naming, item->address, &names, &site))
			site = NAME_NONE;
	}
	if (site != (uint32_t)NAME_NONE)
		return set_sites(sym, naming, names, item, site);
	naming_set_unnamed(sym, item, "no_symbol");
	return 0;
}

/* --- A module --- */

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

/* What was demangled in this run need not be in the next. A name that is shown as it is stays
 * without: it may be one that only this machine cannot demangle yet. */
static void keep_shown(const struct symbolizer *sym, struct learned *learned)
{
	const struct profile *prof = sym->prof;

	for (uint32_t id = 0; id < learned->names.functions_cnt; id++) {
		uint32_t index = learned->names.functions[id];
		const struct profile_function *function;

		if (index == (uint32_t)PROFILE_NONE ||
		    learned->names.table.functions[id].flags & NAME_IS_PLT)
			continue;
		function = &prof->functions[index];
		if (function->name != function->system_name &&
		    name_builder_show(&learned->builder, id, profile_str(prof, function->name)))
			return;
	}
	learned->names.table = name_builder_table(&learned->builder);
}

static void keep_learned(struct symbolizer *sym, struct module_naming *naming)
{
	const struct module_symbols *syms = &naming->syms;

	if (!sym->opts->keeper || !naming->kept_names.name[0] || !naming->lines.is_begun ||
	    !syms->is_loaded || module_symbols_are_passing(syms) ||
	    (!syms->dwarf && symtab_range_cnt(syms->symtab) < WORTH_KEEPING_SYMBOLS))
		return;
	if (!sym->opts->merge_clones)
		keep_shown(sym, &naming->lines);
	name_keeper_add(sym->opts->keeper, &naming->kept_names, &naming->lines.builder);
}

/* For the next window of this recording. */
static int remember_learned(struct symbolizer *sym, struct module_naming *naming)
{
	int err;

	if (!sym->opts->memory || !sym->opts->no_inline || !naming->syms.module ||
	    !naming->symbols.is_begun)
		return 0;
	if (!sym->opts->merge_clones)
		keep_shown(sym, &naming->symbols);
	err = name_memory_add(sym->opts->memory, naming->syms.module, &naming->symbols.names.table);
	return err == -E2BIG ? 0 : err;
}

/* What was read of a file that has changed meanwhile is as if it had not been; what @frames and the
 * mapping's flags were before. */
static void take_back(struct symbolizer *sym, const struct ledger_frames *frames, uint32_t flags,
		      const struct pending *items, size_t cnt)
{
	*sym->frames = *frames;
	if (items[0].mapping != PROFILE_NONE)
		sym->prof->mappings[items[0].mapping].flags = flags;
	for (size_t i = 0; i < cnt; i++) {
		sym->prof->locations[items[i].location].line_cnt = 0;
		naming_set_unnamed(sym, &items[i], "file_changed");
	}
}

int name_module(struct symbolizer *sym, const struct module *module, const struct pending *items,
		size_t cnt)
{
	_cleanup_(naming_deinit) struct module_naming naming = {0};
	uint32_t mapping = items[0].mapping;
	const uint32_t flags = mapping == PROFILE_NONE ? 0 : sym->prof->mappings[mapping].flags;
	const struct ledger_frames frames = *sym->frames;
	int err = module_symbols_open(module, naming_path(sym, mapping), &sym->opts->sources,
				      &naming.syms);

	if (err)
		return err;
	/* What is kept has lines, which are not wanted then. */
	if (!sym->opts->no_inline)
		kept_names_load(&naming.kept_names, name_keeper_cache(sym->opts->keeper),
				&naming.syms);
	naming.kept.table = naming.kept_names.table;
	if (sym->opts->memory && sym->opts->no_inline && module)
		naming.kept.table = name_memory_find(sym->opts->memory, module);
	for (size_t i = 0; i < cnt && !err; i++)
		err = name_location(sym, &naming, &items[i]);
	if (err)
		return err;
	if (module_symbols_have_changed(&naming.syms)) {
		take_back(sym, &frames, flags, items, cnt);
		return sym->prof->err;
	}
	keep_learned(sym, &naming);
	err = remember_learned(sym, &naming);
	if (err)
		return err;
	if (mapping != PROFILE_NONE)
		sym->prof->mappings[mapping].flags |= resolution(sym, &naming, cnt);
	count_cut(sym, mapping, naming.cut_cnt);
	return sym->prof->err;
}
