/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Naming the locations of a profile, module by module in ascending order of address: one module's
 * tables are in memory at a time, and neighbours in one function share its name. The module that
 * most samples have been in comes first: if the time for lines and inlined calls is too short for
 * all, it is spent where it shows.
 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "symbol/jit_advice.h"
#include "symbol/naming.h"

static void symbolizer_deinit(struct symbolizer *sym)
{
	free(sym->items);
	demangler_free(sym->demangler);
	kernel_map_free(sym->own_kernel);
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
static int weigh_mappings(struct symbolizer *sym, uint64_t **out)
{
	const struct profile *prof = sym->prof;
	uint64_t *weights = calloc(prof->mapping_cnt + 1, sizeof(*weights));

	if (!weights)
		return -ENOMEM;
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_stack *stack = &prof->stacks[prof->samples[i].stack];
		uint64_t weight = sample_weight(prof, i);

		if (__builtin_add_overflow(sym->weight, weight, &sym->weight))
			sym->weight = UINT64_MAX;
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

static uint64_t vaddr_of(const struct symbolizer *sym, const struct profile_location *loc)
{
	const struct symbolizer_elsewhere *elsewhere = sym->opts->elsewhere;

	if (!elsewhere || loc->mapping == PROFILE_NONE)
		return loc->address;
	return elsewhere->vaddr_of(elsewhere->arg, loc->mapping, loc->address);
}

static int collect_pending(struct symbolizer *sym)
{
	const struct profile *prof = sym->prof;
	_cleanup_free_ uint64_t *weights = NULL;
	int err = weigh_mappings(sym, &weights);

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
				vaddr_of(sym, loc),
				loc->mapping,
				(uint32_t)i,
			};
	}
	qsort(sym->items, sym->item_cnt, sizeof(*sym->items), pending_cmp);
	return 0;
}

/* NULL: not known. */
static const struct module *module_of(const struct symbolizer *sym, uint32_t mapping)
{
	return mapping < sym->module_cnt ? sym->modules[mapping] : NULL;
}

/* Of a profile without flags the path says so. */
static bool is_kernel(const struct symbolizer *sym, const struct pending *item)
{
	return item->mapping != PROFILE_NONE &&
	       (sym->prof->locations[item->location].flags & LOCATION_KERNEL ||
		!strcmp(naming_path(sym, item->mapping), naming_kernel_path));
}

/* Another kernel's: ours has other code there. */
static int leave_kernel(struct symbolizer *sym, const struct pending *items, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		naming_set_unnamed(sym, &items[i], "no_kernel_symbol");
	return sym->prof->err;
}

/* @items: all that wait in one mapping. */
static int name_items(struct symbolizer *sym, const struct pending *items, size_t cnt)
{
	const struct module *module = module_of(sym, items[0].mapping);

	if (is_kernel(sym, &items[0]))
		return sym->opts->elsewhere ? leave_kernel(sym, items, cnt)
					    : name_kernel(sym, items, cnt);
	if (module && module->kind == MODULE_JIT)
		return name_jit(sym, module, items, cnt);
	return name_module(sym, module, items, cnt);
}

static void name_by_address(struct symbolizer *sym, size_t first, const char *reason)
{
	for (size_t i = first; i < sym->item_cnt; i++)
		naming_set_unnamed(sym, &sym->items[i], reason);
}

/* Each module's tables are bounded, but a hostile program may have a thousand modules. */
static int name_all(struct symbolizer *sym, uint64_t until_ns)
{
	size_t first = 0;

	while (first < sym->item_cnt) {
		const struct pending *items = sym->items + first;
		size_t cnt = 1;
		int err;

		if (until_ns && clock_monotonic_ns() >= until_ns) {
			log_warn("names: out of time after %.1f s: %zu frames have none",
				 (double)sym->opts->names_budget_ns / NSEC_PER_SEC,
				 sym->item_cnt - first);
			name_by_address(sym, first, "no_time");
			return sym->prof->err;
		}
		while (first + cnt < sym->item_cnt && items[cnt].mapping == items[0].mapping)
			cnt++;
		err = name_items(sym, items, cnt);
		if (items[0].weight >= sym->weight / 10)
			jit_advice_note_file(sym->jit_advice, naming_path(sym, items[0].mapping));
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
			 naming_path(sym, cut->most_mapping));
}

int symbolizer_run(struct profile *prof, struct module *const *modules, size_t module_cnt,
		   const struct symbolizer_opts *opts, struct ledger_frames *frames)
{
	struct jit_advice advice = {0};
	_cleanup_(symbolizer_deinit) struct symbolizer sym = {
		.prof = prof,
		.modules = modules,
		.module_cnt = module_cnt,
		.opts = opts,
		.frames = frames,
		.jit_advice = opts->jit_advice ? opts->jit_advice : &advice,
	};
	uint64_t start_ns = clock_monotonic_ns();
	int err = collect_pending(&sym);

	if (err)
		return err;
	buf_init(&sym.name, BUF_NO_MAX);
	buf_init(&sym.system_name, BUF_NO_MAX);
	if (opts->no_symbols) {
		name_by_address(&sym, 0, "not_wanted");
		return prof->err;
	}
	sym.demangler = demangler_new();
	if (!sym.demangler)
		return -ENOMEM;
	if (opts->lines_budget_ns)
		sym.deadline_ns = start_ns + opts->lines_budget_ns;
	err = name_all(&sym, opts->names_budget_ns ? start_ns + opts->names_budget_ns : 0);
	report_cut(&sym);
	jit_advice_tell(sym.jit_advice);
	return err;
}
