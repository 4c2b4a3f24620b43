/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Naming the locations of a profile, module by module in ascending order of address: one module's
 * tables are in memory at a time, and neighbours in one function share its name. The module that
 * most samples have been in comes first: if the time for lines and inlined calls is too short for
 * all, it is spent where it shows.
 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "proc/kallsyms.h"
#include "symbol/demangle.h"
#include "symbol/jit_advice.h"
#include "symbol/module_symbols.h"
#include "symbol/perf_map.h"

/* For one list of names. A million lines take a tenth of it. */
#define PERF_MAP_BUDGET_NS (1 * NSEC_PER_SEC)

static const char kernel_path[] = "[kernel.kallsyms]";

/* A location that waits for its name. */
struct pending {
	uint64_t weight; /* of its mapping */
	uint64_t address;
	uint32_t mapping;
	uint32_t location;
};

/* What the time was too short for. */
struct lines_cut {
	size_t file_cnt;
	size_t most_cnt; /* of locations in one file */
	uint32_t most_mapping;
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
	uint64_t deadline_ns; /* for lines; 0: none */
	struct lines_cut cut;
};

/* The symbol that the last location of a module was in, as strings of the profile. */
struct last_symbol {
	uint64_t start, end; /* of its code; end 0: there was none */
	uint32_t name, system_name;
};

/* The module that is being named. */
struct naming {
	struct module_symbols syms;
	struct last_symbol last;
	size_t go_cnt; /* locations that Go's tables have named */
	size_t lined_cnt; /* locations with lines from DWARF */
	size_t cut_cnt; /* locations that there was no time for */
};

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

	if (lhs->weight != rhs->weight)
		return lhs->weight > rhs->weight ? -1 : 1;
	if (lhs->mapping != rhs->mapping)
		return lhs->mapping < rhs->mapping ? -1 : 1;
	return (lhs->address > rhs->address) - (lhs->address < rhs->address);
}

static uint64_t sample_weight(const struct profile *prof, size_t sample)
{
	int64_t value = 1;

	if (prof->value_type_cnt)
		value = prof->values[sample * prof->value_type_cnt + prof->default_value];
	return value > 0 ? (uint64_t)value : 0;
}

/* How often each mapping is in a stack; *@out is owned. */
static int weigh_mappings(const struct profile *prof, uint64_t **out)
{
	uint64_t *weights = calloc(prof->mapping_cnt + 1, sizeof(*weights));

	if (!weights)
		return -ENOMEM;
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_stack *stack = &prof->stacks[prof->samples[i].stack];
		uint64_t weight = sample_weight(prof, i);

		for (uint32_t at = stack->first; at < stack->first + stack->cnt; at++) {
			uint32_t mapping = prof->locations[prof->stack_locations[at]].mapping;

			if (mapping != PROFILE_NONE &&
			    __builtin_add_overflow(weights[mapping], weight, &weights[mapping]))
				weights[mapping] = UINT64_MAX;
		}
	}
	*out = weights;
	return 0;
}

static int collect_pending(struct symbolizer *sym)
{
	const struct profile *prof = sym->prof;
	_cleanup_free_ uint64_t *weights = NULL;
	int err = weigh_mappings(prof, &weights);

	if (err)
		return err;
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
				loc->mapping == PROFILE_NONE ? 0 : weights[loc->mapping],
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

/* What stands before the '+' of a frame without a name: the file's, without its folder. */
static void add_base_name(const struct symbolizer *sym, const struct pending *item, bool is_jit,
			  struct buf *out)
{
	const char *path = mapping_path(sym, item->mapping);
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t len = strlen(base);

	if (is_jit || profile_path_is_anon(path))
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

/* The symbol @name as strings of the profile: demangled, and as it is; @suffix as "@plt". */
static struct profile_function intern_name(struct symbolizer *sym, const char *name, size_t len,
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
	return (struct profile_function){
		.name = profile_string(sym->prof, buf_cstr(&sym->name)),
		.system_name = profile_string(sym->prof, buf_cstr(&sym->system_name)),
		.file = profile_string(sym->prof, ""),
	};
}

/* Go's names are not mangled. */
static bool name_by_go(struct symbolizer *sym, struct naming *naming, const struct pending *item)
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
	count_named(sym, item);
	naming->go_cnt++;
	return true;
}

/* Make @naming->last the symbol at @vaddr. False when there is none. */
static bool find_symbol(struct symbolizer *sym, struct naming *naming, uint64_t vaddr)
{
	struct last_symbol *last = &naming->last;
	struct profile_function function;
	struct symtab_name name;

	if (vaddr >= last->start && vaddr < last->end)
		return true;
	if (symtab_find(naming->syms.symtab, vaddr, &name))
		return false;
	function = intern_name(sym, name.str, name.len, name.is_plt ? "@plt" : "");
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
	return line_of(sym, intern_name(sym, frame->name, strlen(frame->name), ""), frame);
}

/*
 * What is inlined into a function has its name from DWARF, the function itself from @symbol, where
 * there is one: it says which clone it is. False when DWARF knows nothing of the place.
 */
static bool name_by_dwarf(struct symbolizer *sym, struct naming *naming, const struct pending *item,
			  const struct last_symbol *symbol)
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
	count_named(sym, item);
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

	set_named(sym, item, profile_function_add(sym->prof, &function));
}

