/* SPDX-License-Identifier: Apache-2.0 */
/* A symbol and a walk over its DWARF become stretches. */
#include "symbol/name_learn.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct learner {
	struct name_builder *out;
	const struct symtab_name *symbol; /* NULL: none */
};

/* What site() says of a place whose function has no name; not an index, and not DWARF_SITE_NONE. */
#define SITE_UNNAMED (UINT32_MAX - 1)

static uint32_t add_site(struct learner *learner, const char *name, size_t name_len, uint32_t flags,
			 const struct dwarf_site *site)
{
	const struct name_function rest = {.start_line = site->start_line, .flags = flags};
	const struct name_site named = {
		.function = name_builder_function(learner->out, name, name_len, &rest, site->file),
		.line = site->line,
		.caller = site->caller == SITE_UNNAMED ? (uint32_t)NAME_NONE : site->caller,
	};

	if (named.function == (uint32_t)NAME_NONE)
		return DWARF_SITE_NONE;
	return name_builder_site(learner->out, &named);
}

static uint32_t add_symbol_site(struct learner *learner, const struct dwarf_site *site)
{
	const struct symtab_name *symbol = learner->symbol;

	return add_site(learner, symbol->str, symbol->len, symbol->is_plt ? NAME_IS_PLT : 0, site);
}

_Static_assert((uint32_t)NAME_NONE == (uint32_t)DWARF_SITE_NONE, "no site is no site");

/* What has no name is left out: part of the file was not found (dwz, split units). */
static uint32_t learn_site(void *arg, const struct dwarf_site *site)
{
	struct learner *learner = arg;

	if (site->caller == (uint32_t)DWARF_SITE_NONE && learner->symbol)
		return add_symbol_site(learner, site);
	if (site->name)
		return add_site(learner, site->name, strlen(site->name), 0, site);
	return site->caller == (uint32_t)DWARF_SITE_NONE ? SITE_UNNAMED : site->caller;
}

static int learn_stretch(void *arg, uint64_t lo, uint64_t hi, uint32_t site)
{
	struct learner *learner = arg;

	return name_builder_stretch(learner->out, lo, hi,
				    site == SITE_UNNAMED ? (uint32_t)NAME_NONE : site);
}

/* The symbol alone: all that is known of @range. */
static int learn_symbol(struct learner *learner, const struct dwarf_range *range)
{
	const struct dwarf_site nowhere = {.caller = DWARF_SITE_NONE};
	uint32_t site = add_symbol_site(learner, &nowhere);

	if (site == (uint32_t)NAME_NONE)
		return -ENOMEM;
	return name_builder_stretch(learner->out, range->lo, range->hi, site);
}

/* What neither @kept nor @out has, around @vaddr. */
static struct dwarf_range range_of(const struct learner *learner, const struct name_table *kept,
				   uint64_t vaddr)
{
	struct dwarf_range range = {0, UINT64_MAX};
	const struct name_table learned = name_builder_table(learner->out);

	if (learner->symbol)
		range = (struct dwarf_range){learner->symbol->start, learner->symbol->end};
	name_table_gap(kept, vaddr, &range.lo, &range.hi);
	name_table_gap(&learned, vaddr, &range.lo, &range.hi);
	return range;
}

/* What signal handlers return to, in glibc and musl. */
static bool is_signal_return(const struct symtab_name *symbol)
{
	static const char *const names[] = {"__restore_rt", "__restore"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (symbol->len == strlen(names[i]) && !memcmp(symbol->str, names[i], symbol->len))
			return true;
	}
	return false;
}

/*
 * The symbol at @vaddr. What a signal handler returns to is no call's: moved back like all other
 * return addresses, it is one byte before its function, where glibc has a byte so that its unwind
 * information is found, but no symbol.
 */
static bool find_symbol(const struct symtab *symtab, uint64_t vaddr, struct symtab_name *out)
{
	if (!symtab_find(symtab, vaddr, out))
		return true;
	if (symtab_find(symtab, vaddr + 1, out) || out->start != vaddr + 1 ||
	    !is_signal_return(out))
		return false;
	out->start = vaddr;
	out->end = vaddr + 1;
	return true;
}

int name_learn(struct module_symbols *syms, enum name_depth depth, uint64_t vaddr,
	       uint64_t deadline_ns, const struct name_table *kept, struct name_builder *out)
{
	static const struct dwarf_walk_ops ops = {learn_site, learn_stretch};
	struct learner learner = {.out = out};
	size_t stretches_cnt = out->stretches_cnt;
	struct dwarf_range range;
	struct symtab_name symbol;
	int err = -ENOENT;

	if (find_symbol(syms->symtab, vaddr, &symbol))
		learner.symbol = &symbol;
	range = range_of(&learner, kept, vaddr);
	if (depth == NAME_LINES)
		err = module_symbols_walk(syms, vaddr, deadline_ns, &range, &ops, &learner);
	if (!err)
		return 0;
	name_builder_cut(out, stretches_cnt);
	if (err == -ENOMEM || err == -ETIME)
		return err;
	if (learner.symbol)
		return learn_symbol(&learner, &range);
	return name_builder_stretch(out, vaddr, vaddr + 1, NAME_NONE);
}
