/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of JIT code, from the lists that its runtime writes. A jitdump knows when code came, and
 * its lines: it goes first. What it leaves is asked of the perf map, address by address: a runtime
 * may write both, and in neither need all be.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "symbol/jit_advice.h"
#include "symbol/jitdump.h"
#include "symbol/naming.h"
#include "symbol/perf_map.h"

/* For one list of names, of which a million take a tenth to a third; and for all lists, as any
 * process may have made a long one. */
#define LIST_BUDGET_NS (1 * NSEC_PER_SEC)
#define LISTS_BUDGET_NS (4 * NSEC_PER_SEC)

/* The code of one process that is to be named. */
struct jit_naming {
	const struct module *module; /* borrowed */
	uint64_t *addresses; /* owned */
	struct jitdump_name *names; /* owned: of strings */
	size_t cnt;
	struct strtab strings;
};

static void jit_naming_deinit(struct jit_naming *naming)
{
	free(naming->addresses);
	free(naming->names);
	strtab_deinit(&naming->strings);
}

static void forget_names(struct jit_naming *naming)
{
	for (size_t i = 0; i < naming->cnt; i++)
		naming->names[i] = (struct jitdump_name){STRTAB_NONE, STRTAB_EMPTY, 0};
}

static int jit_naming_init(struct jit_naming *naming, const struct module *module,
			   const struct pending *items, size_t cnt)
{
	int err = strtab_init(&naming->strings);

	naming->module = module;
	naming->addresses = malloc(cnt * sizeof(*naming->addresses));
	naming->names = malloc(cnt * sizeof(*naming->names));
	naming->cnt = cnt;
	if (err || !naming->addresses || !naming->names)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		naming->addresses[i] = items[i].address;
	forget_names(naming);
	return 0;
}

/* Until when a list may be read that is begun at @now_ns. */
static uint64_t list_deadline_ns(const struct symbolizer *sym, uint64_t now_ns)
{
	uint64_t left_ns = LISTS_BUDGET_NS - sym->lists_ns;

	if (sym->lists_ns > LISTS_BUDGET_NS)
		return now_ns;
	return now_ns + (left_ns < LIST_BUDGET_NS ? left_ns : LIST_BUDGET_NS);
}

static int read_jitdump(struct symbolizer *sym, struct jit_naming *naming)
{
	uint64_t now_ns = clock_monotonic_ns();
	const struct jitdump_query query = {
		.addresses = naming->addresses,
		.cnt = naming->cnt,
		.start_ns = sym->opts->start_ns,
		.end_ns = sym->opts->end_ns ? sym->opts->end_ns : UINT64_MAX,
		.deadline_ns = list_deadline_ns(sym, now_ns),
	};
	struct jitdump_stats stats;
	int err;

	if (naming->module->dump_fd < 0)
		return 0;
	err = jitdump_read(naming->module->dump_fd, &query, &naming->strings, naming->names,
			   &stats);
	sym->lists_ns += clock_monotonic_ns() - now_ns;
	if (err) {
		forget_names(naming);
		return err == -ENOMEM ? err : 0;
	}
	if (stats.is_cut || stats.is_broken)
		log_warn("names of JIT code: the jitdump of process %d %s: not read beyond byte "
			 "%llu",
			 (int)naming->module->tgid, stats.is_cut ? "is too long" : "is broken",
			 (unsigned long long)stats.end_off);
	return 0;
}

/* What the perf map says of the addresses without a name. */
static int read_perf_map(struct symbolizer *sym, struct jit_naming *naming)
{
	uint64_t now_ns = clock_monotonic_ns();
	_cleanup_free_ uint64_t *addresses = malloc(naming->cnt * sizeof(*addresses));
	_cleanup_free_ uint32_t *names = malloc(naming->cnt * sizeof(*names));
	struct perf_map_stats stats;
	size_t cnt = 0, next = 0;
	int err;

	if (!addresses || !names)
		return -ENOMEM;
	for (size_t i = 0; i < naming->cnt; i++)
		if (naming->names[i].name == STRTAB_NONE)
			addresses[cnt++] = naming->addresses[i];
	if (naming->module->fd < 0 || !cnt)
		return 0;
	err = perf_map_read(naming->module->fd, addresses, cnt, list_deadline_ns(sym, now_ns),
			    &naming->strings, names, &stats);
	sym->lists_ns += clock_monotonic_ns() - now_ns;
	if (err)
		return err == -ENOMEM ? err : 0;
	if (stats.is_cut)
		log_warn("names of JIT code: '/tmp/perf-%d.map' is too long: not read beyond line "
			 "%llu",
			 (int)naming->module->tgid, (unsigned long long)stats.lines);
	for (size_t i = 0; i < naming->cnt; i++)
		if (naming->names[i].name == STRTAB_NONE)
			naming->names[i].name = names[next++];
	return 0;
}

static void set_name(struct symbolizer *sym, const struct strtab *strings,
		     const struct jitdump_name *name, const struct pending *item)
{
	const char *text = strtab_get(strings, name->name);
	const struct profile_line line = {
		.function =
			profile_function(sym->prof, text, text, strtab_get(strings, name->file), 0),
		.line = name->line,
	};

	if (line.function != PROFILE_NONE)
		profile_set_lines(sym->prof, item->location, &line, 1);
	naming_count_named(sym, item);
	sym->jit_advice->has_python |= !strncmp(text, "py::", 4);
	/* Nobody else could find more of them. */
	if (name->line && item->mapping != PROFILE_NONE)
		sym->prof->mappings[item->mapping].flags |=
			MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES;
}

int name_jit(struct symbolizer *sym, const struct module *module, const struct pending *items,
	     size_t cnt)
{
	_cleanup_(jit_naming_deinit) struct jit_naming naming = {0};
	size_t unnamed_cnt = 0;
	int err = jit_naming_init(&naming, module, items, cnt);

	if (!err)
		err = read_jitdump(sym, &naming);
	if (!err)
		err = read_perf_map(sym, &naming);
	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		if (naming.names[i].name != STRTAB_NONE) {
			set_name(sym, &naming.strings, &naming.names[i], &items[i]);
			continue;
		}
		naming_set_unnamed(sym, &items[i], "jit");
		unnamed_cnt++;
	}
	if (unnamed_cnt)
		jit_advice_note(sym->jit_advice, module, unnamed_cnt);
	return sym->prof->err;
}