/* The names of @items, all in @module's JIT code, into @names: ids of @strings. */
static int read_perf_map(struct symbolizer *sym, const struct module *module,
			 const struct pending *items, size_t cnt, struct strtab *strings,
			 uint32_t *names)
{
	_cleanup_free_ uint64_t *addresses = malloc(cnt * sizeof(*addresses));
	struct perf_map_stats stats;
	int err;

	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		addresses[i] = items[i].address;
	err = perf_map_read(module->fd, addresses, cnt, clock_monotonic_ns() + PERF_MAP_BUDGET_NS,
			    strings, names, &stats);
	if (!err && stats.is_cut)
		log_warn("names of JIT code: '/tmp/perf-%d.map' is too long: not read beyond line "
			 "%llu",
			 (int)module->tgid, (unsigned long long)stats.lines);
	return err == -ENOMEM ? err : 0;
}

/* @items: all that wait in @module's JIT code. */
static int name_jit(struct symbolizer *sym, const struct module *module,
		    const struct pending *items, size_t cnt)
{
	_cleanup_free_ uint32_t *names = malloc(cnt * sizeof(*names));
	struct strtab strings;
	size_t unnamed_cnt = 0;
	int err = names ? strtab_init(&strings) : -ENOMEM;

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++)
		names[i] = STRTAB_NONE;
	if (module->fd >= 0)
		err = read_perf_map(sym, module, items, cnt, &strings, names);
	for (size_t i = 0; i < cnt && !err; i++) {
		const char *name = names[i] == STRTAB_NONE ? NULL : strtab_get(&strings, names[i]);

		if (name)
			set_named(sym, &items[i], profile_function(sym->prof, name, name, "", 0));
		else
			set_unnamed(sym, &items[i], "jit");
		unnamed_cnt += !name;
	}
	strtab_deinit(&strings);
	if (unnamed_cnt)
		jit_advise(module, unnamed_cnt);
	return err ? err : sym->prof->err;
}

static void name_location(struct symbolizer *sym, struct naming *naming, const struct pending *item)
{
	const struct last_symbol *symbol;

	if (sym->prof->locations[item->location].flags & LOCATION_JIT) {
		set_unnamed(sym, item, "jit");
		return;
	}
	if (naming->syms.reason) {
		set_unnamed(sym, item, naming->syms.reason);
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
		set_unnamed(sym, item, "no_symbol");
}

/*
 * Of Go's tables each function has its part: what they do not know has no lines here. DWARF leaves
 * out what was built without -g: lines are claimed as soon as it was asked for all of the mapping,
 * as nobody else could find more.
 */
static uint32_t resolution(const struct symbolizer *sym, const struct naming *naming, size_t cnt)
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

/* NULL: not known. */
static const struct module *module_of(const struct symbolizer *sym, uint32_t mapping)
{
	return mapping < sym->module_cnt ? sym->modules[mapping] : NULL;
}

/* @items: all that wait in one mapping. */
static int name_module(struct symbolizer *sym, const struct pending *items, size_t cnt)
{
	uint32_t mapping = items[0].mapping;
	struct naming naming = {0};
	int err = module_symbols_load(module_of(sym, mapping), mapping_path(sym, mapping),
				      &naming.syms);

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
		if (name != last_name) {
			const struct profile_function known =
				intern_name(sym, name, strlen(name), "");

			function = profile_function_add(sym->prof, &known);
		}
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
		const struct module *module = module_of(sym, items[0].mapping);
		size_t cnt = 1;
		int err;

		while (first + cnt < sym->item_cnt && items[cnt].mapping == items[0].mapping)
			cnt++;
		if (!strcmp(mapping_path(sym, items[0].mapping), kernel_path))
			err = name_kernel(sym, items, cnt);
		else if (module && module->kind == MODULE_JIT)
			err = name_jit(sym, module, items, cnt);
		else
			err = name_module(sym, items, cnt);
		if (err)
			return err;
		first += cnt;
	}
	return 0;
}

static void report_cut(const struct symbolizer *sym)
{
	const struct lines_cut *cut = &sym->cut;

	if (cut->file_cnt)
		log_warn("lines and inlined calls: out of time after %.1f s: %llu frames in %zu "
			 "files have the names of symbols only, most of them in '%s'",
			 (double)sym->opts->lines_budget_ns / NSEC_PER_SEC,
			 (unsigned long long)sym->frames->lines_cut, cut->file_cnt,
			 mapping_path(sym, cut->most_mapping));
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
	if (opts->lines_budget_ns)
		sym.deadline_ns = clock_monotonic_ns() + opts->lines_budget_ns;
	err = name_all(&sym);
	report_cut(&sym);
	return err;
}
